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

static void add_arg(struct parser *p, struct expr *e, struct expr *arg) {
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

// item = ["-"] number | name
static struct keyword_item item(struct parser *p) {
    struct keyword_item it = {.at = p->token.at};
    bool negative = parser_take(p, "-");
    if (!negative && p->token.kind == TOKEN_NAME) {
        it.name = parser_name(p, "a name");
        return it;
    }
    if (p->token.kind != TOKEN_NUMBER)
        parser_fail(p, "expected a whole number or a dim's name");
    long long value;
    parser_advance(p);
    if (!str_to_int64(parser_text(p), &value))
        mistake_fail(p->mistakes, it.at, NULL, "expected a whole number");
    it.number = negative ? -value : value;
    return it;
}

// keyword = name "=" (item | "(" item ("," item)* ")")
static void keyword(struct parser *p, struct expr *call) {
    if (call->n_keywords == KEYWORDS_MAX)
        parser_fail(p, "too many keywords in one call");
    if (!call->keywords)
        call->keywords = arena_array(p->arena, struct keyword, KEYWORDS_MAX);
    struct keyword *k = &call->keywords[call->n_keywords++];
    k->at = p->token.at;
    k->name = parser_name(p, "a keyword");
    parser_expect(p, "=");
    if (!parser_at(p, "(")) {
        k->items[k->n_items++] = item(p);
        return;
    }
    parser_open(p, "(");
    do {
        if (k->n_items == RANK_MAX)
            parser_fail(p, "no value has more than %d axes", RANK_MAX);
        k->items[k->n_items++] = item(p);
    } while (parser_take(p, ","));
    k->is_list = k->n_items > 1;
    parser_close(p, ")");
}

static bool at_keyword(const struct parser *p) {
    struct lexer ahead = p->lexer;
    if (p->token.kind != TOKEN_NAME)
        return false;
    struct token t = lexer_next(&ahead);
    return t.kind == TOKEN_PUNCT && span_is(t.text, "=");
}

// call = name "(" [argument ("," argument)*] ")"
// argument = expr | keyword
static struct expr *call(struct parser *p, struct expr *e) {
    e->kind = EXPR_CALL;
    parser_open(p, "(");
    while (!parser_at(p, ")")) {
        if (at_keyword(p)) {
            keyword(p, e);
        } else {
            if (e->n_keywords)
                parser_fail(p, "values come before keywords in a call");
            if (e->n_args == ARGS_MAX)
                parser_fail(p, "no function takes more than %d values", ARGS_MAX);
            add_arg(p, e, parser_expr(p));
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

// subscript = "[" (":" | "None") ("," (":" | "None"))* "]"
static struct expr *subscript(struct parser *p, struct expr *base) {
    struct expr *e = new_expr(p, EXPR_SUBSCRIPT, p->token.at, NULL);
    add_arg(p, e, base);
    parser_open(p, "[");
    do {
        if (e->n_subscripts == SUBSCRIPTS_MAX)
            parser_fail(p, "no value has more than %d axes", RANK_MAX);
        bool is_new = p->token.kind == TOKEN_NAME && span_is(p->token.text, "None");
        if (is_new)
            parser_advance(p);
        else if (!parser_take(p, ":"))
            parser_fail(p, "only ':' and 'None' are known inside [ ]");
        e->is_new[e->n_subscripts++] = is_new;
    } while (parser_take(p, ","));
    parser_close(p, "]");
    return e;
}

// postfix = primary (".T" | subscript)*
static struct expr *postfix(struct parser *p) {
    struct expr *e = primary(p);
    for (;;) {
        struct spot at = p->token.at;
        if (parser_at(p, "[")) {
            e = subscript(p, e);
        } else if (parser_take(p, ".")) {
            if (p->token.kind != TOKEN_NAME || !span_is(p->token.text, "T"))
                parser_fail(p, e->kind == EXPR_NUMBER ? "expected a digit: write 1.0, not 1."
                                                      : "only '.T' (transpose) is known after '.'");
            parser_advance(p);
            struct expr *t = new_expr(p, EXPR_TRANSPOSE, at, NULL);
            add_arg(p, t, e);
            e = t;
        } else {
            return e;
        }
    }
}

// unary = "-" unary | postfix
static struct expr *unary(struct parser *p) {
    struct spot at = p->token.at;
    if (!parser_take(p, "-"))
        return postfix(p);
    enter(p);
    struct expr *e = new_expr(p, EXPR_NEGATE, at, NULL);
    add_arg(p, e, unary(p));
    p->nesting--;
    return e;
}

static struct expr *binary(struct parser *p, struct spot at, struct expr *left,
                           struct expr *(*right)(struct parser *)) {
    struct expr *e = new_expr(p, EXPR_BINARY, at, parser_text(p));
    add_arg(p, e, left);
    add_arg(p, e, right(p));
    return e;
}

// product = unary (("*" | "/" | "@") unary)*
static struct expr *product(struct parser *p) {
    struct expr *e = unary(p);
    for (;;) {
        struct spot at = p->token.at;
        if (parser_at(p, "**"))
            parser_fail(p, "'**' is not known; write x * x, or exp(a * log(x))");
        if (parser_at(p, "//"))
            parser_fail(p, "'//' is not known; '/' divides");
        if (!parser_take(p, "*") && !parser_take(p, "/") && !parser_take(p, "@"))
            return e;
        e = binary(p, at, e, unary);
    }
}

struct expr *parser_sum(struct parser *p) {
    struct expr *e = product(p);
    for (;;) {
        struct spot at = p->token.at;
        if (!parser_take(p, "+") && !parser_take(p, "-"))
            return e;
        e = binary(p, at, e, product);
    }
}

static bool take_comparison(struct parser *p) {
    return parser_take(p, "<") || parser_take(p, "<=") || parser_take(p, "==") ||
           parser_take(p, ">") || parser_take(p, ">=");
}

struct expr *parser_expr(struct parser *p) {
    struct expr *e = parser_sum(p);
    struct spot at = p->token.at;
    if (parser_at(p, "!="))
        parser_fail(p, "'!=' is not known; write where(a == b, no, yes)");
    if (!take_comparison(p))
        return e;
    e = binary(p, at, e, parser_sum);
    at = p->token.at;
    if (take_comparison(p))
        mistake_fail(p->mistakes, at, NULL,
                     "comparisons do not chain; write where(a < b, where(b < c, ...), ...)");
    return e;
}
