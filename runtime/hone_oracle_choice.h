// Which is best, in which order, and sums that indices gather: as argmax and argmin in
// ir/interpret_typed.c, orders in ir/interpret_scan.c, scattered sums in ir/interpret_index.c. What
// each element has to do with the others is found by merging: runs in order become longer ones, and
// an element's place in the next is its own and the number of those of the other run that go before
// it.
#ifndef HONE_ORACLE_CHOICE_H
#define HONE_ORACLE_CHOICE_H

#include "hone_oracle_line.h"

// ---- the best

// The best of some elements in each reading, and the best of those that may yet be it.
struct oracle_best {
    double value, variance, honest, other, other_variance;
    u64 at, honest_at;
};

// NaN is the largest and the smallest.
JUDGE_FN int oracle_beats(int is_max, double a, double b) {
    if (a != a || b != b)
        return a != a && b == b;
    return is_max ? a > b : a < b;
}

// The better of both in each reading; of equals the first. `p` stands before `q`.
JUDGE_FN struct oracle_best oracle_better(int is_max, struct oracle_best p, struct oracle_best q) {
    int second = oracle_beats(is_max, q.value, p.value);
    struct oracle_best r = second ? q : p;
    double value = second ? p.value : q.value, variance = second ? p.variance : q.variance;
    int honest_second = oracle_beats(is_max, q.honest, p.honest);
    r.honest = honest_second ? q.honest : p.honest;
    r.honest_at = honest_second ? q.honest_at : p.honest_at;
    if (variance + r.variance > 0 && (r.other != r.other || oracle_beats(is_max, value, r.other))) {
        r.other = value;
        r.other_variance = variance;
    }
    return r;
}

JUDGE_FN struct oracle_best oracle_best_of(struct oracle_point x, u64 at) {
    struct oracle_best b = {x.value, x.variance, x.honest, (double)ORACLE_NAN, 0, at, at};
    return b;
}

JUDGE_FN struct oracle_best oracle_best_run(const struct oracle_reduce *r, u64 base, u64 start,
                                            int n) {
    struct oracle_walk w;
    struct oracle_point x[ORACLE_AHEAD];
    struct oracle_best b;
    oracle_walk_to(&w, &r->reduced, base, start);
    for (int done = 0; done < n; done += ORACLE_AHEAD) {
        oracle_read_ahead(r, &w, n - done, x);
#pragma unroll
        for (int i = 0; i < ORACLE_AHEAD; i++)
            if (done + i < n) {
                struct oracle_best q = oracle_best_of(x[i], r->first + start + (u64)(done + i));
                b = done + i ? oracle_better(r->op == OP_ARGMAX, b, q) : q;
            }
    }
    return b;
}

JUDGE_KERNEL oracle_best_runs(struct oracle_reduce r) {
    struct oracle_best *partials = (struct oracle_best *)r.partials;
    for (u64 i = first(); i < r.n * (u64)r.n_runs; i += stride()) {
        struct oracle_block b = oracle_block(&r, i);
        partials[b.to] = oracle_best_run(&r, b.base, b.start, b.n);
    }
}

// Where the best stands; uncertain by the whole length when another may be as good.
JUDGE_FN struct oracle_point oracle_position(const struct oracle_best *b, double length) {
    double reach = ORACLE_STRAYS * sqrt(b->variance + b->other_variance);
    struct oracle_point x = {(double)b->at, 0, (double)b->honest_at};
    if (fabs(b->value - b->other) <= reach)
        x.variance = length * length;
    return x;
}

// As oracle_join.
JUDGE_KERNEL oracle_best_join(struct oracle_reduce r) {
    const struct oracle_best *partials = (const struct oracle_best *)r.partials;
    u64 groups = ((u64)r.n_runs + ORACLE_FOLD - 1) / ORACLE_FOLD;
    for (u64 i = first(); i < r.n * groups; i += stride()) {
        u64 begin = i / r.n * ORACLE_FOLD, result = i % r.n;
        struct oracle_best b = partials[begin * r.n + result];
        for (u64 k = begin + 1; k < begin + ORACLE_FOLD && k < (u64)r.n_runs; k++)
            b = oracle_better(r.op == OP_ARGMAX, b, partials[k * r.n + result]);
        if (groups > 1)
            ((struct oracle_best *)r.joined)[i] = b;
        else
            oracle_write(&r.out, r.to_at + oracle_place(&r.to, result),
                         oracle_position(&b, (double)r.length));
    }
}

// ---- orders

// Element e of a line.
JUDGE_FN struct oracle_point oracle_of_line(const struct oracle_order *o, u64 line, u64 e) {
    u64 at = (line / o->inner * o->length + e) * o->inner + line % o->inner;
    return oracle_read(&o->from.array, oracle_place(&o->from.axes, at));
}

JUDGE_FN double oracle_key(const struct oracle_order *o, u64 line, u64 e) {
    struct oracle_point x = oracle_of_line(o, line, e);
    return o->is_honest ? x.honest : x.value;
}

// NaN before all, or where the smallest comes first behind all; of equals the lower index.
JUDGE_FN int oracle_precedes(int is_rising, double x, u64 i, double y, u64 j) {
    int x_nan = x != x, y_nan = y != y;
    if (x_nan != y_nan)
        return is_rising ? y_nan : x_nan;
    if (!x_nan && x != y)
        return is_rising ? x < y : x > y;
    return i < j;
}

