// Sums as an honest program makes them: in sequence within a run, runs pairwise.
//
// The variance of a sum is that of its terms, plus what each rounding of a partial sum adds in one
// chain of all of them: one per addition, each as large as partial sums are in the mean over all
// orders. None where the terms are such that no order rounds anything.
#include <assert.h>

#include "ir/reading_fold.h"

static struct reading_partial first(struct reading x) {
    return (struct reading_partial){
        .value = x.value[0], .variance = x.variance[0], .honest = x.honest[0]};
}

// Sizes and lowest bit of exact terms.
static void measure_terms(struct reading x, int n, struct reading_partial *p) {
    p->low = READING_NO_BIT;
    for (int i = 0; i < n; i++) {
        int low = reading_low(x.value[i]);
        p->low = low < p->low ? low : p->low;
        p->size += fabs(x.value[i]);
    }
}

static struct reading_partial run_sum(struct reading x, int n, bool is_mean) {
    struct reading_partial p = first(x);
    p.terms = n;
    p.carried = p.variance;
    p.squares = p.value * p.value;
    for (int i = 1; i < n; i++) {
        p.value += x.value[i];
        p.squares += x.value[i] * x.value[i];
        p.carried += x.variance[i];
        p.honest += x.honest[i];
    }
    if (!(p.carried > 0))
        measure_terms(x, n, &p);
    if (is_mean)
        p.low = READING_ALL_BITS;
    reading_vary(&p, 0);
    return p;
}

// Two sums become one.
static struct reading_partial plus(struct reading_partial p, struct reading_partial q, int lack) {
    struct reading_partial r = {.value = p.value + q.value,
                                .honest = p.honest + q.honest,
                                .terms = p.terms + q.terms,
                                .carried = p.carried + q.carried,
                                .squares = p.squares + q.squares,
                                .size = p.size + q.size,
                                .low = p.low < q.low ? p.low : q.low};
    reading_vary(&r, lack);
    return r;
}

static struct reading_partial times(struct reading_partial p, struct reading_partial q) {
    struct reading_partial r = {.value = p.value * q.value, .honest = p.honest * q.honest};
    r.variance = q.value * q.value * p.variance + p.value * p.value * q.variance;
    r.variance += reading_round_from(r.value, r.variance);
    return r;
}

static struct reading_partial run_prod(struct reading x, int n) {
    struct reading_partial p = first(x);
    for (int i = 1; i < n; i++)
        p = times(p, (struct reading_partial){
                         .value = x.value[i], .variance = x.variance[i], .honest = x.honest[i]});
    return p;
}

// NaN wins and stays.
static struct reading_partial larger(struct reading_partial p, struct reading_partial q) {
    if (q.value > p.value || q.value != q.value) {
        p.value = q.value;
        p.variance = q.variance;
    }
    if (q.honest > p.honest || q.honest != q.honest)
        p.honest = q.honest;
    return p;
}

static struct reading_partial smaller(struct reading_partial p, struct reading_partial q) {
    if (q.value < p.value || q.value != q.value) {
        p.value = q.value;
        p.variance = q.variance;
    }
    if (q.honest < p.honest || q.honest != q.honest)
        p.honest = q.honest;
    return p;
}

// Everything that f32 holds goes the fast way.
static bool is_plain(const struct reading_fold *f) {
    return f->type == DTYPE_F32;
}

struct reading_partial reading_run(const struct reading_fold *f, struct reading x, int n) {
    enum op op = f->op;
    if (!is_plain(f))
        return reading_run_typed(f, x, n);
    if (op == OP_RSUM)
        return run_sum(x, n, f->is_mean);
    if (op == OP_RPROD)
        return run_prod(x, n);
    struct reading_partial p = first(x);
    for (int i = 1; i < n; i++) {
        struct reading_partial q = {
            .value = x.value[i], .variance = x.variance[i], .honest = x.honest[i]};
        p = op == OP_RMAX ? larger(p, q) : smaller(p, q);
    }
    return p;
}

struct reading_partial reading_join(const struct reading_fold *f, struct reading_partial p,
                                    struct reading_partial q) {
    if (!is_plain(f))
        return reading_join_typed(f, p, q);
    switch (f->op) {
    case OP_RSUM:
        return plus(p, q, f->lack);
    case OP_RPROD:
        return times(p, q);
    case OP_RMAX:
        return larger(p, q);
    default:
        assert(f->op == OP_RMIN);
        return smaller(p, q);
    }
}

// As a binary counter: two results of the same size become one of twice the size.
void reading_fold_add(struct reading_fold *f, struct reading_partial p) {
    int level = 0;
    for (; f->n_runs >> level & 1; level++)
        p = reading_join(f, f->levels[level], p);
    f->levels[level] = p;
    f->n_runs++;
}

struct reading_partial reading_fold_end(const struct reading_fold *f) {
    int level = 0;
    while (!(f->n_runs >> level & 1))
        level++;
    struct reading_partial p = f->levels[level++];
    for (; f->n_runs >> level; level++)
        if (f->n_runs >> level & 1)
            p = reading_join(f, f->levels[level], p);
    return p;
}
