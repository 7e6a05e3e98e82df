// Along lines and under windows, one thread for each: running sums and products, and pools, of f32.
// As in ir/interpret_scan.c and ir/interpret_window.c.
#ifndef HONE_ORACLE_LINE_H
#define HONE_ORACLE_LINE_H

#include "hone_oracle_reduce.h"

// `terms` of them are in it.
JUDGE_FN struct oracle_point oracle_running(int op, const struct oracle_partial *p, double terms) {
    struct oracle_point x = {p->value, p->variance, (double)p->honest};
    if (op == OP_RSUM)
        x.variance = oracle_vary(*p, terms);
    return x;
}

JUDGE_FN struct oracle_partial oracle_term(struct oracle_point x) {
    struct oracle_partial p = oracle_partial_of(x);
    p.size = fabs(x.value);
    p.low = oracle_low_bit(x.value);
    return p;
}

// The sum of whole runs so far, and of the open one.
JUDGE_FN void oracle_scan_line(const struct oracle_scan *s, u64 start) {
    double nothing = s->op == OP_RPROD;
    struct oracle_point y = {nothing, 0, nothing};
    struct oracle_partial before = oracle_partial_of(y), open = before, total = before;
    for (u64 i = 0; i < s->length; i++) {
        u64 at = start + (s->reverse ? s->length - 1 - i : i) * s->inner;
        if (s->exclusive)
            oracle_write(&s->out, at, y);
        struct oracle_partial x =
            oracle_term(oracle_read(&s->from.array, oracle_place(&s->from.axes, at)));
        int opens = i % ORACLE_RUN == 0;
        if (opens)
            before = total;
        open = opens ? x : oracle_pair(s->op, open, x);
        total = i < ORACLE_RUN ? open : oracle_pair(s->op, before, open);
        y = oracle_running(s->op, &total, (double)(i + 1));
        if (!s->exclusive)
            oracle_write(&s->out, at, y);
    }
}

JUDGE_KERNEL oracle_scan(struct oracle_scan s) {
    for (u64 i = first(); i < s.n; i += stride())
        oracle_scan_line(&s, i / s.inner * s.length * s.inner + i % s.inner);
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
