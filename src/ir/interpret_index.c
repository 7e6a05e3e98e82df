// Looking up and scattering. Each reading follows its own index; where an index is not certain
// (it depends on rounded values), what the honest reading finds counts as possible too.
#include <math.h>
#include <stdlib.h>

#include "ir/structural.h"

// What element `at` of the argument is, found by a certain index or not.
static void take_element(struct structural *s, int64_t to, const int64_t at[2], double doubt) {
    const struct reading *x = &s->args[0], *out = &s->out;
    if (at[0] < 0 || at[1] < 0) {
        out->value[to] = NAN;
        out->variance[to] = 0;
        reading_set_honest(out, to, out->type == DTYPE_F32 ? NAN : 0);
        return;
    }
    out->value[to] = x->value[at[0]];
    out->variance[to] = structural_variance(x, at[0]);
    reading_set_honest(out, to, reading_honest(x, at[1]));
    double other = x->value[at[1]] - x->value[at[0]];
    if (doubt > 0 && other * other > out->variance[to])
        out->variance[to] = other * other;
}

static int64_t inner_count(const struct shape *s, int axis) {
    int64_t inner = 1;
    for (int i = axis + 1; i < s->rank; i++)
        inner *= s->size[i];
    return inner;
}

// x as [outer, size, inner], the result as [outer, index, inner].
static void take(struct structural *s) {
    const struct shape *x = structural_shape(s, 0);
    int64_t size = x->size[s->node->detail->axis], inner = inner_count(x, s->node->detail->axis);
    int64_t n_index = shape_count(structural_shape(s, 1)), outer = shape_count(x) / size / inner;
    for (int64_t i = 0; i < n_index; i++) {
        int64_t row[2] = {structural_index(s, 1, i, size, false),
                          structural_index(s, 1, i, size, true)};
        double doubt = structural_variance(&s->args[1], i);
        for (int64_t o = 0; o < outer; o++) {
            int64_t to = (o * n_index + i) * inner, from = (o * size + row[0]) * inner;
            struct reading out = structural_at(&s->out, to);
            if (row[0] == row[1] && row[0] >= 0 && doubt == 0) {
                struct reading in = structural_at(&s->args[0], from);
                structural_copy(&out, &in, 1, inner);
                continue;
            }
            for (int64_t k = 0; k < inner; k++) {
                int64_t at[2] = {row[0] < 0 ? -1 : from + k,
                                 row[1] < 0 ? -1 : (o * size + row[1]) * inner + k};
                take_element(s, to + k, at, doubt);
            }
        }
    }
}

static void take_along(struct structural *s) {
    const struct shape *x = structural_shape(s, 0), *out = &s->node->shape;
    int axis = s->node->detail->axis;
    int64_t size = x->size[axis], length = out->size[axis], inner = inner_count(x, axis);
    int64_t count = shape_count(out);
    for (int64_t i = 0; i < count; i++) {
        int64_t o = i / inner / length, k = i % inner, at[2];
        for (int r = 0; r < 2; r++) {
            int64_t row = structural_index(s, 1, i, size, r == 1);
            at[r] = row < 0 ? -1 : (o * size + row) * inner + k;
        }
        take_element(s, i, at, structural_variance(&s->args[1], i));
    }
}

void structural_gather(struct structural *s) {
    if (s->node->op == OP_TAKE)
        take(s);
    else
        take_along(s);
}

// ---- scattering

// A sum that grows in any order, one per element of the result.
struct heap {
    struct reading_partial sum;
    bool is_begun;
};

static void heap_add(struct heap *h, const struct reading_fold *f, struct reading_partial p) {
    h->sum = h->is_begun ? reading_join(f, h->sum, p) : p;
    h->is_begun = true;
}

// One pass per reading: `honest` says whose indices are followed. The other reading's numbers of
// that pass are not used.
static void put_heaps(struct structural *s, struct heap *heaps, const struct reading_fold *f,
                      bool honest) {
    int64_t count = shape_count(&s->node->shape);
    for (int64_t i = 0; i < count; i++) {
        const struct reading_partial *sum = &heaps[i].sum;
        if (honest) {
            reading_set_honest(&s->out, i, f->type == DTYPE_F32 ? (double)sum->honest : sum->wide);
        } else {
            s->out.value[i] = sum->value;
            s->out.variance[i] = sum->variance;
        }
    }
}

