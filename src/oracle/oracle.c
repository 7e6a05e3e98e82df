// Draws sets and interprets the problem for them on several threads; keeps value (as two floats)
// and spread of every element, and how much the honest computation errs. Derived and patched sets
// are made from others where that is exact. oracle_compare.c compares.
#include "oracle/oracle.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/rng.h"
#include "hone_inputs.h"
#include "ir/relations.h"
#include "ir/work.h"
#include "oracle/derived.h"
#include "oracle/oracle_choice.h"
#include "oracle/oracle_private.h"
#include "oracle/oracle_typed.h"

enum { SETS_KEPT = 10 };

// How much more than the honest computation a candidate may err, or than one chain of additions,
// which errs by a spread in the root mean square and, of a million elements, by five at the worst.
static const double tolerance = 4;
// Two computations in float64 that know nothing of each other: the difference of both.
static const double wide_max = 8, wide_rms = 1.4142135623730951;
// So many elements that err independently say something about their mean.
enum { MANY = 64 };

static const int64_t INPUTS_KEPT_BYTES = (int64_t)1 << 30;

void oracle_init(struct oracle *o, const struct problem *p, uint64_t seed) {
    *o = (struct oracle){.problem = p, .seed = seed, .n_threads = 1};
}

void oracle_output_reset(struct oracle_output *e) {
    free(e->high);
    free(e->low);
    free(e->spread);
    free(e->truth);
    free(e->unit);
    oracle_choice_free(e->choice);
    *e = (struct oracle_output){0};
}

void oracle_reset(struct oracle *o) {
    for (int s = 0; s < SET_COUNT; s++) {
        for (int i = 0; i < INPUTS_MAX; i++)
            free(o->sets[s].inputs[i]);
        for (int i = 0; o->sets[s].is_known && i < o->problem->n_outputs; i++)
            oracle_output_reset(&o->sets[s].outputs[i]);
    }
    *o = (struct oracle){.problem = o->problem, .seed = o->seed, .n_threads = o->n_threads};
}

