// Shapes by NumPy's rules, types by promotion, names in series (y.1, y.2) for what the author left
// unnamed.
#include "lang/builder.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"

static const int64_t ELEMENTS_MAX = (int64_t)1 << 40;

const struct node *build_get(const struct builder *b, node_id id) {
    return &b->graph->nodes[id];
}

const char *build_type_text(const struct builder *b, const struct node *n) {
    return arena_printf(b->arena, "%s%s", dtype_name(n->dtype),
                        shape_print(b->arena, b->graph, &n->shape));
}

// Sizes are at most 2^31 each, so the product of six of them must be watched.
static void check_size(const struct builder *b, const struct label *l, const struct shape *s) {
    int64_t count = 1;
    for (int i = 0; i < s->rank; i++) {
        if (s->size[i] > ELEMENTS_MAX / count)
            mistake_fail(b->mistakes, l->at, NULL,
                         "a value of shape %s has more than 2^40 elements",
                         shape_print(b->arena, b->graph, s));
        count *= s->size[i];
    }
}

static node_id add_node(struct builder *b, const struct label *l, struct node n) {
    struct graph *g = b->graph;
    check_size(b, l, &n.shape);
    if (g->n_nodes == NODES_MAX)
        mistake_fail(b->mistakes, l->at, NULL, "a problem has at most %d operations", NODES_MAX);
    if (g->n_nodes == b->cap) {
        int cap = b->cap ? 2 * b->cap : 32;
        struct node *nodes = arena_array(b->arena, struct node, cap);
        if (b->cap)
            memcpy(nodes, g->nodes, sizeof *nodes * (size_t)b->cap);
        g->nodes = nodes;
        b->cap = cap;
    }
    n.name = l->name;
    n.composite = l->composite;
    if (!n.composite && b->frame)
        n.composite = b->frame->composite;
    n.at = l->at.at;
    if (op_infos[n.op].arity >= 0)
        n.n_args = op_infos[n.op].arity;
    g->nodes[g->n_nodes] = n;
    return g->n_nodes++;
}

const char *build_part_name(struct builder *b) {
    if (b->frame)
        return arena_printf(b->arena, "%s.p%d", b->frame->name, ++b->frame->n_parts);
    return arena_printf(b->arena, "t.%d", ++b->n_parts);
}

// The label itself when it names the node, else one with a name of the given series.
static struct label named(struct builder *b, const struct label *l, char series, int *counter) {
    struct label own = *l;
    if (!own.name)
        own.name = series == 't' ? build_part_name(b)
                                 : arena_printf(b->arena, "%c.%d", series, ++*counter);
    return own;
}

struct operand build_add(struct builder *b, const struct label *l, struct node n) {
    bool moves = op_infos[n.op].class == OP_CLASS_MOVE || n.op == OP_IOTA;
    struct label own = named(b, l, moves ? 'v' : 't', moves ? &b->n_views : &b->n_parts);
    return (struct operand){.node = add_node(b, &own, n)};
}

node_id build_node_as(struct builder *b, const struct label *l, struct operand x, enum dtype t) {
    if (!x.is_number)
        return x.node;
    struct label own = named(b, l, 'c', &b->n_numbers);
    double rounded =
        dtype_round(t, x.number);  // what says `inf` may be infinite, where the type has it
    bool fits = dtype_is_float(t) ? isfinite(rounded) || rounded == x.number
                                  : x.number >= dtype_min(t) && x.number <= dtype_max(t);
    if (!fits)
        mistake_fail(b->mistakes, l->at, NULL, "%.15g is too large for %s", x.number,
                     dtype_name(t));
    return add_node(b, &own, (struct node){.op = OP_CONST, .dtype = t, .value = rounded});
}

node_id build_node(struct builder *b, const struct label *l, struct operand x) {
    return build_node_as(b, l, x, DTYPE_F32);
}

