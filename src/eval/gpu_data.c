// Data of the judge on a GPU: what it puts into the slots' memory, what it expects of them, and how
// it looks at them after a call.
#include "eval/device_gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "hone_inputs.h"
#include "oracle/gpu_derived.h"
#include "oracle/new_data.h"

void gpu_fail(struct judge *j, const struct error *err) {
    if (j->broken.kind == ERROR_NONE)
        j->broken = *err;
}

bool gpu_check(struct judge *j, cuda_result code, const char *what) {
    struct error err = {0};
    if (cuda_ok(&j->gpu->bench.cu, code, what, &err))
        return true;
    gpu_fail(j, &err);
    return false;
}

// Free what a set has on the device; it is uploaded again when it is needed. Slots may still be
// loaded with it, so its digests stay.
static void evict(struct judge *j, struct gpu_set *set) {
    const struct cuda *cu = &j->gpu->bench.cu;
    for (int i = 0; i < INPUTS_MAX; i++)
        if (set->inputs[i])
            cu->release(set->inputs[i]);
    for (int i = 0; i < OUTPUTS_MAX; i++) {
        const cuda_pointer parts[] = {set->expected[i].high, set->expected[i].low,
                                      set->expected[i].spread};
        for (int k = 0; k < 3; k++)
            if (parts[k])
                cu->release(parts[k]);
    }
    struct gpu_set empty = {0};
    memcpy(empty.digests, set->digests, sizeof empty.digests);
    *set = empty;
}

void gpu_forget_sets(struct judge *j) {
    for (int s = 0; s < SET_COUNT; s++)
        evict(j, &j->gpu->sets[s]);
    gpu_forget_spots(j);
}

void gpu_forget_spots(struct judge *j) {
    if (j->gpu->spots)
        j->gpu->bench.cu.release(j->gpu->spots);
    j->gpu->spots = 0;
    j->gpu->spots_bytes = 0;
}

cuda_pointer gpu_take_spots(struct judge *j, int64_t bytes) {
    struct judge_gpu *g = j->gpu;
    if (bytes <= g->spots_bytes)
        return g->spots;
    gpu_forget_spots(j);
    if (!gpu_check(j, g->bench.cu.allocate(&g->spots, (size_t)bytes), "take memory"))
        return 0;
    g->spots_bytes = bytes;
    return g->spots;
}

// On a card that has no room for all sets, only the one that is needed stays.
static void evict_others(struct judge *j, enum oracle_set set) {
    for (int s = 0; s < SET_COUNT; s++)
        if (s != (int)set)
            evict(j, &j->gpu->sets[s]);
}

// Inputs are drawn again in no time; what is expected of them takes long to compute.
static void forget_inputs(struct judge *j, struct gpu_set *set) {
    for (int i = 0; i < INPUTS_MAX; i++)
        if (set->inputs[i])
            j->gpu->bench.cu.release(set->inputs[i]);
    memset(set->inputs, 0, sizeof set->inputs);
    set->has_inputs = false;
}

int64_t gpu_free_bytes(struct judge *j) {
    size_t free_bytes = 0, total = 0;
    gpu_check(j, j->gpu->bench.cu.memory_info(&free_bytes, &total), "ask for memory");
    return (int64_t)free_bytes;
}

// The last ones first: those that are derived need the declared one.
bool gpu_make_room(struct judge *j, int64_t bytes) {
    bool has_room = gpu_free_bytes(j) >= bytes;
    for (int s = SET_COUNT - 1; !has_room && s >= 0; s--) {
        evict(j, &j->gpu->sets[s]);
        has_room = gpu_free_bytes(j) >= bytes;
    }
    return has_room;
}

// Runners load code and take the slots and scratch from what sets leave.
static bool has_room(struct judge *j, int64_t bytes) {
    const struct judge_gpu *g = j->gpu;
    int64_t slots = 0;
    struct gpu_layout l;
    for (int slot = 0; !g->memory.is_there && slot < g->memory.n_slots; slot++) {
        gpu_layout_make(&l, g->problem.buffers, 0, g->problem.n_buffers, slot, g->bench.page_bytes);
        slots += l.total_bytes;
    }
    return gpu_free_bytes(j) >= bytes + slots + g->reserve_bytes;
}

