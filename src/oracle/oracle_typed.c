// Storage and comparison of expected outputs for every type but f32, for which oracle.c and
// oracle_compare.c have a faster way.
#include "oracle/oracle_typed.h"

#include <math.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "hone_storage.h"
#include "ir/interpret.h"
#include "oracle/oracle_choice.h"

enum { GRAIN = 1 << 14 };

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

double oracle_typed_error(const struct oracle_output *e, const void *values, int64_t i) {
    double value = dtype_get(e->type, values, i);
    if (e->type == DTYPE_BOOL && ((const uint8_t *)values)[i] > 1)
        return INFINITY;
    double error = stored_error((int)e->type, value, e->truth[i], e->unit[i]);
    if (error == 0 && e->choice && value != e->truth[i] && !isnan(e->unit[i]) &&
        !oracle_choice_allows(e->choice, e, values, i))
        return INFINITY;
    return error;
}

// ---- what is expected

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
        e->unit[i] = stored_unit((int)e->type, e->truth[i], e->unit[i]);
        bool is_float = dtype_is_float(e->type);
        if (l->allows_overflow && is_float && !isfinite(dtype_round(e->type, e->truth[i])))
            e->unit[i] = NAN;
        double error = stored_error((int)e->type, honest_at(l, i), e->truth[i], e->unit[i]);
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
