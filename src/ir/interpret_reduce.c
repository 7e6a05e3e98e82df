// Sums as an honest program makes them: in sequence within a run, runs pairwise.
//
// The variance of a sum is that of its terms, plus what each rounding of a partial sum
// adds: as many as change something in the honest order, each as large as partial sums are
// in the mean over all orders.
#include <assert.h>

#include "ir/reading.h"

static struct reading_partial first(struct reading x) {
    return (struct reading_partial){x.value[0], x.variance[0], x.honest[0]};
}

static struct reading_partial run_sum(struct reading x, int n) {
    struct reading_partial p = first(x);
    double squares = p.value * p.value;
    int n_rounded = 0;
    for (int i = 1; i < n; i++) {
        p.value += x.value[i];
        squares += x.value[i] * x.value[i];
        n_rounded += (double)(float)p.value != p.value;
        p.variance += x.variance[i];
        p.honest += x.honest[i];
    }
    if (n_rounded)
        p.variance +=
            n_rounded * (reading_sum_square(p.value, squares) * READING_ROUND + READING_QUANTUM);
    return p;
}

static struct reading_partial times(struct reading_partial p, struct reading_partial q) {
    struct reading_partial r = {.value = p.value * q.value, .honest = p.honest * q.honest};
    r.variance =
        q.value * q.value * p.variance + p.value * p.value * q.variance + reading_round(r.value);
    return r;
}

static struct reading_partial run_prod(struct reading x, int n) {
    struct reading_partial p = first(x);
    for (int i = 1; i < n; i++)
        p = times(p, (struct reading_partial){x.value[i], x.variance[i], x.honest[i]});
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

struct reading_partial reading_run(enum op op, struct reading x, int n) {
    if (op == OP_RSUM)
        return run_sum(x, n);
    if (op == OP_RPROD)
        return run_prod(x, n);
    struct reading_partial p = first(x);
    for (int i = 1; i < n; i++) {
        struct reading_partial q = {x.value[i], x.variance[i], x.honest[i]};
        p = op == OP_RMAX ? larger(p, q) : smaller(p, q);
    }
    return p;
}

static struct reading_partial join(enum op op, struct reading_partial p, struct reading_partial q) {
    switch (op) {
    case OP_RSUM: {
        double value = p.value + q.value;
        return (struct reading_partial){value, p.variance + q.variance + reading_round(value),
                                        p.honest + q.honest};
    }
    case OP_RPROD:
        return times(p, q);
    case OP_RMAX:
        return larger(p, q);
    default:
        assert(op == OP_RMIN);
        return smaller(p, q);
    }
}

// As a binary counter: two results of the same size become one of twice the size.
void reading_fold_add(struct reading_fold *f, struct reading_partial p) {
    int level = 0;
    for (; f->n_runs >> level & 1; level++)
        p = join(f->op, f->levels[level], p);
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
            p = join(f->op, f->levels[level], p);
    return p;
}
