// Reductions of f32: as in ir/interpret_reduce.c. Runs of ORACLE_RUN terms first, then these in
// pairs.
#ifndef HONE_ORACLE_REDUCE_H
#define HONE_ORACLE_REDUCE_H

#include "hone_oracle_reading.h"

JUDGE_FN struct oracle_partial oracle_plus(struct oracle_partial p, struct oracle_partial q) {
    p.value += q.value;
    p.variance += q.variance;
    p.honest = ORACLE_PLUS(p.honest, q.honest);
    p.squares += q.squares;
    p.size += q.size;
    p.low = p.low < q.low ? p.low : q.low;
    return p;
}

// Squares of the partial sums of n terms, in any order, as in ir/reading_fold.h: in one chain, or
// in chains of ORACLE_CHAIN terms and one of their results.
enum { ORACLE_CHAIN = 1 << 16 };
JUDGE_FN double oracle_chain_squares(double n, double sum, double squares) {
    double m = ceil(n / ORACLE_CHAIN), pairs = sum * sum - squares, joined = squares + pairs / m;
    if (m <= 1)
        return (n - 1) * (squares / 2 + pairs / 3);
    return (n - m) * (squares / m / 2 + pairs / (m * m) / 3) +
           (m - 1) * (joined / 2 + (sum * sum - joined) / 3);
}

// The variance of a sum of n terms, whose partial sums lack so many digits of f32.
JUDGE_FN double oracle_vary(struct oracle_partial p, double n, int lack) {
    if (!(p.variance > 0) && oracle_sums_exactly(p.size, p.low, lack))
        return p.variance;  // 0, or nothing is known
    return p.variance +
           oracle_chain_squares(n, p.value, p.squares) * ldexp(ORACLE_ROUND, 2 * lack) +
           (n - 1) * ORACLE_QUANTUM;
}

JUDGE_FN struct oracle_partial oracle_times(struct oracle_partial p, struct oracle_partial q) {
    double variance = q.value * q.value * p.variance + p.value * p.value * q.variance;
    p.value *= q.value;
    p.honest = ORACLE_MUL(p.honest, q.honest);
    p.variance = variance + oracle_rounding(p.value, variance);
    return p;
}

JUDGE_FN struct oracle_partial oracle_extreme(int is_max, struct oracle_partial p,
                                              struct oracle_partial q) {
    if ((is_max ? q.value > p.value : q.value < p.value) || q.value != q.value) {
        p.value = q.value;
        p.variance = q.variance;
    }
    if ((is_max ? q.honest > p.honest : q.honest < p.honest) || q.honest != q.honest)
        p.honest = q.honest;
    return p;
}

JUDGE_FN struct oracle_partial oracle_pair(int op, struct oracle_partial p,
                                           struct oracle_partial q) {
    if (op == OP_RSUM)
        return oracle_plus(p, q);
    if (op == OP_RPROD)
        return oracle_times(p, q);
    return oracle_extreme(op == OP_RMAX, p, q);
}

JUDGE_FN struct oracle_partial oracle_partial_of(struct oracle_point x) {
    struct oracle_partial p = {x.value, x.variance, 0, x.value * x.value, (float)x.honest, 0};
    return p;
}

JUDGE_FN void oracle_add_term(struct oracle_partial *p, struct oracle_point x) {
    p->value += x.value;
    p->squares += x.value * x.value;
    p->variance += x.variance;
    p->honest = ORACLE_PLUS(p->honest, (float)x.honest);
}

// The next elements of a walk, all of them read before the first is used: who adds in sequence
// would wait for memory at every term. What kind of array it is is asked once, since the compiler
// moves no load across a question.
enum { ORACLE_AHEAD = 8 };
#define ORACLE_EACH_AHEAD _Pragma("unroll") for (int i = 0; i < ORACLE_AHEAD; i++)
JUDGE_FN void oracle_read_ahead(const struct oracle_reduce *r, struct oracle_walk *w, int n,
                                struct oracle_point *points) {
    const struct oracle_array *a = &r->from;
    u64 place[ORACLE_AHEAD];
    ORACLE_EACH_AHEAD {
        place[i] = w->place;
        if (i + 1 < n)
            oracle_step(w, &r->reduced);
    }
    if (a->value && a->variance && a->honest && !a->is_wide) {
        const double *value = (const double *)a->value, *variance = (const double *)a->variance;
        const float *honest = (const float *)a->honest;
        ORACLE_EACH_AHEAD points[i].value = value[place[i]];
        ORACLE_EACH_AHEAD points[i].variance = variance[place[i]];
        ORACLE_EACH_AHEAD points[i].honest = (double)honest[place[i]];
    } else if (a->honest && !a->value && !a->is_wide) {
        ORACLE_EACH_AHEAD points[i] = oracle_input(a, place[i]);
    } else {
        ORACLE_EACH_AHEAD points[i] = oracle_read(a, place[i]);
    }
}

JUDGE_FN void oracle_measure_term(struct oracle_partial *p, double v) {
    int low = oracle_low_bit(v);
    p->low = low < p->low ? low : p->low;
    p->size += fabs(v);
}

