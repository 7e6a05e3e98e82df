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

struct store_counts {
    double sum, max;
    int64_t n_wrong, n_unwritten;
};

static void add(struct store_counts *t, const struct store_counts *part) {
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

static inline double error_of(int type, const struct oracle_output *e, const void *values,
                              int64_t i) {
    double value = stored_get(type, values, (uint64_t)i);
    if (type == STORED_BOOL && ((const uint8_t *)values)[i] > 1)
        return INFINITY;
    double error = stored_error(type, value, e->truth[i], e->unit[i]);
    if (error == 0 && e->choice && value != e->truth[i] && !isnan(e->unit[i]) &&
        !oracle_choice_allows(e->choice, e, values, i))
        return INFINITY;
    return error;
}

double oracle_typed_error(const struct oracle_output *e, const void *values, int64_t i) {
    return error_of((int)e->type, e, values, i);
}

// The loops over all elements are compiled three times: for f16 and bf16, where the type is a
// constant and its conversions a few instructions, and for any other type.
#define FOR_EACH_TYPE(name)                                                                    \
    __attribute__((flatten)) static void name##_f16(void *ctx, int64_t begin, int64_t end) {   \
        name(STORED_F16, ctx, begin, end);                                                     \
    }                                                                                          \
    __attribute__((flatten)) static void name##_bf16(void *ctx, int64_t begin, int64_t end) {  \
        name(STORED_BF16, ctx, begin, end);                                                    \
    }                                                                                          \
    static void name##_any(void *ctx, int64_t begin, int64_t end) {                            \
        name((int)((const struct name##_job *)ctx)->e->type, ctx, begin, end);                 \
    }                                                                                          \
    static parallel_fn name##_of(enum dtype type) {                                            \
        return type == DTYPE_F16 ? name##_f16 : type == DTYPE_BF16 ? name##_bf16 : name##_any; \
    }

// ---- what is expected

struct store_piece_job {
    struct oracle_output *e;
    const struct interpret_result *result;
    int output;
    bool allows_overflow;
    struct store_counts *pieces;
};

static double honest_at(const struct store_piece_job *l, int64_t i) {
    const struct interpret_result *r = l->result;
    return r->wide[l->output] ? r->wide[l->output][i] : (double)r->honest[l->output][i];
}

static inline void store_piece(int type, void *ctx, int64_t begin, int64_t end) {
    const struct store_piece_job *l = ctx;
    struct oracle_output *e = l->e;
    struct store_counts t = {0};
    for (int64_t i = begin; i < end; i++) {
        e->unit[i] = stored_unit(type, e->truth[i], e->unit[i]);
        if (l->allows_overflow && stored_is_float(type) &&
            !isfinite(stored_round(type, e->truth[i])))
            e->unit[i] = NAN;
        double error = stored_error(type, honest_at(l, i), e->truth[i], e->unit[i]);
        if (!isfinite(error)) {
            e->unit[i] = NAN;  // where honest code gets it altogether wrong, nobody is blamed
            continue;
        }
        t.sum += error * error;
        t.max = fmax(t.max, error);
    }
    l->pieces[begin / GRAIN] = t;
}

FOR_EACH_TYPE(store_piece)

static struct store_counts in_pieces(parallel_fn work, void *ctx, struct store_counts **pieces,
                                     int64_t count, int n_threads) {
    int64_t n = (count + GRAIN - 1) / GRAIN;
    struct store_counts t = {0};
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
    struct store_piece_job l = {
        .e = e, .result = r, .output = i, .allows_overflow = source->allows_overflow};
    struct store_counts t =
        in_pieces(store_piece_of(e->type), &l, &l.pieces, e->count, source->n_threads);
    e->stats.honest_rms = e->count ? sqrt(t.sum / (double)e->count) : 0;
    e->stats.honest_max = t.max;
}

// ---- comparing

struct compare_piece_job {
    const struct oracle_output *e;
    const void *values;
    uint32_t poison;
    struct store_counts *pieces;
};

static inline void compare_piece(int type, void *ctx, int64_t begin, int64_t end) {
    const struct compare_piece_job *c = ctx;
    struct store_counts t = {0};
    for (int64_t i = begin; i < end; i++) {
        double error = error_of(type, c->e, c->values, i);
        bool is_wrong = !(error <= c->e->stats.limit_max);
        t.sum += error * error;
        t.max = fmax(t.max, error);
        t.n_wrong += is_wrong;
        t.n_unwritten += is_wrong && stored_holds_word(type, c->values, (uint64_t)i, c->poison);
    }
    c->pieces[begin / GRAIN] = t;
}

FOR_EACH_TYPE(compare_piece)

bool oracle_typed_compare(const struct oracle_output *e, const void *values, uint32_t poison,
                          struct comparison *c) {
    *c = (struct comparison){.stats = e->stats};
    struct compare_piece_job all = {e, values, poison, NULL};
    struct store_counts t =
        in_pieces(compare_piece_of(e->type), &all, &all.pieces, e->count, e->n_threads);
    c->n_wrong = t.n_wrong;
    // The poison may be a right value, or somebody's wrong one.
    c->n_unwritten = t.n_unwritten == t.n_wrong ? t.n_unwritten : 0;
    c->stats.rms = e->count ? sqrt(t.sum / (double)e->count) : 0;
    c->stats.max = t.max;
    c->is_ok = c->stats.rms <= e->stats.limit_rms && t.max <= e->stats.limit_max;
    return c->is_ok;
}
