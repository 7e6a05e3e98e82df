// Sums are kept flat and short: equal parts are added up, and parts that are digits of one number
// ((e / 8) * 8 + e % 8) are put together again. That is all the algebra that views of views need.
#include "family/index.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "family/space.h"

enum { TERMS_MAX = 24 };

// A sum while it is built.
struct draft {
    struct arena *arena;
    int64_t number;
    struct index_term term[TERMS_MAX];
    int n;
};

// A part as a digit of a number: base / by % mod; mod 0: all higher digits.
struct digit {
    const struct index *base;
    int64_t by, mod;
};

static struct index *new_index(struct arena *a, enum index_kind kind, int64_t low, int64_t high) {
    struct index *x = arena_new(a, struct index);
    *x = (struct index){.kind = kind, .low = low, .high = high};
    return x;
}

const struct index *index_number(struct arena *a, int64_t value) {
    struct index *x = new_index(a, INDEX_SUM, value, value);
    x->number = value;
    return x;
}

const struct index *index_axis(struct arena *a, int axis, int64_t size) {
    if (size == 1)
        return index_number(a, 0);
    struct index *x = new_index(a, INDEX_AXIS, 0, size - 1);
    x->axis = axis;
    return x;
}

bool index_constant(const struct index *x, int64_t *value) {
    *value = x->low;
    return x->low == x->high;
}

static bool same_sum(const struct index *x, const struct index *y) {
    if (x->number != y->number || x->n_terms != y->n_terms)
        return false;
    for (int i = 0; i < x->n_terms; i++) {
        bool found = false;
        for (int j = 0; j < y->n_terms && !found; j++)
            found = x->term[i].scale == y->term[j].scale &&
                    index_same(x->term[i].part, y->term[j].part);
        if (!found)
            return false;
    }
    return true;
}

bool index_same(const struct index *x, const struct index *y) {
    if (x == y)
        return true;
    if (x->kind != y->kind)
        return false;
    switch (x->kind) {
    case INDEX_AXIS:
        return x->axis == y->axis;
    case INDEX_SUM:
        return same_sum(x, y);
    case INDEX_QUOTIENT:
    case INDEX_REMAINDER:
        return x->number == y->number && index_same(x->part, y->part);
    case INDEX_WITHIN:
        return x->low == y->low && x->high == y->high && index_same(x->part, y->part);
    case INDEX_VALUE:
        break;
    }
    if (x->node != y->node || x->high != y->high)
        return false;
    return map_same(x->map, y->map);
}

static struct digit digit_of(const struct index *part) {
    struct digit d = {part, 1, 0};
    if (part->kind == INDEX_REMAINDER) {
        d.mod = part->number;
        d.base = part->part;
    }
    if (d.base->kind == INDEX_QUOTIENT) {
        d.by = d.base->number;
        d.base = d.base->part;
    }
    return d;
}

static void add_term(struct draft *d, int64_t scale, const struct index *part);

static void add_all(struct draft *d, int64_t scale, const struct index *x) {
    if (x->kind != INDEX_SUM) {
        add_term(d, scale, x);
        return;
    }
    d->number += scale * x->number;
    for (int i = 0; i < x->n_terms; i++)
        add_term(d, scale * x->term[i].scale, x->term[i].part);
}

static const struct index *take_digit(struct arena *a, const struct digit *d) {
    const struct index *x = index_quotient(a, d->base, d->by);
    return d->mod ? index_remainder(a, x, d->mod) : x;
}

// Is `low` the digit just below `high`, with a scale to fit?
static bool is_below(const struct digit *low, int64_t low_scale, const struct digit *high,
                     int64_t high_scale) {
    return low->mod && high->by == low->by * low->mod && high_scale == low_scale * low->mod &&
           index_same(low->base, high->base);
}

static void add_term(struct draft *d, int64_t scale, const struct index *part) {
    struct digit own = digit_of(part);
    for (int i = 0; i < d->n; i++) {
        struct index_term old = d->term[i];
        struct digit other = digit_of(old.part);
        if (index_same(old.part, part)) {
            d->term[i].scale += scale;
            if (d->term[i].scale == 0)
                d->term[i] = d->term[--d->n];
            return;
        }
        bool below = is_below(&own, scale, &other, old.scale);
        if (!below && !is_below(&other, old.scale, &own, scale))
            continue;
        struct digit joined = below ? own : other;
        joined.mod = below ? other.mod * own.mod : own.mod * other.mod;
        d->term[i] = d->term[--d->n];
        add_all(d, below ? scale : old.scale, take_digit(d->arena, &joined));
        return;
    }
    if (scale == 0)
        return;
    assert(d->n < TERMS_MAX);
    d->term[d->n++] = (struct index_term){scale, part};
}

static const struct index *finish(struct draft *d) {
    if (d->n == 1 && d->number == 0 && d->term[0].scale == 1)
        return d->term[0].part;
    struct index *x = new_index(d->arena, INDEX_SUM, d->number, d->number);
    x->number = d->number;
    x->n_terms = d->n;
    x->term = d->n ? arena_copy(d->arena, d->term, sizeof *d->term * (size_t)d->n) : NULL;
    for (int i = 0; i < d->n; i++) {
        const struct index_term *t = &d->term[i];
        x->low += t->scale * (t->scale > 0 ? t->part->low : t->part->high);
        x->high += t->scale * (t->scale > 0 ? t->part->high : t->part->low);
    }
    return x;
}

const struct index *index_add(struct arena *a, const struct index *x, const struct index *y) {
    struct draft d = {.arena = a};
    add_all(&d, 1, x);
    add_all(&d, 1, y);
    return finish(&d);
}