// Sizes and lowest bit of exact terms.
JUDGE_FN void oracle_measure_run(const struct oracle_reduce *r, u64 base, u64 start, int n,
                                 struct oracle_partial *p) {
    struct oracle_walk w;
    struct oracle_point x[ORACLE_AHEAD];
    p->low = ORACLE_NO_BIT;
    oracle_walk_to(&w, &r->reduced, base, start);
    for (int done = 0; done < n; done += ORACLE_AHEAD) {
        oracle_read_ahead(r, &w, n - done, x);
#pragma unroll
        for (int i = 0; i < ORACLE_AHEAD; i++)
            if (done + i < n)
                oracle_measure_term(p, x[i].value);
    }
}

// One block of a reduction: `n` terms in sequence.
JUDGE_FN struct oracle_partial oracle_run(const struct oracle_reduce *r, u64 base, u64 start,
                                          int n) {
    struct oracle_walk w;
    struct oracle_point x[ORACLE_AHEAD];
    oracle_walk_to(&w, &r->reduced, base, start);
    struct oracle_partial p = oracle_partial_of(oracle_read(&r->from, w.place));
    oracle_step(&w, &r->reduced);
    for (int done = 1; done < n; done += ORACLE_AHEAD) {
        oracle_read_ahead(r, &w, n - done, x);
#pragma unroll
        for (int i = 0; i < ORACLE_AHEAD; i++)
            if (done + i < n && r->op == OP_RSUM)
                oracle_add_term(&p, x[i]);
            else if (done + i < n)
                p = oracle_pair(r->op, p, oracle_partial_of(x[i]));
    }
    if (r->op == OP_RSUM && !(p.variance > 0))
        oracle_measure_run(r, base, start, n, &p);
    if (r->op == OP_RSUM && r->is_mean)
        p.low = ORACLE_ALL_BITS;
    return p;
}

// Block number i of all: of threads that are neighbours the blocks are, too. Rows of megabytes, one
// for each thread, would be as many pages of memory.
struct oracle_block {
    u64 base;   // where the result's first element is
    u64 start;  // number of the block's first term
    u64 to;     // its place in `partials`
    int n;
};
JUDGE_FN struct oracle_block oracle_block(const struct oracle_reduce *r, u64 i) {
    u64 n_runs = (u64)r->n_runs, run = r->runs_are_near ? i % n_runs : i / r->n;
    u64 result = r->runs_are_near ? i / n_runs : i % r->n, left = r->length - run * (u64)r->run;
    struct oracle_block b = {oracle_place(&r->kept, result), run * (u64)r->run, run * r->n + result,
                             left < (u64)r->run ? (int)left : r->run};
    return b;
}

// Every block of every result.
JUDGE_KERNEL oracle_runs(struct oracle_reduce r) {
    struct oracle_partial *partials = (struct oracle_partial *)r.partials;
    for (u64 i = first(); i < r.n * (u64)r.n_runs; i += stride()) {
        struct oracle_block b = oracle_block(&r, i);
        partials[b.to] = oracle_run(&r, b.base, b.start, b.n);
    }
}

// Results that come one after the other, joined in pairs of equal size: ir/interpret_reduce.c's
// binary counter.
struct oracle_counter {
    int op;
    u64 n;
    struct oracle_partial levels[ORACLE_LEVELS];
};

JUDGE_FN void oracle_count(struct oracle_counter *c, struct oracle_partial p) {
    int level = 0;
    for (; c->n >> level & 1; level++)
        p = oracle_pair(c->op, c->levels[level], p);
    c->levels[level] = p;
    c->n++;
}

JUDGE_FN struct oracle_partial oracle_total(const struct oracle_counter *c) {
    int level = 0;
    while (!(c->n >> level & 1))
        level++;
    struct oracle_partial p = c->levels[level++];
    for (; c->n >> level; level++)
        if (c->n >> level & 1)
            p = oracle_pair(c->op, c->levels[level], p);
    return p;
}

// ORACLE_FOLD partial results into one, for every result. Joining groups of a power of two first
// gives the same pairs; the last time the result itself is written.
JUDGE_KERNEL oracle_join(struct oracle_reduce r) {
    const struct oracle_partial *partials = (const struct oracle_partial *)r.partials;
    struct oracle_partial *joined = (struct oracle_partial *)r.joined;
    u64 groups = ((u64)r.n_runs + ORACLE_FOLD - 1) / ORACLE_FOLD;
    for (u64 i = first(); i < r.n * groups; i += stride()) {
        u64 begin = i / r.n * ORACLE_FOLD, result = i % r.n;
        struct oracle_counter c;
        c.op = r.op;
        c.n = 0;
        for (u64 k = begin; k < begin + ORACLE_FOLD && k < (u64)r.n_runs; k++)
            oracle_count(&c, partials[k * r.n + result]);
        struct oracle_partial p = oracle_total(&c);
        if (groups > 1) {
            joined[i] = p;
        } else {
            struct oracle_point x = {p.value, p.variance, (double)p.honest};
            if (r.op == OP_RSUM)
                x.variance = oracle_vary(p, (double)r.length, r.lack);
            oracle_write(&r.out, r.to_at + oracle_place(&r.to, result), x);
        }
    }
}

#endif
