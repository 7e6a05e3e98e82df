// Emitted CUDA for tensors of more than 2^31 elements: the first, a middle and the last block of
// every family are run on the fibre runtime, where a wrong address is a fault and an index that
// leaves its int is a trap.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/str.h"
#include "dev_headers.h"
#include "lowering.h"
#include "record/plan.h"
#include "scratch.h"

// All inputs are zero but their last elements, which are 5. `last` and `first` are what the
// output's last and first element must be then.
static const struct {
    const char *problem, *stages;  // stages NULL: the baseline
    float first, last;
} cases[] = {
    {"dim M = 70000, N = 70001\nin x : f32[M, N] ~ normal\nin b : f32[N] ~ normal\n"
     "out y : f32[M, N]\ny = x + b + 1\n",
     "stage y : map  block 256  vec 1  items 1\n", 1, 11},
    {"dim M = 70000, N = 70004\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\ny = x + 1\n",
     "stage y : map  block 128  vec 4  items 4  store stream\n", 1, 6},
    {"dim M = 70000, N = 70004\nin x : f32[M, N] ~ normal\nout y : f32[N, M]\ny = x.T + 1\n",
     "stage y : map  block 128  vec 4  items 1\n", 1, 6},
    {"dim M = 70000, N = 70001\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\ny = x + 1\n", NULL, 1,
     6},
    {"dim M = 70000, N = 70000\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = x - max(x, axis=1, keepdims=true) + 1\n",
     "stage y : rowwise  threads 1024  rows 1  vec 4  keep reread\n", 1, 1},
    {"dim M = 33554432, N = 128\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = x - max(x, axis=1, keepdims=true) + 1\n",
     "stage y : rowwise  threads 32  rows 4  vec 4  keep register\n", 1, 1},
    {"dim M = 1048577, N = 4096\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = x - max(x, axis=1, keepdims=true) + 1\n",
     "stage y : rowwise  threads 256  rows 1  vec 4  keep shared\n", 1, 1},
    {"dim M = 50000, N = 50000\nin x : f32[M, N] ~ normal\nout y : f32[M]\n"
     "y = sum(x, axis=1) + 1\n",
     "stage y : reduce  threads 256  results 1  vec 4\n", 1, 6},
    {"dim M = 50000, N = 50001\nin x : f32[M, N] ~ normal\nout y : f32[N]\n"
     "y = sum(x, axis=0) + 1\n",
     "stage y : reduce  threads 8  results 32  vec 1\n", 1, 6},
    {"dim M = 50000, N = 50001\nin x : f32[M, N] ~ normal\nout y : f32[]\ny = max(x) + 1\n",
     "stage y : reduce  threads 512  results 1  vec 1  split 1024\n", 6, 6},
    {"dim M = 70000, N = 70000, K = 16\nin a : f32[M, K] ~ normal\nin b : f32[K, N] ~ normal\n"
     "out y : f32[M, N]\ny = a @ b + 1\n",
     "stage y : gemm  tile 64x64x16  micro 4x4  stages 2  vec 4\n", 1, 26},
    {"dim M = 16777217, N = 64, K = 256\nin a : f32[M, K] ~ normal\nin b : f32[K, N] ~ normal\n"
     "out y : f32[M, N]\ny = a @ b + 1\n",
     "stage y : gemm  tile 64x64x16  micro 4x4  stages 1  vec 4\n", 1, 26},
    {"dim M = 64, N = 16777220, K = 256\nin a : f32[M, K] ~ normal\nin b : f32[K, N] ~ normal\n"
     "out y : f32[M, N]\ny = a @ b + 1\n",
     "stage y : gemm  tile 64x64x16  micro 4x4  stages 2  vec 4\n", 1, 26},
    {"dim M = 70000, N = 70000, K = 16\nin a : f32[M, K] ~ normal\nin b : f32[K, N] ~ normal\n"
     "out y : f32[M, N]\ny = a @ b + 1\n",
     NULL, 1, 26},
};
enum { CASES = sizeof cases / sizeof *cases };

