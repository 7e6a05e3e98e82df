// Expressions: precedence as in Python.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "lang/parser.h"

static struct expr *new_expr(struct parser *p, enum expr_kind kind, struct spot at,
                             const char *text) {
    struct expr *e = arena_new(p->arena, struct expr);
    *e = (struct expr){.kind = kind, .at = at, .text = text, .height = 1};
    return e;
}

struct expr *parser_name_expr(struct parser *p, struct spot at, const char *name) {
    return new_expr(p, EXPR_NAME, at, name);
}

static void add_arg(struct parser *p, struct expr *e, struct expr *arg) {
    // Room for two, then twice as much whenever the number is a power of two.
    if (e->n_args == 0 || (e->n_args > 1 && (e->n_args & (e->n_args - 1)) == 0)) {
        struct expr **args = arena_array(p->arena, struct expr *, 2 * e->n_args + 2);
        if (e->n_args)
            memcpy(args, e->args, sizeof *args * (size_t)e->n_args);
        e->args = args;
    }
    e->args[e->n_args++] = arg;
    if (arg->height >= e->height)
        e->height = arg->height + 1;
    if (e->height > HEIGHT_MAX)
        mistake_fail(p->mistakes, e->at, NULL,
                     "this expression has more than %d operations in a row; give a part of it a "
                     "name",
                     HEIGHT_MAX);
}

static void enter(struct parser *p) {
    if (++p->nesting > NESTING_MAX)
        parser_fail(p, "nested more than %d deep; give a part of it a name", NESTING_MAX);
}

// Is "(" the start of a list such as (2, 3), and not of an expression such as (a + b) * c? A list
// has a comma before its own ")", or nothing inside.
static bool at_tuple(const struct parser *p) {
    struct lexer ahead = p->lexer;
    if (!parser_at(p, "("))
        return false;
    for (int depth = 0, n = 0; n < STATEMENT_WORDS; n++) {
        struct token t = lexer_next(&ahead);
        if (t.kind == TOKEN_END || t.kind == TOKEN_BAD)
            return false;
        if (t.kind != TOKEN_PUNCT)
            continue;
        char c = t.text.ptr[0];
        if (depth == 0 && (c == ',' || c == ')'))
            return c == ',';
        depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    }
    return false;
}

// argument = string | "(" argument ("," argument)* [","] ")" | expr
static struct expr *argument(struct parser *p) {
    struct spot at = p->token.at;
    if (p->token.kind == TOKEN_STRING) {
        parser_advance(p);
        return new_expr(p, EXPR_STRING, at,
                        arena_strndup(p->arena, p->last.text.ptr + 1, p->last.text.len - 2));
    }
    if (!at_tuple(p))
        return parser_expr(p);
    struct expr *e = new_expr(p, EXPR_TUPLE, at, NULL);
    enter(p);
    parser_open(p, "(");
    while (!parser_at(p, ")")) {
        if (e->n_args == CALL_ARGS_MAX)
            parser_fail(p, "a list has at most %d items", CALL_ARGS_MAX);
        add_arg(p, e, argument(p));
        if (!parser_take(p, ","))
            break;
    }
    parser_close(p, ")");
    p->nesting--;
    return e;
}

// A whole number or a name, as an item of axis=(0, N); false when it is neither.
static bool item(const struct expr *e, struct keyword_item *it) {
    const struct expr *digits = e->kind == EXPR_NEGATE ? e->args[0] : e;
    *it = (struct keyword_item){.at = e->at, .name = e->kind == EXPR_NAME ? e->text : NULL};
    long long value;
    if (it->name)
        return true;
    if (digits->kind != EXPR_NUMBER || !str_to_int64(digits->text, &value))
        return false;
    it->number = digits == e ? value : -value;
    return true;
}