// Of a run that begins at `begin`, so many may be among the first.
JUDGE_FN u64 oracle_held(const struct oracle_order *o, u64 begin) {
    u64 most = oracle_least(o->width, o->kept + 1);
    return begin >= o->length ? 0 : oracle_least(most, o->length - begin);
}

// Number k of a run.
JUDGE_FN u64 oracle_ranked(const struct oracle_order *o, u64 line, u64 begin, u64 k) {
    return o->width == 1 ? begin : ((const unsigned *)o->places)[line * o->length + begin + k];
}

// Of two runs that become the one from `begin` on: where number k of the first (half 0) or the
// second goes.
JUDGE_FN void oracle_merge_one(const struct oracle_order *o, u64 line, u64 begin, u64 half, u64 k) {
    u64 own = begin + half * o->width, other = begin + (1 - half) * o->width;
    if (k >= oracle_held(o, own))
        return;
    u64 e = oracle_ranked(o, line, own, k), low = 0, high = oracle_held(o, other);
    double key = oracle_key(o, line, e);
    while (low < high) {
        u64 middle = (low + high) / 2, f = oracle_ranked(o, line, other, middle);
        if (oracle_precedes(o->is_rising, oracle_key(o, line, f), f, key, e))
            low = middle + 1;
        else
            high = middle;
    }
    if (k + low <= o->kept)
        ((unsigned *)o->merged)[line * o->length + begin + k + low] = (unsigned)e;
}

JUDGE_KERNEL oracle_merge(struct oracle_order o) {
    u64 each = oracle_least(o.width, o.kept + 1);
    u64 pairs = (o.length + 2 * o.width - 1) / (2 * o.width);
    for (u64 i = first(); i < o.n * pairs * 2 * each; i += stride())
        oracle_merge_one(&o, i / (2 * each) / pairs, i / (2 * each) % pairs * 2 * o.width,
                         i / each % 2, i % each);
}

// May honest rounding change the order of numbers i and i + 1 of a line?
JUDGE_FN int oracle_may_swap(const struct oracle_order *o, u64 line, u64 i) {
    const unsigned *places = (const unsigned *)o->places + line * o->length;
    if (i + 1 >= o->length)
        return 0;
    struct oracle_point x = oracle_of_line(o, line, places[i]);
    struct oracle_point y = oracle_of_line(o, line, places[i + 1]);
    double variance = x.variance + y.variance;
    return variance > 0 && fabs(x.value - y.value) <= ORACLE_STRAYS * sqrt(variance);
}

// The results, when all lines are in order.
JUDGE_KERNEL oracle_ranks(struct oracle_order o) {
    double doubt = (double)o.length * (double)o.length;
    for (u64 i = first(); i < o.n * o.kept; i += stride()) {
        u64 rank = i / o.inner % o.kept, line = i / o.inner / o.kept * o.inner + i % o.inner;
        double index = (double)((const unsigned *)o.places)[line * o.length + rank];
        struct oracle_point x = {index, 0, index};
        if (o.is_honest) {
            ((double *)o.out.honest)[i] = index;
            continue;
        }
        if ((rank && oracle_may_swap(&o, line, rank - 1)) || oracle_may_swap(&o, line, rank))
            x.variance = doubt;
        oracle_write(&o.out, i, x);
    }
}

// ---- scattered sums

// The index that stands at number i of a line in order.
JUDGE_FN struct oracle_point oracle_target(const struct oracle_order *o, u64 line, u64 i) {
    return oracle_of_line(o, line, ((const unsigned *)o->places)[line * o->length + i]);
}

JUDGE_FN struct oracle_point oracle_scattered(const struct oracle_scatter *s, u64 i) {
    const struct oracle_order *o = &s->order;
    u64 outer = i / s->inner / s->size, row = i / s->inner % s->size, k = i % s->inner;
    u64 line = o->inner == s->inner ? outer * s->inner + k : outer, low = 0, high = s->length;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (oracle_target(o, line, middle).value < (double)row)
            low = middle + 1;
        else
            high = middle;
    }
    struct oracle_partial p =
        oracle_term(oracle_read(&s->base.array, oracle_place(&s->base.axes, i)));
    double terms = 1;
    for (; low < s->length; low++, terms++) {
        struct oracle_point target = oracle_target(o, line, low);
        if (target.honest != target.value)
            *(int *)s->fault = 1;
        if (target.value != (double)row)
            break;
        u64 e = ((const unsigned *)o->places)[line * o->length + low];
        u64 at = (outer * s->length + e) * s->inner + k;
        p = oracle_plus(p, oracle_term(oracle_read(&s->src.array, oracle_place(&s->src.axes, at))));
    }
    return oracle_running(OP_RSUM, &p, terms);
}

JUDGE_KERNEL oracle_scatter(struct oracle_scatter s) {
    for (u64 i = first(); i < s.n; i += stride()) {
        const struct oracle_order *o = &s.order;
        u64 line = o->inner == s.inner ? i / s.inner / s.size * s.inner + i % s.inner
                                       : i / s.inner / s.size;
        if (i / s.inner % s.size == 0 &&
            !(oracle_target(o, line, 0).value >= 0 &&
              oracle_target(o, line, s.length - 1).value < (double)s.size))
            *(int *)s.fault = 1;
        oracle_write(&s.out, i, oracle_scattered(&s, i));
    }
}

#endif