static void lower(struct arena *a, const struct target *t, int i, struct problem **p,
                  struct candidate *c) {
    struct error err = {0};
    const char *text = arena_printf(a, "problem far\n%s", cases[i].problem);
    *p = problem_from(a, text);
    if (!cases[i].stages) {
        lower_plain(a, *p, t, c);
        return;
    }
    text = arena_printf(a, "%skernel for far on sm_90a\n%s", text, cases[i].stages);
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    struct lang_file file;
    const char *diagnostics = "";
    cr_assert(lang_parse(a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    cr_assert(lower_kernel(a, *p, t, file.kernels[0], c, &err), "case %d: %s", i, err.text);
}

static void read_plan(struct arena *a, const struct target *t, const struct problem *p,
                      const char *source, struct plan *plan) {
    struct plan_buffer buffers[INPUTS_MAX + OUTPUTS_MAX];
    const char *names[DIMS_MAX];
    int64_t sizes[DIMS_MAX];
    struct error err = {0};
    struct plan_context context = {.dim_names = names,
                                   .dim_sizes = sizes,
                                   .n_dims = p->graph.n_dims,
                                   .buffers = buffers,
                                   .n_buffers = p->n_inputs + p->n_outputs,
                                   .is_gpu = true,
                                   .n_sms = t->sms,
                                   .shared_per_block = t->shared_per_block};
    for (int i = 0; i < p->graph.n_dims; i++) {
        names[i] = p->graph.dims[i].name;
        sizes[i] = p->graph.dims[i].size;
    }
    for (int i = 0; i < context.n_buffers; i++) {
        bool is_input = i < p->n_inputs;
        node_id n = is_input ? p->inputs[i].node : p->outputs[i - p->n_inputs].node;
        buffers[i] =
            (struct plan_buffer){.name = is_input ? p->graph.nodes[n].name : p->outputs[0].name,
                                 .role = is_input ? BUFFER_INPUT : BUFFER_OUTPUT,
                                 .size_bytes = 4 * shape_count(&p->graph.nodes[n].shape)};
    }
    cr_assert(plan_parse(a, source, &context, plan, &err), "%s\n%s", err.text, source);
}

// The program that runs it: the text, a function for each launch, and what is expected.
static void write_program(struct str *out, const char *source, const struct plan *plan, int i) {
    str_printf(out, "#include \"far_main.h\"\n%s\n", source);
    for (int s = 0; s < plan->n_steps; s++) {
        str_printf(out, "static void far_%d(void *const *arg) {\n    %s(", s,
                   plan->steps[s].function);
        for (int k = 0; k < plan->steps[s].n_args; k++)
            str_printf(out, "%sarg[%d]", k ? ", " : "", plan->steps[s].args[k]);
        str_puts(out, ");\n}\n");
    }
    str_puts(out, "int main(void) {\n    float *buffer[40];\n    hone_dev_prepare(0);\n");
    int result = -1;
    for (int b = 0; b < plan->n_buffers; b++) {
        long long count = (long long)plan->buffers[b].size_bytes / 4;
        str_printf(out, "    buffer[%d] = hone_far_make(%lldL);\n", b, count);
        if (plan->buffers[b].role == BUFFER_INPUT)
            str_printf(out, "    buffer[%d][%lldL] = 5;\n", b, count - 1);
        else if (plan->buffers[b].role == BUFFER_OUTPUT)
            result = b;
    }
    for (int s = 0; s < plan->n_steps; s++) {
        const struct plan_step *step = &plan->steps[s];
        cr_assert(step->kind == STEP_LAUNCH && step->shape.grid[1] == 1);
        str_printf(out,
                   "    hone_far_run(\"%s\", far_%d, (void *const *)buffer, %lldL, %lld, %lld, "
                   "%lld);\n",
                   step->function, s, (long long)step->shape.grid[0],
                   (long long)step->shape.block[0], (long long)step->shape.shared_bytes,
                   (long long)(step->shape.cluster[0] ? step->shape.cluster[0] : 1));
    }
    long long last = (long long)plan->buffers[result].size_bytes / 4 - 1;
    str_printf(out, "    hone_far_expect(\"y\", buffer[%d], 0, %g);\n", result, cases[i].first);
    str_printf(out, "    hone_far_expect(\"y\", buffer[%d], %lldL, %g);\n    return 0;\n}\n",
               result, last, cases[i].last);
}

static void put(struct arena *a, const char *dir, const char *name, const char *text) {
    struct error err = {0};
    cr_assert(file_write(arena_printf(a, "%s/%s", dir, name), text, strlen(text), &err), "%s",
              err.text);
}

// Compile and run; the exit status, 128 and a signal, and what it said.
static int run(struct arena *a, const char *dir, const char **said) {
    struct error err = {0};
    struct process_result r;
    const char *program = arena_printf(a, "%s/far", dir);
    const char *cc[] = {file_find_program(a, "clang"),
                        "-std=gnu17",
                        "-O1",
                        "-w",
                        "-fsanitize=signed-integer-overflow",
                        "-fsanitize-trap=signed-integer-overflow",
                        "-DHONE_DEV_CPU",
                        "-I",
                        dir,
                        "-o",
                        program,
                        arena_printf(a, "%s/far.c", dir),
                        "-lm",
                        NULL};
    const char *argv[] = {program, NULL};
    cr_assert_not_null(cc[0], "no clang here");
    cr_assert(
        process_run(a, &(struct process_spec){.argv = cc, .timeout_ns = 600000000000}, &r, &err),
        "%s", err.text);
    cr_assert(r.exit_status == 0 && !r.signal, "%s", r.err);
    cr_assert(
        process_run(a, &(struct process_spec){.argv = argv, .timeout_ns = 600000000000}, &r, &err),
        "%s", err.text);
    *said = r.err;
    return r.signal ? 128 + r.signal : r.exit_status;
}

static int run_text(struct arena *a, const char *text, const char **said) {
    struct error err = {0};
    const char *dir = scratch_make(a);
    size_t len;
    const char *harness = file_read(a, "tests/tools/far_main.h", 1 << 20, &len, &err);
    cr_assert_not_null(harness, "%s", err.text);
    put(a, dir, "far_main.h", harness);
    const struct dev_headers headers = dev_headers();
    for (int i = 0; i < headers.n; i++)
        put(a, dir, headers.names[i], headers.texts[i]);
    put(a, dir, "far.c", text);
    int status = run(a, dir, said);
    scratch_remove(dir);
    return status;
}

static const char *make_text(struct arena *a, int i) {
    struct target t;
    struct problem *p;
    struct candidate c;
    struct str text = {0};
    struct plan *plan = arena_new(a, struct plan);
    target_of_arch("sm_90a", &t);
    lower(a, &t, i, &p, &c);
    read_plan(a, &t, p, c.source, plan);
    write_program(&text, c.source, plan, i);
    return str_take(a, &text);
}

Test(far, tensors_of_more_than_an_int_of_elements_are_addressed_right) {
    for (int i = 0; i < CASES; i++) {
        struct arena a = {0};
        const char *said, *text = make_text(&a, i);
        int status = run_text(&a, text, &said);
        if (status == 77)
            cr_skip_test("so much memory is not even promised here: %s", said);
        cr_assert(status == 0, "case %d, status %d: %s\n%s", i, status, said, text);
        arena_reset(&a);
    }
}

// What the test above would see: an index computed in an int.
Test(far, an_index_in_an_int_does_not_pass) {
    struct arena a = {0};
    const char *said;
    char *text = arena_strdup(&a, make_text(&a, 0));
    int n = 0;
    for (char *at = text; (at = strstr(at, "(long)")); n++)
        memcpy(at, "(int) ", 6);
    cr_assert_gt(n, 2);
    int status = run_text(&a, text, &said);
    if (status == 77)
        cr_skip_test("so much memory is not even promised here: %s", said);
    cr_assert(status != 0);
    arena_reset(&a);
}
