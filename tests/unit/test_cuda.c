// Emitted CUDA, executed: random blocks of random problems on the fibre runtime against the
// reference, and texts without one of their barriers or guards, which must fail.
#include <criterion/criterion.h>
#include <dirent.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "family/plain.h"
#include "family/program.h"
#include "family/support.h"
#include "loop/execute.h"
#include "loop/passes.h"
#include "lowering.h"
#include "record/plan.h"
#include "text_mutants.h"

static const char *const archs[] = {"sm_90a", "sm_80", "sm_100a"};

enum { BATCHES = 4, BATCH = 12 };

// As the text is printed, but as loops: every race between threads is an error there.
static void check_races(struct text_subject *s, const struct target *t, const struct kernel *k) {
    char message[1200] = "";
    struct loop_program *program = program_lower(&s->arena, s->problem, t, k);
    double error =
        expect_execute(&s->expected, &s->arena, s->problem, program, message, sizeof message);
    cr_assert(error >= 0, "%s\n%s", s->candidate.source, message);
}

// The plan in the text is one that the runner can read.
static void check_plan(struct text_subject *s, const struct target *t) {
    const struct problem *q = s->problem;
    struct plan_buffer buffers[INPUTS_MAX + OUTPUTS_MAX];
    const char *names[DIMS_MAX];
    int64_t sizes[DIMS_MAX];
    struct plan_context context = {.dim_names = names,
                                   .dim_sizes = sizes,
                                   .n_dims = q->graph.n_dims,
                                   .buffers = buffers,
                                   .n_buffers = q->n_inputs + q->n_outputs,
                                   .is_gpu = true,
                                   .n_sms = t->sms,
                                   .shared_per_block = t->shared_per_block,
                                   .cluster_max = target_has_clusters(t) ? 16 : 0};
    for (int i = 0; i < q->n_inputs; i++) {
        const struct node *n = &q->graph.nodes[q->inputs[i].node];
        buffers[i] = (struct plan_buffer){
            .name = n->name, .role = BUFFER_INPUT, .size_bytes = 4 * shape_count(&n->shape)};
    }
    for (int i = 0; i < q->n_outputs; i++)
        buffers[q->n_inputs + i] =
            (struct plan_buffer){.name = q->outputs[i].name,
                                 .role = BUFFER_OUTPUT,
                                 .size_bytes = 4 * s->expected.result.count[i]};
    for (int i = 0; i < q->graph.n_dims; i++) {
        names[i] = q->graph.dims[i].name;
        sizes[i] = q->graph.dims[i].size;
    }
    struct error err = {0};
    struct plan *plan = arena_new(&s->arena, struct plan);
    cr_assert(plan_parse(&s->arena, s->candidate.source, &context, plan, &err), "%s\n%s", err.text,
              s->candidate.source);
    for (int i = 0; i < plan->n_steps; i++)
        cr_assert(plan->steps[i].shape.block[0] >= 32);
}

static void make_random(struct text_subject *s, struct rng *r, int i) {
    struct target t;
    struct error err = {0};
    *s = (struct text_subject){0};
    target_of_arch(archs[i % 3], &t);
    s->problem = problem_from(&s->arena, random_problem(&s->arena, r));
    text_expect(s, (uint64_t)i);
    if (i % 6 == 5) {
        lower_plain(&s->arena, s->problem, &t, &s->candidate);
        check_plan(s, &t);
        return;
    }
    struct kernel *k = random_kernel(&s->arena, r, s->problem, &t, (int)rng_below(r, 5));
    cr_assert(lower_kernel(&s->arena, s->problem, &t, k, &s->candidate, &err), "%s", err.text);
    check_plan(s, &t);
    check_races(s, &t, k);
}

