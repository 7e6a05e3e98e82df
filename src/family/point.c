// Recursion over the region's nodes with a memo per scope; a node goes to the outermost scope that
// fixes all it depends on.
#include "family/point.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "family/access.h"
#include "family/expand.h"
#include "ir/detail.h"
#include "ir/recurrence.h"

struct memo {
    struct memo *next;
    node_id node;
    struct axis_map map;
    const struct loop_expr *value;
    bool is_definition;  // said by the family, not computed from arguments
    bool is_inverse;     // 1 / the node's value
};

// A clamped index and the variable that holds it.
struct clamped {
    struct clamped *next;
    const struct loop_expr *value, *name;
};

struct scope scope_inside(struct scope *outer, struct loop_builder *b) {
    struct scope s = *outer;
    s.outer = outer;
    s.builder = b;
    s.memo = NULL;
    s.clamps = NULL;
    s.lane_group = -1;
    s.lanes = 1;
    return s;
}

void scope_split(struct scope *s, const struct loop_expr *flat, int first, int end) {
    const struct space *space = &s->lowering->space;
    struct arena *a = s->lowering->arena;
    for (int i = end - 1; i >= first; i--) {
        const struct loop_expr *index =
            i == first ? flat : loop_binary(a, LOOP_MOD, flat, space->extent[i]);
        s->index[i] = end - first > 1 ? loop_let(s->builder, "i", index) : index;
        flat = loop_binary(a, LOOP_DIV, flat, space->extent[i]);
    }
}

const struct loop_expr *scope_count(const struct scope *s, int first, int end) {
    struct arena *a = s->lowering->arena;
    const struct loop_expr *count = loop_int(a, 1);
    for (int i = first; i < end; i++)
        count = loop_binary(a, LOOP_MUL, count, s->lowering->space.extent[i]);
    return count;
}

struct loop_size point_size(const struct lowering *l, const struct shape *s, int axis) {
    struct loop_size size = {s->size[axis], NULL};
    const struct loop_program *p = l->program;
    if (s->dim[axis] < 0 || !p)
        return size;
    const char *name = l->region->graph->dims[s->dim[axis]].name;
    for (int i = 0; i < p->n_dims; i++)
        if (strcmp(p->dims[i].name, name) == 0 && p->dims[i].value == size.value)
            size.name = p->dims[i].name;
    return size;
}

static const struct loop_expr *find(const struct scope *s, node_id n, const struct axis_map *map,
                                    bool inverse) {
    for (const struct memo *m = s->memo; m; m = m->next)
        if (m->node == n && m->is_inverse == inverse &&
            map_equal(&m->map, map, &s->lowering->region->graph->nodes[n].shape))
            return m->value;
    return NULL;
}

static struct memo *remember(struct scope *s, node_id n, const struct axis_map *map,
                             const struct loop_expr *value) {
    struct memo *m = arena_new(s->lowering->arena, struct memo);
    *m = (struct memo){.next = s->memo, .node = n, .map = *map, .value = value};
    return s->memo = m;
}

void point_define(struct scope *s, node_id n, const struct axis_map *map,
                  const struct loop_expr *value) {
    remember(s, n, map, value)->is_definition = true;
}

// Does the node, or one that it is computed from, have a definition in this very scope? Then
// it cannot be computed further out.
static bool depends_on_definition(const struct scope *s, node_id n, bool *seen) {
    const struct region *r = s->lowering->region;
    if (seen[n])
        return false;
    seen[n] = true;
    for (const struct memo *m = s->memo; m; m = m->next)
        if (m->is_definition && m->node == n)
            return true;
    // Reductions and products are defined, here or further out, never computed.
    enum op_class class = op_infos[r->graph->nodes[n].op].class;
    if (class == OP_CLASS_REDUCE || class == OP_CLASS_CONTRACT)
        return false;
    for (int i = 0; r->is_member[n] && i < r->graph->nodes[n].n_args; i++)
        if (depends_on_definition(s, r->graph->nodes[n].arg[i], seen))
            return true;
    return false;
}

