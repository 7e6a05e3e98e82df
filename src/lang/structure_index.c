// Functions that look up, scatter, scan and choose, and the masks that an index along an axis
// makes.
#include <string.h>

#include "base/arena.h"
#include "lang/structure.h"

static const char *shape_text(const struct structure_call *c, const struct shape *s) {
    return shape_print(c->builder->arena, c->builder->graph, s);
}

static struct node_detail *new_detail(const struct structure_call *c, int axis) {
    struct node_detail *d = arena_new(c->builder->arena, struct node_detail);
    d->axis = axis;
    return d;
}

static struct operand number(double value) {
    return (struct operand){.is_number = true, .number = value};
}

// One that takes an integer's type.
static struct operand whole(double value) {
    return (struct operand){.is_number = true, .is_whole = true, .number = value};
}

// ---- an index along an axis

static struct operand iota(const struct structure_call *c, const char *suffix, int64_t n, int dim) {
    struct node node = {.op = OP_IOTA, .dtype = DTYPE_I64, .detail = new_detail(c, 0)};
    node.shape = (struct shape){.rank = 1, .size = {n}, .dim = {dim}};
    return structure_add(c, suffix, &node);
}

struct operand build_arange(struct structure_call *c) {
    struct shape s = structure_shape(c, "n");
    if (s.rank != 1 || s.size[0] < 1)
        structure_fail(c, structure_given(c, "n"), "arange(n) counts from 0 to n - 1");
    return iota(c, NULL, s.size[0], s.dim[0]);
}

// x where column - row >= k (upper) or <= k (lower), else 0.
static struct operand triangle(struct structure_call *c, bool upper) {
    struct shape s = structure_shape_of(c, 0);
    struct builder *b = c->builder;
    structure_need_number(c, 0);
    if (s.rank < 2)
        structure_fail(c, c->given[0], "%s() takes matrices, and this is %s", c->expr->text,
                       shape_text(c, &s));
    c->label.composite = c->expr->text;
    struct label l = structure_label(c, "");
    struct operand column = iota(c, "", s.size[s.rank - 1], s.dim[s.rank - 1]);
    struct operand row = iota(c, "", s.size[s.rank - 2], s.dim[s.rank - 2]);
    struct shape tall = {.rank = 2, .size = {s.size[s.rank - 2], 1}};
    tall.dim[0] = s.dim[s.rank - 2];
    tall.dim[1] = -1;
    row = build_view(b, &l, row.node, &tall, (int[]){0, -1});
    struct operand k = whole((double)structure_whole(c, "k", 0));
    if (k.number != 0)
        row = build_elementwise(b, &l, OP_ADD, (struct operand[]){row, k});
    struct operand sides[2] = {upper ? row : column, upper ? column : row};
    l = structure_label(c, "mask");
    struct operand mask = build_elementwise(b, &l, OP_LE, sides);
    struct operand x = {.node = c->values[0]};
    return build_elementwise(b, &c->label, OP_WHERE, (struct operand[]){mask, x, whole(0)});
}

struct operand build_triu(struct structure_call *c) {
    return triangle(c, true);
}

struct operand build_tril(struct structure_call *c) {
    return triangle(c, false);
}

struct operand build_one_hot(struct structure_call *c) {
    struct shape s = structure_shape_of(c, 0), n = structure_shape(c, "n");
    struct builder *b = c->builder;
    structure_need_index(c, 0);
    if (n.rank != 1 || n.size[0] < 1)
        structure_fail(c, structure_given(c, "n"), "one_hot(ids, n) needs one size");
    if (s.rank == RANK_MAX)
        structure_fail(c, c->given[0], "no value has more than %d axes", RANK_MAX);
    c->label.composite = c->expr->text;
    int view[RANK_MAX];
    for (int i = 0; i < s.rank; i++)
        view[i] = i;
    view[s.rank] = -1;
    s.size[s.rank] = 1;
    s.dim[s.rank++] = -1;
    struct label l = structure_label(c, "");
    struct operand ids = build_view(b, &l, c->values[0], &s, view);
    struct operand sides[2] = {ids, iota(c, "", n.size[0], n.dim[0])};
    l = structure_label(c, "mask");
    struct operand mask = build_elementwise(b, &l, OP_EQ, sides);
    return build_elementwise(b, &c->label, OP_WHERE,
                             (struct operand[]){mask, number(1), number(0)});
}