static bool indices_differ(const struct structural *s, int arg) {
    int64_t count = shape_count(structural_shape(s, arg));
    for (int64_t i = 0; i < count; i++)
        if (s->args[arg].value[i] != reading_honest(&s->args[arg], i))
            return true;
    return false;
}

static void scatter(struct structural *s, struct heap *heaps, const struct reading_fold *f,
                    bool honest) {
    const struct shape *base = &s->node->shape, *src = structural_shape(s, 2);
    int axis = s->node->detail->axis;
    int64_t inner = inner_count(base, axis), count = shape_count(base), n = shape_count(src);
    for (int64_t i = 0; i < count; i++)
        heap_add(&heaps[i], f, structural_element(&s->args[0], i));
    for (int64_t i = 0; i < n; i++) {
        int64_t row = structural_index(s, 1, i, base->size[axis], honest);
        int64_t o = i / inner / src->size[axis];
        if (row >= 0)
            heap_add(&heaps[(o * base->size[axis] + row) * inner + i % inner], f,
                     structural_element(&s->args[2], i));
    }
}

void structural_scatter(struct structural *s) {
    struct reading_fold f = {.op = OP_RSUM, .type = s->out.type};
    int64_t count = shape_count(&s->node->shape);
    int n_passes = indices_differ(s, 1) ? 2 : 1;
    for (int pass = 0; pass < n_passes; pass++) {
        struct heap *heaps = reading_alloc(count, sizeof *heaps);
        memset(heaps, 0, sizeof *heaps * (size_t)count);
        scatter(s, heaps, &f, pass == 1);
        if (pass == 0)
            put_heaps(s, heaps, &f, false);
        if (pass == n_passes - 1)
            put_heaps(s, heaps, &f, true);
        free(heaps);
    }
}

// factors[q] weights[p] as one term.
static struct reading_partial posting(const struct structural *s, int64_t p, int64_t q) {
    const struct reading *w = &s->args[1], *f = &s->args[4];
    double a = w->value[p], b = f->value[q];
    struct reading_partial t = {.value = a * b};
    t.wide = dtype_round(s->out.type, reading_honest(w, p) * reading_honest(f, q));
    t.honest = (float)t.wide;
    t.variance = b * b * structural_variance(w, p) + a * a * structural_variance(f, q);
    t.variance += reading_round_to(s->out.type, t.value, t.variance);
    t.terms = 1;
    t.carried = t.variance;
    t.squares = t.value * t.value;
    t.size = fabs(t.value);
    t.low = reading_low(t.value);
    return t;
}

// Lists, offsets and docs are data: they are read as they are, not rounded.
static void add_list(struct structural *s, struct heap *row, const struct reading_fold *f,
                     int64_t q) {
    int64_t n_lists = shape_count(structural_shape(s, 2)) - 1;
    int64_t n_postings = shape_count(structural_shape(s, 0));
    int64_t n_docs = s->node->shape.size[s->node->shape.rank - 1];
    int64_t list = structural_index(s, 3, q, n_lists, false);
    if (list < 0)
        return;
    int64_t begin = structural_index(s, 2, list, n_postings + 1, false);
    int64_t end = structural_index(s, 2, list + 1, n_postings + 1, false);
    for (int64_t p = begin; p >= 0 && p < end; p++) {
        int64_t doc = structural_index(s, 0, p, n_docs, false);
        if (doc >= 0)
            heap_add(&row[doc], f, posting(s, p, q));
    }
}

void structural_ragged_scatter(struct structural *s) {
    struct reading_fold f = {.op = OP_RSUM, .type = s->out.type};
    int64_t count = shape_count(&s->node->shape), n = shape_count(structural_shape(s, 3));
    int64_t n_docs = s->node->shape.size[s->node->shape.rank - 1];
    int64_t per_row = n / (count / n_docs);
    struct heap *heaps = reading_alloc(count, sizeof *heaps);
    memset(heaps, 0, sizeof *heaps * (size_t)count);
    for (int64_t q = 0; q < n; q++)
        add_list(s, heaps + q / per_row * n_docs, &f, q);
    put_heaps(s, heaps, &f, false);
    put_heaps(s, heaps, &f, true);
    free(heaps);
}
