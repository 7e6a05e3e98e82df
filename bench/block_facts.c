// block-facts [--plain] [--compile] TARGET FILE.hone...: what the kernel that hone begins with is,
// without running it: one line of JSON for each file. Stages with the emitters that they go to,
// bytes and closed-form estimate of each; launches, and whether a GPU takes them; memory; seconds
// of processor time to lower it; with --compile what NVRTC makes of the text. TARGET is an
// architecture (sm_90a) or cpu. bench/kernelbench.sh makes its table of these lines.
//
// A file without a kernel is a line with an "error", and exit status 1.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/json.h"
#include "build/compile_cuda.h"
#include "family/block.h"
#include "family/lower.h"
#include "family/source_plan.h"
#include "gpu/nvrtc.h"
#include "model/bound.h"
#include "ops/op_problem.h"
#include "profile/occupancy.h"
#include "record/plan.h"

enum { HEADERS_MAX = 64 };

// What a launch may have on every card that is supported (CUDA's programming guide).
static const int64_t grid_max[3] = {2147483647, 65535, 65535};
enum { THREADS_MAX = 1024 };

struct options {
    bool is_plain, compiles;
    const char *target;
};

// Of this process alone: others may be running.
static int64_t cpu_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static double seconds_since(int64_t begin_ns) {
    return (double)(cpu_now_ns() - begin_ns) * 1e-9;
}

// Name, limit and value of what no card takes; NULL: all is legal.
static const char *illegal(struct arena *a, const struct target *t, const struct plan *plan) {
    double bytes = 0;
    for (int i = 0; i < plan->n_buffers; i++)
        bytes += (double)plan->buffers[i].size_bytes;
    if (t->memory_bytes > 0 && bytes > (double)t->memory_bytes)
        return arena_printf(a, "buffers of %.3g bytes, the card has %.3g", bytes,
                            (double)t->memory_bytes);
    for (int i = 0; i < plan->n_steps; i++) {
        const struct plan_step *s = &plan->steps[i];
        if (s->kind != STEP_LAUNCH)
            continue;
        const int64_t *block = s->shape.block;
        for (int k = 0; k < 3; k++)
            if (s->shape.grid[k] < 1 || s->shape.grid[k] > grid_max[k])
                return arena_printf(a, "%s: grid %d is %lld", s->function, k,
                                    (long long)s->shape.grid[k]);
        if (block[0] * block[1] * block[2] > THREADS_MAX)
            return arena_printf(a, "%s: %lld threads", s->function,
                                (long long)(block[0] * block[1] * block[2]));
        if (s->shape.shared_bytes > t->shared_per_block)
            return arena_printf(a, "%s: %lld bytes of shared memory", s->function,
                                (long long)s->shape.shared_bytes);
    }
    return NULL;
}

