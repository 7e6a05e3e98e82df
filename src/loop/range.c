// Interval arithmetic and linear forms over index expressions.
#include "loop/range.h"

#include <stddef.h>

#include "loop/loop.h"

static int64_t saturate(__int128 v) {
    if (v > INT64_MAX)
        return INT64_MAX;
    return v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

static int64_t min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static struct range multiply(struct range x, struct range y) {
    int64_t corner[4] = {saturate((__int128)x.low * y.low), saturate((__int128)x.low * y.high),
                         saturate((__int128)x.high * y.low), saturate((__int128)x.high * y.high)};
    struct range r = {corner[0], corner[0]};
    for (int i = 1; i < 4; i++)
        r = (struct range){min(r.low, corner[i]), max(r.high, corner[i])};
    return r;
}

// Divisors are positive constants and dividends never negative: indices.
static struct range modulo(struct range x, struct range y) {
    if (x.high < y.low)
        return x;
    if (x.low == x.high && y.low == y.high)
        return (struct range){x.low % y.low, x.low % y.low};
    return (struct range){0, y.high - 1};
}

// Below the power of two that both are below.
static struct range exclusive_or(struct range x, struct range y) {
    int64_t high = 1;
    while (high <= max(x.high, y.high) && high < INT64_MAX / 2)
        high *= 2;
    return (struct range){0, high - 1};
}

struct range range_of(const struct loop_expr *e) {
    struct range all = {INT64_MIN, INT64_MAX};
    if (e->op == LOOP_CONST)
        return (struct range){e->integer, e->integer};
    if (e->op == LOOP_VAR)
        return (struct range){e->var->low, e->var->high};
    if (e->op == LOOP_TO_INDEX)
        return (struct range){e->low, e->high};
    if (loop_ops[e->op].arity != 2)
        return all;

    struct range x = range_of(e->arg[0]), y = range_of(e->arg[1]);
    switch (e->op) {
    case LOOP_ADD:
        return (struct range){saturate((__int128)x.low + y.low),
                              saturate((__int128)x.high + y.high)};
    case LOOP_SUB:
        return (struct range){saturate((__int128)x.low - y.high),
                              saturate((__int128)x.high - y.low)};
    case LOOP_MUL:
        return multiply(x, y);
    case LOOP_DIV:
        return y.low > 0 ? (struct range){x.low / y.low, x.high / y.low} : all;
    case LOOP_MOD:
        return y.low > 0 && x.low >= 0 ? modulo(x, y) : all;
    case LOOP_XOR:
        return x.low >= 0 && y.low >= 0 ? exclusive_or(x, y) : all;
    case LOOP_MIN:
        return (struct range){min(x.low, y.low), min(x.high, y.high)};
    case LOOP_MAX:
        return (struct range){max(x.low, y.low), max(x.high, y.high)};
    default:
        return all;
    }
}

bool range_constant(const struct loop_expr *e, int64_t *value) {
    struct range r = range_of(e);
    *value = r.low;
    return r.low == r.high;
}

bool range_same(const struct loop_expr *x, const struct loop_expr *y) {
    if (x == y)
        return true;
    if (x->op != y->op || x->dtype != y->dtype || x->lanes != y->lanes)
        return false;
    if (x->op == LOOP_CONST)
        return x->integer == y->integer && x->real == y->real;
    if (x->op == LOOP_VAR)
        return x->var == y->var;
    if (x->op == LOOP_LOAD || x->storage != y->storage || x->low != y->low || x->high != y->high ||
        x->stride != y->stride)
        return false;
    for (int i = 0; i < loop_ops[x->op].arity; i++)
        if (!range_same(x->arg[i], y->arg[i]))
            return false;
    return true;
}

// A linear form: constant + sum of factor * atom; an atom is whatever is not linear itself.
enum { TERMS_MAX = 12 };

struct linear {
    int64_t constant;
    int n_terms;
    struct {
        const struct loop_expr *atom;
        int64_t factor;
    } term[TERMS_MAX];
};

static bool add_term(struct linear *l, const struct loop_expr *atom, int64_t factor) {
    for (int i = 0; i < l->n_terms; i++)
        if (range_same(l->term[i].atom, atom)) {
            l->term[i].factor += factor;
            return true;
        }
    if (l->n_terms == TERMS_MAX)
        return false;
    l->term[l->n_terms].atom = atom;
    l->term[l->n_terms++].factor = factor;
    return true;
}

static bool add_scaled(struct linear *l, const struct loop_expr *e, int64_t factor) {
    int64_t value;
    if (range_constant(e, &value)) {
        l->constant += factor * value;
        return true;
    }
    if (e->op == LOOP_ADD || e->op == LOOP_SUB)
        return add_scaled(l, e->arg[0], factor) &&
               add_scaled(l, e->arg[1], e->op == LOOP_ADD ? factor : -factor);
    if (e->op == LOOP_MUL && range_constant(e->arg[1], &value))
        return add_scaled(l, e->arg[0], factor * value);
    if (e->op == LOOP_MUL && range_constant(e->arg[0], &value))
        return add_scaled(l, e->arg[1], factor * value);
    return add_term(l, e, factor);
}

// x - y as a linear form, and its interval, which is tighter than that of the parts.
static bool subtract(const struct loop_expr *x, const struct loop_expr *y, struct linear *l) {
    *l = (struct linear){0};
    return add_scaled(l, x, 1) && add_scaled(l, y, -1);
}

bool range_difference(const struct loop_expr *x, const struct loop_expr *y, int64_t *difference) {
    struct linear l;
    if (!subtract(x, y, &l))
        return false;
    for (int i = 0; i < l.n_terms; i++)
        if (l.term[i].factor != 0)
            return false;
    *difference = l.constant;
    return true;
}

bool range_at_most(const struct loop_expr *x, const struct loop_expr *y) {
    struct linear l;
    if (!subtract(x, y, &l))
        return range_of(x).high <= range_of(y).low;
    struct range sum = {l.constant, l.constant};
    for (int i = 0; i < l.n_terms; i++) {
        struct range f = {l.term[i].factor, l.term[i].factor};
        struct range t = multiply(range_of(l.term[i].atom), f);
        sum.low = saturate((__int128)sum.low + t.low);
        sum.high = saturate((__int128)sum.high + t.high);
    }
    return sum.high <= 0;
}
