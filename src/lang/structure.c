// Arguments matched with the parameters of structure.def, then one builder per function
// (structure_*.c).
#include "lang/structure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "lang/call.h"
#include "lang/names.h"

struct structure {
    const char *name;
    int n_required, n_values;
    structure_fn build;
    const char *params;
};

// clang-format off
static const struct structure structures[] = {
#define STRUCTURE(name, required, values, build, params) {name, required, values, build, params},
#include "lang/structure.def"
#undef STRUCTURE
};
// clang-format on

static const struct structure *find(const char *name) {
    for (size_t i = 0; i < sizeof structures / sizeof *structures; i++)
        if (strcmp(structures[i].name, name) == 0)
            return &structures[i];
    return NULL;
}

bool structure_is(const char *name) {
    return find(name) != NULL;
}

void structure_fail(const struct structure_call *c, const struct expr *at, const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    mistake_fail(c->builder->mistakes, (at ? at : c->expr)->at, NULL, "%s", text);
}

// ---- matching arguments with parameters

// Parameter `i`, or NULL beyond the last.
static const char *param_name(struct arena *a, const struct structure *row, int i) {
    const char *at = row->params;
    for (; i > 0 && *at; i--) {
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    return *at ? arena_strndup(a, at, strcspn(at, " ")) : NULL;
}

static int find_param(struct arena *a, const struct structure *row, const char *name) {
    const char *param;
    for (int i = 0; (param = param_name(a, row, i)); i++)
        if (strcmp(param, name) == 0)
            return i;
    return -1;
}

// "conv1d(x, w, bias, stride, padding)"
static const char *usage(struct arena *a, const struct structure *row) {
    const char *text = arena_printf(a, "%s(%s", row->name, row->n_values < 0 ? "a, b, ..." : "");
    const char *param;
    for (int i = 0; (param = param_name(a, row, i)); i++)
        text = arena_printf(a, "%s%s%s%s", text, i || row->n_values < 0 ? ", " : "", param,
                            row->n_values < 0 ? "=" : "");
    return arena_printf(a, "%s)", text);
}

static void match_keyword(struct structure_call *c, const struct keyword *k) {
    struct arena *a = c->builder->arena;
    int at = find_param(a, c->row, k->name);
    const char *names[STRUCTURE_PARAMS_MAX + 1] = {NULL};
    for (int i = 0; i < STRUCTURE_PARAMS_MAX; i++)
        if (!(names[i] = param_name(a, c->row, i)))
            break;
    if (at < 0)
        mistake_fail(c->builder->mistakes, k->at, call_near_keyword(k->name, names),
                     "%s() has no keyword '%s'", c->row->name, k->name);
    if (c->given[at])
        mistake_fail(c->builder->mistakes, k->at, NULL, "'%s' is given twice", k->name);
    c->given[at] = k->value;
}

static void match(struct structure_call *c) {
    const struct structure *row = c->row;
    const struct expr *e = c->expr;
    struct arena *a = c->builder->arena;
    for (int i = 0; i < e->n_args && row->n_values >= 0; i++) {
        if (!param_name(a, row, i))
            structure_fail(c, e->args[i], "%s() takes no more than %s", row->name, usage(a, row));
        c->given[i] = e->args[i];
    }
    for (int i = 0; i < e->n_keywords; i++)
        match_keyword(c, &e->keywords[i]);
    if (row->n_values < 0 && e->n_args < row->n_required)
        structure_fail(c, NULL, "%s() takes more values: %s", row->name, usage(a, row));
    for (int i = 0; i < row->n_required && row->n_values >= 0; i++)
        if (!c->given[i])
            structure_fail(c, NULL, "%s() takes '%s' too: %s", row->name, param_name(a, row, i),
                           usage(a, row));
}

static node_id evaluate(struct structure_call *c, const struct expr *e) {
    struct label part = {.at = e->at};
    return build_node(c->builder, &part, value_operand(c->scope, &part, e));
}

struct operand structure_build(struct value_scope *s, const struct label *l, const struct expr *e) {
    struct structure_call c = {.scope = s, .builder = &s->builder, .label = *l, .expr = e};
    c.row = find(e->text);
    match(&c);
    bool any = c.row->n_values < 0;
    c.n_values = any ? e->n_args : c.row->n_values;
    for (int i = 0; i < c.n_values; i++) {
        const struct expr *value = any ? e->args[i] : c.given[i];
        // Only einsum takes a string among its values, as the first.
        bool is_spec = i == 0 && c.row->build == build_einsum && value->kind == EXPR_STRING;
        c.values[i] = !value || is_spec ? -1 : evaluate(&c, value);
    }
    if (!c.label.name)
        c.label.name = build_part_name(&s->builder);
    return c.row->build(&c);
}

// ---- parameters

const struct expr *structure_given(const struct structure_call *c, const char *param) {
    int i = find_param(c->builder->arena, c->row, param);
    return i < 0 ? NULL : c->given[i];
}

int64_t structure_whole(const struct structure_call *c, const char *param, int64_t otherwise) {
    const struct expr *e = structure_given(c, param);
    return e ? value_whole(c->scope, e) : otherwise;
}

double structure_number(const struct structure_call *c, const char *param, double otherwise) {
    const struct expr *e = structure_given(c, param);
    if (!e)
        return otherwise;
    const struct expr *digits = e->kind == EXPR_NEGATE ? e->args[0] : e;
    double sign = digits == e ? 1 : -1;
    if (digits->kind == EXPR_NAME && strcmp(digits->text, "inf") == 0)
        return sign * INFINITY;
    struct operand x = value_operand(c->scope, &(struct label){.at = e->at}, e);
    if (!x.is_number)
        structure_fail(c, e, "%s is a number, not a value", param);
    return x.number;
}

bool structure_bool(const struct structure_call *c, const char *param, bool otherwise) {
    const struct expr *e = structure_given(c, param);
    if (!e)
        return otherwise;
    int truth = e->kind == EXPR_NAME ? names_truth(e->text) : -1;
    if (truth < 0)
        structure_fail(c, e, "%s is true or false", param);
    return truth > 0;
}

void structure_list(const struct structure_call *c, const char *param, int n, int64_t otherwise,
                    int64_t *out) {
    const struct expr *e = structure_given(c, param);
    bool is_list = e && e->kind == EXPR_TUPLE;
    if (is_list && e->n_args != n)
        structure_fail(c, e,
                       n == 1 ? "%s is one whole number" : "%s is one whole number, or %d of them",
                       param, n);
    for (int i = 0; i < n; i++)
        out[i] = e ? value_whole(c->scope, is_list ? e->args[i] : e) : otherwise;
}

static int one_axis(const struct structure_call *c, const struct expr *e, const struct shape *s) {
    const struct graph *g = c->builder->graph;
    int found = -1;
    for (int i = 0; i < s->rank && e->kind == EXPR_NAME; i++) {
        if (s->dim[i] < 0 || strcmp(g->dims[s->dim[i]].name, e->text) != 0)
            continue;
        if (found >= 0)
            structure_fail(c, e, "two axes are called '%s'; give a number", e->text);
        found = i;
    }
    if (found >= 0)
        return found;
    if (e->kind == EXPR_NAME)
        structure_fail(c, e, "no axis is called '%s' in a value of shape %s", e->text,
                       shape_print(c->builder->arena, g, s));
    int64_t axis = value_whole(c->scope, e);
    if (axis < -s->rank || axis >= s->rank)
        structure_fail(c, e, "axis %lld does not exist in a value of shape %s", (long long)axis,
                       shape_print(c->builder->arena, g, s));
    return (int)(axis < 0 ? axis + s->rank : axis);
}

int structure_axis(const struct structure_call *c, const char *param, const struct shape *s,
                   int otherwise) {
    const struct expr *e = structure_given(c, param);
    if (s->rank == 0)
        structure_fail(c, NULL, "%s() needs a value with at least one axis", c->row->name);
    if (!e)
        return otherwise < 0 ? otherwise + s->rank : otherwise;
    return one_axis(c, e, s);
}

unsigned structure_axes(const struct structure_call *c, const char *param, const struct shape *s,
                        unsigned otherwise) {
    const struct expr *e = structure_given(c, param);
    if (!e)
        return otherwise;
    bool is_list = e->kind == EXPR_TUPLE;
    unsigned axes = 0;
    for (int i = 0; i < (is_list ? e->n_args : 1); i++) {
        const struct expr *item = is_list ? e->args[i] : e;
        unsigned bit = 1u << one_axis(c, item, s);
        if (axes & bit)
            structure_fail(c, item, "this axis is named twice");
        axes |= bit;
    }
    return axes;
}

struct shape structure_shape(const struct structure_call *c, const char *param) {
    const struct expr *e = structure_given(c, param);
    struct shape s = {0};
    bool is_list = e->kind == EXPR_TUPLE, has_free = false;
    int n = is_list ? e->n_args : 1;
    if (n > RANK_MAX)
        structure_fail(c, e, "no value has more than %d axes", RANK_MAX);
    for (; s.rank < n; s.rank++) {
        const struct expr *item = is_list ? e->args[s.rank] : e;
        const struct symbol *found =
            item->kind == EXPR_NAME ? names_find(&c->scope->names, item->text) : NULL;
        bool is_free = item->kind == EXPR_NEGATE && value_whole(c->scope, item) == -1;
        if (is_free && has_free)
            structure_fail(c, item, "only one size can be -1");
        has_free |= is_free;
        s.size[s.rank] = is_free ? -1 : value_size(c->scope, item);
        s.dim[s.rank] = found && found->kind == SYMBOL_DIM ? found->index : -1;
    }
    return s;
}

struct shape structure_shape_of(const struct structure_call *c, int i) {
    return build_get(c->builder, c->values[i])->shape;
}

const char *structure_type(const struct structure_call *c, int i) {
    return build_type_text(c->builder, build_get(c->builder, c->values[i]));
}

static const struct expr *value_expr(const struct structure_call *c, int i) {
    return c->row->n_values < 0 ? c->expr->args[i] : c->given[i];
}

void structure_need_number(const struct structure_call *c, int i) {
    if (build_get(c->builder, c->values[i])->dtype == DTYPE_BOOL)
        structure_fail(c, value_expr(c, i),
                       "a comparison is not a number; turn it into one with where(c, 1, 0)");
}

void structure_need_index(const struct structure_call *c, int i) {
    if (!dtype_is_integer(build_get(c->builder, c->values[i])->dtype))
        structure_fail(c, value_expr(c, i), "an index is i32 or i64, and this is %s",
                       structure_type(c, i));
}

enum dtype structure_promote(const struct structure_call *c, int i, int j) {
    return dtype_promote(build_get(c->builder, c->values[i])->dtype,
                         build_get(c->builder, c->values[j])->dtype);
}

// ---- parts

struct label structure_label(const struct structure_call *c, const char *suffix) {
    struct label l = c->label;
    if (suffix)
        l.name = !*suffix ? NULL : arena_printf(c->builder->arena, "%s.%s", l.name, suffix);
    return l;
}

struct operand structure_add(const struct structure_call *c, const char *suffix,
                             const struct node *n) {
    struct label l = structure_label(c, suffix);
    return build_add(c->builder, &l, *n);
}

struct operand structure_reshape(const struct structure_call *c, const char *suffix, node_id id,
                                 const struct shape *shape) {
    struct node n = {.op = OP_RESHAPE, .shape = *shape, .arg = {id}};
    n.dtype = build_get(c->builder, id)->dtype;
    return structure_add(c, suffix, &n);
}
