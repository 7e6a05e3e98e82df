// Functions that only move data: all of them end in views, slices, pads, reshapes and concats.
#include <string.h>

#include "base/arena.h"
#include "lang/structure.h"

static const char *shape_text(const struct structure_call *c, const struct shape *s) {
    return shape_print(c->builder->arena, c->builder->graph, s);
}

struct operand build_transpose(struct structure_call *c) {
    struct shape from = structure_shape_of(c, 0), to = {.rank = from.rank};
    const struct expr *axes = structure_given(c, "axes");
    int view[RANK_MAX];
    if (axes && (axes->kind != EXPR_TUPLE || axes->n_args != from.rank))
        structure_fail(c, axes, "axes lists all %d axes of a value of shape %s", from.rank,
                       shape_text(c, &from));
    unsigned seen = 0;
    for (int i = 0; i < from.rank; i++) {
        int64_t axis = axes ? value_whole(c->scope, axes->args[i]) : from.rank - 1 - i;
        axis += axis < 0 ? from.rank : 0;
        if (axis < 0 || axis >= from.rank || seen >> axis & 1)
            structure_fail(c, axes->args[i], "axes must name each of 0 to %d once", from.rank - 1);
        seen |= 1u << axis;
        view[i] = (int)axis;
        to.size[i] = from.size[axis];
        to.dim[i] = from.dim[axis];
    }
    return build_view(c->builder, &c->label, c->values[0], &to, view);
}

struct operand build_reshape(struct structure_call *c) {
    struct shape from = structure_shape_of(c, 0), to = structure_shape(c, "shape");
    int64_t count = shape_count(&from), known = 1;
    int free_axis = -1;
    for (int i = 0; i < to.rank; i++) {
        if (to.size[i] < 0)
            free_axis = i;
        else if (__builtin_mul_overflow(known, to.size[i], &known))
            known = INT64_MAX;
    }
    if (free_axis >= 0 && count % known == 0)
        to.size[free_axis] = count / known;
    else if (free_axis >= 0 || known != count)
        structure_fail(c, structure_given(c, "shape"),
                       "a value of shape %s has %lld elements, and %lld do not make them up",
                       shape_text(c, &from), (long long)count, (long long)known);
    return structure_reshape(c, NULL, c->values[0], &to);
}

struct operand build_broadcast_to(struct structure_call *c) {
    struct shape from = structure_shape_of(c, 0), to = structure_shape(c, "shape");
    int lead = to.rank - from.rank;
    bool fits = lead >= 0;
    int view[RANK_MAX];
    for (int i = 0; i < to.rank && fits; i++) {
        bool same = i >= lead && from.size[i - lead] == to.size[i];
        view[i] = same ? i - lead : -1;
        fits = to.size[i] > 0 && (same || i < lead || from.size[i - lead] == 1);
    }
    if (!fits)
        structure_fail(c, NULL, "shape %s cannot be broadcast to %s", shape_text(c, &from),
                       shape_text(c, &to));
    return build_view(c->builder, &c->label, c->values[0], &to, view);
}

// ---- several values

static void check_parts(const struct structure_call *c, int axis) {
    struct shape first = structure_shape_of(c, 0);
    for (int i = 1; i < c->n_values; i++) {
        struct shape s = structure_shape_of(c, i);
        bool fits = s.rank == first.rank;
        for (int k = 0; k < s.rank && fits; k++)
            fits = k == axis || s.size[k] == first.size[k];
        if (!fits)
            structure_fail(c, c->expr->args[i],
                           "%s and %s do not fit: all axes but the joined one must be equal",
                           shape_text(c, &first), shape_text(c, &s));
        if (build_get(c->builder, c->values[i])->dtype !=
            build_get(c->builder, c->values[0])->dtype)
            structure_fail(c, c->expr->args[i], "the parts have different types: %s and %s",
                           structure_type(c, 0), structure_type(c, i));
    }
}

static struct operand join(const struct structure_call *c, const node_id *ids, int n, int axis,
                           const char *suffix) {
    if (n == 1)
        return (struct operand){.node = ids[0]};
    struct node_detail *detail = arena_new(c->builder->arena, struct node_detail);
    detail->axis = axis;
    node_id left = join(c, ids, n / 2, axis, "").node;
    node_id right = join(c, ids + n / 2, n - n / 2, axis, "").node;
    struct node node = {.op = OP_CONCAT, .arg = {left, right}, .detail = detail};
    node.shape = build_get(c->builder, left)->shape;
    node.dtype = build_get(c->builder, left)->dtype;
    node.shape.size[axis] += build_get(c->builder, right)->shape.size[axis];
    node.shape.dim[axis] = -1;
    return structure_add(c, suffix, &node);
}

static struct operand unchanged(const struct structure_call *c, node_id id) {
    struct shape s = build_get(c->builder, id)->shape;
    return build_view(c->builder, &c->label, id, &s, (int[]){0, 1, 2, 3, 4, 5});
}

struct operand build_concat(struct structure_call *c) {
    struct shape first = structure_shape_of(c, 0);
    int axis = structure_axis(c, "axis", &first, 0);
    check_parts(c, axis);
    return c->n_values == 1 ? unchanged(c, c->values[0])
                            : join(c, c->values, c->n_values, axis, NULL);
}