// Others give way: inputs first, then whole sets, the last ones first, since the declared one is
// asked for most often.
static void give_way(struct judge *j, enum oracle_set set, int64_t bytes) {
    for (int s = 0; s < SET_COUNT && !has_room(j, bytes); s++)
        if (s != (int)set)
            forget_inputs(j, &j->gpu->sets[s]);
    for (int s = SET_COUNT - 1; s >= 0 && !has_room(j, bytes); s--)
        if (s != (int)set)
            evict(j, &j->gpu->sets[s]);
}

static bool take(struct judge *j, enum oracle_set set, int64_t bytes, cuda_pointer *to) {
    const struct cuda *cu = &j->gpu->bench.cu;
    if (*to)
        return true;
    give_way(j, set, bytes);
    if (cu->allocate(to, (size_t)bytes) == 0)
        return true;
    evict_others(j, set);
    *to = 0;
    return gpu_check(j, cu->allocate(to, (size_t)bytes), "take memory");
}

static bool upload(struct judge *j, enum oracle_set set, const void *from, int64_t bytes,
                   cuda_pointer *to) {
    return take(j, set, bytes, to) &&
           gpu_check(j, j->gpu->bench.cu.copy_to(*to, from, (size_t)bytes), "copy to the GPU");
}

static int64_t output_bytes(const struct judge *j, int output) {
    return j->context.buffers[j->problem->n_inputs + output].size_bytes;
}

static int64_t output_count(const struct judge *j, int output) {
    return shape_count(&j->problem->graph.nodes[j->problem->outputs[output].node].shape);
}

// One of the arrays that hold what is expected.
static int64_t expected_bytes(const struct judge *j, int output) {
    bool is_f32 = j->context.buffers[j->problem->n_inputs + output].type == DTYPE_F32;
    return output_count(j, output) * (int64_t)(is_f32 ? sizeof(float) : sizeof(double));
}

static enum dtype output_type(const struct judge *j, int output) {
    return j->context.buffers[j->problem->n_inputs + output].type;
}

// Of packed elements the other one in the byte stays.
bool gpu_put_element(struct judge *j, int input, cuda_pointer at, const struct patch *p,
                     bool is_back) {
    enum dtype type = j->context.buffers[input].type;
    double value = is_back ? p->before : p->after;
    uint64_t bits = 0;
    bool is_packed = type == DTYPE_I4;
    at += (cuda_pointer)(is_packed ? p->index / 2 : dtype_size(type, p->index));
    if (is_packed && !gpu_check(j, j->gpu->bench.cu.copy_from(&bits, at, 1), "change inputs"))
        return false;
    dtype_put(type, &bits, is_packed ? p->index % 2 : 0, value);
    return gpu_check(j, j->gpu->bench.cu.copy_to(at, &bits, (size_t)dtype_size(type, 1)),
                     "change inputs");
}

static bool prepare_input(struct judge *j, enum oracle_set set, int i) {
    struct gpu_set *s = &j->gpu->sets[set];
    int64_t bytes = j->context.buffers[i].size_bytes;
    bool ok = j->gpu->has_oracle && take(j, set, bytes, &s->inputs[i]) &&
              gpu_make_input(j, set, i, s->inputs[i]);
    if (!ok && j->broken.kind == ERROR_NONE) {
        void *values = malloc((size_t)bytes);
        if (!values)
            abort();
        oracle_fill(&j->oracle, set, i, values);
        ok = upload(j, set, values, bytes, &s->inputs[i]);
        free(values);
    }
    if (ok)
        s->digests[i] = gpu_input_digest(j, i, s->inputs[i]);
    return ok;
}

static bool prepare_inputs(struct judge *j, enum oracle_set set) {
    struct gpu_set *s = &j->gpu->sets[set];
    struct stretch drawing = judge_begin(j);
    bool ok = true;
    for (int i = 0; ok && !s->has_inputs && i < j->problem->n_inputs; i++)
        ok = prepare_input(j, set, i);
    judge_end(j, PHASE_INPUTS, drawing);
    if (!ok)
        return false;
    s->has_inputs = true;
    return j->broken.kind == ERROR_NONE;
}

static struct gpu_oracle_request request_of(struct judge *j, enum oracle_set set,
                                            struct error_stats stats[OUTPUTS_MAX]) {
    struct gpu_set *s = &j->gpu->sets[set];
    for (int i = 0; i < j->problem->n_outputs; i++)
        stats[i] = j->oracle.sets[set].outputs[i].stats;
    return (struct gpu_oracle_request){.problem = j->problem,
                                       .inputs = s->inputs,
                                       .expected = s->expected,
                                       .stats = stats,
                                       .set = set};
}