Test(cuda_text, random_blocks_of_random_problems_compute_the_problem) {
    struct rng r;
    rng_init(&r, 20261116);
    for (int b = 0; b < BATCHES; b++) {
        struct arena a = {0};
        struct text_subject *s = arena_array(&a, struct text_subject, BATCH);
        struct fibre_program *p = arena_new(&a, struct fibre_program);
        for (int i = 0; i < BATCH; i++) {
            make_random(&s[i], &r, b * BATCH + i);
            text_add(p, &s[i]);
        }
        fibre_build(&a, b % 2 ? "clang" : "gcc", p);
        for (int i = 0; i < BATCH; i++)
            // Buffers end at a page for even seeds and begin at one for odd ones.
            for (uint64_t seed = 0; seed < 2; seed++) {
                const char *fault;
                cr_assert(text_is_right(&s[i], p, (struct fibre_run){i, seed, 0}, &fault),
                          "%s%s\n%s", s[i].problem->text, s[i].candidate.source, fault);
            }
        for (int i = 0; i < BATCH; i++) {
            text_close(&s[i]);
        }
        fibre_remove(p);
        arena_reset(&a);
    }
}

// Kernels with every kind of barrier and guard that the families emit, in sizes where each of them
// is needed: a clamp beyond which other rows of the same buffer lie is not missed. Without stages:
// plain.
static const struct mutant_kernel kernels[] = {
    // Its `where` is the smaller of two values, and no guard.
    {"problem map\ndim M = 30, N = 7\nin x : f32[M, N] ~ normal\nin b : f32[N] ~ normal\n"
     "out y : f32[M, N]\ny = exp(x) * where(x < b, x, b)\n",
     "stage y : map  block 64  vec 1  items 1\n"},
    {"problem items\ndim M = 30, N = 12\nin x : f32[M, N] ~ normal\nin b : f32[N] ~ normal\n"
     "out y : f32[M, N]\ny = exp(x) * b\n",
     "stage y : map  block 64  vec 4  items 4  store stream\n"},
    {"problem registers\ndim M = 6, N = 300\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = softmax(x)\n",
     "stage y : rowwise  threads 64  rows 2  vec 4  keep register\n"},
    {"problem warps\ndim M = 5, N = 50\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = softmax(x)\n",
     "stage y : rowwise  threads 32  rows 4  vec 2  keep register  divide reciprocal\n"},
    {"problem shared\ndim M = 3, N = 300\nin x : f32[M, N] ~ normal\nin w : f32[N] ~ normal\n"
     "out y : f32[M, N]\nout m : f32[M]\nm = max(x, axis=1)\ny = x * rsqrt(mean(x * x, axis=1, "
     "keepdims=true)) * w + m[:, None]\n",
     "stage y, m : rowwise  threads 128  rows 1  vec 1  keep shared\n"},
    {"problem again\ndim M = 3, N = 300\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "d = x - mean(x, axis=1, keepdims=true)\n"
     "y = d * rsqrt(mean(d * d, axis=1, keepdims=true) + 1)\n",
     "stage y : rowwise  threads 256  rows 1  vec 2  keep reread\n"},
    {"problem wide\ndim M = 2, N = 33000\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = x - mean(x, axis=1, keepdims=true)\n",
     "stage y : rowwise  threads 32  rows 1  vec 1  keep reread\n"},
    {"problem along\ndim M = 7, N = 5000\nin x : f32[M, N] ~ normal\nout y : f32[M]\n"
     "y = sum(x, axis=1)\n",
     "stage y : reduce  threads 64  results 1  vec 4  split 4\n"},
    {"problem all\ndim M = 50, N = 70\nin x : f32[M, N] ~ normal\nout y : f32[]\n"
     "y = max(x)\n",
     "stage y : reduce  threads 32  results 2  vec 2  split 2\n"},
    {"problem across\ndim M = 301, N = 42\nin x : f32[M, N] ~ normal\nout y : f32[N]\n"
     "y = sum(x, axis=0)\n",
     "stage y : reduce  threads 4  results 16  vec 2  split 8\n"},
    {"problem halves\ndim M = 4501, N = 3\nin x : f32[M, N] ~ normal\nout y : f32[N]\n"
     "y = sum(x, axis=0)\n",
     "stage y : reduce  threads 1  results 32  vec 1  split 2\n"},
    {"problem alone\ndim M = 30, N = 43\nin x : f32[M, N] ~ normal\nout y : f32[N]\n"
     "y = tanh(sum(x, axis=0))\n",
     "stage y : reduce  threads 1  results 32  vec 1\n"},
    // Several blocks per row: rows that begin and end anywhere, in registers and shared memory, in
    // clusters and in block groups that take one row after the other; axes with kept ones between.
    {"problem odd\ndim M = 5, N = 1031\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = x / mean(abs(x), axis=1, keepdims=true)\n",
     "stage y : rowwise as blocks  threads 64  blocks 2  meet cluster  vec 4  unroll 1  "
     "keep register\n"},
    {"problem groups\ndim M = 5, N = 1291\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = softmax(x)\n",
     "stage y : rowwise as blocks  threads 32  blocks 4  meet grid  rows 2  minblocks 4  vec 4  "
     "unroll 2  "
     "keep shared\n"},
    {"problem one\ndim M = 3, N = 5131\nin x : bf16[M, N] ~ normal\nout y : bf16[M, N]\n"
     "out m : f32[M]\nm = max(x, axis=1)\ny = bf16(softmax(f32(x)))\n",
     "stage y, m : rowwise as blocks  threads 64  blocks 1  meet none  vec 8  unroll 4  keep "
     "reread\n"},
    {"problem axes\ndim A = 5, M = 3, N = 100\nin x : f32[A, M, N] ~ normal\n"
     "in w : f32[M] ~ normal\nout y : f32[A, M, N]\nd = x - mean(x, axis=(0, 2), "
     "keepdims=true)\ny = d * rsqrt(mean(d * d, axis=(0, 2), keepdims=true) + 1) * w[None, :, "
     "None]\n",
     "stage y : rowwise as blocks  threads 32  blocks 2  meet cluster  vec 4  unroll 2  keep "
     "shared\n"},
    // One meeting for two levels: a softmax whose first block is all -inf, and a variance with
    // edges.
    {"problem once\ndim M = 3, N = 1100\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = softmax(x)\n",
     "stage y : rowwise as blocks  threads 32  blocks 4  meet cluster  vec 1  unroll 1  stats once "
     " "
     "keep register\n"},
    {"problem welford\ndim M = 3, N = 1291\nin x : f32[M, N] ~ uniform(100, 101)\n"
     "out y : f32[M, N]\nd = x - mean(x, axis=1, keepdims=true)\n"
     "y = d * rsqrt(mean(d * d, axis=1, keepdims=true) + 1e-5)\n",
     "stage y : rowwise as blocks  threads 32  blocks 4  meet grid  rows 2  minblocks 4  vec 4  "
     "unroll 2  stats once  keep shared\n"},
    {"problem welford2\ndim M = 3, N = 1291\nin x : f32[M, N] ~ uniform(100, 101)\n"
     "out y : f32[M, N]\nd = x - mean(x, axis=1, keepdims=true)\n"
     "y = d * rsqrt(mean(d * d, axis=1, keepdims=true) + 1e-5)\n",
     "stage y : rowwise as blocks  threads 64  blocks 4  meet cluster  vec 4  unroll 2  stats once "
     " "
     "keep reread\n"},
    // Rows across memory: kept in registers, shared by threads; the last rows follow others.
    {"problem columns\ndim A = 3, M = 19, N = 50\nin x : f32[A, M, N] ~ normal\n"
     "out y : f32[A, M, N]\ny = x / sqrt(mean(x * x, axis=1, keepdims=true) + 1)\n",
     "stage y : rowwise as columns  columns 32  threads 4  vec 2  unroll 1  keep register\n"},
    {"problem again2\ndim M = 37, N = 43\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "out m : f32[N]\nm = max(x, axis=0)\ny = softmax(x, axis=0)\n",
     "stage y, m : rowwise as columns  columns 32  threads 2  vec 1  unroll 4  keep reread\n"},
    {"problem single\ndim M = 70, N = 50, K = 37\nin a : f32[M, K] ~ normal\n"
     "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
     "stage c : gemm  tile 32x32x8  micro 4x4  stages 1  vec 1\n"},
    {"problem twice\ndim M = 4, N = 52, K = 20\nin a : f32[K, M] ~ normal\n"
     "in b : f32[N, K] ~ normal\nin d : f32[N] ~ normal\nout c : f32[M, N]\n"
     "c = relu(a.T @ b.T + d)\n",
     "stage c : gemm  tile 64x64x8  micro 4x4  stages 2  vec 2\n"},
    {"problem slices\ndim M = 16, N = 32, K = 2080\nin a : f32[M, K] ~ normal\n"
     "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
     "stage c : gemm  tile 16x32x16  micro 2x4  stages 1  vec 4\n"},
    {"problem ragged\ndim M = 16, N = 32, K = 2084\nin a : f32[M, K] ~ normal\n"
     "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
     "stage c : gemm  tile 16x32x16  micro 2x4  stages 2  vec 4\n"},
    {"problem chunks\ndim M = 16, N = 32, K = 4104\nin a : f32[M, K] ~ normal\n"
     "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
     "stage c : gemm  tile 16x32x16  micro 2x4  stages 2  vec 4\n"},
    {"problem dots\ndim M = 3, N = 5, K = 3004\nin a : f32[M, K] ~ normal\n"
     "in b : f32[N, K] ~ normal\nin d : f32[N] ~ normal\nout c : f32[M, N]\nc = relu(a @ b.T + "
     "d)\n",
     "stage c : gemm as dot  threads 32  results 2  vec 4  split 2\n"},
    {"problem plain\ndim M = 5, N = 1500\nin x : f32[M, N] ~ normal\nout y : f32[M]\n"
     "y = sum(x, axis=1)\n",
     NULL},
};

