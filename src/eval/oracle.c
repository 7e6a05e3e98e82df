#include "eval/oracle.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/str.h"
#include "eval/derived.h"
#include "eval/set_words.h"
#include "hone_inputs.h"
#include "ir/inputs.h"
#include "ir/interpret.h"
#include "ir/work.h"

// Hot loops are compiled for what the machine has; the sanitizers do not stand the resolver.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(HONE_NO_CLONES)
#define ORACLE_HOT __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define ORACLE_HOT
#endif

enum { EVIDENCE_ELEMENTS = 4, SETS_KEPT = 8 };

// How much more than the honest computation a candidate may err. No correct order of
// summation was seen above 1.2; the cheapest downgrade of precision lies far above 10.
static const double tolerance = 4;

static const int64_t INPUTS_KEPT_BYTES = (int64_t)1 << 30;

void oracle_init(struct oracle *o, const struct problem *p, uint64_t seed) {
    *o = (struct oracle){.problem = p, .seed = seed, .n_threads = 1};
}

void oracle_reset(struct oracle *o) {
    for (int s = 0; s < SET_COUNT; s++) {
        for (int i = 0; i < INPUTS_MAX; i++)
            free(o->sets[s].inputs[i]);
        for (int i = 0; o->sets[s].is_known && i < o->problem->n_outputs; i++) {
            free(o->sets[s].outputs[i].high);
            free(o->sets[s].outputs[i].low);
            free(o->sets[s].outputs[i].spread);
        }
    }
    *o = (struct oracle){.problem = o->problem, .seed = o->seed, .n_threads = o->n_threads};
}

static enum input_set input_set_of(enum oracle_set set) {
    static const enum input_set of[SET_COUNT] = {
        [SET_DECLARED] = INPUT_SET_DECLARED,
        [SET_PATCHED] = INPUT_SET_DECLARED,
        [SET_INTEGERS] = INPUT_SET_INTEGERS,
        [SET_WIDE] = INPUT_SET_WIDE,
        [SET_SHIFTED] = INPUT_SET_SHIFTED,
        [SET_EQUAL] = INPUT_SET_EQUAL,
        [SET_HUGE] = INPUT_SET_HUGE,
        [SET_TINY] = INPUT_SET_TINY,
        [SET_ALTERNATING] = INPUT_SET_ALTERNATING,
        [SET_SPIKE] = INPUT_SET_SPIKE,
        [SET_SCALED] = INPUT_SET_DECLARED,
        [SET_PERMUTED] = INPUT_SET_DECLARED,
        [SET_SUMMED] = INPUT_SET_INTEGERS,
    };
    return of[set];
}

const char *oracle_set_name(enum oracle_set set) {
    switch (set) {
    case SET_PATCHED:
        return "declared, a few elements changed";
    case SET_SCALED:
        return "declared, times a power of two";
    case SET_PERMUTED:
        return "declared, rows in another order";
    case SET_SUMMED:
        return "integers, other rows added";
    default:
        return input_set_name(input_set_of(set));
    }
}

static const struct shape *input_shape(const struct problem *p, int input) {
    return &p->graph.nodes[p->inputs[input].node].shape;
}

static struct inputs_job job_of(const struct oracle *o, enum oracle_set set, int input) {
    enum input_set kind = input_set_of(set);
    return (struct inputs_job){o->problem, input, kind, o->seed + (uint64_t)kind, o->n_threads};
}

struct hone_source oracle_source(const struct oracle *o, enum oracle_set set, int input) {
    struct inputs_job job = job_of(o, set, input);
    return inputs_source(&job);
}

// Where elements have something to do with one another, none may be changed alone.
static bool is_bound(const struct problem_input *in) {
    enum distribution_kind kind = in->distribution.kind;
    return in->maker || in->promise != PROMISE_NONE || kind == DISTRIBUTION_PERMUTATION ||
           kind == DISTRIBUTION_SORTED || kind == DISTRIBUTION_OFFSETS;
}

