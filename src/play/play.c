// The directory has the plan, the cubin, a file for each input, and afterwards what went wrong.
// Large inputs are drawn in part and repeated: for a profile that is the same.
#include "play/play.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/lease.h"
#include "build/compile_cuda.h"
#include "eval/cutlass_objects.h"
#include "eval/gpu_handle.h"
#include "family/source_plan.h"
#include "ir/inputs.h"
#include "play/play_warm.h"
#include "profile/collect_ncu.h"
#include "profile/sass.h"

enum {
    WHOLE_MAX = 32 << 20,
    PART_BYTES = 16 << 20,
    TURNS = 3,
    FLUSH_TIMES_L2 = 3,
    TEXT_MAX = 4096
};
static const double LEASE_WAIT_S = 30;
static const uint64_t PLAY_SEED = 20260101;  // anybody may know it

struct play {
    struct arena arena;
    const struct problem *problem;
    const struct target *target;
    const char *dir, *self, *cache;
    struct cuda_compiler compiler;
    bool has_compiler, has_inputs;
    struct warm warm;
};

// ---- what is to be run

static bool write_input(struct play *p, int i, int64_t bytes, struct error *err) {
    struct arena scratch = {0};
    const struct problem *problem = p->problem;
    enum dtype type = problem->graph.nodes[problem->inputs[i].node].dtype;
    bool is_part = bytes > WHOLE_MAX && !problem->inputs[i].maker;
    long n_threads = sysconf(_SC_NPROCESSORS_ONLN);
    struct inputs_job job = {.problem = problem,
                             .input = i,
                             .seed = PLAY_SEED,
                             .n_threads = n_threads > 1 ? (int)n_threads : 1};
    size_t len = (size_t)(is_part ? PART_BYTES : bytes);
    void *values = arena_alloc(&scratch, len + 8);
    if (is_part)
        for (int64_t k = 0; dtype_size(type, k) < (int64_t)len; k++)
            dtype_put(type, values, k, inputs_at(&job, k));
    else
        inputs_fill_parallel(&job, values);
    bool ok = file_keep(arena_printf(&scratch, "%s/input.%d", p->dir, i), values, len, err);
    arena_reset(&scratch);
    return ok;
}

static bool write_inputs(struct play *p, const struct plan *plan, struct error *err) {
    for (int i = 0; i < p->problem->n_inputs; i++)
        if (!write_input(p, i, plan->buffers[i].size_bytes, err))
            return false;
    p->has_inputs = true;
    return true;
}

static bool build_cubin(struct play *p, struct arena *a, const struct candidate *c, bool has_lines,
                        struct error *err) {
    const struct graph *g = &p->problem->graph;
    const char **names = arena_array(a, const char *, g->n_dims + 1);
    int64_t *sizes = arena_array(a, int64_t, g->n_dims + 1);
    struct cubin cubin;
    for (int i = 0; i < g->n_dims; i++) {
        names[i] = g->dims[i].name;
        sizes[i] = g->dims[i].size;
    }
    struct cuda_source source = {.text = c->source,
                                 .arch = p->target->isa,
                                 .cache = p->cache,
                                 .dim_names = names,
                                 .dim_sizes = sizes,
                                 .n_dims = g->n_dims,
                                 .has_lines = has_lines};
    if (!p->has_compiler && !cuda_compiler_start(&p->compiler, &p->arena, err))
        return false;
    p->has_compiler = true;
    if (!cuda_compile(a, &p->compiler, &source, &cubin, err))
        return false;
    if (cubin.outcome != COMPILE_OK)
        return error_set(err, ERROR_PARSE, "it does not compile: %.300s", cubin.message);
    return file_keep(arena_printf(a, "%s/cubin", p->dir), cubin.bytes, cubin.len, err);
}

static bool build_calls(struct play *p, struct arena *a, struct plan *plan, struct error *err) {
    struct compile_result c;
    if (!cutlass_objects_build(a, p->cache, plan, &c, err))
        return false;
    return c.outcome == COMPILE_OK ||
           error_set(err, ERROR_PARSE, "it does not compile: %.300s", c.message);
}

bool play_compile(struct play *p, struct arena *a, const struct candidate *c, const char **path,
                  struct error *err) {
    *path = arena_printf(a, "%s/cubin", p->dir);
    return build_cubin(p, a, c, true, err);
}

static bool write_plan(struct play *p, struct arena *a, const struct plan *plan, bool is_quick,
                       struct error *err) {
    json_t *json =
        json_pack("{s:i, s:i, s:I, s:o}", "ordinal", p->target->ordinal, "turns",
                  is_quick ? 1 : TURNS, "flush_bytes",
                  (json_int_t)(FLUSH_TIMES_L2 * p->target->l2_bytes), "plan", plan_to_json(plan));
    const char *text = json_print_pretty(a, json);
    json_decref(json);
    return file_keep(arena_printf(a, "%s/play.json", p->dir), text, strlen(text), err);
}