// What can be missing from a text without a difference.
static const struct mutant_same same[] = {
    // Every slice but the first is zeros beyond K, so more of them only take time.
    {"ragged", "K of K < chunk + 2048 ? K : chunk + 2048", 0},
};
Test(cuda_text, fails_without_any_one_barrier_or_guard) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same,
                                          sizeof same / sizeof *same};
    struct text_subject s;
    struct mutant_tally tally;
    mutants_subject(&s, &kernels[0], 0);
    cr_assert_not_null(strstr(s.candidate.source, "? x_v : b_v)"));
    text_close(&s);
    mutants_try(&set, &tally);
    for (int kind = 0; kind <= FIBRE_MINIMUM; kind++)
        cr_assert_gt(tally.all[kind], 15);
    cr_assert_eq(tally.same, set.n_same);
}

// A block whose part is all -inf has no maximum to subtract, and adds nothing to the row.
Test(cuda_text, one_meeting_takes_parts_without_a_maximum) {
    struct arena a = {0};
    struct error err = {0};
    struct target t;
    target_of_arch("sm_90a", &t);
    const char *text = "problem p\ndim M = 2, N = 1024\nin x : f32[M, N] ~ normal\n"
                       "out y : f32[M, N]\ny = softmax(where(arange(N) < 300, -inf, x))\n";
    const char *block = "kernel for p on sm_90a\n"
                        "stage y : rowwise as blocks  threads 32  blocks 4  meet cluster  vec 1  "
                        "unroll 1  stats once  keep register\n";
    struct lang_source source = {.file = "test", .text = block, .len = strlen(block)};
    struct lang_file file;
    const char *diagnostics = "";
    cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    struct kernel *k = file.kernels[0];
    struct problem *p = problem_from(&a, text);
    struct expectation e;
    expect_open(&e, &a, p, 1);
    cr_assert(lower_check(&a, p, &t, k, &err), "%s", err.text);
    struct loop_program *program = program_lower(&a, p, &t, k);
    void **data = arena_array(&a, void *, program->n_buffers);
    data[0] = e.inputs[0];
    float *y = arena_array(&a, float, 2048);
    data[1] = y;
    cr_assert(execute(program, data, &err), "%s", err.text);
    double sum = 0;
    for (int i = 0; i < 1024; i++) {
        cr_assert(i >= 300 ? y[i] > 0 : y[i] == 0, "%d: %g", i, (double)y[i]);
        sum += y[i];
    }
    cr_assert_float_eq(sum, 1, 1e-5);
    expect_close(&e);
    arena_reset(&a);
}