static bool is_bound_to(const struct scope *s, node_id n) {
    bool any = false;
    for (const struct memo *m = s->memo; m; m = m->next)
        any |= m->is_definition;
    if (!any)
        return false;
    bool *seen = arena_array(s->lowering->arena, bool, s->lowering->region->graph->n_nodes);
    return depends_on_definition(s, n, seen);
}

// The last axis of a group that has more than one element: the one that its index counts.
static int last_axis(const struct space *space, int group) {
    for (int i = space->n_axes - 1; i >= 0; i--)
        if (space->group[i] == group && space->size[i].value > 1)
            return i;
    return -1;
}

static const struct loop_expr *add_scaled(struct arena *a, const struct loop_expr *sum,
                                          int64_t scale, const struct loop_expr *e) {
    bool minus = scale < 0;
    e = loop_binary(a, LOOP_MUL, e, loop_int(a, minus ? -scale : scale));
    return loop_binary(a, minus ? LOOP_SUB : LOOP_ADD, sum, e);
}

// Groups first, each by the factor of its last axis, then what is not affine, then the number.
static const struct loop_expr *lower_sum(struct scope *s, const struct index *x) {
    const struct space *space = &s->lowering->space;
    struct arena *a = s->lowering->arena;
    const struct loop_expr *sum = loop_int(a, 0);
    for (int g = 0; g < space->n_groups; g++) {
        int axis = last_axis(space, g);
        int64_t factor = axis < 0 ? 0 : index_factor(x, axis);
        if (factor == 0)
            continue;
        assert(s->index[g]);
        sum = add_scaled(a, sum, factor, s->index[g]);
    }
    for (int i = 0; i < x->n_terms; i++)
        if (x->term[i].part->kind != INDEX_AXIS)
            sum = add_scaled(a, sum, x->term[i].scale, point_lower(s, x->term[i].part));
    bool minus = x->number < 0;
    return loop_binary(a, minus ? LOOP_SUB : LOOP_ADD, sum,
                       loop_int(a, minus ? -x->number : x->number));
}

// Made of the same variables in the same way; what is loaded may have changed.
static bool is_same(const struct loop_expr *x, const struct loop_expr *y) {
    if (x == y)
        return true;
    if (x->op != y->op || x->op == LOOP_LOAD || x->dtype != y->dtype || x->lanes != y->lanes ||
        x->var != y->var || x->integer != y->integer || x->low != y->low || x->high != y->high)
        return false;
    for (int i = 0; i < loop_ops[x->op].arity; i++)
        if (!is_same(x->arg[i], y->arg[i]))
            return false;
    return true;
}

// A name for a clamped index: the address and the conditions of one point share it.
static const struct loop_expr *name_clamped(struct scope *s, const struct loop_expr *e) {
    if (e->op == LOOP_CONST || e->op == LOOP_VAR)
        return e;
    for (const struct scope *o = s; o; o = o->outer)
        for (const struct clamped *p = o->clamps; p; p = p->next)
            if (is_same(p->value, e))
                return p->name;
    struct clamped *p = arena_new(s->lowering->arena, struct clamped);
    *p = (struct clamped){s->clamps, e, loop_let(s->builder, "at", e)};
    s->clamps = p;
    return p->name;
}

const struct loop_expr *point_lower(struct scope *s, const struct index *x) {
    struct arena *a = s->lowering->arena;
    const struct loop_expr *e;
    switch (x->kind) {
    case INDEX_AXIS:
        assert(s->index[s->lowering->space.group[x->axis]]);
        return s->index[s->lowering->space.group[x->axis]];
    case INDEX_SUM:
        return lower_sum(s, x);
    case INDEX_QUOTIENT:
    case INDEX_REMAINDER:
        e = point_lower(s, x->part);
        return loop_binary(a, x->kind == INDEX_REMAINDER ? LOOP_MOD : LOOP_DIV, e,
                           loop_int(a, x->number));
    case INDEX_WITHIN:
        e = loop_binary(a, LOOP_MAX, point_lower(s, x->part), loop_int(a, x->low));
        return name_clamped(s, loop_binary(a, LOOP_MIN, e, loop_int(a, x->high)));
    case INDEX_VALUE:
        break;
    }
    e = point_value(s, x->node, x->map);
    if (e->dtype != LOOP_I64)
        e = loop_cast(a, e, LOOP_I32);
    return loop_let(s->builder, "at", loop_to_index(a, e, x->low, x->high));
}