int oracle_patches(const struct oracle *o, uint64_t salt, int input,
                   struct patch patches[PATCHES]) {
    uint64_t count = (uint64_t)shape_count(input_shape(o->problem, input));
    if (is_bound(&o->problem->inputs[input]))
        return 0;
    struct inputs_job job = job_of(o, SET_DECLARED, input);
    struct rng r;
    rng_init(&r, o->seed ^ (salt * UINT64_C(0x9e3779b97f4a7c15)) ^ (uint64_t)input);
    int n = 0;
    for (int try = 0; try < PATCHES && count > 1; try++) {
        // A value from elsewhere in the same input: as likely as any other, but not here.
        int64_t index = (int64_t)rng_below(&r, count);
        float before = (float)inputs_at(&job, index);
        float after = (float)inputs_at(&job, (int64_t)rng_below(&r, count));
        bool is_new = before != after;
        for (int i = 0; i < n; i++)
            is_new = is_new && patches[i].index != index;
        if (is_new)
            patches[n++] = (struct patch){index, before, after};
    }
    return n;
}

// Drawing a set takes twenty times as long as copying it, and every verification needs them
// all; so they are kept, up to a size.
static bool keeps_inputs(const struct oracle *o) {
    int64_t bytes = 0;
    for (int i = 0; i < o->problem->n_inputs; i++)
        bytes += shape_count(input_shape(o->problem, i)) * (int64_t)sizeof(float);
    return bytes * SETS_KEPT <= INPUTS_KEPT_BYTES;
}

void oracle_fill(const struct oracle *o, enum oracle_set set, int input, float *out) {
    if (o->sets[set].inputs[input]) {
        size_t count = (size_t)shape_count(input_shape(o->problem, input));
        memcpy(out, o->sets[set].inputs[input], count * sizeof *out);
        return;
    }
    struct inputs_job job = job_of(o, set, input);
    inputs_fill_parallel(&job, out);
    struct patch patches[PATCHES];
    int n = set == SET_PATCHED ? oracle_patches(o, 0, input, patches) : 0;
    for (int i = 0; i < n; i++)
        out[patches[i].index] = patches[i].after;
    derived_change(o, set, input, out);
}

// Error of one element in units of the spread. Where nothing is rounded, only the exact
// value will do; where the truth is no number or beyond the type, only the same will. Where
// the honest computation overflows on its way (spread NAN) anything will. A result below the
// smallest normal number may be flushed to zero: fast exponentials do that, and nothing is
// lost that a float could show.
static double error_of(float value, double truth, double spread) {
    float rounded = (float)truth;
    if (isnan(spread))
        return 0;
    // What f32 cannot hold is infinite in truth as in the candidate.
    if (value == rounded)
        return spread > 0 && isfinite(value) ? fabs((double)value - truth) / spread : 0;
    if (isnan(rounded))
        return isnan(value) ? 0 : INFINITY;
    if (isinf(rounded) || !(spread > 0))
        return INFINITY;
    if (value == 0 && fabsf(rounded) < FLT_MIN)
        return 0;
    double e = fabs((double)value - truth) / spread;
    return isnan(e) ? INFINITY : e;
}

// As a float; where something is rounded, at least the step of the smallest numbers.
static float spread_of(double spread) {
    return spread > 0 ? (float)fmax(spread, FLT_TRUE_MIN) : (float)spread;
}

static double truth_of(const struct oracle_output *e, int64_t i) {
    return (double)e->high[i] + (double)e->low[i];
}

void oracle_set_limits(struct error_stats *s, int64_t count) {
    // With few elements the honest error may be small by luck, or none. (Where nothing is rounded,
    // the spread is 0 and only the exact value will do, whatever the limit.)
    bool is_exact = s->honest_max == 0 && count >= 64;
    double floor_rms = is_exact ? 0 : count >= 64 ? 0.25 : 1;
    double floor_max = is_exact ? 0 : 1;
    s->limit_rms = tolerance * fmax(s->honest_rms, floor_rms);
    s->limit_max = tolerance * fmax(s->honest_max, floor_max);
}

int64_t oracle_independent(const struct problem *p, int output, int64_t count) {
    int64_t sums = work_fewest_sums(&p->graph, p->outputs[output].node);
    return sums < count ? sums : count;
}

bool oracle_forgives(enum oracle_set set) {
    return set >= SET_EQUAL;
}

static void *allocate(int64_t count, size_t size) {
    void *p = malloc((size_t)(count ? count : 1) * size);
    if (!p)
        abort();
    return p;
}

// Sums over elements as they come.
struct tally {
    double sum, max;
    int64_t n_wrong, n_unwritten;
};

// Write interpreted elements into an output's expectations from `at` on, and count the honest
// computation's errors, piece by piece.
struct putting {
    struct oracle_output *e;
    const struct interpret_result *r;
    int output;
    int64_t at;
    bool forgives;
    struct tally *pieces;
};