const struct index *index_scale(struct arena *a, const struct index *x, int64_t by) {
    struct draft d = {.arena = a};
    if (by != 0)
        add_all(&d, by, x);
    return finish(&d);
}

const struct index *index_shift(struct arena *a, const struct index *x, int64_t by) {
    struct draft d = {.arena = a, .number = by};
    add_all(&d, 1, x);
    return finish(&d);
}

static bool is_zero(const struct index *x) {
    return x->low == 0 && x->high == 0;
}

// The terms of x that are multiples of `by`, divided by it, and what is left. False when what is
// left may be negative.
static bool split(struct arena *a, const struct index *x, int64_t by, const struct index **whole,
                  const struct index **left) {
    struct draft w = {.arena = a}, l = {.arena = a};
    if (x->kind != INDEX_SUM)
        return false;
    w.number = x->number / by;
    l.number = x->number % by;
    if (l.number < 0) {
        l.number += by;
        w.number--;
    }
    for (int i = 0; i < x->n_terms; i++)
        if (x->term[i].scale % by == 0)
            add_term(&w, x->term[i].scale / by, x->term[i].part);
        else
            add_term(&l, x->term[i].scale, x->term[i].part);
    *whole = finish(&w);
    *left = finish(&l);
    return (*left)->low >= 0;
}

// x as whole * d + left with left below d, for the largest d above 1 that divides `by`; 0: none.
static int64_t common_factor(struct arena *a, const struct index *x, int64_t by,
                             const struct index **whole, const struct index **left) {
    int64_t best = 0;
    for (int i = 0; x->kind == INDEX_SUM && i < x->n_terms; i++) {
        const struct index *w, *l;
        int64_t d = x->term[i].scale;
        if (d <= 1 || d <= best || by % d != 0 || d == by)
            continue;
        if (!split(a, x, d, &w, &l) || l->high >= d || w->low < 0)
            continue;
        best = d;
        *whole = w;
        *left = l;
    }
    return best;
}

const struct index *index_quotient(struct arena *a, const struct index *x, int64_t by) {
    assert(by > 0 && x->low >= 0);
    const struct index *whole, *left;
    if (by == 1)
        return x;
    if (x->low / by == x->high / by)
        return index_number(a, x->low / by);
    if (x->kind == INDEX_QUOTIENT)
        return index_quotient(a, x->part, by * x->number);
    if (split(a, x, by, &whole, &left)) {
        if (left->high < by)
            return whole;
        if (!is_zero(whole))
            return index_add(a, whole, index_quotient(a, left, by));
    }
    int64_t d = common_factor(a, x, by, &whole, &left);
    if (d)
        return index_quotient(a, whole, by / d);
    struct index *q = new_index(a, INDEX_QUOTIENT, x->low / by, x->high / by);
    q->number = by;
    q->part = x;
    return q;
}

const struct index *index_remainder(struct arena *a, const struct index *x, int64_t by) {
    assert(by > 0 && x->low >= 0);
    const struct index *whole, *left;
    if (x->low / by == x->high / by)
        return index_shift(a, x, -(x->low / by * by));
    if (x->kind == INDEX_REMAINDER && x->number % by == 0)
        return index_remainder(a, x->part, by);
    if (split(a, x, by, &whole, &left) && !is_zero(whole))
        return index_remainder(a, left, by);
    int64_t d = common_factor(a, x, by, &whole, &left);
    if (d)
        return index_add(a, index_scale(a, index_remainder(a, whole, by / d), d), left);
    struct index *r = new_index(a, INDEX_REMAINDER, 0, by - 1);
    r->number = by;
    r->part = x;
    return r;
}

const struct index *index_within(struct arena *a, const struct index *x, int64_t low,
                                 int64_t high) {
    if (x->low >= low && x->high <= high)
        return x;
    if (low == high || x->high <= low || x->low >= high)
        return index_number(a, x->low >= high ? high : low);
    struct index *w = new_index(a, INDEX_WITHIN, low, high);
    w->part = x;
    return w;
}

const struct index *index_value(struct arena *a, node_id node, const struct axis_map *map,
                                int64_t high) {
    if (high == 0)
        return index_number(a, 0);
    struct index *x = new_index(a, INDEX_VALUE, 0, high);
    x->node = node;
    x->map = arena_copy(a, map, sizeof *map);
    return x;
}

bool index_uses(const struct index *x, int axis) {
    switch (x->kind) {
    case INDEX_AXIS:
        return x->axis == axis;
    case INDEX_SUM:
        for (int i = 0; i < x->n_terms; i++)
            if (index_uses(x->term[i].part, axis))
                return true;
        return false;
    case INDEX_VALUE:
        return map_uses(x->map, RANK_MAX, axis);
    default:
        return index_uses(x->part, axis);
    }
}

bool index_is_affine(const struct index *x, int axis) {
    if (x->kind == INDEX_AXIS)
        return true;
    if (x->kind != INDEX_SUM)
        return !index_uses(x, axis);
    for (int i = 0; i < x->n_terms; i++)
        if (!index_is_affine(x->term[i].part, axis))
            return false;
    return true;
}

int64_t index_factor(const struct index *x, int axis) {
    if (x->kind == INDEX_AXIS)
        return x->axis == axis;
    int64_t factor = 0;
    for (int i = 0; x->kind == INDEX_SUM && i < x->n_terms; i++)
        if (x->term[i].part->kind == INDEX_AXIS && x->term[i].part->axis == axis)
            factor += x->term[i].scale;
    return factor;
}
