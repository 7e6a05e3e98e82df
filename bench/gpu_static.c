// gpu-static ARCH FILE.hone...: what NVRTC makes of the kernels that hone begins with, without a
// card. For every kernel a line of a Markdown table: registers, spills, stack, shared memory,
// blocks that a multiprocessor holds, widths of its accesses, and what stands in its hot part (the
// innermost loop with most work) that costs more than it should. Nothing here is a time.
// bench/gpu_static.sh feeds it the worked problems and the cases of the benchmarks that need a
// card.
//
// A file that has no kernel, or whose kernels do not compile, is a line too, and exit status 1.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/str.h"
#include "build/compile_cuda.h"
#include "family/lower.h"
#include "family/source_plan.h"
#include "gpu/nvrtc.h"
#include "ops/op_problem.h"
#include "profile/occupancy.h"
#include "profile/sass.h"
#include "record/plan.h"

enum { HEADERS_MAX = 64, SLOW_INTEGERS = 4, FILE_NAME_MAX = 64 };

struct compiler {
    struct nvrtc nvrtc;
    const char *names[HEADERS_MAX], *texts[HEADERS_MAX];
    int n;
};

static void find_headers(struct compiler *c) {
    c->names[c->n] = "stdint.h";
    c->texts[c->n++] = "#pragma once\ntypedef unsigned long long uint64_t;\n";
    for (const struct embedded_file *f = embedded_files; f->name && c->n < HEADERS_MAX; f++) {
        const char *end = strrchr(f->name, '.');
        if (!end || (strcmp(end, ".h") != 0 && strcmp(end, ".def") != 0))
            continue;
        c->names[c->n] = f->name;
        c->texts[c->n++] = f->text;
    }
}

// What the assembler says besides resources: advisories on products that wait for one another
// (C7510 to C7519), and limits that it ignored (C7508). Each names its kernel.
static const char *advisory(struct arena *a, const char *log, const char *kernel) {
    const char *entry = arena_printf(a, "'%s'", kernel);
    for (const char *line = log; *line; line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        const char *at = memmem(line, len, "(C75", 4);
        if (at && memmem(line, len, entry, strlen(entry)))
            return arena_strndup(a, at + 1, 5);
        line += len;
    }
    return "";
}

// Widths of accesses between two instructions: "16, 4" with the number of each.
static const char *widths(struct arena *a, const struct sass_kernel *k, enum sass_kind kind,
                          int begin, int end) {
    int of[17] = {0};
    struct str s = {0};
    for (int i = begin; i <= end; i++)
        of[k->code[i].kind == kind ? k->code[i].bytes : 0]++;
    for (int w = 16; w > 0; w--)
        if (of[w])
            str_printf(&s, "%s%dx%d", s.len ? " " : "", of[w], w);
    return s.len ? str_take(a, &s) : "-";
}

static void add_count(struct str *s, const struct metrics *m, enum metric_id id, const char *what) {
    double n = metrics_get(m, id);
    if (n > 0)
        str_printf(s, "%s%.0f %s", s->len ? ", " : "", n, what);
}

// What the hot part has.
static const char *hot_text(struct arena *a, const struct sass_kernel *k, const struct metrics *m) {
    struct str s = {0};
    add_count(&s, m, METRIC_HOT_TENSOR_GROUP, "wgmma");
    add_count(&s, m, METRIC_HOT_TENSOR, "mma");
    add_count(&s, m, METRIC_HOT_FMA, "fma");
    add_count(&s, m, METRIC_HOT_ADD_MUL, "add/mul");
    add_count(&s, m, METRIC_HOT_F16, "f16");
    add_count(&s, m, METRIC_HOT_F64, "**f64**");
    add_count(&s, m, METRIC_HOT_FUNCTIONS, "functions");
    add_count(&s, m, METRIC_HOT_CONVERSIONS, "conversions");
    add_count(&s, m, METRIC_HOT_SHARED_LOADS, "lds");
    add_count(&s, m, METRIC_HOT_SHARED_STORES, "sts");
    add_count(&s, m, METRIC_HOT_MATRIX_LOADS, "ldsm");
    add_count(&s, m, METRIC_HOT_ASYNC_COPIES, "cp.async");
    add_count(&s, m, METRIC_HOT_BULK_COPIES, "bulk");
    add_count(&s, m, METRIC_HOT_INTEGER, "integer");
    add_count(&s, m, METRIC_HOT_WIDE_INTEGER, "64-bit products");
    add_count(&s, m, METRIC_HOT_DIVISIONS, "**divisions**");
    add_count(&s, m, METRIC_HOT_LOCAL, "**local**");
    add_count(&s, m, METRIC_HOT_CALLS, "**calls**");
    add_count(&s, m, METRIC_HOT_BARRIERS, "barriers");
    add_count(&s, m, METRIC_HOT_ATOMICS, "atomics");
    return arena_printf(a, "%s%.0f: %s", k->has_hot_loop ? "loop of " : "no loop, ",
                        metrics_get(m, METRIC_HOT_INSTRUCTIONS), s.len ? str_take(a, &s) : "-");
}

struct subject {
    const char *name;
    const struct target *target;
    const struct nvrtc_result *compiled;
    const struct sass *sass;
};

