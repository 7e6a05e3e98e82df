// A call opens a frame: names of its own (parameters, then every statement's value), the axes
// it was given, and the label under which its parts stand. The body is read anew for each
// call, and every expression in it is moved to the place of the call, so that a mistake shows
// there.
#include "lang/composite.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "lang/call.h"
#include "lang/names.h"
#include "lang/parser.h"

struct composite {
    const char *name, *values, *keywords, *body;
};

static const struct composite composites[] = {
#define COMPOSITE(name, values, keywords, body) {name, values, keywords, body},
#include "lang/composites.def"
#undef COMPOSITE
};

enum { N_COMPOSITES = sizeof composites / sizeof *composites, COMPOSITE_KEYWORDS = 4 };

bool composite_is(const char *name) {
    for (int i = 0; i < N_COMPOSITES; i++)
        if (strcmp(composites[i].name, name) == 0)
            return true;
    return false;
}

// ---- words of a row

// Word `i` of a list with spaces between, or NULL.
static const char *word(struct arena *a, const char *list, int i) {
    for (; i > 0 && *list; i--) {
        list += strcspn(list, " ");
        list += *list == ' ';
    }
    return *list ? arena_strndup(a, list, strcspn(list, " ")) : NULL;
}

static int n_words(const char *list) {
    int n = *list != 0;
    for (; *list; list++)
        n += *list == ' ';
    return n;
}

static bool takes(const struct composite *c, const char *keyword) {
    size_t len = strlen(keyword);
    for (const char *at = c->keywords; *at; at += *at == ' ') {
        size_t n = strcspn(at, " ");
        if (n >= len && strncmp(at, keyword, len) == 0 && strchr("= ", at[len]))
            return true;
        at += n;
    }
    return false;
}

// "layernorm(x, weight, bias, axis=-1, eps=1e-5)"
static const char *usage(struct arena *a, const struct composite *c) {
    struct str out = {0};
    str_printf(&out, "%s(", c->name);
    for (int i = 0; i < n_words(c->values); i++)
        str_printf(&out, "%s%s", i ? ", " : "", word(a, c->values, i));
    for (int i = 0; i < n_words(c->keywords); i++) {
        const char *k = word(a, c->keywords, i);
        str_printf(&out, ", %s%s", k, strchr(k, '=') ? "" : "=false");
    }
    str_puts(&out, ")");
    return str_take(a, &out);
}

// Where no row has as many values: the one with the most, whose keywords take the others in their
// order. NULL: there is none.
static const struct composite *choose_by_position(const struct builder *b, const struct expr *e) {
    const struct composite *best = NULL;
    int n_plain = 0;
    while (n_plain < e->n_args && call_is_plain(b, e->args[e->n_args - 1 - n_plain]))
        n_plain++;
    for (int i = 0; i < N_COMPOSITES; i++) {
        const struct composite *c = &composites[i];
        int n_values = n_words(c->values);
        if (strcmp(c->name, e->text) == 0 && n_values < e->n_args &&
            n_values + n_plain >= e->n_args && n_values + n_words(c->keywords) >= e->n_args &&
            (!best || n_values > n_words(best->values)))
            best = c;
    }
    return best;
}

static const struct expr *by_position(struct builder *b, const struct composite *c,
                                      const struct expr *e) {
    const char *names[COMPOSITE_KEYWORDS + 1] = {NULL};
    for (int i = 0; i < n_words(c->keywords); i++) {
        const char *k = word(b->arena, c->keywords, i);
        names[i] = arena_strndup(b->arena, k, strcspn(k, "="));
    }
    return call_by_position(b, e, n_words(c->values), names);
}

// The row of that name with as many values as are given.
static const struct composite *choose(struct builder *b, const struct expr *e) {
    struct str usages = {0};
    int n_rows = 0, n_values = 0;
    for (int i = 0; i < N_COMPOSITES; i++) {
        if (strcmp(composites[i].name, e->text) != 0)
            continue;
        if (n_words(composites[i].values) == e->n_args) {
            str_reset(&usages);
            return &composites[i];
        }
        n_rows++;
        n_values = n_words(composites[i].values);
        str_printf(&usages, "%s%s", usages.len ? " or " : "", usage(b->arena, &composites[i]));
    }
    const char *text = str_take(b->arena, &usages);
    const struct composite *best = choose_by_position(b, e);
    if (best)
        return best;
    if (n_rows == 1)
        mistake_fail(b->mistakes, e->at, NULL, "%s() takes %d value%s, not %d: %s", e->text,
                     n_values, n_values == 1 ? "" : "s", e->n_args, text);
    mistake_fail(b->mistakes, e->at, NULL, "%s() takes other values than %d: %s", e->text,
                 e->n_args, text);
}