struct operand build_view(struct builder *b, const struct label *l, node_id arg,
                          const struct shape *shape, const int *view) {
    struct label own = named(b, l, 'v', &b->n_views);
    struct node n = {.op = OP_VIEW, .dtype = build_get(b, arg)->dtype, .shape = *shape};
    n.arg[0] = arg;
    memcpy(n.view, view, sizeof n.view[0] * (size_t)shape->rank);
    return (struct operand){.node = add_node(b, &own, n)};
}

struct operand build_unreduce(struct builder *b, const struct label *l, node_id arg,
                              const struct shape *shape, unsigned axes) {
    int view[RANK_MAX], kept = 0;
    for (int i = 0; i < shape->rank; i++)
        view[i] = axes >> i & 1 ? -1 : kept++;
    return build_view(b, l, arg, shape, view);
}

// Axes are matched from the last, size 1 stretches, missing ones come in front. requires: the
// shapes fit.
node_id build_broadcast(struct builder *b, const struct label *l, node_id id,
                        const struct shape *shape) {
    struct shape from = build_get(b, id)->shape;
    if (shape_equal(&from, shape))
        return id;
    int view[RANK_MAX];
    for (int i = 0; i < shape->rank; i++) {
        int axis = i - (shape->rank - from.rank);
        view[i] = axis >= 0 && (from.size[axis] == shape->size[i]) ? axis : -1;
    }
    struct label implied = {.at = l->at, .composite = l->composite};
    return build_view(b, &implied, id, shape, view).node;
}

// Stretch `to` so that `from` fits as well; false when a size is in the way.
static bool merge_shapes(struct shape *to, const struct shape *from, int skip_last) {
    int rank = to->rank > from->rank ? to->rank : from->rank;
    struct shape merged = {.rank = rank};
    for (int i = 0; i < rank; i++) {
        int l = i - (rank - to->rank), r = i - (rank - from->rank);
        int64_t left = l >= 0 ? to->size[l] : 1, right = r >= 0 ? from->size[r] : 1;
        bool free_axis = i >= rank - skip_last;
        if (!free_axis && left != right && left != 1 && right != 1)
            return false;
        bool take_left = l >= 0 && (r < 0 || left != 1 || right == 1);
        merged.size[i] = take_left ? left : right;
        merged.dim[i] = take_left ? to->dim[l] : from->dim[r];
        if (take_left && r >= 0 && left == right && merged.dim[i] < 0)
            merged.dim[i] = from->dim[r];
    }
    *to = merged;
    return true;
}

// What one new axis of size 1 would repair: "; [:, None] makes [M] into [M, 1], ...", else "". Most
// often it is the axis that a mean or a sum took away.
static const char *axis_hint(struct builder *b, const struct shape *x, const struct shape *y) {
    const struct shape *small = x->rank < y->rank ? x : y, *large = small == x ? y : x;
    for (int at = small->rank; at >= 0 && large->rank == small->rank + 1; at--) {
        struct shape both = *large, wide = {.rank = large->rank};
        struct str index = {0};
        for (int i = 0; i < wide.rank; i++) {
            wide.size[i] = i == at ? 1 : small->size[i - (i > at)];
            wide.dim[i] = i == at ? -1 : small->dim[i - (i > at)];
            str_printf(&index, "%s%s", i ? ", " : "", i == at ? "None" : ":");
        }
        const char *text = str_take(b->arena, &index);
        if (merge_shapes(&both, &wide, 0))
            return arena_printf(
                b->arena, "; [%s] makes %s into %s, as keepdims=true does in a sum or mean", text,
                shape_print(b->arena, b->graph, small), shape_print(b->arena, b->graph, &wide));
    }
    return "";
}

static noreturn void shapes_fail(struct builder *b, const struct label *l, const struct shape *x,
                                 const struct shape *y) {
    mistake_fail(b->mistakes, l->at, NULL,
                 "shapes %s and %s do not fit: sizes must be equal or 1, counted from the last "
                 "axis%s",
                 shape_print(b->arena, b->graph, x), shape_print(b->arena, b->graph, y),
                 axis_hint(b, x, y));
}

