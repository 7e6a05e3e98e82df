// Along lines and under windows: running sums and products, a thread for each run of a line, and
// pools, one for each window, of f32.
// As in ir/interpret_scan.c and ir/interpret_window.c.
#ifndef HONE_ORACLE_LINE_H
#define HONE_ORACLE_LINE_H

#include "hone_oracle_reduce.h"

// `terms` of them are in it.
JUDGE_FN struct oracle_point oracle_running(int op, const struct oracle_partial *p, double terms) {
    struct oracle_point x = {p->value, p->variance, (double)p->honest};
    if (op == OP_RSUM)
        x.variance = oracle_vary(*p, terms, 0);
    return x;
}

JUDGE_FN struct oracle_partial oracle_term(struct oracle_point x) {
    struct oracle_partial p = oracle_partial_of(x);
    p.size = fabs(x.value);
    p.low = oracle_low_bit(x.value);
    return p;
}

// Where element i of a line lies, in the order of the scan.
JUDGE_FN u64 oracle_scan_place(const struct oracle_scan *s, u64 line, u64 i) {
    return line / s->inner * s->length * s->inner + line % s->inner +
           (s->reverse ? s->length - 1 - i : i) * s->inner;
}

JUDGE_FN struct oracle_partial oracle_scan_term(const struct oracle_scan *s, u64 at) {
    return oracle_term(oracle_read(&s->from.array, oracle_place(&s->from.axes, at)));
}

JUDGE_FN u64 oracle_scan_end(const struct oracle_scan *s, u64 run) {
    return oracle_least((run + 1) * ORACLE_RUN, s->length);
}

// Each run by itself.
JUDGE_KERNEL oracle_scan_runs(struct oracle_scan s) {
    for (u64 k = first(); k < s.n * s.n_runs; k += stride()) {
        u64 run = k / s.n, line = k % s.n, i = run * ORACLE_RUN;
        struct oracle_partial open = oracle_scan_term(&s, oracle_scan_place(&s, line, i));
        for (i++; i < oracle_scan_end(&s, run); i++)
            open = oracle_pair(s.op, open, oracle_scan_term(&s, oracle_scan_place(&s, line, i)));
        ((struct oracle_partial *)s.partials)[k] = open;
    }
}

// What came before each run of a line, in the place of its own sum.
JUDGE_KERNEL oracle_scan_carry(struct oracle_scan s) {
    struct oracle_partial *partials = (struct oracle_partial *)s.partials;
    for (u64 line = first(); line < s.n; line += stride()) {
        struct oracle_partial total = partials[line];
        for (u64 run = 1; run < s.n_runs; run++) {
            struct oracle_partial open = partials[run * s.n + line];
            partials[run * s.n + line] = total;
            total = oracle_pair(s.op, total, open);
        }
    }
}

JUDGE_FN void oracle_scan_run(const struct oracle_scan *s, u64 line, u64 run) {
    double nothing = s->op == OP_RPROD;
    struct oracle_point y = {nothing, 0, nothing};
    u64 begin = run * ORACLE_RUN;
    struct oracle_partial before = oracle_partial_of(y), open = before, total;
    if (run) {
        before = ((const struct oracle_partial *)s->partials)[run * s->n + line];
        y = oracle_running(s->op, &before, (double)begin);
    }
    for (u64 i = begin; i < oracle_scan_end(s, run); i++) {
        u64 at = oracle_scan_place(s, line, i);
        if (s->exclusive)
            oracle_write(&s->out, at, y);
        struct oracle_partial x = oracle_scan_term(s, at);
        open = i == begin ? x : oracle_pair(s->op, open, x);
        total = run ? oracle_pair(s->op, before, open) : open;
        y = oracle_running(s->op, &total, (double)(i + 1));
        if (!s->exclusive)
            oracle_write(&s->out, at, y);
    }
}

JUDGE_KERNEL oracle_scan(struct oracle_scan s) {
    for (u64 k = first(); k < s.n * s.n_runs; k += stride())
        oracle_scan_run(&s, k % s.n, k / s.n);
}

// The element under tap `t` of the window of position `o`; ORACLE_OUTSIDE: there is none.
#define ORACLE_OUTSIDE (~0ull)
JUDGE_FN u64 oracle_tap(const struct oracle_pool *p, u64 plane, u64 o, u64 t) {
    u64 at[3] = {o / p->positions[2] / p->positions[1], o / p->positions[2] % p->positions[1],
                 o % p->positions[2]};
    u64 tap[3] = {t / p->window[2] / p->window[1], t / p->window[2] % p->window[1],
                  t % p->window[2]};
    for (int i = 0; i < 3; i++) {
        // Beyond every size where it is before the first.
        u64 y = at[i] * p->stride[i] + tap[i] * p->dilation[i] - p->before[i];
        if (y >= p->size[i])
            return ORACLE_OUTSIDE;
        plane = plane * p->size[i] + y;
    }
    return plane;
}

JUDGE_KERNEL oracle_pool(struct oracle_pool p) {
    u64 area = p.positions[0] * p.positions[1] * p.positions[2];
    u64 n_taps = p.window[0] * p.window[1] * p.window[2];
    for (u64 i = first(); i < p.n; i += stride()) {
        double nothing = p.op == OP_RMAX ? -JUDGE_INFINITY : 0;
        struct oracle_point y = {nothing, 0, nothing};
        struct oracle_partial run = oracle_partial_of(y);
        struct oracle_counter c;
        u64 n = 0;
        c.op = p.op;
        c.n = 0;
        for (u64 t = 0; t < n_taps; t++) {
            u64 at = oracle_tap(&p, i / area, i % area, t);
            if (at == ORACLE_OUTSIDE)
                continue;
            struct oracle_partial x =
                oracle_term(oracle_read(&p.from.array, oracle_place(&p.from.axes, at)));
            run = n % ORACLE_RUN ? oracle_pair(p.op, run, x) : x;
            if (++n % ORACLE_RUN == 0)
                oracle_count(&c, run);
        }
        if (n % ORACLE_RUN)
            oracle_count(&c, run);
        if (n) {
            run = oracle_total(&c);
            y = oracle_running(p.op, &run, (double)n);
        }
        oracle_write(&p.out, i, y);
    }
}

#endif