// ---- looking up

static struct operand take(struct structure_call *c, int axis) {
    struct shape x = structure_shape_of(c, 0), index = structure_shape_of(c, 1), to = {0};
    structure_need_index(c, 1);
    if (x.rank - 1 + index.rank > RANK_MAX)
        structure_fail(c, NULL, "no value has more than %d axes", RANK_MAX);
    for (int i = 0; i < x.rank - 1 + index.rank; i++) {
        bool is_index = i >= axis && i < axis + index.rank;
        const struct shape *from = is_index ? &index : &x;
        int at = is_index ? i - axis : i < axis ? i : i - index.rank + 1;
        to.size[to.rank] = from->size[at];
        to.dim[to.rank++] = from->dim[at];
    }
    struct node n = {.op = OP_TAKE, .shape = to, .detail = new_detail(c, axis)};
    n.dtype = build_get(c->builder, c->values[0])->dtype;
    n.arg[0] = c->values[0];
    n.arg[1] = c->values[1];
    return structure_add(c, NULL, &n);
}

struct operand build_take(struct structure_call *c) {
    struct shape x = structure_shape_of(c, 0);
    return take(c, structure_axis(c, "axis", &x, 0));
}

struct operand build_embedding(struct structure_call *c) {
    struct shape x = structure_shape_of(c, 0);
    if (x.rank != 2)
        structure_fail(c, c->given[0], "embedding(table, ids) takes a matrix first, not %s",
                       structure_type(c, 0));
    return take(c, 0);
}

static bool fits_but(const struct shape *a, const struct shape *b, int axis) {
    bool fits = a->rank == b->rank;
    for (int i = 0; i < a->rank && fits; i++)
        fits = i == axis || a->size[i] == b->size[i];
    return fits;
}

struct operand build_take_along(struct structure_call *c) {
    struct shape x = structure_shape_of(c, 0), index = structure_shape_of(c, 1);
    int axis = structure_axis(c, "axis", &x, -1);
    structure_need_index(c, 1);
    if (!fits_but(&x, &index, axis))
        structure_fail(c, c->given[1],
                       "%s and index %s do not fit: all axes but axis %d must be equal",
                       shape_text(c, &x), shape_text(c, &index), axis);
    struct node n = {.op = OP_TAKE_ALONG, .shape = index, .detail = new_detail(c, axis)};
    n.dtype = build_get(c->builder, c->values[0])->dtype;
    n.arg[0] = c->values[0];
    n.arg[1] = c->values[1];
    return structure_add(c, NULL, &n);
}

// ---- scattering

static struct operand scatter(struct structure_call *c, node_id index, int axis) {
    struct node n = {.op = OP_SCATTER_ADD, .shape = structure_shape_of(c, 0)};
    n.detail = new_detail(c, axis);
    n.dtype = structure_promote(c, 0, 2);
    n.arg[0] = c->values[0];
    n.arg[1] = index;
    n.arg[2] = c->values[2];
    return structure_add(c, NULL, &n);
}

static int check_scatter(const struct structure_call *c) {
    struct shape base = structure_shape_of(c, 0), src = structure_shape_of(c, 2);
    int axis = structure_axis(c, "axis", &base, 0);
    structure_need_number(c, 0);
    structure_need_index(c, 1);
    structure_need_number(c, 2);
    if (!fits_but(&base, &src, axis))
        structure_fail(c, c->given[2],
                       "base %s and src %s do not fit: all axes but axis %d must be equal",
                       shape_text(c, &base), shape_text(c, &src), axis);
    return axis;
}