// ---- the frame

static struct symbol *bind(struct builder *b, struct frame *f, const char *name, struct operand x) {
    struct symbol *s = names_find(f->names, name);
    if (!s)
        s = names_add(b->arena, f->names, name);
    s->kind = x.is_number ? SYMBOL_NUMBER : SYMBOL_VALUE;
    s->node = x.node;
    s->number = x.number;
    s->is_whole = x.is_whole;
    return s;
}

static void bind_size(struct builder *b, struct frame *f, const char *name, int64_t size) {
    bind(b, f, name, (struct operand){.is_number = true, .is_whole = true, .number = (double)size});
}

// In a body a mean may meet a scalar: the loss of a single vector. It is the mean of one element.
static struct operand with_an_axis(struct builder *b, const struct composite *c,
                                   const struct label *l, struct operand x) {
    bool takes_all = strstr(c->keywords, "axis=all") != NULL;
    if (!b->frame || !takes_all || build_get(b, x.node)->shape.rank > 0)
        return x;
    return build_unreduce(b, l, x.node, &(struct shape){.rank = 1, .size = {1}, .dim = {-1}}, 1);
}

static void bind_values(struct value_scope *s, struct frame *f, const struct composite *c,
                        const struct expr *e) {
    struct builder *b = &s->builder;
    for (int i = 0; i < e->n_args; i++) {
        const char *name = word(b->arena, c->values, i);
        struct operand x = value_operand(s, &(struct label){.at = e->args[i]->at}, e->args[i]);
        // The first value has a shape; others may stay numbers.
        struct label at = {.at = e->args[i]->at};
        if (i == 0)
            x = with_an_axis(b, c, &at, (struct operand){.node = build_node(b, &at, x)});
        bind(b, f, name, x);
        if (x.is_number)
            continue;
        const struct shape *shape = &build_get(b, x.node)->shape;
        if (i == 0)
            f->first = x.node;
        if (shape->rank > 0) {
            bind_size(b, f, arena_printf(b->arena, "last_%s", name), shape->size[shape->rank - 1]);
            bind_size(b, f, arena_printf(b->arena, "first_%s", name), shape->size[0]);
        }
        if (shape->rank > 1)
            bind_size(b, f, arena_printf(b->arena, "rows_%s", name), shape->size[shape->rank - 2]);
    }
}

static const struct keyword *find_keyword(const struct expr *e, const char *name) {
    for (int i = 0; i < e->n_keywords; i++)
        if (strcmp(e->keywords[i].name, name) == 0)
            return &e->keywords[i];
    return NULL;
}

static void check_keywords(struct builder *b, const struct composite *c, const struct expr *e) {
    const char *names[COMPOSITE_KEYWORDS + 1] = {NULL};
    for (int i = 0; i < n_words(c->keywords); i++) {
        const char *k = word(b->arena, c->keywords, i);
        names[i] = arena_strndup(b->arena, k, strcspn(k, "="));
    }
    for (int i = 0; i < e->n_keywords; i++) {
        const struct keyword *k = &e->keywords[i];
        bool is_tanh = strcmp(c->name, "gelu") == 0 && strcmp(k->name, "approximate") == 0;
        if (!takes(c, k->name))
            mistake_fail(b->mistakes, k->at,
                         is_tanh ? "gelu_tanh(x)" : call_near_keyword(k->name, names),
                         "%s() has no keyword '%s'", e->text, k->name);
        if (find_keyword(e, k->name) != k)
            mistake_fail(b->mistakes, k->at, NULL, "'%s' is given twice", k->name);
    }
}