// What the default block reads once, and how many stages it has.
Test(cuda_text, default_blocks_read_long_rows_as_seldom_as_they_can) {
#define IMAGE "dim B = 64, C = 64, H = 512\nin x : f32[B, C, H, H]\nout y : f32[B, C, H, H]\n"
    static const struct {
        const char *problem;
        int n_stages;
        const char *knobs;  // somewhere in the block
    } cases[] = {
        // Rows fit the shared memory of a cluster, in one meeting; the odd ones in vectors.
        {"dim M = 4096, N = 393216\nin x : f32[M, N]\nout y : f32[M, N]\ny = softmax(x)\n", 1,
         "stats once  keep shared"},
        {"dim M = 32768, N = 65535\nin x : f32[M, N]\nout y : f32[M, N]\n"
         "y = x / mean(abs(x), axis=1, keepdims=true)\n",
         1, "vec 4  unroll 4  stats levels  keep shared"},
        {IMAGE "y = x / sqrt(mean(x * x, axis=1, keepdims=true) + 1e-5)\n", 1,
         "columns 32  threads 2  vec 4  unroll 1  keep register"},
        // Rows of 64 MiB: mean and variance in one walk, then a map.
        {IMAGE "d = x - mean(x, axis=(0, 2, 3), keepdims=true)\n"
               "y = d * rsqrt(mean(d * d, axis=(0, 2, 3), keepdims=true) + 1e-5)\n",
         2, "stats once  keep reread"},
        {IMAGE "y = x / sqrt(sum(x * x))\n", 2, "stage y   : map"},
        // A loss of rows and its mean.
        {"dim M = 32768, N = 8192\nin a : f32[M, N]\nin p : f32[M, N]\nin n : f32[M, N]\n"
         "out y : f32\ny = mean(relu(sqrt(sum((a - p) * (a - p), axis=1)) - sqrt(sum((a - n) * (a "
         "- n), axis=1)) + 1))\n",
         2, "rowwise as blocks"},
    };
    struct arena a = {0};
    struct target t;
    target_of_arch("sm_90a", &t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kernel k;
        const struct problem *p =
            problem_from(&a, arena_printf(&a, "problem p\n%s", cases[i].problem));
        lower_default(&a, p, &t, &k);
        const char *text = kernel_print(&a, &k);
        cr_expect_eq(k.n_stages, cases[i].n_stages, "%s", text);
        cr_expect(strstr(text, cases[i].knobs), "%s\n%s", cases[i].knobs, text);
    }
    arena_reset(&a);
#undef IMAGE
}