const struct loop_expr *point_index(struct scope *s, const struct shape *shape,
                                    const struct axis_map *map) {
    const struct space *space = &s->lowering->space;
    struct arena *a = s->lowering->arena;
    if (!map_is_plain(map, shape->rank))
        return point_lower(s, map_flat(s->lowering->region->arena, shape, map));
    const struct loop_expr *index = loop_int(a, 0);
    int previous = -1;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->size[i] == 1)
            continue;
        if (map->axis[i] < 0) {
            index =
                loop_binary(a, LOOP_MUL, index, loop_named(a, point_size(s->lowering, shape, i)));
            continue;
        }
        int group = space->group[map->axis[i]];
        if (group == previous)
            continue;
        assert(s->index[group]);
        index = loop_binary(a, LOOP_MUL, index, space->extent[group]);
        index = loop_binary(a, LOOP_ADD, index, s->index[group]);
        previous = group;
    }
    return index;
}

int64_t point_lane_stride(const struct scope *s, const struct shape *shape,
                          const struct axis_map *map) {
    int64_t stride = 1;
    if (!map_is_plain(map, shape->rank)) {
        int axis = last_axis(&s->lowering->space, s->lane_group);
        return axis < 0 ? 0 : index_factor(map_flat(s->lowering->region->arena, shape, map), axis);
    }
    for (int i = shape->rank - 1; i >= 0; i--) {
        if (map->axis[i] >= 0 && shape->size[i] > 1 &&
            s->lowering->space.group[map->axis[i]] == s->lane_group)
            return stride;
        stride *= shape->size[i];
    }
    return 0;
}

// Does the scope fix every group that the node walks along?
static bool covers(const struct scope *s, const struct shape *shape, const struct axis_map *map) {
    const struct space *space = &s->lowering->space;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->size[i] == 1)
            continue;
        if (map->axis[i] >= 0 && !s->index[space->group[map->axis[i]]])
            return false;
        for (int k = 0; map->axis[i] == MAP_INDEX && k < space->n_axes; k++)
            if (space->size[k].value > 1 && !s->index[space->group[k]] &&
                index_uses(map->index[i], k))
                return false;
    }
    return true;
}

// Of all scopes that could compute the node, the outermost.
static struct scope *home(struct scope *s, node_id n, const struct axis_map *map) {
    const struct shape *shape = &s->lowering->region->graph->nodes[n].shape;
    while (s->outer && covers(s->outer, shape, map) && !is_bound_to(s, n))
        s = s->outer;
    return s;
}

static const struct loop_expr *as(struct arena *a, const struct loop_expr *e, enum loop_dtype t) {
    return e->dtype == t ? e : loop_cast(a, e, t);
}

static const struct loop_expr *from(struct arena *a, const struct loop_expr *offset,
                                    const struct loop_expr *index) {
    return offset ? loop_binary(a, LOOP_ADD, offset, index) : index;
}

const struct loop_expr *point_slice_index(struct scope *s, const struct shape *shape,
                                          const struct axis_map *map,
                                          const struct point_slice *slice) {
    struct arena *a = s->lowering->region->arena;
    struct shape whole = recurrence_with(shape, slice->axis, slice->n_steps);
    struct axis_map at = map_identity(0);
    int64_t stride = 1;
    for (int i = 0; i < whole.rank; i++) {
        map_set(&at, &whole, i,
                i == slice->axis ? index_number(a, 0)
                                 : map_index(a, map, i - (i > slice->axis), whole.size[i]));
        stride *= i > slice->axis ? whole.size[i] : 1;
    }
    a = s->lowering->arena;
    const struct loop_expr *first = loop_binary(a, LOOP_MUL, slice->at, loop_int(a, stride));
    return loop_binary(a, LOOP_ADD, first, point_index(s, &whole, &at));
}