// axis=: of the first value; the default as the row says.
static unsigned read_axis(struct builder *b, const struct composite *c, const struct expr *e,
                          const char *otherwise, node_id first) {
    const struct shape *s = &build_get(b, first)->shape;
    const struct keyword *k = find_keyword(e, "axis");
    if (s->rank == 0)
        mistake_fail(b->mistakes, e->at, NULL, "%s() needs a value with at least one axis",
                     c->name);
    if (k)
        return call_axes(b, k, s);
    if (strcmp(otherwise, "all") == 0)
        return (1u << s->rank) - 1;
    int axis = (int)strtol(otherwise, NULL, 10);
    if (axis >= s->rank)
        mistake_fail(b->mistakes, e->at, NULL, "%s() goes along axis %d, and this value is %s",
                     c->name, axis, build_type_text(b, build_get(b, first)));
    return 1u << (axis < 0 ? axis + s->rank : axis);
}

static void bind_axis(struct builder *b, struct frame *f, unsigned axes) {
    const struct shape *s = &build_get(b, f->first)->shape;
    int64_t count = 1;
    f->axes = axes;
    for (int i = 0; i < s->rank; i++)
        count *= axes >> i & 1 ? s->size[i] : 1;
    bind_size(b, f, "count", count);
}

static bool read_flag(struct builder *b, const struct keyword *k) {
    int truth = k && k->value->kind == EXPR_NAME ? names_truth(k->value->text) : -1;
    if (k && truth < 0)
        mistake_fail(b->mistakes, k->at, NULL, "%s is true or false", k->name);
    return truth > 0;
}

static void bind_keywords(struct value_scope *s, struct frame *f, const struct composite *c,
                          const struct expr *e) {
    struct builder *b = &s->builder;
    for (int i = 0; i < n_words(c->keywords); i++) {
        const char *text = word(b->arena, c->keywords, i), *equals = strchr(text, '=');
        const char *name = arena_strndup(b->arena, text, strcspn(text, "="));
        const struct keyword *k = find_keyword(e, name);
        if (!equals) {
            f->keepdims = read_flag(b, k);
        } else if (strcmp(name, "axis") == 0) {
            bind_axis(b, f, read_axis(b, c, e, equals + 1, f->first));
        } else {
            struct operand x = {.is_number = true, .number = strtod(equals + 1, NULL)};
            x.is_whole = !strpbrk(equals + 1, ".e");
            if (k)
                x = value_operand(s, &(struct label){.at = k->at}, k->value);
            if (!x.is_number)
                mistake_fail(b->mistakes, k->at, NULL, "%s is a number, not a value", name);
            bind(b, f, name, x);
        }
    }
}

// ---- the body

static void move_to(struct expr *e, struct spot at) {
    e->at = at;
    for (int i = 0; i < e->n_args; i++)
        move_to(e->args[i], at);
    for (int i = 0; i < e->n_keywords; i++) {
        e->keywords[i].at = at;
        for (int j = 0; j < e->keywords[i].n_items; j++)
            e->keywords[i].items[j].at = at;
        move_to(e->keywords[i].value, at);
    }
    for (int i = 0; i < e->n_subscripts; i++)
        e->subscripts[i].at = at;
}

// One statement of a body: its name, or NULL for the result.
static struct expr *read_line(struct builder *b, const char *line, size_t len, const char **name) {
    struct parser p = {.arena = b->arena, .mistakes = b->mistakes};
    size_t until = strcspn(line, " ");
    bool has_name = strncmp(line + until, " = ", 3) == 0 && until + 3 < len;
    *name = has_name ? arena_strndup(b->arena, line, until) : NULL;
    size_t skip = has_name ? until + 3 : 0;
    lexer_init(&p.lexer, line + skip, len - skip);
    p.comments_end = &p.comments;
    parser_advance(&p);
    struct expr *e = parser_expr(&p);
    assert(p.token.kind == TOKEN_END);
    return e;
}

// A reduced result as `keepdims` wants it.
static struct operand keep_axes(struct builder *b, const struct frame *f, const struct label *l,
                                struct operand x) {
    struct shape shape = build_get(b, f->first)->shape;
    for (int i = 0; i < shape.rank; i++)
        if (f->axes >> i & 1) {
            shape.size[i] = 1;
            shape.dim[i] = -1;
        }
    return build_unreduce(b, l, x.node, &shape, f->axes);
}