// By the set's law, where it has one and what is expected of the declared data is still there.
static bool derive_expected(struct judge *j, enum oracle_set set,
                            struct error_stats stats[OUTPUTS_MAX]) {
    const struct gpu_set *declared = &j->gpu->sets[SET_DECLARED];
    struct gpu_set *s = &j->gpu->sets[set];
    struct error err = {0};
    struct gpu_law law;
    if (set < SET_DRAWN || !declared->has_expected ||
        !gpu_law_open(&law, &j->gpu->oracle, &j->oracle, set, &err))
        return false;
    bool ok = true;
    for (int i = 0; ok && i < j->problem->n_outputs; i++) {
        const struct judge_expected *from = &declared->expected[i], *to = &s->expected[i];
        int64_t bytes = expected_bytes(j, i);
        struct gpu_copy parts[] = {{from->high, to->high, bytes},
                                   {from->low, to->low, from->low ? bytes : 0},
                                   {from->spread, to->spread, bytes}};
        stats[i] = j->oracle.sets[SET_DECLARED].outputs[i].stats;
        ok = gpu_law_output(&law, i, parts, &err);
    }
    gpu_law_close(&law);
    return ok;
}

// Compute what is expected where it will be compared. False, and the host has to: no memory.
static bool compute_expected(struct judge *j, enum oracle_set set) {
    struct error err = {0};
    struct gpu_set *s = &j->gpu->sets[set];
    struct error_stats stats[OUTPUTS_MAX];
    for (int i = 0; i < j->problem->n_outputs; i++) {
        struct judge_expected *e = &s->expected[i];
        int64_t bytes = expected_bytes(j, i);
        if (!take(j, set, bytes, &e->high) || !take(j, set, bytes, &e->spread) ||
            (output_type(j, i) == DTYPE_F32 && !take(j, set, bytes, &e->low)))
            return false;
    }
    struct gpu_oracle_request request = request_of(j, set, stats);
    bool ok = derive_expected(j, set, stats) ||
              (prepare_inputs(j, set) && gpu_oracle_compute(&j->gpu->oracle, &request, &err));
    if (!ok && j->broken.kind == ERROR_NONE) {
        evict_others(j, set);
        err = (struct error){0};
        ok = prepare_inputs(j, set) && gpu_oracle_compute(&j->gpu->oracle, &request, &err);
    }
    if (!ok)
        return false;
    for (int i = 0; i < j->problem->n_outputs; i++) {
        struct oracle_output *o = &j->oracle.sets[set].outputs[i];
        o->type = output_type(j, i);
        o->count = output_count(j, i);
        o->stats = stats[i];
        s->expected[i].limit = stats[i].limit_max;
    }
    j->oracle.sets[set].is_known = true;
    return true;
}

static bool host_knows(const struct judge *j, enum oracle_set set) {
    const struct oracle_output *o = &j->oracle.sets[set].outputs[0];
    return o->high != NULL || o->truth != NULL;
}

static bool upload_expected(struct judge *j, enum oracle_set set) {
    struct gpu_set *s = &j->gpu->sets[set];
    // The GPU may have known it, and not any more; or what it follows from.
    j->oracle.sets[set].is_known &= host_knows(j, set);
    if (set >= SET_DRAWN)
        j->oracle.sets[SET_DECLARED].is_known &= host_knows(j, SET_DECLARED);
    oracle_compute(&j->oracle, 1U << set, j->settings.n_threads);
    for (int i = 0; i < j->problem->n_outputs; i++) {
        const struct oracle_output *o = &j->oracle.sets[set].outputs[i];
        struct judge_expected *e = &s->expected[i];
        int64_t bytes = expected_bytes(j, i);
        bool is_f32 = o->type == DTYPE_F32;
        e->limit = o->stats.limit_max;
        if (o->choice)  // compared by the host
            continue;
        if (!upload(j, set, is_f32 ? (void *)o->high : o->truth, bytes, &e->high) ||
            !upload(j, set, is_f32 ? (void *)o->spread : o->unit, bytes, &e->spread) ||
            (is_f32 && !upload(j, set, o->low, bytes, &e->low)))
            return false;
    }
    return true;
}

static bool has_makers(const struct judge *j) {
    for (int i = 0; i < j->problem->n_inputs; i++)
        if (j->problem->inputs[i].maker)
            return true;
    return false;
}