static const struct loop_expr *load(struct scope *s, node_id n, const struct axis_map *map) {
    const struct lowering *l = s->lowering;
    const struct node *node = &l->region->graph->nodes[n];
    int64_t stride = s->lanes > 1 ? point_lane_stride(s, &node->shape, map) : 0;
    bool is_slice = l->slice && l->slice[n].n_steps > 0;
    const struct loop_expr *at = is_slice ? point_slice_index(s, &node->shape, map, &l->slice[n])
                                          : from(l->arena, l->offset ? l->offset[n] : NULL,
                                                 point_index(s, &node->shape, map));
    const struct loop_expr *e =
        loop_load(l->arena, l->buffer[n], at, stride ? s->lanes : 1, stride ? stride : 1);
    const char *name = l->offset && l->offset[n] ? node->name : l->buffer[n]->name;
    return loop_let(s->builder, name, as(l->arena, e, loop_arithmetic(node->dtype)));
}

// Does a condition on an index hold? NULL: always.
static const struct loop_expr *lower_guard(struct scope *s, const struct guard *g) {
    struct arena *a = s->lowering->arena;
    const struct loop_expr *low = NULL, *high = NULL, *at = point_lower(s, g->index);
    if (g->index->low < g->low)
        low = loop_binary(a, LOOP_LE, loop_int(a, g->low), at);
    if (g->index->high > g->high)
        high = loop_binary(a, LOOP_LE, at, loop_int(a, g->high));
    return low && high ? loop_binary(a, LOOP_AND, low, high) : low ? low : high;
}

const struct loop_expr *point_guard(struct scope *s, const struct guard *g, int n) {
    const struct loop_expr *all = NULL;
    for (int i = 0; i < n; i++) {
        const struct loop_expr *one = lower_guard(s, &g[i]);
        all = !all ? one : one ? loop_binary(s->lowering->arena, LOOP_AND, all, one) : all;
    }
    return all;
}

const struct loop_expr *point_where(struct scope *s, const struct guard *guards, int n,
                                    const struct loop_expr *value, const struct loop_expr *other) {
    const struct loop_expr *holds = point_guard(s, guards, n);
    if (!holds)
        return value;
    return loop_let(s->builder, "inside",
                    loop_ternary(s->lowering->arena, LOOP_SELECT, holds, value, other));
}

const struct loop_expr *point_constant(struct arena *a, enum dtype t, double value) {
    return loop_number(a, loop_arithmetic(t), value);
}

// What moves data: the element of an argument.
static const struct loop_expr *moved(struct scope *s, node_id id, const struct axis_map *map) {
    const struct lowering *l = s->lowering;
    const struct node *n = &l->region->graph->nodes[id];
    struct access x;
    if (n->op == OP_IOTA)
        return loop_let(s->builder, n->name,
                        loop_cast(l->arena, point_lower(s, access_iota(l->region, n, map)),
                                  loop_arithmetic(n->dtype)));
    access_find(l->region, id, map, &x);
    if (n->op == OP_CONCAT) {
        const struct guard *g = &x.guard[0];
        if (g->index->low > g->high)
            return point_value(s, n->arg[1], &x.map[1]);
        const struct loop_expr *first = point_value(s, n->arg[0], &x.map[0]);
        if (g->index->high <= g->high)
            return first;
        return point_where(s, g, 1, first, point_value(s, n->arg[1], &x.map[1]));
    }
    const struct loop_expr *value = point_value(s, n->arg[0], &x.map[0]);
    if (x.n_guards == 0)
        return value;
    return point_where(s, x.guard, x.n_guards, value,
                       point_constant(l->arena, n->dtype, n->detail->value));
}

