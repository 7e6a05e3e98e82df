// Products over groups of rows that offsets delimit.
#include "ir/structural.h"

// Rows of group e; false when the offsets make no sense.
static bool group_rows(struct structural *s, int64_t e, int64_t *begin, int64_t *end) {
    int64_t n_rows = structural_shape(s, 0)->size[0];
    *begin = structural_index(s, 2, e, n_rows + 1, false);
    *end = structural_index(s, 2, e + 1, n_rows + 1, false);
    return *begin >= 0 && *end > *begin;
}

static void zero_rows(const struct reading *out, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        out->value[i] = 0;
        out->variance[i] = 0;
        reading_set_honest(out, i, 0);
    }
}

static void multiply(struct structural *s) {
    const struct shape *w = structural_shape(s, 1);
    int64_t k = w->size[1], n = w->size[2], begin, end;
    zero_rows(&s->out, 0, shape_count(&s->node->shape));
    for (int64_t e = 0; e < w->size[0]; e++)
        if (group_rows(s, e, &begin, &end))
            structural_matmul(&(struct reading_matmul){
                .out = structural_at(&s->out, begin * n),
                .left = structural_at(&s->args[0], begin * k),
                .right = structural_at(&s->args[1], e * k * n),
                .m = end - begin,
                .n = n,
                .k = k,
                .how = s->how,
            });
}

// [rows, k] as [k, rows].
static struct reading turned(const struct reading *x, int64_t begin, int64_t end, int64_t k) {
    int64_t n = end - begin;
    struct reading t = structural_scratch(n * k, x->variance != NULL, x->type);
    for (int64_t i = 0; i < k; i++) {
        struct reading out = structural_at(&t, i * n), from = structural_at(x, begin * k + i);
        structural_copy(&out, &from, k, n);
    }
    return t;
}

static void multiply_outer(struct structural *s) {
    const struct shape *out = &s->node->shape;
    int64_t k = out->size[1], n = out->size[2], begin, end;
    for (int64_t e = 0; e < out->size[0]; e++) {
        if (!group_rows(s, e, &begin, &end)) {
            zero_rows(&s->out, e * k * n, (e + 1) * k * n);
            continue;
        }
        struct reading left = turned(&s->args[0], begin, end, k);
        structural_matmul(&(struct reading_matmul){
            .out = structural_at(&s->out, e * k * n),
            .left = left,
            .right = structural_at(&s->args[1], begin * n),
            .m = k,
            .n = n,
            .k = end - begin,
            .how = s->how,
        });
        structural_free(&left);
    }
}

void structural_ragged(struct structural *s) {
    if (s->node->op == OP_RAGGED_MATMUL)
        multiply(s);
    else
        multiply_outer(s);
}