enum { PUT_GRAIN = 1 << 16 };

static void put_piece(void *ctx, int64_t begin, int64_t end) {
    const struct putting *p = ctx;
    struct oracle_output *e = p->e;
    struct tally t = {0};
    for (int64_t k = begin; k < end; k++) {
        int64_t i = p->at + k;
        double truth = p->r->value[p->output][k];
        float honest = p->r->honest[p->output][k];
        e->high[i] = (float)truth;
        e->low[i] = isfinite(e->high[i]) ? (float)(truth - (double)e->high[i]) : 0;
        e->spread[i] = spread_of(p->r->spread[p->output][k]);
        double error = error_of(honest, truth_of(e, i), e->spread[i]);
        // Where honest code gets it altogether wrong (it overflows on the way), nobody is blamed.
        if (p->forgives && !isfinite(e->high[i]))
            e->spread[i] = NAN;
        if (!isfinite(error)) {
            e->spread[i] = NAN;
            continue;
        }
        t.sum += error * error;
        t.max = fmax(t.max, error);
    }
    p->pieces[begin / PUT_GRAIN] = t;
}

static struct tally put_elements(struct putting *p, int n_threads) {
    int64_t count = p->r->count[p->output], n_pieces = (count + PUT_GRAIN - 1) / PUT_GRAIN;
    struct tally t = {0};
    p->pieces = allocate(n_pieces, sizeof *p->pieces);
    parallel_for(n_threads, count, PUT_GRAIN, put_piece, p);
    for (int64_t i = 0; i < n_pieces; i++) {
        t.sum += p->pieces[i].sum;
        t.max = fmax(t.max, p->pieces[i].max);
    }
    free(p->pieces);
    return t;
}

struct learning {
    const struct problem *problem;
    const struct interpret_result *result;
    enum oracle_set set;
    int n_threads;
};

static void learn_output(struct oracle_output *e, const struct learning *l, int output) {
    int64_t count = l->result->count[output];
    *e = (struct oracle_output){.count = count,
                                .high = allocate(count, sizeof(float)),
                                .low = allocate(count, sizeof(float)),
                                .spread = allocate(count, sizeof(float))};
    struct putting p = {
        .e = e, .r = l->result, .output = output, .forgives = oracle_forgives(l->set)};
    struct tally t = put_elements(&p, l->n_threads);
    e->stats.honest_rms = count ? sqrt(t.sum / (double)count) : 0;
    e->stats.honest_max = t.max;
    oracle_set_limits(&e->stats,
                      oracle_forgives(l->set) ? 1 : oracle_independent(l->problem, output, count));
}

static void copy_output(struct oracle_output *e, const struct oracle_output *from) {
    size_t bytes = (size_t)from->count * sizeof(float);
    *e = (struct oracle_output){.count = from->count,
                                .stats = from->stats,
                                .high = allocate(from->count, sizeof(float)),
                                .low = allocate(from->count, sizeof(float)),
                                .spread = allocate(from->count, sizeof(float))};
    memcpy(e->high, from->high, bytes);
    memcpy(e->low, from->low, bytes);
    memcpy(e->spread, from->spread, bytes);
}

// Rows that the patches touch; -1 when one of them may touch every row.
static int patched_rows(const struct oracle *o, int64_t rows[INPUTS_MAX * PATCHES]) {
    const struct problem *p = o->problem;
    struct patch patches[PATCHES];
    int n_rows = 0;
    for (int i = 0; i < p->n_inputs; i++) {
        int n = oracle_patches(o, 0, i, patches);
        for (int k = 0; k < n; k++) {
            rows[n_rows] = interpret_row_of(p, i, patches[k].index);
            if (rows[n_rows++] < 0)
                return -1;
        }
    }
    return n_rows;
}