static const enum loop_op loop_op_of[OP_COUNT] = {
    [OP_NEG] = LOOP_NEG,
    [OP_ABS] = LOOP_ABS,
    [OP_EXP] = LOOP_EXP,
    [OP_EXP2] = LOOP_EXP2,
    [OP_EXPM1] = LOOP_EXPM1,
    [OP_LOG] = LOOP_LOG,
    [OP_LOG2] = LOOP_LOG2,
    [OP_LOG10] = LOOP_LOG10,
    [OP_LOG1P] = LOOP_LOG1P,
    [OP_SQRT] = LOOP_SQRT,
    [OP_RSQRT] = LOOP_RSQRT,
    [OP_SIN] = LOOP_SIN,
    [OP_COS] = LOOP_COS,
    [OP_TAN] = LOOP_TAN,
    [OP_ASIN] = LOOP_ASIN,
    [OP_ACOS] = LOOP_ACOS,
    [OP_ATAN] = LOOP_ATAN,
    [OP_SINH] = LOOP_SINH,
    [OP_COSH] = LOOP_COSH,
    [OP_TANH] = LOOP_TANH,
    [OP_ERF] = LOOP_ERF,
    [OP_ERFC] = LOOP_ERFC,
    [OP_ADD] = LOOP_ADD,
    [OP_SUB] = LOOP_SUB,
    [OP_MUL] = LOOP_MUL,
    [OP_DIV] = LOOP_DIV,
    [OP_POW] = LOOP_POW,
    [OP_ATAN2] = LOOP_ATAN2,
    [OP_FLOORDIV] = LOOP_FLOORDIV,
    [OP_MOD] = LOOP_MOD,
    [OP_MAX] = LOOP_MAX,
    [OP_MIN] = LOOP_MIN,
    [OP_LT] = LOOP_LT,
    [OP_LE] = LOOP_LE,
    [OP_EQ] = LOOP_EQ,
    [OP_NE] = LOOP_NE,
    [OP_AND] = LOOP_AND,
    [OP_OR] = LOOP_OR,
    [OP_XOR] = LOOP_XOR,
    [OP_NOT] = LOOP_NOT,
    [OP_SHL] = LOOP_SHL,
    [OP_SHR] = LOOP_SHR,
    [OP_BITAND] = LOOP_AND,
    [OP_BITOR] = LOOP_OR,
    [OP_BITXOR] = LOOP_XOR,
    [OP_WHERE] = LOOP_SELECT,
};

bool point_has_op(enum op op) {
    return loop_op_of[op] != LOOP_CONST || expand_has(op) || op == OP_CAST;
}

// The type that an elementwise operation computes in.
static enum loop_dtype type_inside(const struct graph *g, const struct node *n) {
    if (op_infos[n->op].types != OP_TYPES_TESTS)
        return loop_arithmetic(n->dtype);
    enum dtype t = g->nodes[n->arg[0]].dtype;
    if (n->n_args > 1)
        t = dtype_promote(t, g->nodes[n->arg[1]].dtype);
    enum loop_dtype inside = loop_arithmetic(t);
    return inside == LOOP_MASK ? LOOP_I32 : inside;
}

// What a view shows, and the map it is shown by.
static node_id look_through(const struct region *r, node_id n, struct axis_map *map) {
    while (r->is_member[n] && r->graph->nodes[n].op == OP_VIEW) {
        *map = map_through_view(r->graph, &r->graph->nodes[n], map);
        n = r->graph->nodes[n].arg[0];
    }
    return n;
}

// 1 / the node's value, in the scope where that is computed.
static const struct loop_expr *inverse(struct scope *s, node_id n, const struct axis_map *map) {
    struct arena *a = s->lowering->arena;
    struct scope *at = home(s, n, map);
    const struct loop_expr *e = find(at, n, map, true);
    if (e)
        return e;
    const struct loop_expr *value = point_value(s, n, map);
    const char *name = s->lowering->region->graph->nodes[n].name;
    e = loop_let(at->builder, arena_printf(a, "%s_inverse", name),
                 loop_binary(a, LOOP_DIV, loop_real(a, 1), value));
    remember(at, n, map, e)->is_inverse = true;
    return e;
}