static void check_file(const char *path) {
    struct arena a = {0};
    struct error err = {0};
    struct lang_source source = {.file = path};
    struct lang_file file;
    const char *diagnostics = "";
    source.text = file_read(&a, path, 1 << 20, &source.len, &err);
    cr_assert(source.text && lang_parse(&a, &source, &file, &diagnostics, &err), "%s", err.text);
    for (int i = 0; i < file.n_problems; i++) {
        struct problem *p = file.problems[i];
        struct target t;
        struct kernel k;
        char message[1200] = "";
        int64_t elements = 0;
        if (!support_problem(p, &err))
            continue;
        target_of_arch(archs[i % 3], &t);
        lower_default(&a, p, &t, &k);
        struct loop_program *programs[] = {program_lower(&a, p, &t, &k), plain_program(&a, p, &t)};
        for (node_id n = 0; n < p->graph.n_nodes; n++)
            elements += shape_count(&p->graph.nodes[n].shape);
        for (int j = 0; j < 2; j++) {
            cr_assert(pass_verify(programs[j], &err), "%s: %s", path, err.text);
            // What is large is lowered too, but not run.
            if (elements > 20000)
                continue;
            struct expectation e;
            expect_open(&e, &a, p, 1);
            cr_assert_geq(expect_execute(&e, &a, p, programs[j], message, sizeof message), 0,
                          "%s: %s", path, message);
            expect_close(&e);
        }
    }
    arena_reset(&a);
}

Test(cuda_text, exists_for_every_accepted_problem) {
    static const char *const directories[] = {"tests/lang/accept", "problems"};
    int n_files = 0;
    for (int i = 0; i < 2; i++) {
        DIR *dir = opendir(directories[i]);
        cr_assert_not_null(dir);
        for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
            struct arena a = {0};
            if (strstr(e->d_name, ".hone")) {
                check_file(arena_printf(&a, "%s/%s", directories[i], e->d_name));
                n_files++;
            }
            arena_reset(&a);
        }
        closedir(dir);
    }
    cr_assert_geq(n_files, 8);
}
