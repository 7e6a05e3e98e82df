// Statements. A mistake ends its statement; reading goes on at the next line.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "lang/lang.h"
#include "lang/parser.h"

// In the order of enum statement_kind.
static const char *const keywords[] = {"problem", "dim",       "in",    "param", "out", "kernel",
                                       "stage",   "precision", "order", "for",   NULL};

// Where something is missing: at the next token, or right after the last one when the
// next stands on a later line and so belongs to something else.
static struct spot missing_at(const struct parser *p) {
    struct spot at = p->token.at;
    if (p->last.text.ptr && p->last.at.at.line < at.at.line) {
        at = p->last.at;
        at.ptr += p->last.text.len;
        at.at.column += (int)p->last.text.len;
    }
    return at;
}

void parser_fail(struct parser *p, const char *fmt, ...) {
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    mistake_fail(p->mistakes, missing_at(p), NULL, "%s", text);
}

static void keep_comment(struct parser *p, struct token t) {
    struct comment *c = arena_new(p->arena, struct comment);
    while (t.text.len && strchr(" \t\r", t.text.ptr[t.text.len - 1]))
        t.text.len--;
    c->text = arena_strndup(p->arena, t.text.ptr, t.text.len);
    *p->comments_end = c;
    p->comments_end = &c->next;
    p->comment_line = t.at.at.line;
    p->comment_column = t.at.at.column;
}

void parser_advance(struct parser *p) {
    p->last = p->token;
    do {
        p->token = lexer_next(&p->lexer);
        if (p->token.kind == TOKEN_COMMENT)
            keep_comment(p, p->token);
    } while (p->token.kind == TOKEN_COMMENT || (p->depth > 0 && p->token.kind == TOKEN_NEWLINE));
    if (p->token.kind == TOKEN_BAD)
        mistake_fail(p->mistakes, p->token.at, NULL, "%s", p->token.problem);
    if (++p->n_words > STATEMENT_WORDS)
        parser_fail(p, "this statement has more than %d words; give parts of it names",
                    STATEMENT_WORDS);
}

bool parser_at(const struct parser *p, const char *punct) {
    return p->token.kind == TOKEN_PUNCT && span_is(p->token.text, punct);
}

bool parser_take(struct parser *p, const char *punct) {
    if (!parser_at(p, punct))
        return false;
    parser_advance(p);
    return true;
}

void parser_expect(struct parser *p, const char *punct) {
    if (!parser_take(p, punct))
        parser_fail(p, "expected '%s'", punct);
}

void parser_open(struct parser *p, const char *punct) {
    p->depth++;
    parser_expect(p, punct);
}

void parser_close(struct parser *p, const char *punct) {
    if (!parser_at(p, punct))
        parser_fail(p, "expected '%s'", punct);
    p->depth--;
    parser_advance(p);
}

const char *parser_text(struct parser *p) {
    return arena_strndup(p->arena, p->last.text.ptr, p->last.text.len);
}

const char *parser_name(struct parser *p, const char *what) {
    if (p->token.kind != TOKEN_NAME)
        parser_fail(p, "expected %s", what);
    parser_advance(p);
    return parser_text(p);
}

static void statement_name(struct parser *p, struct statement *s, const char *what) {
    s->name_at = p->token.at;
    s->name = parser_name(p, what);
}

// dim = "dim" name "=" sum ("," name "=" sum)*
static void dim_statement(struct parser *p, struct statement *s) {
    struct dim_syntax **end = &s->dims;
    do {
        struct dim_syntax *d = arena_new(p->arena, struct dim_syntax);
        d->at = p->token.at;
        d->name = parser_name(p, "a dim's name");
        *end = d;
        end = &d->next;
        parser_expect(p, "=");
        d->size = parser_sum(p);
    } while (parser_take(p, ","));
}

// type = name ["[" [sum ("," sum)*] "]"]
static void type(struct parser *p, struct type_syntax *t) {
    t->at = p->token.at;
    t->name = parser_name(p, "a type, such as f32[M, N]");
    if (!parser_at(p, "["))
        return;
    parser_open(p, "[");
    while (!parser_at(p, "]")) {
        if (t->rank == RANK_MAX)
            parser_fail(p, "no value has more than %d axes", RANK_MAX);
        t->sizes[t->rank++] = parser_sum(p);
        if (!parser_take(p, ","))
            break;
    }
    parser_close(p, "]");
}

// distribution = name ["(" sum ("," sum)* ")"]
static void distribution(struct parser *p, struct distribution_syntax *d) {
    d->at = p->token.at;
    d->name = parser_name(p, "a distribution, such as normal or uniform(a, b)");
    if (!parser_at(p, "("))
        return;
    parser_open(p, "(");
    do {
        if (d->n_args == 2)
            parser_fail(p, "no distribution takes more than two numbers");
        d->args[d->n_args++] = parser_sum(p);
    } while (parser_take(p, ","));
    parser_close(p, ")");
}

static bool at_word(const struct parser *p, const char *word) {
    return p->token.kind == TOKEN_NAME && span_is(p->token.text, word);
}