struct operand build_scatter_add(struct structure_call *c) {
    struct shape index = structure_shape_of(c, 1), src = structure_shape_of(c, 2);
    int axis = check_scatter(c);
    if (!shape_equal(&index, &src))
        structure_fail(c, c->given[1], "index %s and src %s must have one shape",
                       shape_text(c, &index), shape_text(c, &src));
    return scatter(c, c->values[1], axis);
}

// One index for each slice of src along the axis.
struct operand build_index_add(struct structure_call *c) {
    struct shape index = structure_shape_of(c, 1), src = structure_shape_of(c, 2);
    int axis = check_scatter(c);
    if (index.rank != 1 || index.size[0] != src.size[axis])
        structure_fail(c, c->given[1], "the index is a list of %lld, one for each along axis %d",
                       (long long)src.size[axis], axis);
    int view[RANK_MAX];
    for (int i = 0; i < src.rank; i++)
        view[i] = i == axis ? 0 : -1;
    struct label l = structure_label(c, "");
    return scatter(c, build_view(c->builder, &l, c->values[1], &src, view).node, axis);
}

// ---- scans and order

static struct operand scan(struct structure_call *c, enum op op) {
    struct shape s = structure_shape_of(c, 0);
    structure_need_number(c, 0);
    struct node_detail *d = new_detail(c, structure_axis(c, "axis", &s, -1));
    d->reverse = structure_bool(c, "reverse", false);
    d->exclusive = structure_bool(c, "exclusive", false);
    struct node n = {.op = op, .shape = s, .detail = d, .arg = {c->values[0]}};
    n.dtype = structure_promote(c, 0, 0);
    return structure_add(c, NULL, &n);
}

struct operand build_cumsum(struct structure_call *c) {
    return scan(c, OP_CUMSUM);
}

struct operand build_cumprod(struct structure_call *c) {
    return scan(c, OP_CUMPROD);
}

// The k first along an axis: their indices, or with `values` themselves.
static struct operand order(struct structure_call *c, int64_t k, bool smallest, bool values) {
    struct shape s = structure_shape_of(c, 0);
    int axis = structure_axis(c, "axis", &s, -1);
    structure_need_number(c, 0);
    if (k < 1 || k > s.size[axis])
        structure_fail(c, structure_given(c, "k"), "k is from 1 to %lld, the size of axis %d",
                       (long long)s.size[axis], axis);
    struct node_detail *d = new_detail(c, axis);
    d->reverse = smallest;
    struct node n = {.op = OP_TOPK, .dtype = DTYPE_I64, .shape = s, .detail = d};
    n.arg[0] = c->values[0];
    n.shape.dim[axis] = k == s.size[axis] ? s.dim[axis] : -1;
    n.shape.size[axis] = k;
    if (!values)
        return structure_add(c, NULL, &n);
    c->label.composite = c->expr->text;
    struct node chosen = {.op = OP_TAKE_ALONG, .shape = n.shape, .detail = new_detail(c, axis)};
    chosen.dtype = build_get(c->builder, c->values[0])->dtype;
    chosen.arg[0] = c->values[0];
    chosen.arg[1] = structure_add(c, "index", &n).node;
    return structure_add(c, NULL, &chosen);
}

struct operand build_topk(struct structure_call *c) {
    return order(c, structure_whole(c, "k", 1), !structure_bool(c, "largest", true), true);
}

struct operand build_topk_index(struct structure_call *c) {
    return order(c, structure_whole(c, "k", 1), !structure_bool(c, "largest", true), false);
}

struct operand build_sort(struct structure_call *c) {
    struct shape s = structure_shape_of(c, 0);
    int axis = structure_axis(c, "axis", &s, -1);
    return order(c, s.size[axis], !structure_bool(c, "descending", false), true);
}

