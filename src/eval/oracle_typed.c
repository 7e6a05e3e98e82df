// Storage and comparison of expected outputs for every type but f32, for which oracle.c and
// oracle_compare.c have a faster way.
#include "eval/oracle_typed.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "eval/oracle_choice.h"
#include "ir/interpret.h"

enum { GRAIN = 1 << 14 };

// How much more than the honest computation a candidate may err, as for f32.
static const double tolerance = 4;

// Two computations in float64 that know nothing of each other: the difference of both.
static const double wide_max = 8, wide_rms = 1.4142135623730951;

struct tally {
    double sum, max;
    int64_t n_wrong, n_unwritten;
};

static void add(struct tally *t, const struct tally *part) {
    t->sum += part->sum;
    t->max = fmax(t->max, part->max);
    t->n_wrong += part->n_wrong;
    t->n_unwritten += part->n_unwritten;
}

static void *allocate(int64_t count, size_t size) {
    void *p = malloc((size_t)(count ? count : 1) * size);
    if (!p)
        abort();
    return p;
}

// ---- one element

static double float_error(enum dtype type, double value, double truth, double unit) {
    if (isnan(truth) || isinf(truth)) {
        double stored = dtype_round(type, truth);
        return stored == value || (isnan(stored) && isnan(value)) ? 0 : INFINITY;
    }
    // Fast functions flush what f32 keeps as subnormal numbers, as in eval/oracle.c.
    if (value == 0 && fabs(truth) < (type == DTYPE_F64 ? DBL_MIN : (double)FLT_MIN))
        return 0;
    double miss = type == DTYPE_F64 ? fabs(value - truth) : dtype_miss(type, value, truth);
    if (miss == 0)
        return 0;
    return unit > 0 && !isnan(miss) ? miss / unit : INFINITY;
}

static double error_of(enum dtype type, double value, double truth, double unit) {
    if (isnan(unit))
        return 0;
    if (dtype_is_float(type))
        return float_error(type, value, truth, unit);
    return fabs(value - truth) <= unit ? 0 : INFINITY;
}

double oracle_typed_error(const struct oracle_output *e, const void *values, int64_t i) {
    double value = dtype_get(e->type, values, i);
    if (e->type == DTYPE_BOOL && ((const uint8_t *)values)[i] > 1)
        return INFINITY;
    double error = error_of(e->type, value, e->truth[i], e->unit[i]);
    if (error == 0 && e->choice && value != e->truth[i] && !isnan(e->unit[i]) &&
        !oracle_choice_allows(e->choice, e, values, i))
        return INFINITY;
    return error;
}

// ---- what is expected

// The unit of an element's error, from its spread.
static double unit_of(enum dtype type, double truth, double spread) {
    if (isnan(spread) || type == DTYPE_F64)
        return spread;
    if (dtype_is_float(type)) {
        double before = spread * spread - interpret_rounding(type, truth);
        return before > 0 ? sqrt(before) : 0;
    }
    // As many jumps of 1 as there may have been, at most four deviations.
    return fmax(spread, fmin(4 * spread, spread * spread));
}

struct storing {
    struct oracle_output *e;
    const struct interpret_result *result;
    int output;
    bool allows_overflow;
    struct tally *pieces;
};

static double honest_at(const struct storing *l, int64_t i) {
    const struct interpret_result *r = l->result;
    return r->wide[l->output] ? r->wide[l->output][i] : (double)r->honest[l->output][i];
}

static void store_piece(void *ctx, int64_t begin, int64_t end) {
    const struct storing *l = ctx;
    struct oracle_output *e = l->e;
    struct tally t = {0};
    for (int64_t i = begin; i < end; i++) {
        e->unit[i] = unit_of(e->type, e->truth[i], e->unit[i]);
        bool is_float = dtype_is_float(e->type);
        if (l->allows_overflow && is_float && !isfinite(dtype_round(e->type, e->truth[i])))
            e->unit[i] = NAN;
        double error = error_of(e->type, honest_at(l, i), e->truth[i], e->unit[i]);
        if (!isfinite(error)) {
            e->unit[i] = NAN;  // where honest code gets it altogether wrong, nobody is blamed
            continue;
        }
        t.sum += error * error;
        t.max = fmax(t.max, error);
    }
    l->pieces[begin / GRAIN] = t;
}

static struct tally in_pieces(parallel_fn work, void *ctx, struct tally **pieces, int64_t count,
                              int n_threads) {
    int64_t n = (count + GRAIN - 1) / GRAIN;
    struct tally t = {0};
    *pieces = allocate(n, sizeof **pieces);
    parallel_for(n_threads > 0 ? n_threads : 1, count, GRAIN, work, ctx);
    for (int64_t i = 0; i < n; i++)
        add(&t, &(*pieces)[i]);
    free(*pieces);
    return t;
}

static void set_limits(struct oracle_output *e, bool is_few) {
    struct error_stats *s = &e->stats;
    double floor_max = 4, floor_rms = is_few ? 4 : 1;
    if (!dtype_is_float(e->type))
        floor_max = floor_rms = 0;
    else if (e->type == DTYPE_F64) {
        floor_max = wide_max;
        floor_rms = wide_rms;
    }
    s->limit_max = tolerance * fmax(s->honest_max, floor_max);
    s->limit_rms = tolerance * fmax(s->honest_rms, floor_rms);
}

void oracle_typed_store(struct oracle_output *e, const struct oracle_typed_source *source) {
    struct interpret_result *r = source->result;
    int i = source->output;
    e->truth = r->value[i];
    e->unit = r->spread[i];
    r->value[i] = r->spread[i] = NULL;
    e->n_threads = source->n_threads;
    struct storing l = {
        .e = e, .result = r, .output = i, .allows_overflow = source->allows_overflow};
    struct tally t = in_pieces(store_piece, &l, &l.pieces, e->count, source->n_threads);
    e->stats.honest_rms = e->count ? sqrt(t.sum / (double)e->count) : 0;
    e->stats.honest_max = t.max;
    set_limits(e, source->allows_overflow || source->n_independent < 64);
}

// ---- comparing

struct comparing {
    const struct oracle_output *e;
    const void *values;
    uint32_t poison;
    struct tally *pieces;
};

static void compare_piece(void *ctx, int64_t begin, int64_t end) {
    const struct comparing *c = ctx;
    struct tally t = {0};
    for (int64_t i = begin; i < end; i++) {
        double error = oracle_typed_error(c->e, c->values, i);
        bool is_wrong = !(error <= c->e->stats.limit_max);
        t.sum += error * error;
        t.max = fmax(t.max, error);
        t.n_wrong += is_wrong;
        t.n_unwritten += is_wrong && dtype_holds_word(c->e->type, c->values, i, c->poison);
    }
    c->pieces[begin / GRAIN] = t;
}

bool oracle_typed_compare(const struct oracle_output *e, const void *values, uint32_t poison,
                          struct comparison *c) {
    *c = (struct comparison){.stats = e->stats};
    struct comparing all = {e, values, poison, NULL};
    struct tally t = in_pieces(compare_piece, &all, &all.pieces, e->count, e->n_threads);
    c->n_wrong = t.n_wrong;
    // The poison may be a right value, or somebody's wrong one.
    c->n_unwritten = t.n_unwritten == t.n_wrong ? t.n_unwritten : 0;
    c->stats.rms = e->count ? sqrt(t.sum / (double)e->count) : 0;
    c->stats.max = t.max;
    c->is_ok = c->stats.rms <= e->stats.limit_rms && t.max <= e->stats.limit_max;
    return c->is_ok;
}