static struct operand fold_numbers(struct builder *b, const struct label *l, enum op op,
                                   const struct operand *args) {
    bool is_whole = op_infos[op].types == OP_TYPES_NUMBER, is_finite = true;
    for (int i = 0; i < op_infos[op].arity; i++) {
        is_whole &= args[i].is_whole;
        is_finite &= isfinite(args[i].number) != 0;
    }
    double value = op_evaluate(op, args[0].number, op_infos[op].arity > 1 ? args[1].number : 0);
    if (isnan(value) || (is_finite && isinf(value)))
        mistake_fail(b->mistakes, l->at, NULL, "the result is not a finite number");
    return (struct operand){.is_number = true, .number = value, .is_whole = is_whole};
}

static noreturn void wrong_type(struct builder *b, const struct label *l, enum op op,
                                const struct node *arg) {
    bool is_bool = arg->dtype == DTYPE_BOOL;
    if (op == OP_WHERE && !is_bool)
        mistake_fail(b->mistakes, l->at, NULL,
                     "where() needs a comparison first, as in where(x > 0, x, 0)");
    if (is_bool)
        mistake_fail(b->mistakes, l->at, NULL,
                     "a comparison is not a number; turn it into one with where(c, 1, 0)");
    if (op_infos[op].types == OP_TYPES_LOGIC)
        mistake_fail(b->mistakes, l->at, NULL,
                     "%s() takes comparisons, and this is %s; write x != 0", op_infos[op].name,
                     build_type_text(b, arg));
    mistake_fail(b->mistakes, l->at, NULL, "%s() takes integers, and this is %s", op_infos[op].name,
                 build_type_text(b, arg));
}

// The first argument that is to blame for a type that does not fit.
static bool is_wrong(enum op op, int i, enum dtype t) {
    bool wants_bool = op_infos[op].types == OP_TYPES_LOGIC || (op == OP_WHERE && i == 0);
    bool wants_whole = op_infos[op].types == OP_TYPES_WHOLE;
    return (t == DTYPE_BOOL) != wants_bool || (wants_whole && !dtype_is_integer(t));
}

enum dtype build_type(struct builder *b, const struct label *l, enum op op, const node_id *ids) {
    enum dtype types[ARGS_MAX], result;
    for (int i = 0; i < op_infos[op].arity; i++) {
        types[i] = build_get(b, ids[i])->dtype;
        if (is_wrong(op, i, types[i]))
            wrong_type(b, l, op, build_get(b, ids[i]));
    }
    bool ok = op_result_type(op, types, &result);
    assert(ok);
    return result;
}

// What numbers become among the other arguments: their type, but f32 where a number has a
// fraction and the others are integers, and where there are no others.
static enum dtype number_type(const struct builder *b, enum op op, const struct operand *args) {
    enum dtype t = DTYPE_BOOL;
    bool all_whole = true;
    for (int i = op == OP_WHERE; i < op_infos[op].arity; i++)
        if (args[i].is_number)
            all_whole &= args[i].is_whole;
        else
            t = dtype_promote(t, build_get(b, args[i].node)->dtype);
    return t == DTYPE_BOOL || (dtype_is_integer(t) && !all_whole) ? DTYPE_F32 : t;
}

struct operand build_elementwise(struct builder *b, const struct label *l, enum op op,
                                 const struct operand *args) {
    int arity = op_infos[op].arity;
    bool all_numbers = op != OP_WHERE && op_infos[op].types != OP_TYPES_TESTS;
    for (int i = 0; i < arity; i++)
        all_numbers &= args[i].is_number;
    if (all_numbers)
        return fold_numbers(b, l, op, args);

    node_id ids[ARGS_MAX] = {0};
    struct shape shape = {0};
    struct label part = {.at = l->at, .composite = l->composite};
    enum dtype number = number_type(b, op, args);
    for (int i = 0; i < arity; i++) {
        ids[i] = build_node_as(b, &part, args[i], number);
        if (!merge_shapes(&shape, &build_get(b, ids[i])->shape, 0))
            shapes_fail(b, l, &shape, &build_get(b, ids[i])->shape);
    }
    struct node n = {.op = op, .dtype = build_type(b, l, op, ids), .shape = shape};
    for (int i = 0; i < arity; i++)
        n.arg[i] = build_broadcast(b, l, ids[i], &shape);
    return build_add(b, l, n);
}