// The patched set differs from the declared one in a few rows: only those are computed. Their
// honest errors can only widen the limit for one element.
static bool learn_patched_rows(struct oracle *o) {
    int64_t rows[INPUTS_MAX * PATCHES];
    bool can = o->sets[SET_DECLARED].is_known && o->sets[SET_DECLARED].inputs[0];
    int n_rows = can ? patched_rows(o, rows) : -1;
    if (n_rows < 0)
        return false;
    struct interpret_data data = {0};
    for (int i = 0; i < o->problem->n_inputs; i++) {
        float *inputs = allocate(shape_count(input_shape(o->problem, i)), sizeof(float));
        oracle_fill(o, SET_PATCHED, i, inputs);
        o->sets[SET_PATCHED].inputs[i] = inputs;
        data.inputs[i] = inputs;
    }
    struct oracle_output *outputs = o->sets[SET_PATCHED].outputs;
    for (int i = 0; i < o->problem->n_outputs; i++)
        copy_output(&outputs[i], &o->sets[SET_DECLARED].outputs[i]);
    for (int k = 0; k < n_rows; k++) {
        struct interpret_result row;
        interpret_row(o->problem, &data, rows[k], &row);
        for (int i = 0; i < o->problem->n_outputs; i++) {
            struct putting p = {
                .e = &outputs[i], .r = &row, .output = i, .at = rows[k] * row.count[i]};
            struct tally t = put_elements(&p, 1);
            outputs[i].stats.honest_max = fmax(outputs[i].stats.honest_max, t.max);
            oracle_set_limits(&outputs[i].stats,
                              oracle_independent(o->problem, i, outputs[i].count));
        }
        interpret_reset(&row);
    }
    return true;
}

static void learn_set(struct oracle *o, enum oracle_set set, int n_threads) {
    struct interpret_data data = {0};
    struct interpret_result result = {0};
    float *inputs[INPUTS_MAX];
    for (int i = 0; i < o->problem->n_inputs; i++) {
        inputs[i] = allocate(shape_count(input_shape(o->problem, i)), sizeof(float));
        oracle_fill(o, set, i, inputs[i]);
        data.inputs[i] = inputs[i];
    }
    interpret_parallel(o->problem, &data, n_threads, &result);
    bool keep = keeps_inputs(o);
    for (int i = 0; i < o->problem->n_inputs; i++)
        if (keep)
            o->sets[set].inputs[i] = inputs[i];
        else
            free(inputs[i]);
    for (int i = 0; i < o->problem->n_outputs; i++)
        learn_output(&o->sets[set].outputs[i],
                     &(struct learning){o->problem, &result, set, n_threads}, i);
    interpret_reset(&result);
}

struct lesson {
    struct oracle *oracle;
    _Atomic unsigned left;  // sets that nobody has taken yet
    int threads_each;       // for one set
};

static void *learn_some(void *argument) {
    struct lesson *l = argument;
    for (unsigned left = l->left; left;) {
        if (!atomic_compare_exchange_weak(&l->left, &left, left & (left - 1)))
            continue;
        enum oracle_set set = (enum oracle_set)__builtin_ctz(left);
        learn_set(l->oracle, set, l->threads_each);
        left = l->left;
    }
    return NULL;
}

void oracle_learn(struct oracle *o, unsigned sets, int n_threads) {
    const unsigned declared = 1U << SET_DECLARED, patched = 1U << SET_PATCHED;
    unsigned derived = sets >> SET_DRAWN << SET_DRAWN;
    if (((sets & declared) && (sets & patched)) || derived) {
        sets |= declared;
        if (sets != declared)
            oracle_learn(o, declared, n_threads);  // those are made from it
    }
    if (derived >> SET_SUMMED & 1)
        oracle_learn(o, 1U << SET_INTEGERS, n_threads);
    if ((sets & patched) && !o->sets[SET_PATCHED].is_known)
        o->sets[SET_PATCHED].is_known = learn_patched_rows(o);
    for (int s = SET_DRAWN; s < SET_COUNT; s++)
        if ((derived >> s & 1) && !o->sets[s].is_known) {
            derived_learn(o, (enum oracle_set)s);
            o->sets[s].is_known = true;
        }
    for (int s = 0; s < SET_COUNT; s++)
        if (o->sets[s].is_known)
            sets &= ~(1U << s);
    int n_sets = __builtin_popcount(sets);
    struct lesson l = {o, sets, n_sets ? (n_threads + n_sets - 1) / n_sets : 1};
    pthread_t helpers[SET_COUNT];
    int n = 0, wanted = n_sets - 1;
    while (n < wanted && n + 1 < n_threads &&
           pthread_create(&helpers[n], NULL, learn_some, &l) == 0)
        n++;
    learn_some(&l);
    for (int i = 0; i < n; i++)
        pthread_join(helpers[i], NULL);
    for (int s = 0; s < SET_COUNT; s++)
        o->sets[s].is_known |= sets >> s & 1;
}

