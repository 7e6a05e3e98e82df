// What all structural operations share, and those that only move data.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/structural.h"

struct reading structural_scratch(int64_t count, bool with_variance, enum dtype type) {
    struct reading r = {.value = reading_alloc(count, sizeof(double)), .type = type};
    if (with_variance)
        r.variance = reading_alloc(count, sizeof(double));
    if (dtype_is_wide(type))
        r.wide = reading_alloc(count, sizeof(double));
    else
        r.honest = reading_alloc(count, sizeof(float));
    return r;
}

void structural_free(struct reading *r) {
    free(r->value);
    free(r->variance);
    free(r->honest);
    free(r->wide);
    *r = (struct reading){0};
}

void structural_matmul(const struct reading_matmul *mm) {
    if (mm->out.type == DTYPE_F32 && mm->left.honest && mm->right.honest)
        reading_matmul(mm);
    else
        reading_matmul_typed(mm);
}

int64_t structural_index(struct structural *s, int arg, int64_t index, int64_t size, bool honest) {
    const struct reading *r = &s->args[arg];
    double at = honest ? reading_honest(r, index) : r->value[index];
    if (at >= 0 && at < (double)size)
        return (int64_t)at;
    if (!s->fault[0])
        snprintf(s->fault, FAULT_MAX, "%s: index %.0f (element %lld of %s) is outside [0, %lld)",
                 s->node->name, at, (long long)index, s->graph->nodes[s->node->arg[arg]].name,
                 (long long)size);
    return -1;
}

READING_HOT static void copy_doubles(double *restrict out, const double *restrict from,
                                     int64_t stride, int64_t n) {
    if (stride == 1) {
        memcpy(out, from, sizeof *out * (size_t)n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = from[i * stride];
}

void structural_copy(const struct reading *out, const struct reading *from, int64_t stride,
                     int64_t n) {
    copy_doubles(out->value, from->value, stride, n);
    if (from->variance && out->variance)
        copy_doubles(out->variance, from->variance, stride, n);
    else if (out->variance)
        memset(out->variance, 0, sizeof(double) * (size_t)n);
    for (int64_t i = 0; i < n && out->honest; i++)
        out->honest[i] = from->honest ? from->honest[i * stride] : (float)from->wide[i * stride];
    for (int64_t i = 0; i < n && out->wide; i++)
        out->wide[i] = reading_honest(from, i * stride);
}

// ---- moving

// A box of elements that moves: strides may be negative.
struct box {
    int rank;
    int64_t size[RANK_MAX], out_stride[RANK_MAX], from_stride[RANK_MAX];
    int64_t out_start, from_start;
};

static void copy_box(const struct reading *out, const struct reading *from, const struct box *b) {
    int64_t n = b->rank ? b->size[b->rank - 1] : 1, rows = 1;
    int64_t stride = b->rank ? b->from_stride[b->rank - 1] : 1;
    assert(b->rank == 0 || b->out_stride[b->rank - 1] == 1);
    for (int i = 0; i + 1 < b->rank; i++)
        rows *= b->size[i];
    for (int64_t row = 0; row < rows; row++) {
        int64_t rest = row, to = b->out_start, at = b->from_start;
        for (int i = b->rank - 2; i >= 0; i--) {
            to += rest % b->size[i] * b->out_stride[i];
            at += rest % b->size[i] * b->from_stride[i];
            rest /= b->size[i];
        }
        struct reading o = structural_at(out, to), f = structural_at(from, at);
        structural_copy(&o, &f, stride, n);
    }
}

static void strides(const struct shape *s, int64_t *out) {
    int64_t step = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        out[i] = step;
        step *= s->size[i];
    }
}

// All of argument `arg`, or for a slice what it takes, to where it goes.
static void move(struct structural *s, int arg, const int64_t *to) {
    const struct shape *from = structural_shape(s, arg);
    bool is_slice = s->node->op == OP_SLICE;
    struct box b = {.rank = from->rank};
    strides(&s->node->shape, b.out_stride);
    strides(from, b.from_stride);
    for (int i = 0; i < from->rank; i++) {
        b.size[i] = is_slice ? s->node->shape.size[i] : from->size[i];
        b.out_start += to[i] * b.out_stride[i];
        if (is_slice) {
            b.from_start += s->node->detail->start[i] * b.from_stride[i];
            b.from_stride[i] *= s->node->detail->step[i];
        }
    }
    copy_box(&s->out, &s->args[arg], &b);
}

static void fill(const struct structural *s, double value) {
    double honest = dtype_round(s->out.type, value);
    int64_t count = shape_count(&s->node->shape);
    for (int64_t i = 0; i < count; i++) {
        s->out.value[i] = honest;
        s->out.variance[i] = 0;
        reading_set_honest(&s->out, i, honest);
    }
}

void structural_move(struct structural *s) {
    const struct node *n = s->node;
    int64_t to[RANK_MAX] = {0};
    switch (n->op) {
    case OP_RESHAPE:
        structural_copy(&s->out, &s->args[0], 1, shape_count(&n->shape));
        break;
    case OP_PAD:
        fill(s, n->detail->value);
        move(s, 0, n->detail->start);
        break;
    case OP_CONCAT:
        move(s, 0, to);
        to[n->detail->axis] = structural_shape(s, 0)->size[n->detail->axis];
        move(s, 1, to);
        break;
    default:
        assert(n->op == OP_SLICE);
        move(s, 0, to);
    }
}

static void store_iota(struct structural *s) {
    const struct shape *shape = &s->node->shape;
    int axis = s->node->detail->axis;
    int64_t inner = 1, count = shape_count(shape);
    for (int i = axis + 1; i < shape->rank; i++)
        inner *= shape->size[i];
    for (int64_t i = 0; i < count; i++) {
        double index = (double)(i / inner % shape->size[axis]);
        s->out.value[i] = index;
        s->out.variance[i] = 0;
        reading_set_honest(&s->out, i, index);
    }
}

static void store_scatter(struct structural *s) {
    if (s->node->op == OP_RAGGED_SCATTER)
        structural_ragged_scatter(s);
    else
        structural_scatter(s);
}

static void store_window(struct structural *s) {
    if (s->node->op == OP_CONV || s->node->op == OP_CONV_T)
        structural_conv(s);
    else
        structural_pool(s);
}

void structural_store(struct structural *s) {
    static void (*const by_class[OP_CLASS_COUNT])(struct structural * s) = {
        [OP_CLASS_IOTA] = store_iota,          [OP_CLASS_MOVE] = structural_move,
        [OP_CLASS_GATHER] = structural_gather, [OP_CLASS_SCATTER] = store_scatter,
        [OP_CLASS_SCAN] = structural_scan,     [OP_CLASS_ORDER] = structural_order,
        [OP_CLASS_WINDOW] = store_window,      [OP_CLASS_RAGGED] = structural_ragged,
    };
    enum op_class class = op_infos[s->node->op].class;
    assert(by_class[class]);
    by_class[class](s);
}