// Inputs that the card computed may differ from the host's in a last bit.
static void forget_computed(struct judge *j) {
    if (!has_makers(j))
        return;
    gpu_forget_sets(j);
    for (int slot = 0; slot < SLOTS_MAX; slot++)
        j->slot_set[slot] = -1;
}

static bool prepare_expected(struct judge *j, enum oracle_set set) {
    struct judge_gpu *g = j->gpu;
    struct gpu_set *s = &g->sets[set];
    if (s->has_expected)
        return true;
    struct stretch computing = judge_begin(j);
    if (g->has_oracle && !compute_expected(j, set)) {
        log_info("the GPU cannot compute the truth; the host does");
        g->has_oracle = false;
        forget_computed(j);
    }
    s->has_expected = j->broken.kind == ERROR_NONE && (g->has_oracle || upload_expected(j, set));
    judge_end(j, PHASE_TRUTH, computing);
    return s->has_expected;
}

bool gpu_declared_is_ready(struct judge *j) {
    return prepare_inputs(j, SET_DECLARED) && prepare_expected(j, SET_DECLARED);
}

// Is there room for one more set, what is expected of the others kept? Where there is not, it is
// computed when it is compared with: ahead of that it would only drive out one that is needed
// sooner. Computed inputs are looked at ahead in any case, since they may be unfit.
static bool fits_ahead(struct judge *j, enum oracle_set set) {
    int64_t bytes = 0;
    if (set == SET_DECLARED || !j->gpu->has_oracle || has_makers(j))
        return true;
    for (int i = 0; i < j->problem->n_inputs; i++)
        bytes += j->context.buffers[i].size_bytes;
    for (int i = 0; i < j->problem->n_outputs; i++)
        bytes += (output_type(j, i) == DTYPE_F32 ? 3 : 2) * expected_bytes(j, i);
    for (int s = 0; s < SET_COUNT && !has_room(j, bytes); s++)
        forget_inputs(j, &j->gpu->sets[s]);
    return has_room(j, bytes);
}

void gpu_compute_expected(struct judge *j, unsigned sets) {
    if (sets >> SET_DRAWN)
        sets |= 1U << SET_DECLARED;  // those are made from it
    if (!j->gpu->has_oracle)
        oracle_compute(&j->oracle, sets, j->settings.n_threads);
    for (int s = 0; s < SET_COUNT; s++)
        if (sets >> s & 1 && !j->gpu->sets[s].has_expected && fits_ahead(j, (enum oracle_set)s))
            prepare_expected(j, (enum oracle_set)s);
    gpu_oracle_release(&j->gpu->oracle);
}

static bool try_null(struct judge *j, enum oracle_set set, struct null_kernels *t) {
    struct error err = {0};
    struct error_stats stats[OUTPUTS_MAX];
    if (!prepare_inputs(j, set) || !prepare_expected(j, set))
        return false;
    struct gpu_oracle_request request = request_of(j, set, stats);
    if (gpu_oracle_null(&j->gpu->oracle, &request, t, &err))
        return true;
    gpu_fail(j, &err);
    return false;
}

void gpu_try_null(struct judge *j, enum oracle_set set, struct null_kernels *t) {
    if (!j->gpu->has_oracle)
        judge_try_null(j, set, t);
    else if (!try_null(j, set, t))
        t->passing = 0;  // the card failed; asking for a verdict reports it
}

void gpu_load(struct judge *j, int slot, enum oracle_set set) {
    if (j->slot_set[slot] == (int)set || !prepare_inputs(j, set))
        return;
    for (int i = 0; i < j->problem->n_inputs; i++)
        gpu_check(j,
                  j->gpu->bench.cu.copy(gpu_input_at(j, slot, i), j->gpu->sets[set].inputs[i],
                                        (size_t)j->context.buffers[i].size_bytes),
                  "copy inputs");
    j->slot_set[slot] = (int)set;
}

// Drawn by the host, where our kernels do not know the type.
static void renew_by_host(struct judge *j, uint64_t seed, int i, cuda_pointer to) {
    size_t bytes = (size_t)j->context.buffers[i].size_bytes;
    void *values = malloc(bytes);
    if (!values)
        abort();
    new_data_fill(
        &(struct new_data){
            .problem = j->problem, .input = i, .seed = seed, .n_threads = j->settings.n_threads},
        values);
    gpu_check(j, j->gpu->bench.cu.copy_to(to, values, bytes), "copy inputs");
    free(values);
}