static void tally_one_by_one(const struct oracle_output *e, const float *values, uint32_t poison,
                             int64_t begin, int64_t end, struct tally *t) {
    for (int64_t i = begin; i < end; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        t->n_unwritten += bits == poison;
        double error = error_of(values[i], truth_of(e, i), e->spread[i]);
        t->sum += error * error;
        t->max = fmax(t->max, error);
        t->n_wrong += !(error <= e->stats.limit_max);
    }
}

// The same for WIDTH elements at a time where all are ordinary: finite, with a spread above zero,
// and no zero for something tiny. False when one is not; nothing was counted then.
enum { WIDTH = 8, STRETCH = 1024 };

typedef double wide __attribute__((vector_size(64)));
typedef long long wide_mask __attribute__((vector_size(64)));
typedef float narrow __attribute__((vector_size(32), aligned(4)));
typedef int narrow_mask __attribute__((vector_size(32)));

ORACLE_HOT static bool tally_ordinary(const struct oracle_output *e, const float *values,
                                      int64_t begin, int64_t end, struct tally *t) {
    wide sum = {0}, max = {0};
    wide_mask wrong = {0};
    narrow_mask odd = {0};
    const wide limit = (wide){0} + e->stats.limit_max;
    for (int64_t i = begin; i < end; i += WIDTH) {
        narrow value = *(const narrow *)&values[i], high = *(const narrow *)&e->high[i];
        narrow low = *(const narrow *)&e->low[i], spread = *(const narrow *)&e->spread[i];
        narrow_mask sign = (narrow_mask){0} + 0x7fffffff;
        narrow size = (narrow)((narrow_mask)high & sign), got = (narrow)((narrow_mask)value & sign);
        odd |= ~(spread > 0) | ~(size <= FLT_MAX) | ~(got <= FLT_MAX) |
               ((value == 0) & (size < FLT_MIN));
        wide truth = __builtin_convertvector(high, wide) + __builtin_convertvector(low, wide);
        wide error = __builtin_convertvector(value, wide) - truth;
        error = (wide)((wide_mask)error & ((wide_mask){0} + INT64_MAX));
        error /= __builtin_convertvector(spread, wide);
        sum += error * error;
        wide_mask larger = error > max;
        max = (wide)((larger & (wide_mask)error) | (~larger & (wide_mask)max));
        wrong -= ~(error <= limit);
    }
    for (int i = 0; i < WIDTH; i++)
        if (odd[i])
            return false;
    for (int i = 0; i < WIDTH; i++) {
        t->sum += sum[i];
        t->max = fmax(t->max, max[i]);
        t->n_wrong += wrong[i];
    }
    return true;
}

bool oracle_compare(const struct oracle_output *e, const float *values, uint32_t poison,
                    struct comparison *c) {
    *c = (struct comparison){.stats = e->stats};
    struct tally t = {0};
    for (int64_t i = 0; i < e->count; i += STRETCH) {
        int64_t end = i + STRETCH < e->count ? i + STRETCH : e->count;
        // The poison is not a number, so what was not written is never ordinary.
        bool done = (end - i) % WIDTH == 0 && tally_ordinary(e, values, i, end, &t);
        if (!done)
            tally_one_by_one(e, values, poison, i, end, &t);
    }
    c->n_wrong = t.n_wrong;
    c->n_unwritten = t.n_unwritten;
    c->stats.rms = e->count ? sqrt(t.sum / (double)e->count) : 0;
    c->stats.max = t.max;
    c->is_ok = c->stats.rms <= e->stats.limit_rms && t.max <= e->stats.limit_max && !t.n_unwritten;
    return c->is_ok;
}

static int64_t count_inputs(const struct problem *p) {
    int64_t count = 0;
    for (int i = 0; i < p->n_inputs; i++)
        count += shape_count(input_shape(p, i));
    return count;
}

// "y[3, 17] is 0.5, expected 0.25"
static void describe(struct str *out, const struct oracle *o, int output, int64_t index,
                     float value, double truth) {
    const struct problem *p = o->problem;
    const struct shape *s = &p->graph.nodes[p->outputs[output].node].shape;
    int64_t at[RANK_MAX] = {0}, rest = index;
    for (int axis = s->rank - 1; axis >= 0; axis--) {
        at[axis] = rest % s->size[axis];
        rest /= s->size[axis];
    }
    str_printf(out, "%s", p->outputs[output].name);
    for (int axis = 0; axis < s->rank; axis++)
        str_printf(out, "%s%lld%s", axis ? ", " : "[", (long long)at[axis],
                   axis == s->rank - 1 ? "]" : "");
    str_printf(out, " is %.9g, expected %.9g", (double)value, truth);
}