bool play_open(struct play **out, const struct problem *problem, const struct target *t,
               struct error *err) {
    struct play *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    *p = (struct play){.problem = problem, .target = t};
    p->dir = file_scratch_dir(&p->arena, err);
    p->self = p->dir ? file_self(&p->arena, err) : NULL;
    p->cache = p->self ? file_work_dir(&p->arena, "objects", err) : NULL;
    warm_init(&p->warm, &p->arena, p->self, p->dir);
    *out = p;
    if (p->cache)
        return true;
    play_close(p);
    *out = NULL;
    return false;
}

void play_close(struct play *p) {
    struct error ignored = {0};
    if (!p)
        return;
    warm_close(&p->warm);
    if (p->has_compiler)
        cuda_compiler_stop(&p->compiler);
    if (p->dir)
        file_remove_tree(p->dir, &ignored);
    arena_reset(&p->arena);
    free(p);
}

// ---- running it, and what it brought

static bool is_launch_of(const struct profile_launch *l, const struct program_kernel *k) {
    double blocks = launch_get(l, METRIC_BLOCKS), threads = launch_get(l, METRIC_BLOCK_THREADS);
    return strcmp(l->name, k->name) == 0 &&
           blocks == (double)k->grid[0] * k->grid[1] * k->grid[2] &&
           threads == (double)k->block[0] * k->block[1] * k->block[2];
}

// All that a launch of the plan can touch.
static double footprint(const struct plan *plan, const struct program_kernel *k) {
    double sum = 0;
    for (int i = 0; i < plan->n_steps; i++) {
        const struct plan_step *s = &plan->steps[i];
        if (s->kind != STEP_LAUNCH || strcmp(s->function, k->name) != 0)
            continue;
        for (int j = 0; j < s->n_args; j++) {
            int b = s->args[j] >= 0 ? s->args[j] : plan->tensormaps[-1 - s->args[j]].buffer;
            sum += (double)plan->buffers[b].size_bytes;
        }
        return sum;
    }
    return NAN;
}

// What was counted goes to every launch of the same kernel and shape; a profile without launches
// gets those that were seen.
static void merge(struct arena *a, const struct plan *plan, const struct collected *c,
                  struct profile *into) {
    bool is_empty = into->n_launches == 0;
    into->lines = c->profile.lines;
    into->n_lines = c->profile.n_lines;
    for (int i = 0; i < c->profile.n_launches; i++) {
        struct metrics found = c->profile.launches[i].metrics;
        const struct program_kernel *k = c->kernels[i].kernel;
        metrics_set(&found, METRIC_FOOTPRINT, footprint(plan, k));
        if (is_empty) {
            profile_add_launch(a, into, arena_strdup(a, k->name))->metrics = found;
            continue;
        }
        metrics_clear(&found, METRIC_TIME);
        metrics_clear(&found, METRIC_CALLS);
        for (int j = 0; j < into->n_launches; j++)
            if (is_launch_of(&into->launches[j], k))
                metrics_merge(&into->launches[j].metrics, &found);
    }
}

// The launches of a plan, for which no timeline is needed.
static int list_launches(struct arena *a, const struct plan *plan, struct program_kernel **out) {
    int n = 0;
    struct program_kernel *all = arena_array(a, struct program_kernel, plan->n_steps + 1);
    for (int i = 0; i < plan->n_steps; i++) {
        const struct plan_step *s = &plan->steps[i];
        struct program_kernel k = {.name = s->function, .words = s->function};
        bool is_new = s->kind == STEP_LAUNCH;
        for (int d = 0; d < 3; d++) {
            k.grid[d] = (int)s->shape.grid[d];
            k.block[d] = (int)s->shape.block[d];
        }
        for (int j = 0; j < n && is_new; j++)
            is_new = strcmp(all[j].name, k.name) != 0 ||
                     memcmp(all[j].grid, k.grid, sizeof k.grid) != 0 ||
                     memcmp(all[j].block, k.block, sizeof k.block) != 0;
        if (is_new)
            all[n++] = k;
    }
    *out = all;
    return n;
}

// A run that failed says why in a file.
static bool has_failed(struct play *p, struct arena *a, const struct collected *c,
                       struct error *err) {
    struct error ignored = {0};
    const char *path = arena_printf(a, "%s/error", p->dir);
    const char *why = file_read(a, path, TEXT_MAX, NULL, &ignored);
    if (!why && c->end.exit_status == 0 && c->end.signal == 0)
        return false;
    error_set(err, ERROR_IO, "the candidate could not be run for a profile: %.300s",
              why ? why : "its process died");
    return true;
}

static int64_t memory_of(const struct play *p, const struct plan *plan) {
    int64_t bytes = FLUSH_TIMES_L2 * p->target->l2_bytes;
    for (int i = 0; i < plan->n_buffers; i++)
        bytes += plan->buffers[i].size_bytes;
    return bytes;
}