static void print_step(struct arena *a, const struct subject *s, const struct plan_step *step) {
    struct metrics m = {0};
    const struct sass_kernel *k = sass_find(s->sass, step->function);
    if (!k) {
        printf("| %s | %s | not in the cubin |\n", s->name, step->function);
        return;
    }
    cuda_read_resources(s->compiled->log, step->function, &m);
    double static_bytes = metrics_get(&m, METRIC_STATIC_SHARED_BYTES);
    const int64_t *block = step->shape.block;
    metrics_set(&m, METRIC_BLOCK_THREADS, (double)(block[0] * block[1] * block[2]));
    metrics_set(&m, METRIC_BLOCKS, (double)step->grid);
    metrics_set(&m, METRIC_SHARED_BYTES,
                (double)step->shape.shared_bytes + (static_bytes > 0 ? static_bytes : 0));
    sass_metrics(k, &m);
    struct occupancy o = occupancy_of(s->target, &m);
    double spilled = metrics_get(&m, METRIC_SPILL_BYTES),
           stack = metrics_get(&m, METRIC_STACK_BYTES);
    const char *note = advisory(a, s->compiled->log, step->function);
    printf("| %s | %s | %lld x %.0f | %.0f | %s%s | %.1f | %.0f | %s / %s | %s | %s%s |\n", s->name,
           step->function, (long long)step->grid, metrics_get(&m, METRIC_BLOCK_THREADS),
           metrics_get(&m, METRIC_REGISTERS),
           spilled > 0 ? arena_printf(a, "**%.0f B spilled** ", spilled) : "",
           stack > 0 ? arena_printf(a, "**%.0f B stack**", stack) : "-",
           metrics_get(&m, METRIC_SHARED_BYTES) / 1024, o.blocks,
           widths(a, k, SASS_GLOBAL_LOAD, 0, k->n - 1),
           widths(a, k, SASS_GLOBAL_STORE, 0, k->n - 1),
           widths(a, k, SASS_GLOBAL_LOAD, k->hot_begin, k->hot_end), hot_text(a, k, &m),
           *note ? arena_printf(a, "; **%s**", note) : "");
}

static bool print_file(struct arena *a, const struct compiler *c, const struct target *t,
                       const char *path, struct error *err) {
    struct loaded loaded;
    struct candidate candidate;
    struct plan plan;
    struct nvrtc_result r;
    struct sass sass;
    if (!op_load_runnable(a, path, NULL, &loaded, err))
        return false;
    struct kernel *k = lower_initial(a, loaded.problem, t);
    for (int i = 0; i < loaded.n_kernels; i++)
        if (strcmp(loaded.kernels[i]->target, t->isa) == 0)
            k = loaded.kernels[i];
    if (!k || !lower_check(a, loaded.problem, t, k, err) ||
        !lower_kernel(a, loaded.problem, t, k, &candidate, err) ||
        !candidate_plan(a, loaded.problem, t, &candidate, &plan, err))
        return false;
    const char *options[8];
    int n_options = 0;
    for (; cuda_compile_flags[n_options]; n_options++)
        options[n_options] = cuda_compile_flags[n_options];
    struct nvrtc_job job = {.source = candidate.source, .name = CUDA_SOURCE_NAME, .arch = t->isa};
    job.header_names = c->names;
    job.header_texts = c->texts;
    job.n_headers = c->n;
    job.options = options;
    job.n_options = n_options;
    if (!nvrtc_compile(a, &c->nvrtc, &job, &r, err))
        return false;
    if (!r.compiled)
        return error_set(err, ERROR_PARSE, "%s", r.log);
    if (!sass_read(a, r.cubin, r.cubin_bytes, &sass, err))
        return false;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    struct subject s = {arena_strndup(a, name, strlen(name) - strlen(".hone")), t, &r, &sass};
    for (int i = 0; i < plan.n_steps; i++)
        if (plan.steps[i].kind == STEP_LAUNCH)
            print_step(a, &s, &plan.steps[i]);
    return true;
}

int main(int argc, char **argv) {
    struct arena a = {0};
    struct error err = {0};
    struct target t;
    static struct compiler c;
    int n_failed = 0;
    if (argc < 3 || !target_of_arch(argv[1], &t)) {
        fprintf(stderr, "usage: gpu-static sm_90a FILE.hone...\n");
        return 2;
    }
    if (!nvrtc_open(&c.nvrtc, &err)) {
        fprintf(stderr, "gpu-static: %s\n", err.text);
        return 3;
    }
    find_headers(&c);
    puts("| problem | kernel | grid | registers | spills, stack | shared KiB | blocks per SM | "
         "loads / "
         "stores | loads, hot | hot part |\n|---|---|---|---|---|---|---|---|---|---|");
    for (int i = 2; i < argc; i++) {
        if (!print_file(&a, &c, &t, argv[i], &err)) {
            printf("| %s | none: %.300s |\n", argv[i], err.text);
            n_failed++;
        }
        err = (struct error){0};
        arena_reset(&a);
        fflush(stdout);
    }
    nvrtc_close(&c.nvrtc);
    return n_failed > 0;
}