// hidden = name [":" type] "~" distribution
// made = expr "where" hidden ("," hidden)*
static void made(struct parser *p, struct statement *s) {
    struct hidden_syntax **end = &s->hidden;
    s->value = parser_expr(p);
    if (!at_word(p, "where"))
        parser_fail(p, "expected 'where', and what the value is drawn from: where u ~ normal");
    parser_advance(p);
    do {
        struct hidden_syntax *h = arena_new(p->arena, struct hidden_syntax);
        h->at = p->token.at;
        h->name = parser_name(p, "the name of a draw");
        if (parser_take(p, ":"))
            type(p, &h->type);
        parser_expect(p, "~");
        distribution(p, &h->distribution);
        *end = h;
        end = &h->next;
    } while (parser_take(p, ","));
}

// promise = "triangular" ("upper" | "lower") | "diagonal" | "symmetric"
static void promise(struct parser *p, struct promise_syntax *m) {
    m->at = p->token.at;
    for (int i = 0; i < 2 && p->token.kind == TOKEN_NAME; i++)
        m->words[i] = parser_name(p, "a word");
}

// declaration = ("in" | "param" | "out") name ":" type [promise] ["~" distribution | "=" made]
static void declaration(struct parser *p, struct statement *s) {
    statement_name(p, s, "a name");
    parser_expect(p, ":");
    type(p, &s->type);
    promise(p, &s->promise);
    if (s->kind == STATEMENT_OUT && parser_at(p, "~"))
        parser_fail(p, "an output has no distribution; only 'in' and 'param' do");
    if (s->kind == STATEMENT_OUT && s->promise.words[0])
        mistake_fail(p->mistakes, s->promise.at, NULL,
                     "an output promises nothing; only 'in' and 'param' do");
    if (s->kind == STATEMENT_OUT && parser_at(p, "="))
        parser_fail(p, "an output is assigned by a statement of its own: %s = ...", s->name);
    if (parser_take(p, "~"))
        distribution(p, &s->distribution);
    else if (parser_take(p, "="))
        made(p, s);
}

// precision = "precision" name ["exact" | "accumulate" name]
// order = "order" "any"
static void word_statement(struct parser *p, struct statement *s) {
    for (int i = 0; i < 3 && p->token.kind == TOKEN_NAME; i++)
        s->words[i] = parser_name(p, "a word");
}

// kernel = "kernel" "for" name "on" name
static void kernel_statement(struct parser *p, struct statement *s) {
    if (p->token.kind != TOKEN_NAME || !span_is(p->token.text, "for"))
        parser_fail(p, "expected 'for': kernel for PROBLEM on TARGET");
    parser_advance(p);
    statement_name(p, s, "the problem's name");
    if (p->token.kind != TOKEN_NAME || !span_is(p->token.text, "on"))
        parser_fail(p, "expected 'on': kernel for PROBLEM on TARGET");
    parser_advance(p);
    s->target_at = p->token.at;
    s->target = parser_name(p, "a target, such as cpu");
}

// state = name [":" type] "=" sum
static struct state_syntax *state(struct parser *p) {
    struct state_syntax *st = arena_new(p->arena, struct state_syntax);
    st->at = p->token.at;
    st->name = parser_name(p, "the name of a state");
    if (parser_take(p, ":"))
        type(p, &st->type);
    parser_expect(p, "=");
    st->value = parser_expr(p);
    return st;
}

// for = "for" name "in" sum "with" state ("," state)* ":"
static void for_statement(struct parser *p, struct statement *s) {
    struct state_syntax **end = &s->states;
    p->loop_column = s->at.at.column;
    statement_name(p, s, "what counts the steps: for t in T with h = h0:");
    if (!at_word(p, "in"))
        parser_fail(p, "expected 'in': for t in T with h = h0:");
    parser_advance(p);
    s->value = parser_sum(p);
    if (!at_word(p, "with"))
        parser_fail(p, "expected 'with', and what goes from step to step: for t in T with h = h0:");
    parser_advance(p);
    do {
        *end = state(p);
        end = &(*end)->next;
    } while (parser_take(p, ","));
    parser_expect(p, ":");
}

// assignment = name [subscript] [":" type] "=" expr
static void assignment(struct parser *p, struct statement *s) {
    if (p->token.kind == TOKEN_NAME) {
        const char *near = str_nearest(s->name, keywords);
        mistake_fail(p->mistakes, s->at, near, "no statement begins with '%s'", s->name);
    }
    if (parser_at(p, "[") && s->in_loop)
        s->part = parser_subscript(p, parser_name_expr(p, s->at, s->name));
    if (parser_take(p, ":"))
        type(p, &s->type);
    parser_expect(p, "=");
    s->value = parser_expr(p);
}