// The argument of a node that multiplies it with (or adds to it) this constant; -1: another node.
static node_id beside(const struct graph *g, node_id id, enum op op, double constant) {
    const struct node *n = &g->nodes[id];
    for (int i = 0; i < 2 && n->op == op; i++) {
        node_id by = n->arg[1 - i];
        while (g->nodes[by].op == OP_VIEW)
            by = g->nodes[by].arg[0];
        if (g->nodes[by].op == OP_CONST && fabs(g->nodes[by].value - constant) < 1e-7)
            return n->arg[i];
    }
    return -1;
}

// May functions be computed to 16 bits? The C library has none that are.
static bool may_be_quick(const struct lowering *l, bool is_asked) {
    return is_asked && !l->program->libm;
}

// What the node is gelu of, as composites.def spells it; -1: of nothing, or it must be exact, or
// a part of it is read from memory, where its argument may be no value of this region.
static node_id gelu_of(const struct lowering *l, const struct node *n) {
    const struct graph *g = l->region->graph;
    const bool *member = l->region->is_member;
    for (int i = 0; i < 2 && may_be_quick(l, l->is_quick || l->is_quick_gelu) && n->op == OP_MUL;
         i++) {
        node_id x = beside(g, n->arg[i], OP_MUL, 0.5);
        node_id erf = beside(g, n->arg[1 - i], OP_ADD, 1);
        if (x >= 0 && erf >= 0 && g->nodes[erf].op == OP_ERF &&
            beside(g, g->nodes[erf].arg[0], OP_MUL, 0.70710678118654752) == x &&
            member[n->arg[0]] && member[n->arg[1]] && member[erf] && member[g->nodes[erf].arg[0]])
            return x;
    }
    return -1;
}

// Where results are rounded to 16 bits, some functions need not be exact.
static enum loop_op op_of(const struct lowering *l, const struct node *n, enum loop_dtype inside) {
    enum loop_op op = loop_op_of[n->op];
    if (inside == LOOP_F32 && may_be_quick(l, l->is_quick) && op == LOOP_EXP)
        return LOOP_EXP_QUICK;
    return inside == LOOP_F32 && l->is_quick_erf && op == LOOP_ERF ? LOOP_ERF_QUICK : op;
}

// Is the node a division by 1 + exp(x), as sigmoid and silu have it, that need not be exact?
static bool is_quick_division(const struct lowering *l, const struct node *n,
                              enum loop_dtype inside) {
    const struct graph *g = l->region->graph;
    if (!l->is_quick_inverse || n->op != OP_DIV || inside != LOOP_F32)
        return false;
    node_id exp = beside(g, n->arg[1], OP_ADD, 1);
    return exp >= 0 && g->nodes[exp].op == OP_EXP;
}