struct operand build_stack(struct structure_call *c) {
    struct shape first = structure_shape_of(c, 0), room = first;
    if (first.rank == RANK_MAX)
        structure_fail(c, NULL, "no value has more than %d axes", RANK_MAX);
    check_parts(c, -1);
    // The new axis may also stand behind the last.
    room.rank++;
    room.dim[first.rank] = -1;
    int axis = structure_axis(c, "axis", &room, 0);
    node_id parts[CALL_ARGS_MAX];
    for (int i = 0; i < c->n_values; i++) {
        struct shape s = structure_shape_of(c, i);
        int view[RANK_MAX];
        for (int k = s.rank; k > axis; k--) {
            s.size[k] = s.size[k - 1];
            s.dim[k] = s.dim[k - 1];
        }
        s.size[axis] = 1;
        s.dim[axis] = -1;
        s.rank++;
        for (int k = 0; k < s.rank; k++)
            view[k] = k < axis ? k : k == axis ? -1 : k - 1;
        struct label l = structure_label(c, c->n_values == 1 ? NULL : "");
        parts[i] = build_view(c->builder, &l, c->values[i], &s, view).node;
    }
    return c->n_values == 1 ? (struct operand){.node = parts[0]}
                            : join(c, parts, c->n_values, axis, NULL);
}

// ---- pad, flip, repeat

// width=1, width=((0, 0), (1, 2)), as NumPy's pad has it.
static void read_widths(const struct structure_call *c, int rank, struct node_detail *d) {
    const struct expr *e = structure_given(c, "width");
    bool is_list = e->kind == EXPR_TUPLE;
    if (is_list && e->n_args != rank)
        structure_fail(c, e, "width is one number, or a pair (before, after) for each of %d axes",
                       rank);
    for (int i = 0; i < rank; i++) {
        const struct expr *pair = is_list ? e->args[i] : e;
        bool is_pair = pair->kind == EXPR_TUPLE;
        if (is_pair && pair->n_args != 2)
            structure_fail(c, pair, "a pair is (before, after)");
        d->start[i] = value_whole(c->scope, is_pair ? pair->args[0] : pair);
        d->step[i] = value_whole(c->scope, is_pair ? pair->args[1] : pair);
        if (d->start[i] < 0 || d->step[i] < 0 || d->start[i] > INT32_MAX || d->step[i] > INT32_MAX)
            structure_fail(c, pair, "a width is from 0 to 2^31; x[1:-1] takes elements away");
    }
}

struct operand build_pad(struct structure_call *c) {
    struct shape from = structure_shape_of(c, 0);
    struct node_detail *d = arena_new(c->builder->arena, struct node_detail);
    structure_need_number(c, 0);
    read_widths(c, from.rank, d);
    d->value = structure_number(c, "value", 0);
    struct node n = {.op = OP_PAD, .shape = from, .arg = {c->values[0]}, .detail = d};
    n.dtype = build_get(c->builder, c->values[0])->dtype;
    for (int i = 0; i < from.rank; i++) {
        n.shape.size[i] += d->start[i] + d->step[i];
        n.shape.dim[i] = n.shape.size[i] == from.size[i] ? from.dim[i] : -1;
    }
    return structure_add(c, NULL, &n);
}

struct operand build_flip(struct structure_call *c) {
    struct shape from = structure_shape_of(c, 0);
    unsigned axes = structure_axes(c, "axis", &from, (1u << from.rank) - 1);
    struct node_detail *d = arena_new(c->builder->arena, struct node_detail);
    for (int i = 0; i < from.rank; i++) {
        bool flipped = axes >> i & 1;
        d->start[i] = flipped ? from.size[i] - 1 : 0;
        d->step[i] = flipped ? -1 : 1;
    }
    struct node n = {.op = OP_SLICE, .shape = from, .arg = {c->values[0]}, .detail = d};
    n.dtype = build_get(c->builder, c->values[0])->dtype;
    return structure_add(c, NULL, &n);
}

// A new axis of size `count` merged with `axis`: before it (tile) or behind it (repeat).
static struct operand multiply_axis(const struct structure_call *c, node_id id, int axis,
                                    int64_t count, const char *suffix) {
    struct shape from = build_get(c->builder, id)->shape, wide = {.rank = from.rank + 1};
    int view[RANK_MAX + 1], fresh = suffix ? axis : axis + 1;
    if (from.rank == RANK_MAX)
        structure_fail(c, NULL, "%s() takes values of at most %d axes", c->expr->text,
                       RANK_MAX - 1);
    for (int i = 0; i < wide.rank; i++) {
        int old = i < fresh ? i : i - 1;
        view[i] = i == fresh ? -1 : old;
        wide.size[i] = i == fresh ? count : from.size[old];
        wide.dim[i] = i == fresh ? -1 : from.dim[old];
    }
    struct label l = structure_label(c, "");
    node_id stretched = build_view(c->builder, &l, id, &wide, view).node;
    from.size[axis] *= count;
    from.dim[axis] = -1;
    return structure_reshape(c, suffix, stretched, &from);
}

static void check_count(const struct structure_call *c, const struct expr *at, int64_t count) {
    if (count < 1 || count > INT32_MAX)
        structure_fail(c, at, "a count is from 1 to 2^31, and this is %lld", (long long)count);
}

struct operand build_repeat(struct structure_call *c) {
    struct shape from = structure_shape_of(c, 0);
    int64_t count = structure_whole(c, "count", 1);
    check_count(c, structure_given(c, "count"), count);
    int axis = structure_axis(c, "axis", &from, -1);
    return multiply_axis(c, c->values[0], axis, count, NULL);
}

struct operand build_tile(struct structure_call *c) {
    struct shape from = structure_shape_of(c, 0);
    int64_t counts[RANK_MAX];
    node_id id = c->values[0];
    structure_list(c, "counts", from.rank, 1, counts);
    for (int i = 0; i < from.rank; i++) {
        check_count(c, structure_given(c, "counts"), counts[i]);
        if (counts[i] > 1)
            id = multiply_axis(c, id, i, counts[i], "").node;
    }
    return unchanged(c, id);
}