static struct operand run_body(struct value_scope *s, struct frame *f, const struct composite *c,
                               const struct label *l) {
    struct builder *b = &s->builder;
    for (const char *line = c->body;; line += strcspn(line, "\n") + 1) {
        size_t len = strcspn(line, "\n");
        const char *name;
        struct expr *e = read_line(b, line, len, &name);
        move_to(e, l->at);
        struct label part = *l;
        bool is_last = !line[len];
        if (!is_last || f->keepdims)
            part.name = arena_printf(b->arena, "%s.%s", l->name, is_last ? c->name : name);
        struct operand x = value_operand(s, &part, e);
        if (!is_last)
            bind(b, f, name, x);
        else
            return f->keepdims ? keep_axes(b, f, l, x) : x;
    }
}

struct operand composite_build(struct value_scope *s, const struct label *l, const struct expr *e) {
    struct builder *b = &s->builder;
    const struct composite *c = choose(b, e);
    if (n_words(c->values) < e->n_args)
        e = by_position(b, c, e);
    struct names names = {0};
    struct frame frame = {.names = &names, .outer = b->frame, .composite = c->name, .first = -1};
    struct label own = *l;
    if (b->frame && b->frame->composite)
        frame.composite = b->frame->composite;
    check_keywords(b, c, e);
    bind_values(s, &frame, c, e);
    bind_keywords(s, &frame, c, e);
    if (!own.name)
        own.name = build_part_name(b);
    own.composite = frame.composite;
    frame.name = own.name;
    b->frame = &frame;
    struct operand x = run_body(s, &frame, c, &own);
    b->frame = frame.outer;
    return x;
}

// ---- what only bodies can say

static const char *const inner_names[] = {"back", "along", "like", "swap", NULL};

bool composite_is_inner(const struct value_scope *s, const char *name) {
    for (int i = 0; s->builder.frame && inner_names[i]; i++)
        if (strcmp(inner_names[i], name) == 0)
            return true;
    return false;
}

static struct operand along(struct builder *b, const struct label *l, node_id id,
                            const struct shape *like) {
    const struct node *n = build_get(b, id);
    int axis = __builtin_ctz(b->frame->axes), view[RANK_MAX];
    if (n->shape.rank != 1 || n->shape.size[0] != like->size[axis])
        mistake_fail(b->mistakes, l->at, NULL,
                     "%s() takes vectors of %lld elements along axis %d, and one is %s",
                     b->frame->composite, (long long)like->size[axis], axis, build_type_text(b, n));
    for (int i = 0; i < like->rank; i++)
        view[i] = i == axis ? 0 : -1;
    return build_view(b, l, id, like, view);
}

static struct operand swap(struct builder *b, const struct label *l, node_id id) {
    struct shape s = build_get(b, id)->shape;
    int view[RANK_MAX] = {0, 1, 2, 3, 4, 5}, last = s.rank - 1;
    if (s.rank < 2)
        mistake_fail(b->mistakes, l->at, NULL, "%s() takes matrices, and one is %s",
                     b->frame->composite, build_type_text(b, build_get(b, id)));
    struct shape to = s;
    to.size[last] = s.size[last - 1], to.dim[last] = s.dim[last - 1];
    to.size[last - 1] = s.size[last], to.dim[last - 1] = s.dim[last];
    view[last] = last - 1;
    view[last - 1] = last;
    return build_view(b, l, id, &to, view);
}

struct operand composite_inner(struct value_scope *s, const struct label *l, const struct expr *e) {
    struct builder *b = &s->builder;
    assert(e->n_args == 1);
    struct label part = {.at = e->at};
    struct operand x = value_operand(s, &part, e->args[0]);
    // A number is the same everywhere.
    if (x.is_number)
        return x;
    struct shape like = build_get(b, b->frame->first)->shape;
    if (strcmp(e->text, "back") == 0)
        return build_unreduce(b, l, x.node, &like, b->frame->axes);
    if (strcmp(e->text, "along") == 0)
        return along(b, l, x.node, &like);
    if (strcmp(e->text, "swap") == 0)
        return swap(b, l, x.node);
    struct node n = {
        .op = OP_RESHAPE, .dtype = build_get(b, x.node)->dtype, .shape = like, .arg = {x.node}};
    return build_add(b, l, n);
}