static enum input_set input_set_of(enum oracle_set set) {
    static const enum input_set of[SET_COUNT] = {
        [SET_DECLARED] = INPUT_SET_DECLARED,
        [SET_PATCHED] = INPUT_SET_DECLARED,
        [SET_PATCHED_AGAIN] = INPUT_SET_DECLARED,
        [SET_INTEGERS] = INPUT_SET_INTEGERS,
        [SET_DIGITS] = INPUT_SET_DIGITS,
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
    case SET_PATCHED_AGAIN:
        return "declared, a few other elements changed";
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

unsigned oracle_faulty(const struct oracle *o) {
    unsigned sets = 0;
    for (int s = 0; s < SET_COUNT; s++)
        sets |= (unsigned)(o->sets[s].fault[0] != 0) << s;
    return sets;
}

static const struct node *input_node(const struct problem *p, int input) {
    return &p->graph.nodes[p->inputs[input].node];
}

static int64_t input_bytes(const struct problem *p, int input) {
    const struct node *n = input_node(p, input);
    return dtype_size(n->dtype, shape_count(&n->shape));
}

struct inputs_job oracle_job(const struct oracle *o, enum oracle_set set, int input) {
    enum input_set kind = input_set_of(set);
    return (struct inputs_job){.problem = o->problem,
                               .input = input,
                               .set = kind,
                               .seed = o->seed + (uint64_t)kind,
                               .n_threads = o->n_threads};
}

struct hone_source oracle_source(const struct oracle *o, enum oracle_set set, int input) {
    struct inputs_job job = oracle_job(o, set, input);
    return inputs_source(&job);
}

// Where elements have something to do with one another, none may be changed alone.
static bool is_bound(const struct problem_input *in) {
    enum distribution_kind kind = in->distribution.kind;
    return in->maker || in->promise != PROMISE_NONE || kind == DISTRIBUTION_PERMUTATION ||
           kind == DISTRIBUTION_SORTED || kind == DISTRIBUTION_OFFSETS;
}

static bool is_patched(enum oracle_set set) {
    return set == SET_PATCHED || set == SET_PATCHED_AGAIN;
}

int oracle_patches(const struct oracle *o, enum oracle_set set, int input,
                   struct patch patches[PATCHES]) {
    enum { TRIES = 16 };
    const struct node *node = input_node(o->problem, input);
    uint64_t count = (uint64_t)shape_count(&node->shape);
    if (!is_patched(set) || is_bound(&o->problem->inputs[input]))
        return 0;
    if (set == SET_PATCHED_AGAIN && interpret_row_of(o->problem, input, 0) < 0)
        return 0;
    struct inputs_job job = oracle_job(o, SET_DECLARED, input);
    struct rng r;
    rng_init_secret(&r, o->seed, (uint64_t)set * INPUTS_MAX + (uint64_t)input);
    int n = 0;
    for (int try = 0; try < TRIES && n < PATCHES && count > 1; try++) {
        // A value from elsewhere in the same input: as likely as any other, but not here.
        int64_t index = (int64_t)rng_below(&r, count);
        double before = inputs_at(&job, index);
        double after = inputs_at(&job, (int64_t)rng_below(&r, count));
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
        bytes += input_bytes(o->problem, i);
    return bytes * SETS_KEPT <= INPUTS_KEPT_BYTES;
}

// `fault`: of an input that is computed; NULL: not needed.
static void fill(const struct oracle *o, enum oracle_set set, int input, void *out, char *fault) {
    struct inputs_job job = oracle_job(o, set, input);
    job.fault = fault;
    inputs_fill_parallel(&job, out);
    struct patch patches[PATCHES];
    enum dtype type = input_node(o->problem, input)->dtype;
    int n = oracle_patches(o, set, input, patches);
    for (int i = 0; i < n; i++)
        dtype_put(type, out, patches[i].index, patches[i].after);
    derived_change(o, set, input, out);
}

void oracle_fill(const struct oracle *o, enum oracle_set set, int input, void *out) {
    if (o->sets[set].inputs[input])
        memcpy(out, o->sets[set].inputs[input], (size_t)input_bytes(o->problem, input));
    else
        fill(o, set, input, out, NULL);
}

// As a float; where something is rounded, at least the step of the smallest numbers; NAN where
// nothing is known.
static float spread_of(double spread) {
    float f = spread > 0 ? (float)fmax(spread, FLT_TRUE_MIN) : (float)spread;
    return isinf(f) ? NAN : f;
}

// Are there only a few different values in some input, or few large ones among many small?
static bool has_biased_sums(const struct problem *p, enum oracle_set set) {
    bool is_biased = set == SET_INTEGERS || set == SET_DIGITS || set == SET_SUMMED ||
                     set == SET_EQUAL || set == SET_ALTERNATING || set == SET_WIDE ||
                     set == SET_SPIKE;
    for (int i = 0; i < p->n_inputs; i++) {
        enum distribution_kind kind = p->inputs[i].distribution.kind;
        is_biased |= kind != DISTRIBUTION_NORMAL && kind != DISTRIBUTION_UNIFORM &&
                     dtype_is_float(p->graph.nodes[p->inputs[i].node].dtype);
    }
    return is_biased;
}

static const double longest_chain = 1 << 16;  // of a sum, as the interpreter has it

// Wider ones for problems with sums.
static void allow_sums(struct error_stats *s, const struct problem *p, enum oracle_set set) {
    double root = sqrt(fmin((double)relations_longest_sum(p), longest_chain));
    bool is_biased = has_biased_sums(p, set);
    // Whose products have long numbers, all have: no element lies far out.
    bool has_mean = set == SET_DIGITS ? work_has_plain_mean(&p->graph) : work_has_mean(&p->graph);
    if (root <= 1)
        return;
    double worst = has_mean ? 256 : 64, mean = fmax(root / 8, has_mean ? 16 : 0);
    if (is_biased)
        worst = mean = has_mean ? 1024 : fmax(64, root);
    s->limit_rms = fmax(s->limit_rms, mean);
    s->limit_max = fmax(s->limit_max, worst);
}

int64_t oracle_independent(const struct problem *p, int output, int64_t count) {
    int64_t sums = work_fewest_sums(&p->graph, p->outputs[output].node);
    return sums < count ? sums : count;
}

void oracle_limit(struct error_stats *s, const struct problem *p, enum oracle_set set, int output,
                  int64_t count) {
    enum dtype type = p->graph.nodes[p->outputs[output].node].dtype;
    bool is_few = oracle_allows_overflow(set) || oracle_independent(p, output, count) < MANY;
    double floor_max = 4, floor_rms = is_few ? 4 : 1;
    if (!dtype_is_float(type))
        floor_max = floor_rms = 0;
    else if (type == DTYPE_F64) {
        floor_max = wide_max;
        floor_rms = wide_rms;
    }
    // Where nothing is rounded, the spread is 0 and only the exact value will do, whatever the
    // limit.
    s->limit_max = tolerance * fmax(s->honest_max, floor_max);
    s->limit_rms = tolerance * fmax(s->honest_rms, floor_rms);
    if (dtype_is_float(type))
        allow_sums(s, p, set);
}

bool oracle_allows_overflow(enum oracle_set set) {
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
};

// Write interpreted elements into an output's expectations from `at` on, and count the honest
// computation's errors, piece by piece.
struct store_expected {
    struct oracle_output *e;
    const struct interpret_result *r;
    int output;
    int64_t at;
    bool allows_overflow;
    struct tally *pieces;
};

enum { PUT_GRAIN = 1 << 16 };

static void put_piece(void *ctx, int64_t begin, int64_t end) {
    const struct store_expected *p = ctx;
    struct oracle_output *e = p->e;
    struct tally t = {0};
    for (int64_t k = begin; k < end; k++) {
        int64_t i = p->at + k;
        double truth = p->r->value[p->output][k];
        float honest = p->r->honest[p->output][k];
        e->high[i] = (float)truth;
        e->low[i] = isfinite(e->high[i]) ? (float)(truth - (double)e->high[i]) : 0;
        e->spread[i] = spread_of(p->r->spread[p->output][k]);
        double error = oracle_error(honest, oracle_truth(e, i), e->spread[i]);
        // Where honest code gets it altogether wrong (it overflows on the way), nobody is blamed.
        if (p->allows_overflow && !isfinite(e->high[i]))
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

static struct tally put_elements(struct store_expected *p, int n_threads) {
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

void oracle_store_expected(struct oracle_output *e, const struct oracle_source_data *l,
                           int output) {
    int64_t count = l->result->count[output];
    enum dtype type = l->problem->graph.nodes[l->problem->outputs[output].node].dtype;
    if (type != DTYPE_F32) {
        *e = (struct oracle_output){.type = type, .count = count};
        oracle_typed_store(e, &(struct oracle_typed_source){
                                  l->result, output, oracle_allows_overflow(l->set), l->n_threads});
        oracle_limit(&e->stats, l->problem, l->set, output, count);
        e->choice = oracle_choice_make(l->problem, e, output, l->data, l->row);
        return;
    }
    *e = (struct oracle_output){.type = type,
                                .count = count,
                                .high = allocate(count, sizeof(float)),
                                .low = allocate(count, sizeof(float)),
                                .spread = allocate(count, sizeof(float))};
    struct store_expected p = {.e = e,
                               .r = l->result,
                               .output = output,
                               .allows_overflow = oracle_allows_overflow(l->set)};
    struct tally t = put_elements(&p, l->n_threads);
    e->stats.honest_rms = count ? sqrt(t.sum / (double)count) : 0;
    e->stats.honest_max = t.max;
    oracle_limit(&e->stats, l->problem, l->set, output, count);
}

static void copy_output(struct oracle_output *e, const struct oracle_output *from) {
    size_t bytes = (size_t)from->count * sizeof(float);
    *e = (struct oracle_output){.type = from->type,
                                .count = from->count,
                                .stats = from->stats,
                                .high = allocate(from->count, sizeof(float)),
                                .low = allocate(from->count, sizeof(float)),
                                .spread = allocate(from->count, sizeof(float))};
    memcpy(e->high, from->high, bytes);
    memcpy(e->low, from->low, bytes);
    memcpy(e->spread, from->spread, bytes);
}

static bool is_all_f32(const struct problem *p) {
    bool is = true;
    for (int i = 0; i < p->n_outputs; i++)
        is = is && p->graph.nodes[p->outputs[i].node].dtype == DTYPE_F32;
    return is;
}

// Rows that the patches touch; -1 when one of them may touch every row.
static int patched_rows(const struct oracle *o, enum oracle_set set,
                        int64_t rows[INPUTS_MAX * PATCHES]) {
    const struct problem *p = o->problem;
    struct patch patches[PATCHES];
    int n_rows = 0;
    for (int i = 0; i < p->n_inputs; i++) {
        int n = oracle_patches(o, set, i, patches);
        for (int k = 0; k < n; k++) {
            rows[n_rows] = interpret_row_of(p, i, patches[k].index);
            if (rows[n_rows++] < 0)
                return -1;
        }
    }
    return n_rows;
}

// A patched set differs from the declared one in a few rows: only those are computed. Their
// honest errors can only widen the limit for one element.
static bool compute_patched_rows(struct oracle *o, enum oracle_set set) {
    int64_t rows[INPUTS_MAX * PATCHES];
    bool can = o->sets[SET_DECLARED].is_known && o->sets[SET_DECLARED].inputs[0] &&
               !o->sets[SET_DECLARED].fault[0] && is_all_f32(o->problem);
    int n_rows = can ? patched_rows(o, set, rows) : -1;
    if (n_rows < 0)
        return false;
    struct interpret_data data = {0};
    for (int i = 0; i < o->problem->n_inputs; i++) {
        void *inputs = allocate(input_bytes(o->problem, i), 1);
        oracle_fill(o, set, i, inputs);
        o->sets[set].inputs[i] = inputs;
        data.inputs[i] = inputs;
    }
    struct oracle_output *outputs = o->sets[set].outputs;
    for (int i = 0; i < o->problem->n_outputs; i++)
        copy_output(&outputs[i], &o->sets[SET_DECLARED].outputs[i]);
    for (int k = 0; k < n_rows; k++) {
        struct interpret_result row;
        interpret_row(o->problem, &data, rows[k], &row);
        for (int i = 0; i < o->problem->n_outputs; i++) {
            struct store_expected p = {
                .e = &outputs[i], .r = &row, .output = i, .at = rows[k] * row.count[i]};
            struct tally t = put_elements(&p, 1);
            outputs[i].stats.honest_max = fmax(outputs[i].stats.honest_max, t.max);
            oracle_limit(&outputs[i].stats, o->problem, set, i, outputs[i].count);
        }
        interpret_reset(&row);
    }
    return true;
}

static void take_fault(char fault[FAULT_MAX], const char *found) {
    if (!fault[0] && found[0])
        snprintf(fault, FAULT_MAX, "%s", found);
}

// Draws far from the declared ones may turn an input that is computed into something that is no
// number: then the set says nothing about kernels.
static void check_made(struct oracle *o, enum oracle_set set, int input, const void *values) {
    const struct node *n = input_node(o->problem, input);
    int64_t count = shape_count(&n->shape);
    if (!o->problem->inputs[input].maker || set == SET_DECLARED || !dtype_is_float(n->dtype))
        return;
    for (int64_t i = 0; i < count && !o->sets[set].fault[0]; i++)
        if (!isfinite(dtype_get(n->dtype, values, i)))
            snprintf(o->sets[set].fault, FAULT_MAX, "%s is not finite", n->name);
}

static void compute_set(struct oracle *o, enum oracle_set set, int n_threads) {
    struct interpret_data data = {0};
    struct interpret_result result = {0};
    void *inputs[INPUTS_MAX];
    char *fault = o->sets[set].fault;
    for (int i = 0; i < o->problem->n_inputs; i++) {
        inputs[i] = allocate(input_bytes(o->problem, i), 1);
        fill(o, set, i, inputs[i], fault);
        check_made(o, set, i, inputs[i]);
        data.inputs[i] = inputs[i];
    }
    interpret_parallel(o->problem, &data, n_threads, &result);
    take_fault(fault, result.fault);
    for (int i = 0; i < o->problem->n_outputs; i++)
        oracle_store_expected(&o->sets[set].outputs[i],
                              &(struct oracle_source_data){.problem = o->problem,
                                                           .data = &data,
                                                           .result = &result,
                                                           .set = set,
                                                           .row = -1,
                                                           .n_threads = n_threads},
                              i);
    bool keep = keeps_inputs(o);
    for (int i = 0; i < o->problem->n_inputs; i++)
        if (keep)
            o->sets[set].inputs[i] = inputs[i];
        else
            free(inputs[i]);
    interpret_reset(&result);
}

struct set_queue {
    struct oracle *oracle;
    _Atomic unsigned left;  // sets that nobody has taken yet
    int threads_each;       // for one set
};

static void *compute_some(void *argument) {
    struct set_queue *l = argument;
    for (unsigned left = l->left; left;) {
        if (!atomic_compare_exchange_weak(&l->left, &left, left & (left - 1)))
            continue;
        enum oracle_set set = (enum oracle_set)__builtin_ctz(left);
        compute_set(l->oracle, set, l->threads_each);
        left = l->left;
    }
    return NULL;
}

// Sets that were computed side by side are compared one after the other, by all threads.
static void mark_known(struct oracle *o, unsigned sets, int n_threads) {
    for (int s = 0; s < SET_COUNT; s++) {
        o->sets[s].is_known |= sets >> s & 1;
        for (int i = 0; i < o->problem->n_outputs; i++)
            o->sets[s].outputs[i].n_threads = n_threads;
    }
}

void oracle_compute(struct oracle *o, unsigned sets, int n_threads) {
    const unsigned declared = 1U << SET_DECLARED,
                   patched = 1U << SET_PATCHED | 1U << SET_PATCHED_AGAIN;
    unsigned derived = sets >> SET_DRAWN << SET_DRAWN;
    if (((sets & declared) && (sets & patched)) || derived) {
        sets |= declared;
        if (sets != declared)
            oracle_compute(o, declared, n_threads);  // those are made from it
    }
    if (derived >> SET_SUMMED & 1)
        oracle_compute(o, 1U << SET_INTEGERS, n_threads);
    for (int s = SET_PATCHED; s <= SET_PATCHED_AGAIN; s++)
        if ((sets >> s & 1) && !o->sets[s].is_known)
            o->sets[s].is_known = compute_patched_rows(o, (enum oracle_set)s);
    for (int s = SET_DRAWN; s < SET_COUNT; s++)
        if ((derived >> s & 1) && !o->sets[s].is_known) {
            derived_compute(o, (enum oracle_set)s);
            take_fault(o->sets[s].fault, o->sets[SET_DECLARED].fault);
            o->sets[s].is_known = true;
        }
    for (int s = 0; s < SET_COUNT; s++)
        if (o->sets[s].is_known)
            sets &= ~(1U << s);
    int n_sets = __builtin_popcount(sets);
    struct set_queue l = {o, sets, n_sets ? (n_threads + n_sets - 1) / n_sets : 1};
    pthread_t helpers[SET_COUNT];
    int n = 0, wanted = n_sets - 1;
    while (n < wanted && n + 1 < n_threads &&
           pthread_create(&helpers[n], NULL, compute_some, &l) == 0)
        n++;
    compute_some(&l);
    for (int i = 0; i < n; i++)
        pthread_join(helpers[i], NULL);
    mark_known(o, sets, n_threads);
}