// Something follows where a statement is over: often a word of Python.
static noreturn void fail_at_rest(struct parser *p) {
    static const char *const words[][2] = {
        {"and", "logical_and(a, b)"}, {"or", "logical_or(a, b)"}, {"if", "where(c, a, b)"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (p->token.kind == TOKEN_NAME && span_is(p->token.text, words[i][0]))
            parser_fail(p, "'%s' is written as a function here: %s", words[i][0], words[i][1]);
    parser_fail(p, "expected the end of the line");
}

// A statement further right than the `for` before it belongs to it; any other ends it.
static void place_in_loop(struct parser *p, struct statement *s) {
    s->in_loop = p->loop_column && s->at.at.column > p->loop_column;
    if (!s->in_loop)
        p->loop_column = 0;
}

// statement = "problem" name | dim | declaration | precision | order | kernel | stage | for |
//             assignment
static void statement_body(struct parser *p, struct statement *s) {
    if (p->token.kind != TOKEN_NAME)
        parser_fail(p, "expected a statement: problem, dim, in, param, out, kernel, stage, or "
                       "name = expression");
    s->name_at = s->at;
    const char *word = parser_name(p, "a statement");
    int i = 0;
    while (keywords[i] && strcmp(keywords[i], word) != 0)
        i++;
    s->kind = STATEMENT_PROBLEM + i;  // the end of the list is STATEMENT_ASSIGN
    // A value may be called `order`.
    bool is_word = s->kind == STATEMENT_PRECISION || s->kind == STATEMENT_ORDER;
    if (is_word && (parser_at(p, "=") || parser_at(p, ":") || parser_at(p, "[")))
        s->kind = STATEMENT_ASSIGN;
    if (s->in_loop && s->kind != STATEMENT_ASSIGN)
        mistake_fail(p->mistakes, s->at, NULL,
                     "only values stand in a loop, and '%s' is no value; what comes after the loop "
                     "begins where its 'for' does",
                     word);
    switch (s->kind) {
    case STATEMENT_PROBLEM:
        statement_name(p, s, "the problem's name");
        break;
    case STATEMENT_DIM:
        dim_statement(p, s);
        break;
    case STATEMENT_KERNEL:
        kernel_statement(p, s);
        break;
    case STATEMENT_STAGE:
        s->stage = parser_stage(p, s->at);
        break;
    case STATEMENT_PRECISION:
    case STATEMENT_ORDER:
        word_statement(p, s);
        break;
    case STATEMENT_FOR:
        for_statement(p, s);
        break;
    case STATEMENT_ASSIGN:
        s->name = word;
        assignment(p, s);
        break;
    default:
        declaration(p, s);
    }
    if (p->token.kind != TOKEN_NEWLINE && p->token.kind != TOKEN_END)
        fail_at_rest(p);
}

// Go to the end of the line on which the statement stopped making sense.
static void skip_line(struct parser *p) {
    struct spot at = missing_at(p);
    if (at.at.line < p->token.at.at.line) {
        // The token belongs to a later line: read that one again.
        p->lexer.at = at.ptr;
        p->lexer.line = at.at.line;
        p->lexer.line_start = at.ptr - (at.at.column - 1);
    } else if (p->token.kind == TOKEN_NEWLINE || p->token.kind == TOKEN_END) {
        return;
    }
    do {
        p->token = lexer_next(&p->lexer);
    } while (p->token.kind != TOKEN_NEWLINE && p->token.kind != TOKEN_END);
}

// One statement, up to the newline that ends it. False: a mistake was recorded.
static bool statement(struct parser *p, struct statement *s) {
    jmp_buf on_mistake;
    p->mistakes->on_mistake = &on_mistake;
    if (setjmp(on_mistake)) {
        s->kind = STATEMENT_BAD;
        return false;
    }
    s->in_loop = p->loop_column != 0;  // of a word that cannot be read
    parser_advance(p);
    s->at = p->token.at;
    if (p->token.kind == TOKEN_NEWLINE || p->token.kind == TOKEN_END) {
        s->kind = p->comments ? STATEMENT_COMMENT : STATEMENT_BLANK;
        s->in_loop = p->loop_column && p->comment_column > p->loop_column;
        return true;
    }
    place_in_loop(p, s);
    statement_body(p, s);
    return true;
}

// Comments seen within the statement: the last one stands after it when it shares a line
// with the newline that ended it.
static void take_comments(struct parser *p, struct statement *s) {
    struct comment **last = &p->comments;
    if (p->comments && p->comment_line == p->token.at.at.line) {
        while ((*last)->next)
            last = &(*last)->next;
        s->comment = (*last)->text;
        *last = NULL;
    }
    s->inside = p->comments;
}

// file = ([statement] [comment] newline)*
struct statement *parse_file(struct arena *a, struct mistakes *m) {
    struct parser p = {.arena = a, .mistakes = m};
    lexer_init(&p.lexer, m->source->text, m->source->len);
    struct statement *first = NULL, **end = &first;
    do {
        struct statement *s = arena_new(a, struct statement);
        p.comments = NULL;
        p.comments_end = &p.comments;
        p.depth = p.nesting = p.n_words = 0;
        p.token = (struct token){0};
        if (!statement(&p, s))
            skip_line(&p);
        take_comments(&p, s);
        *end = s;
        end = &s->next;
        p.n_file_words += p.n_words;
        if (p.n_file_words > FILE_WORDS) {
            mistake_add(m, s->at, NULL, "the file has more than %d words", FILE_WORDS);
            break;
        }
    } while (p.token.kind != TOKEN_END && !m->stopped);
    return first;
}