// ---- ragged

// offsets[n + 1] for a first axis of n.
static void check_offsets(const struct structure_call *c, int64_t n, const char *of_what) {
    struct shape s = structure_shape_of(c, 2);
    structure_need_index(c, 2);
    if (s.rank != 1 || s.size[0] < 2 || (n > 0 && s.size[0] != n + 1))
        structure_fail(c, c->given[2], "offsets are a list with one more than %s, and this is %s",
                       of_what, structure_type(c, 2));
}

static struct operand ragged(struct structure_call *c, enum op op, const struct shape *shape) {
    struct node n = {.op = op, .shape = *shape, .dtype = structure_promote(c, 0, 1)};
    memcpy(n.arg, c->values, sizeof n.arg[0] * 3);
    return structure_add(c, NULL, &n);
}

struct operand build_ragged_matmul(struct structure_call *c) {
    struct shape x = structure_shape_of(c, 0), w = structure_shape_of(c, 1);
    structure_need_number(c, 0);
    structure_need_number(c, 1);
    if (x.rank != 2 || w.rank != 3 || x.size[1] != w.size[1])
        structure_fail(c, NULL, "ragged_matmul(x[T, K], w[E, K, N], offsets[E + 1]), not %s and %s",
                       shape_text(c, &x), shape_text(c, &w));
    check_offsets(c, w.size[0], "the matrices of w");
    struct shape to = x;
    to.size[1] = w.size[2];
    to.dim[1] = w.dim[2];
    return ragged(c, OP_RAGGED_MATMUL, &to);
}

struct operand build_ragged_outer(struct structure_call *c) {
    struct shape x = structure_shape_of(c, 0), g = structure_shape_of(c, 1),
                 offsets = structure_shape_of(c, 2);
    structure_need_number(c, 0);
    structure_need_number(c, 1);
    if (x.rank != 2 || g.rank != 2 || x.size[0] != g.size[0])
        structure_fail(c, NULL, "ragged_outer(x[T, K], g[T, N], offsets[E + 1]), not %s and %s",
                       shape_text(c, &x), shape_text(c, &g));
    check_offsets(c, 0, "the groups");
    struct shape to = {.rank = 3, .size = {offsets.size[0] - 1, x.size[1], g.size[1]}};
    to.dim[0] = -1;
    to.dim[1] = x.dim[1];
    to.dim[2] = g.dim[1];
    return ragged(c, OP_RAGGED_OUTER, &to);
}

struct operand build_ragged_scatter(struct structure_call *c) {
    struct shape docs = structure_shape_of(c, 0), weights = structure_shape_of(c, 1);
    struct shape lists = structure_shape_of(c, 3), factors = structure_shape_of(c, 4);
    struct shape size = structure_shape(c, "size");
    structure_need_index(c, 0);
    structure_need_number(c, 1);
    check_offsets(c, 0, "the lists");
    structure_need_index(c, 3);
    structure_need_number(c, 4);
    if (docs.rank != 1 || !shape_equal(&docs, &weights))
        structure_fail(c, c->given[1], "docs and weights are lists of one length, not %s and %s",
                       shape_text(c, &docs), shape_text(c, &weights));
    if (lists.rank < 1 || !shape_equal(&lists, &factors))
        structure_fail(c, c->given[4], "lists and factors must have one shape, not %s and %s",
                       shape_text(c, &lists), shape_text(c, &factors));
    if (size.rank != 1 || size.size[0] < 1)
        structure_fail(c, structure_given(c, "size"), "size is one size");
    struct node n = {.op = OP_RAGGED_SCATTER, .shape = lists};
    n.shape.size[lists.rank - 1] = size.size[0];
    n.shape.dim[lists.rank - 1] = size.dim[0];
    n.dtype = structure_promote(c, 1, 4);
    memcpy(n.arg, c->values, sizeof n.arg[0] * 5);
    return structure_add(c, NULL, &n);
}
