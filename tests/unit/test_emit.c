// Emitted C, compiled and run, against the reference interpreter. Many kernels go into one
// text, so that the compiler is started once.
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/str.h"
#include "lowering.h"
#include "record/plan.h"
#include "scratch.h"

enum { TOLERANCE = 60, KERNELS = 24, PLAINS = 6, ARGS = 12 };

struct emitted {
    const char *text;  // the problem's
    struct problem *problem;
    struct candidate candidate;
    struct plan plan;
};

static void read_plan(struct arena *a, struct emitted *e) {
    const struct problem *p = e->problem;
    struct plan_buffer buffers[INPUTS_MAX + OUTPUTS_MAX];
    const char *names[DIMS_MAX];
    int64_t sizes[DIMS_MAX];
    int n = 0;
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *node = &p->graph.nodes[p->inputs[i].node];
        buffers[n++] = (struct plan_buffer){
            .name = node->name, .role = BUFFER_INPUT, .size_bytes = 4 * shape_count(&node->shape)};
    }
    for (int i = 0; i < p->n_outputs; i++) {
        const struct node *node = &p->graph.nodes[p->outputs[i].node];
        buffers[n++] = (struct plan_buffer){.name = p->outputs[i].name,
                                            .role = BUFFER_OUTPUT,
                                            .size_bytes = 4 * shape_count(&node->shape)};
    }
    for (int i = 0; i < p->graph.n_dims; i++) {
        names[i] = p->graph.dims[i].name;
        sizes[i] = p->graph.dims[i].size;
    }
    struct plan_context context = {.dim_names = names,
                                   .dim_sizes = sizes,
                                   .n_dims = p->graph.n_dims,
                                   .n_threads = 2,
                                   .buffers = buffers,
                                   .n_buffers = n};
    struct error err;
    cr_assert(plan_parse(a, e->candidate.source, &context, &e->plan, &err), "%s\n%s", err.text,
              e->candidate.source);
}

// The source with its functions called `NAME_<number>` and its sizes forgotten afterwards.
static void append_source(struct str *out, const struct emitted *e, int number) {
    // Every plain source brings these.
    str_printf(out, "#define maxf maxf_%d\n#define minf minf_%d\n", number, number);
    for (int i = 0; i < e->plan.n_steps; i++)
        str_printf(out, "#define %s %s_%d\n", e->plan.steps[i].function, e->plan.steps[i].function,
                   number);
    str_puts(out, e->candidate.source);
    for (int i = 0; i < e->plan.n_steps; i++)
        str_printf(out, "#undef %s\n", e->plan.steps[i].function);
    for (int i = 0; i < e->problem->graph.n_dims; i++)
        str_printf(out, "#undef %s\n", e->problem->graph.dims[i].name);
    str_puts(out, "#undef maxf\n#undef minf\n");
}

static void *build(struct arena *a, const char *dir, const char *source) {
    struct error err;
    const char *path = arena_printf(a, "%s/all.c", dir),
               *object = arena_printf(a, "%s/all.so", dir);
    cr_assert(file_write(path, source, strlen(source), &err), "%s", err.text);
    const char *const argv[] = {file_find_program(a, "cc"),
                                "-std=gnu17",
                                "-O3",
                                "-march=native",
                                "-fno-math-errno",
                                "-fno-trapping-math",
                                "-fPIC",
                                "-shared",
                                "-Wno-unknown-pragmas",
                                "-Iruntime",
                                "-o",
                                object,
                                path,
                                "-lm",
                                NULL};
    struct process_spec spec = {.argv = argv};
    struct process_result result;
    cr_assert(process_run(a, &spec, &result, &err), "%s", err.text);
    cr_assert(result.exit_status == 0, "%s", result.err);
    void *handle = dlopen(object, RTLD_NOW);
    cr_assert_not_null(handle, "%s", dlerror());
    return handle;
}

typedef void (*kernel_fn)(long, void *, void *, void *, void *, void *, void *, void *, void *,
                          void *, void *, void *, void *);

static void *buffer_of(const struct plan_buffer *b) {
    void *p = aligned_alloc(64, (size_t)(b->size_bytes + 63) / 64 * 64);
    // Whatever is not written must not look right.
    memset(p, 0xff, (size_t)b->size_bytes);
    return p;
}

static double run(struct arena *a, void *handle, const struct emitted *e, int number) {
    struct expectation x;
    void *buffers[PLAN_BUFFERS_MAX];
    expect_open(&x, a, e->problem, (uint64_t)number);
    for (int i = 0; i < e->plan.n_buffers; i++)
        buffers[i] = buffer_of(&e->plan.buffers[i]);
    for (int i = 0; i < e->problem->n_inputs; i++)
        memcpy(buffers[i], x.inputs[i], (size_t)e->plan.buffers[i].size_bytes);
    for (int i = 0; i < e->plan.n_steps; i++) {
        const struct plan_step *s = &e->plan.steps[i];
        const char *name = arena_printf(a, "%s_%d", s->function, number);
        kernel_fn f = (kernel_fn)dlsym(handle, name);
        cr_assert(f && s->n_args <= ARGS, "%s", name);
        void *v[ARGS] = {NULL};
        for (int j = 0; j < s->n_args; j++)
            v[j] = buffers[s->args[j]];
        // Blocks come in any order.
        for (long b = s->grid - 1; b >= 0; b--)
            f(b, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11]);
    }
    void *outputs[OUTPUTS_MAX];
    for (int i = 0; i < e->problem->n_outputs; i++)
        outputs[i] = buffers[e->problem->n_inputs + i];
    double error = expect_error(&x, outputs);
    for (int i = 0; i < e->plan.n_buffers; i++)
        free(buffers[i]);
    expect_close(&x);
    return error;
}

Test(emit, compiled_text_computes_the_problem, .timeout = 900) {
    struct arena a = {0};
    struct rng r;
    struct error err;
    struct target t;
    rng_init(&r, 4711);
    cr_assert(target_read_cpu(&a, 0, "cc", &t, &err));
    struct emitted all[KERNELS + PLAINS];
    struct str source = {0};
    for (int i = 0; i < KERNELS + PLAINS; i++) {
        struct emitted *e = &all[i];
        e->text = random_problem(&a, &r);
        e->problem = problem_from(&a, e->text);
        if (i < KERNELS)
            cr_assert(lower_kernel(&a, e->problem, &t, random_kernel(&a, &r, e->problem, &t, 3),
                                   &e->candidate, &err),
                      "%s", err.text);
        else
            lower_plain(&a, e->problem, &t, &e->candidate);
        read_plan(&a, e);
        append_source(&source, e, i);
    }
    const char *dir = scratch_make(&a);
    void *handle = build(&a, dir, str_text(&source));
    for (int i = 0; i < KERNELS + PLAINS; i++) {
        double error = run(&a, handle, &all[i], i);
        cr_assert(error < TOLERANCE, "error %g\n%s\n%s", error, all[i].text,
                  all[i].candidate.source);
    }
    dlclose(handle);
    scratch_remove(dir);
    str_reset(&source);
    arena_reset(&a);
}