void oracle_list(struct str *out, const struct oracle *o, const struct oracle_listing *l) {
    const struct oracle_output *e = l->expected;
    const struct shape *s = &o->problem->graph.nodes[o->problem->outputs[l->output].node].shape;
    int64_t length = l->rows ? shape_count(s) / s->size[0] : 1;
    int n = 0;
    for (int64_t i = 0; i < e->count && n < EVIDENCE_ELEMENTS; i++) {
        if (error_of(l->values[i], truth_of(e, i), e->spread[i]) <= l->above)
            continue;
        int64_t at = l->rows ? l->rows[i / length] * length + i % length : i;
        str_puts(out, "\n  ");
        describe(out, o, l->output, at, l->values[i], truth_of(e, i));
        n++;
    }
}

void oracle_widen(struct error_stats *s, const struct oracle *o, int output) {
    s->limit_max = fmax(s->limit_max, o->sets[SET_DECLARED].outputs[output].stats.limit_max);
    s->limit_rms = s->limit_max;
}

int oracle_compare_row(const struct oracle *o, const struct oracle_row *r, struct comparison *c,
                       struct str *words) {
    const struct problem *p = o->problem;
    struct interpret_data data = {0};
    struct interpret_result result;
    const uint32_t no_poison = 0x7f800001;  // not a number, so wrong in any case
    bool is_row = r->row >= 0;
    *c = (struct comparison){.is_ok = true};
    if (!is_row && count_inputs(p) > r->most)
        return -1;
    for (int i = 0; i < p->n_inputs; i++)
        data.inputs[i] = r->inputs[i];
    if (is_row)
        interpret_row(p, &data, r->row, &result);
    else
        interpret_parallel(p, &data, o->n_threads, &result);
    int wrong = -1;
    for (int i = 0; i < p->n_outputs && wrong < 0; i++) {
        struct oracle_output e;
        learn_output(&e, &(struct learning){p, &result, SET_DECLARED, 1}, i);
        oracle_widen(&e.stats, o, i);
        const float *values = r->outputs[i] + (is_row ? r->row * e.count : 0);
        if (!oracle_compare(&e, values, no_poison, c)) {
            wrong = i;
            oracle_list(words, o,
                        &(struct oracle_listing){.expected = &e,
                                                 .values = values,
                                                 .output = i,
                                                 .above = c->n_wrong ? e.stats.limit_max : 0,
                                                 .rows = is_row ? &r->row : NULL});
        }
        free(e.high);
        free(e.low);
        free(e.spread);
    }
    interpret_reset(&result);
    return wrong;
}

const char *oracle_evidence(struct arena *a, const struct oracle *o, enum oracle_set set,
                            int output, const float *values, const struct comparison *c) {
    const struct oracle_output *e = &o->sets[set].outputs[output];
    const char *name = o->problem->outputs[output].name;
    struct str out = {0};
    if (c->n_unwritten == e->count)
        str_printf(&out, "no element of %s was written", name);
    else if (c->n_unwritten)
        str_printf(&out, "%lld of %lld elements of %s were not written", (long long)c->n_unwritten,
                   (long long)e->count, name);
    else if (c->n_wrong)
        str_printf(&out, "%lld of %lld elements of %s are wrong", (long long)c->n_wrong,
                   (long long)e->count, name);
    else
        str_printf(&out, "%s is less precise than f32 honestly gives", name);
    str_printf(&out, "\n  inputs: %s", oracle_set_name(set));
    str_printf(&out, " (%s)", set_words(a, o, set));
    // The first ones beyond the limit, or those that are far above the mean error.
    oracle_list(
        &out, o,
        &(struct oracle_listing){.expected = e,
                                 .values = values,
                                 .output = output,
                                 .above = c->n_wrong ? c->stats.limit_max : 0.99 * c->stats.max});
    if (!c->n_unwritten)
        str_printf(&out,
                   "\n  error in units of honest rounding: rms %.3g (allowed %.3g), worst %.3g "
                   "(allowed %.3g)",
                   c->stats.rms, c->stats.limit_rms, c->stats.max, c->stats.limit_max);
    return str_take(a, &out);
}