static json_t *number(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *stages_json(struct arena *a, const struct problem *p, const struct target *t,
                           const struct kernel *k, double *planned_bytes) {
    struct mistakes m = {.arena = a, .source = &(struct lang_source){0}};
    const struct block *b = block_resolve(a, p, t, k, &m);
    json_t *stages = json_array();
    for (int i = 0; m.count == 0 && i < b->n_stages; i++) {
        const struct block_stage *s = &b->stages[i];
        struct region_work w;
        region_count(s->region, &w);
        double bytes = w.bytes_read + w.bytes_written;
        if (!s->is_prepare)
            *planned_bytes += bytes;
        json_array_append_new(
            stages, json_pack("{s:s, s:s, s:s, s:b, s:o, s:o}", "value", s->complete.values[0],
                              "family", s->complete.family, "emitter", s->emitter->name, "prepare",
                              s->is_prepare, "bytes", number(bytes), "seconds",
                              number(s->emitter->estimate(s->form, t, &s->complete))));
    }
    return stages;
}

static void add_plan(struct arena *a, json_t *to, const struct target *t, const struct plan *plan) {
    double scratch = 0, all = 0, largest = 0;
    int n_launches = 0;
    for (int i = 0; i < plan->n_buffers; i++) {
        double bytes = (double)plan->buffers[i].size_bytes;
        all += bytes;
        scratch += plan->buffers[i].role == BUFFER_SCRATCH ? bytes : 0;
        double bits = (double)dtype_size(plan->buffers[i].type, 8);
        largest = fmax(largest, bits > 0 ? bytes * 8 / bits : 0);
    }
    for (int i = 0; i < plan->n_steps; i++)
        n_launches += plan->steps[i].kind == STEP_LAUNCH;
    json_object_set_new(to, "launches", json_integer(n_launches));
    json_object_set_new(to, "scratch_bytes", json_real(scratch));
    json_object_set_new(to, "all_bytes", json_real(all));
    json_object_set_new(to, "largest_elements", json_real(largest));
    const char *why = t->is_gpu ? illegal(a, t, plan) : NULL;
    if (why)
        json_object_set_new(to, "illegal", json_string(why));
}

static bool compile_text(struct arena *a, json_t *to, const struct target *t,
                         const struct plan *plan, const char *source, struct error *err) {
    const char *names[HEADERS_MAX] = {"stdint.h"};
    const char *texts[HEADERS_MAX] = {"#pragma once\ntypedef unsigned long long uint64_t;\n"};
    const char *options[8];
    struct nvrtc nvrtc;
    struct nvrtc_result r;
    struct nvrtc_job job = {.source = source, .name = CUDA_SOURCE_NAME, .arch = t->isa};
    job.n_headers = 1;
    for (const struct embedded_file *f = embedded_files; f->name; f++) {
        const char *end = strrchr(f->name, '.');
        if (!end || (strcmp(end, ".h") != 0 && strcmp(end, ".def") != 0))
            continue;
        names[job.n_headers] = f->name;
        texts[job.n_headers++] = f->text;
    }
    job.header_names = names;
    job.header_texts = texts;
    for (; cuda_compile_flags[job.n_options]; job.n_options++)
        options[job.n_options] = cuda_compile_flags[job.n_options];
    job.options = options;
    if (!nvrtc_open(&nvrtc, err))
        return false;
    int64_t begin = cpu_now_ns();
    bool ok = nvrtc_compile(a, &nvrtc, &job, &r, err);
    json_object_set_new(to, "nvrtc_s", json_real(seconds_since(begin)));
    nvrtc_close(&nvrtc);
    if (!ok)
        return false;
    if (!r.compiled)
        return error_set(err, ERROR_PARSE, "NVRTC: %.600s", r.log);
    json_t *spills = json_array();
    for (int i = 0; i < plan->n_steps; i++) {
        struct metrics m = {0};
        if (plan->steps[i].kind != STEP_LAUNCH)
            continue;
        cuda_read_resources(r.log, plan->steps[i].function, &m);
        double spilled = metrics_get(&m, METRIC_SPILL_BYTES),
               stack = metrics_get(&m, METRIC_STACK_BYTES);
        if (spilled > 0 || stack > 0)
            json_array_append_new(
                spills, json_pack("{s:s, s:o, s:o, s:o}", "kernel", plan->steps[i].function,
                                  "registers", number(metrics_get(&m, METRIC_REGISTERS)), "spilled",
                                  number(spilled), "stack", number(stack)));
    }
    json_object_set_new(to, "spills", spills);
    return true;
}

static bool describe(struct arena *a, json_t *to, const struct options *o, const char *path,
                     struct error *err) {
    struct loaded loaded;
    struct target t;
    struct candidate candidate;
    struct plan plan;
    if (strcmp(o->target, "cpu") == 0 ? !target_read_cpu(a, 0, NULL, &t, err)
                                      : !target_of_arch(o->target, &t))
        return error_set(err, ERROR_USAGE, "no such target");
    int64_t begin = cpu_now_ns();
    if (!op_load_runnable(a, path, NULL, &loaded, err))
        return false;
    const struct problem *p = loaded.problem;
    json_object_set_new(to, "nodes", json_integer(p->graph.n_nodes));
    json_object_set_new(to, "load_s", json_real(seconds_since(begin)));
    begin = cpu_now_ns();
    struct bound bound;
    bound_compute(p, &t, &bound);
    json_object_set_new(to, "sol_s", json_real(seconds_since(begin)));
    json_object_set_new(to, "least_bytes",
                        number(bound.work.bytes_read + bound.work.bytes_written));
    json_object_set_new(to, "light_s", number(bound.light_s));
    json_object_set_new(to, "limit_s", number(bound.limit_s));
    begin = cpu_now_ns();
    double planned = 0;
    if (o->is_plain) {
        lower_plain(a, p, &t, &candidate);
    } else {
        struct kernel *k = lower_initial(a, p, &t);
        if (!k)
            return error_set(err, ERROR_UNSUPPORTED, "no default kernel");
        json_object_set_new(to, "default_s", json_real(seconds_since(begin)));
        begin = cpu_now_ns();
        if (!lower_check(a, p, &t, k, err) || !lower_kernel(a, p, &t, k, &candidate, err))
            return false;
        json_object_set_new(to, "lower_s", json_real(seconds_since(begin)));
        json_object_set_new(to, "stages", stages_json(a, p, &t, k, &planned));
        json_object_set_new(to, "planned_bytes", json_real(planned));
        begin = cpu_now_ns();
    }
    if (!candidate_plan(a, p, &t, &candidate, &plan, err))
        return false;
    json_object_set_new(to, "plan_s", json_real(seconds_since(begin)));
    json_object_set_new(to, "source_bytes", json_integer((json_int_t)strlen(candidate.source)));
    add_plan(a, to, &t, &plan);
    return !o->compiles || !t.is_gpu || compile_text(a, to, &t, &plan, candidate.source, err);
}

int main(int argc, char **argv) {
    struct options o = {0};
    int i = 1, n_failed = 0;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        o.is_plain |= strcmp(argv[i], "--plain") == 0;
        o.compiles |= strcmp(argv[i], "--compile") == 0;
    }
    if (i + 1 >= argc) {
        fprintf(stderr, "usage: block-facts [--plain] [--compile] TARGET FILE.hone...\n");
        return 2;
    }
    o.target = argv[i++];
    for (; i < argc; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct rusage used;
        const char *name = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i];
        json_t *line =
            json_pack("{s:s, s:s, s:b}", "file", name, "target", o.target, "plain", o.is_plain);
        if (!describe(&a, line, &o, argv[i], &err)) {
            json_object_set_new(line, "error", json_string(err.text));
            n_failed++;
        }
        getrusage(RUSAGE_SELF, &used);
        json_object_set_new(line, "peak_bytes", json_real((double)used.ru_maxrss * 1024));
        char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(5));
        puts(text);
        fflush(stdout);
        free(text);
        json_decref(line);
        arena_reset(&a);
    }
    return n_failed > 0;
}