void parser_list_items(struct keyword *k) {
    bool is_list = k->value->kind == EXPR_TUPLE;
    int n = is_list ? k->value->n_args : 1;
    for (int i = 0; i < n && n <= RANK_MAX; i++) {
        if (!item(is_list ? k->value->args[i] : k->value, &k->items[i]))
            return;
        k->n_items = i + 1 == n ? n : 0;
    }
}

// keyword = name "=" argument
static void keyword(struct parser *p, struct expr *call) {
    if (call->n_keywords == KEYWORDS_MAX)
        parser_fail(p, "too many keywords in one call");
    if (!call->keywords)
        call->keywords = arena_array(p->arena, struct keyword, KEYWORDS_MAX);
    struct keyword *k = &call->keywords[call->n_keywords++];
    k->at = p->token.at;
    k->name = parser_name(p, "a keyword");
    parser_expect(p, "=");
    k->value = argument(p);
    parser_list_items(k);
}

static bool at_keyword(const struct parser *p) {
    struct lexer ahead = p->lexer;
    if (p->token.kind != TOKEN_NAME)
        return false;
    struct token t = lexer_next(&ahead);
    return t.kind == TOKEN_PUNCT && span_is(t.text, "=");
}

// call = name "(" [(argument | keyword) ("," (argument | keyword))*] ")"
static struct expr *call(struct parser *p, struct expr *e) {
    e->kind = EXPR_CALL;
    parser_open(p, "(");
    while (!parser_at(p, ")")) {
        if (at_keyword(p)) {
            keyword(p, e);
        } else {
            if (e->n_keywords)
                parser_fail(p, "values come before keywords in a call");
            if (e->n_args == CALL_ARGS_MAX)
                parser_fail(p, "no function takes more than %d values", CALL_ARGS_MAX);
            add_arg(p, e, argument(p));
        }
        if (!parser_take(p, ","))
            break;
    }
    parser_close(p, ")");
    return e;
}

// primary = number | name | call | "(" expr ")"
static struct expr *primary(struct parser *p) {
    struct spot at = p->token.at;
    if (parser_at(p, "(")) {
        enter(p);
        parser_open(p, "(");
        struct expr *e = parser_expr(p);
        parser_close(p, ")");
        p->nesting--;
        return e;
    }
    if (p->token.kind == TOKEN_NUMBER) {
        parser_advance(p);
        struct expr *e = new_expr(p, EXPR_NUMBER, at, parser_text(p));
        e->number = strtod(e->text, NULL);
        return e;
    }
    if (p->token.kind != TOKEN_NAME)
        parser_fail(p, "expected a value: a name, a number or '('");
    struct expr *e = new_expr(p, EXPR_NAME, at, parser_name(p, "a name"));
    if (!parser_at(p, "("))
        return e;
    enter(p);
    call(p, e);
    p->nesting--;
    return e;
}

// item = "None" | sum | [sum] ":" [sum] [":" [sum]]
static struct subscript subscript_item(struct parser *p) {
    struct subscript s = {.at = p->token.at, .kind = SUBSCRIPT_INDEX};
    if (p->token.kind == TOKEN_NAME && span_is(p->token.text, "None")) {
        parser_advance(p);
        s.kind = SUBSCRIPT_NEW;
        return s;
    }
    if (!parser_at(p, ":"))
        s.start = parser_sum(p);
    if (!parser_take(p, ":"))
        return s;
    s.kind = SUBSCRIPT_SLICE;
    if (!parser_at(p, ":") && !parser_at(p, ",") && !parser_at(p, "]"))
        s.stop = parser_sum(p);
    if (parser_take(p, ":") && !parser_at(p, ",") && !parser_at(p, "]"))
        s.step = parser_sum(p);
    return s;
}