static const struct loop_expr *elementwise(struct scope *s, const struct node *n,
                                           const struct axis_map *map) {
    struct arena *a = s->lowering->arena;
    struct axis_map by_map = *map;
    node_id by = n->op == OP_DIV ? look_through(s->lowering->region, n->arg[1], &by_map) : -1;
    enum loop_dtype inside = type_inside(s->lowering->region->graph, n);
    // Of f64 a quotient is rounded once: an inverse would not be.
    if (by >= 0 && s->lowering->reciprocal && inside == LOOP_F32 && home(s, by, &by_map) != s) {
        const struct loop_expr *x = point_value(s, n->arg[0], map);
        const struct loop_expr *e = loop_binary(a, LOOP_MUL, x, inverse(s, by, &by_map));
        return loop_let(s->builder, n->name, e);
    }
    const struct loop_expr *arg[ARGS_MAX] = {NULL};
    node_id gelu = gelu_of(s->lowering, n);
    if (gelu >= 0 && inside == LOOP_F32)
        return loop_let(s->builder, n->name,
                        loop_unary(a, LOOP_GELU_QUICK, as(a, point_value(s, gelu, map), inside)));
    for (int i = 0; i < n->n_args; i++) {
        arg[i] = point_value(s, n->arg[i], map);
        if (n->op != OP_CAST)
            arg[i] = as(a, arg[i], n->op == OP_WHERE && i == 0 ? LOOP_MASK : inside);
    }
    if (n->op == OP_CAST)
        return loop_let(s->builder, n->name,
                        n->dtype == DTYPE_BOOL ? as(a, arg[0], LOOP_MASK)
                                               : loop_round_to(a, arg[0], n->dtype));
    if (expand_has(n->op))
        return loop_let(s->builder, n->name, expand_build(s->builder, n, arg));
    enum loop_op op = op_of(s->lowering, n, inside);
    if (is_quick_division(s->lowering, n, inside)) {
        op = LOOP_MUL;
        arg[1] = loop_unary(a, LOOP_INVERSE_QUICK, arg[1]);
    }
    const struct loop_expr *e = n->n_args == 1   ? loop_unary(a, op, arg[0])
                                : n->n_args == 2 ? loop_binary(a, op, arg[0], arg[1])
                                                 : loop_ternary(a, op, arg[0], arg[1], arg[2]);
    return loop_let(s->builder, n->name, e);
}

const struct loop_expr *point_value(struct scope *s, node_id n, const struct axis_map *map) {
    const struct lowering *l = s->lowering;
    const struct node *node = &l->region->graph->nodes[n];
    if (node->op == OP_CONST)
        return point_constant(l->arena, node->dtype, node->value);
    for (const struct scope *o = s; o; o = o->outer)
        if (find(o, n, map, false))
            return find(o, n, map, false);
    s = home(s, n, map);
    if (node->op == OP_VIEW && l->region->is_member[n]) {
        struct axis_map arg = map_through_view(l->region->graph, node, map);
        return point_value(s, node->arg[0], &arg);
    }
    const struct loop_expr *e;
    if (l->region->is_leaf[n])
        e = load(s, n, map);
    else if (op_infos[node->op].class == OP_CLASS_ELEMENTWISE)
        e = elementwise(s, node, map);
    else if (access_moves(node))
        e = moved(s, n, map);
    else
        e = l->anchor(l->anchor_ctx, s, n, map);
    remember(s, n, map, e);
    return e;
}

const struct loop_expr *point_padded(struct scope *s, node_id node, const struct axis_map *map,
                                     const struct guard *guards, int n) {
    const struct lowering *l = s->lowering;
    const struct loop_expr *value = point_value(s, node, map);
    return point_where(s, guards, n, value,
                       point_constant(l->arena, l->region->graph->nodes[node].dtype, 0));
}

const struct loop_expr *point_stored(struct scope *s, int i, const struct axis_map *map) {
    const struct lowering *l = s->lowering;
    node_id n = l->region->value[i];
    const struct node *node = &l->region->graph->nodes[n];
    const struct shape *shape = &node->shape;
    // A store rounds by itself.
    bool rounds = node->op == OP_CAST && l->region->is_member[n] && dtype_is_float(node->dtype) &&
                  l->target[i]->dtype == node->dtype;
    const struct loop_expr *e = point_value(s, rounds ? node->arg[0] : n, map);
    e = as(l->arena, e, loop_arithmetic(l->target[i]->dtype));
    // The same in all lanes, but each has an element of its own to store it to.
    if (e->lanes < s->lanes && point_lane_stride(s, shape, map))
        e = loop_broadcast(l->arena, e, s->lanes);
    return e;
}

void point_store(struct scope *s, int i, const struct axis_map *map, bool stream) {
    const struct lowering *l = s->lowering;
    const struct shape *shape = &l->region->graph->nodes[l->region->value[i]].shape;
    const struct loop_expr *e = point_stored(s, i, map);
    const struct loop_expr *at = from(l->arena, l->target_offset[i], point_index(s, shape, map));
    loop_store(s->builder, l->target[i], at, e, stream && e->lanes > 1);
}