void gpu_redraw(struct judge *j, int slot, int i) {
    uint64_t seed = j->gpu->new_seeds[slot];
    cuda_pointer to = gpu_input_at(j, slot, i);
    if (!gpu_make_new_input(j, seed, i, to) && j->broken.kind == ERROR_NONE)
        renew_by_host(j, seed, i, to);
}

// The look before the call takes their digest.
void gpu_renew(struct judge *j, int slot, uint64_t seed) {
    j->slot_set[slot] = -1;
    j->gpu->new_seeds[slot] = seed;
    for (int i = 0; i < j->problem->n_inputs && j->broken.kind == ERROR_NONE; i++)
        gpu_redraw(j, slot, i);
}

// An output in the host's memory.
static const void *fetch_values(struct judge *j, struct subject *s, int slot, int output) {
    int64_t bytes = output_bytes(j, output);
    free(j->gpu->values);
    j->gpu->values = calloc(1, (size_t)bytes);
    if (!j->gpu->values)
        abort();
    gpu_check(j,
              j->gpu->bench.cu.copy_from(j->gpu->values, gpu_output_at(j, s, slot, output),
                                         (size_t)bytes),
              "copy results");
    return j->gpu->values;
}

bool gpu_compare(struct judge *j, struct subject *s, int slot, int output, uint32_t word,
                 struct comparison *c) {
    struct error err = {0};
    enum oracle_set set = (enum oracle_set)j->slot_set[slot];
    const struct oracle_output *o = &j->oracle.sets[set].outputs[output];
    struct judge_part sum = {0};
    struct gpu_results r = {.at = gpu_output_at(j, s, slot, output),
                            .n = output_count(j, output),
                            .poison = word,
                            .type = output_type(j, output)};
    *c = (struct comparison){0};
    if (!prepare_expected(j, set))
        return false;
    c->stats = o->stats;
    if (o->choice)
        return oracle_compare(o, fetch_values(j, s, slot, output), word, c) &&
               j->broken.kind == ERROR_NONE;
    if (!gpu_bench_compare(&j->gpu->bench, &r, &j->gpu->sets[set].expected[output], &sum, &err)) {
        gpu_fail(j, &err);
        return false;
    }
    bool is_f32 = r.type == DTYPE_F32;
    c->n_wrong = (int64_t)sum.n_wrong;
    // Of other types the poison may be a right value, or somebody's wrong one.
    c->n_unwritten = is_f32 || sum.n_same == sum.n_wrong ? (int64_t)sum.n_same : 0;
    c->stats.rms = r.n ? sqrt(sum.sum / (double)r.n) : 0;
    c->stats.max = sum.max;
    c->is_ok = c->stats.rms <= o->stats.limit_rms && c->stats.max <= o->stats.limit_max &&
               (!is_f32 || !c->n_unwritten);
    return c->is_ok;
}

static void *fetch(struct judge *j, cuda_pointer from, int64_t bytes) {
    void *to = calloc(1, (size_t)bytes + 1);
    if (!to)
        abort();
    gpu_check(j, j->gpu->bench.cu.copy_from(to, from, (size_t)bytes), "copy expected results");
    return to;
}

void gpu_fetch_expected(struct judge *j, const struct judge_expected *e, struct oracle_output *o) {
    bool is_f32 = o->type == DTYPE_F32;
    int64_t bytes = o->count * (int64_t)(is_f32 ? sizeof(float) : sizeof(double));
    if (is_f32) {
        o->high = fetch(j, e->high, bytes);
        o->low = fetch(j, e->low, bytes);
        o->spread = fetch(j, e->spread, bytes);
    } else {
        o->truth = fetch(j, e->high, bytes);
        o->unit = fetch(j, e->spread, bytes);
    }
}

// What is expected, for evidence.
static void fetch_expected(struct judge *j, enum oracle_set set, int output) {
    struct oracle_output *o = &j->oracle.sets[set].outputs[output];
    if (o->high || o->truth || !prepare_expected(j, set))
        return;
    gpu_fetch_expected(j, &j->gpu->sets[set].expected[output], o);
}

const void *gpu_values(struct judge *j, struct subject *s, int slot, int output) {
    fetch_expected(j, (enum oracle_set)j->slot_set[slot], output);
    return fetch_values(j, s, slot, output);
}