// subscript = "[" item ("," item)* "]"
struct expr *parser_subscript(struct parser *p, struct expr *base) {
    struct expr *e = new_expr(p, EXPR_SUBSCRIPT, p->token.at, NULL);
    add_arg(p, e, base);
    e->subscripts = arena_array(p->arena, struct subscript, SUBSCRIPTS_MAX);
    enter(p);
    parser_open(p, "[");
    do {
        if (e->n_subscripts == SUBSCRIPTS_MAX)
            parser_fail(p, "no value has more than %d axes", RANK_MAX);
        e->subscripts[e->n_subscripts++] = subscript_item(p);
    } while (parser_take(p, ","));
    parser_close(p, "]");
    p->nesting--;
    return e;
}

// postfix = primary (".T" | subscript)*
static struct expr *postfix(struct parser *p) {
    struct expr *e = primary(p);
    for (;;) {
        struct spot at = p->token.at;
        if (parser_at(p, "[")) {
            e = parser_subscript(p, e);
        } else if (parser_take(p, ".")) {
            if (p->token.kind != TOKEN_NAME || !span_is(p->token.text, "T"))
                parser_fail(p, e->kind == EXPR_NUMBER
                                   ? "expected a digit: write 1.0, not 1."
                                   : "only '.T' (transpose) is known after '.'; functions stand "
                                     "alone, as in sum(x)");
            parser_advance(p);
            struct expr *t = new_expr(p, EXPR_TRANSPOSE, at, NULL);
            add_arg(p, t, e);
            e = t;
        } else {
            return e;
        }
    }
}

static struct expr *binary(struct parser *p, struct spot at, struct expr *left,
                           struct expr *(*right)(struct parser *)) {
    struct expr *e = new_expr(p, EXPR_BINARY, at, parser_text(p));
    add_arg(p, e, left);
    add_arg(p, e, right(p));
    return e;
}

static struct expr *unary(struct parser *p);

// power = postfix ["**" unary]
static struct expr *power(struct parser *p) {
    struct expr *e = postfix(p);
    struct spot at = p->token.at;
    if (!parser_take(p, "**"))
        return e;
    enter(p);
    e = binary(p, at, e, unary);
    p->nesting--;
    return e;
}

// unary = "-" unary | power
static struct expr *unary(struct parser *p) {
    struct spot at = p->token.at;
    if (!parser_take(p, "-"))
        return power(p);
    enter(p);
    struct expr *e = new_expr(p, EXPR_NEGATE, at, NULL);
    add_arg(p, e, unary(p));
    p->nesting--;
    return e;
}

// product = unary (("*" | "/" | "//" | "%" | "@") unary)*
static struct expr *product(struct parser *p) {
    struct expr *e = unary(p);
    for (;;) {
        struct spot at = p->token.at;
        if (!parser_take(p, "*") && !parser_take(p, "/") && !parser_take(p, "//") &&
            !parser_take(p, "%") && !parser_take(p, "@"))
            return e;
        e = binary(p, at, e, unary);
    }
}

// sum = product (("+" | "-") product)*
struct expr *parser_sum(struct parser *p) {
    struct expr *e = product(p);
    for (;;) {
        struct spot at = p->token.at;
        if (!parser_take(p, "+") && !parser_take(p, "-"))
            return e;
        e = binary(p, at, e, product);
    }
}

// comparison = "<" | "<=" | "==" | "!=" | ">" | ">="
static bool take_comparison(struct parser *p) {
    return parser_take(p, "<") || parser_take(p, "<=") || parser_take(p, "==") ||
           parser_take(p, ">") || parser_take(p, ">=") || parser_take(p, "!=");
}

// expr = sum [comparison sum]
struct expr *parser_expr(struct parser *p) {
    struct expr *e = parser_sum(p);
    struct spot at = p->token.at;
    if (!take_comparison(p))
        return e;
    e = binary(p, at, e, parser_sum);
    at = p->token.at;
    if (take_comparison(p))
        mistake_fail(p->mistakes, at, NULL,
                     "comparisons do not chain; write logical_and(a < b, b < c)");
    return e;
}