// What the process that stays has counted, with the machine code, as a program's profile.
static void take_counted(struct play *p, struct arena *a, const struct program_data *d,
                         const struct program_kernel *kernels, struct collected *out) {
    struct error ignored = {0};
    struct arena scratch = {0};
    struct sass code = {0};
    size_t len;
    const char *bytes =
        file_read(&scratch, arena_printf(&scratch, "%s/cubin", p->dir), CUBIN_MAX, &len, &ignored);
    bool has_code = bytes && sass_read(&scratch, bytes, len, &code, &ignored);
    out->kernels = arena_array(a, struct collected_kernel, d->n_counted + 1);
    profile_reserve(a, &out->profile, d->n_counted);
    for (int i = 0; i < d->n_counted; i++) {
        const struct program_kernel *k = &kernels[i];
        struct metrics *m = &profile_add_launch(a, &out->profile, k->words)->metrics;
        const struct sass_kernel *s = has_code ? sass_find(&code, k->name) : NULL;
        out->kernels[i].kernel = k;
        program_metrics(k, m);
        metrics_merge(m, &d->counted[i]);
        if (s)
            sass_metrics(s, m);
    }
    out->passes = d->passes;
    for (int i = 0; i < d->n_faults && out->n_notes < COLLECT_NOTES_MAX; i++)
        out->notes[out->n_notes++] =
            arena_printf(a, "counters: %s", collect_fault_text(a, &d->faults[i]));
    for (int i = 0; i < d->n_counted; i++)
        if (!d->is_counted[i] && out->n_notes == 0)
            out->notes[out->n_notes++] =
                arena_printf(a, "counters: the profiler gave none for %s", kernels[i].words);
    arena_reset(&scratch);
}

// Facts of the driver for launches of a profile that has none.
static void take_facts(struct play *p, const struct plan *plan, const json_t *facts,
                       struct collected *out) {
    size_t next = 0;
    for (int i = 0; i < plan->n_steps; i++) {
        const json_t *told =
            plan->steps[i].kind == STEP_LAUNCH ? json_array_get(facts, next++) : NULL;
        for (int j = 0; told && j < out->profile.n_launches; j++)
            if (strcmp(out->kernels[j].kernel->name, plan->steps[i].function) == 0)
                gpu_launch_metrics(&plan->steps[i], told, p->target->threads_per_sm,
                                   &out->profile.launches[j].metrics);
    }
}

static bool count_quickly(struct play *p, struct arena *a, const struct plan *plan,
                          struct collected *out, struct error *err) {
    struct program_kernel *kernels;
    struct program_data d;
    json_t *facts;
    int n = list_launches(a, plan, &kernels);
    *out = (struct collected){0};
    bool ok = warm_count(&p->warm, a, kernels, n, memory_of(p, plan), &d, &facts, err);
    if (ok) {
        take_counted(p, a, &d, kernels, out);
        take_facts(p, plan, facts, out);
    }
    json_decref(facts);
    return ok;
}

static bool count_fully(struct play *p, struct arena *a, const struct plan *plan, bool by_ncu,
                        struct collected *out, struct error *err) {
    const char *const argv[] = {p->self, "_play", p->dir, NULL};
    enum { KERNELS_MAX = 8 };
    struct collect_request q = {.argv = argv,
                                .top = KERNELS_MAX,
                                .timeout_s = 120,
                                .is_silent = true,
                                .is_ours = true,
                                .source = CUDA_SOURCE_NAME,
                                .memory_bytes = memory_of(p, plan)};
    return (by_ncu ? collect_by_ncu : collect)(a, &q, out, err) && !has_failed(p, a, out, err);
}

bool play_candidate(struct play *p, struct arena *a, const struct candidate *c, enum play_how how,
                    struct profile *into, struct collected *out, struct error *err) {
    struct plan plan;
    if (!candidate_plan(a, p->problem, p->target, c, &plan, err) ||
        !build_cubin(p, a, c, how == PLAY_FULL, err) || !build_calls(p, a, &plan, err) ||
        !write_plan(p, a, &plan, how != PLAY_FULL, err) ||
        (!p->has_inputs && !write_inputs(p, &plan, err)))
        return false;
    // Nothing shall be timed meanwhile; after too long a wait it goes on all the same.
    struct lease lease;
    lease_open(&lease,
               lease_path(&p->arena, arena_printf(&p->arena, "cuda-%d", p->target->ordinal)));
    lease_take(&lease, LEASE_WAIT_S);
    bool ok = how == PLAY_QUICK ? count_quickly(p, a, &plan, out, err)
                                : count_fully(p, a, &plan, how == PLAY_NCU, out, err);
    lease_close(&lease);
    if (!ok)
        return false;
    merge(a, &plan, out, into);
    return true;
}