struct operand build_cast(struct builder *b, const struct label *l, struct operand x,
                          enum dtype t) {
    if (x.is_number)
        return (struct operand){.node = build_node_as(b, l, x, t)};
    node_id id = x.node;
    struct node n = {.op = OP_CAST, .dtype = t, .shape = build_get(b, id)->shape};
    if (build_get(b, id)->dtype == t)
        return (struct operand){.node = id};
    n.arg[0] = id;
    return build_add(b, l, n);
}

struct operand build_reduce(struct builder *b, const struct label *l, enum op op, node_id arg,
                            unsigned axes) {
    const struct node *from = build_get(b, arg);
    struct node n = {.op = op, .dtype = build_type(b, l, op, &arg), .axes = axes};
    n.arg[0] = arg;
    for (int i = 0; i < from->shape.rank; i++) {
        if (axes >> i & 1)
            continue;
        n.shape.size[n.shape.rank] = from->shape.size[i];
        n.shape.dim[n.shape.rank++] = from->shape.dim[i];
    }
    return build_add(b, l, n);
}

static void check_matmul(struct builder *b, const struct label *l, const struct node *left,
                         const struct node *right) {
    if (left->dtype == DTYPE_BOOL || right->dtype == DTYPE_BOOL)
        mistake_fail(b->mistakes, l->at, NULL, "'@' takes numbers, not comparisons");
    for (int i = 0; i < 2; i++) {
        const struct node *n = i ? right : left;
        if (n->shape.rank < 2)
            mistake_fail(b->mistakes, l->at, NULL, "'@' takes matrices, and its %s side is %s; %s",
                         i ? "right" : "left", build_type_text(b, n),
                         n->shape.rank == 0 ? "write '*' to scale"
                         : i                ? "write v[:, None] to make it a column"
                                            : "write v[None, :] to make it a row");
    }
    if (left->shape.size[left->shape.rank - 1] != right->shape.size[right->shape.rank - 2])
        mistake_fail(b->mistakes, l->at, NULL,
                     "%s @ %s: the last axis of the left must equal the last but one of the right",
                     build_type_text(b, left), build_type_text(b, right));
}

struct operand build_matmul(struct builder *b, const struct label *l, node_id left, node_id right) {
    struct node lhs = *build_get(b, left), rhs = *build_get(b, right);
    check_matmul(b, l, &lhs, &rhs);
    struct shape batch = lhs.shape;
    if (!merge_shapes(&batch, &rhs.shape, 2))
        mistake_fail(b->mistakes, l->at, NULL, "%s @ %s: the axes before the last two do not fit",
                     build_type_text(b, &lhs), build_type_text(b, &rhs));
    int rank = batch.rank;
    struct shape full[2] = {batch, batch}, shape = batch;
    for (int i = 0; i < 2; i++) {
        int from_left = lhs.shape.rank - 2 + i, from_right = rhs.shape.rank - 2 + i;
        full[0].size[rank - 2 + i] = lhs.shape.size[from_left];
        full[0].dim[rank - 2 + i] = lhs.shape.dim[from_left];
        full[1].size[rank - 2 + i] = rhs.shape.size[from_right];
        full[1].dim[rank - 2 + i] = rhs.shape.dim[from_right];
        shape.size[rank - 2 + i] = full[i].size[rank - 2 + i];
        shape.dim[rank - 2 + i] = full[i].dim[rank - 2 + i];
    }
    node_id ids[2] = {left, right};
    struct node n = {.op = OP_MATMUL, .dtype = build_type(b, l, OP_MATMUL, ids), .shape = shape};
    n.arg[0] = build_broadcast(b, l, left, &full[0]);
    n.arg[1] = build_broadcast(b, l, right, &full[1]);
    return build_add(b, l, n);
}
