// The truth of a GPU, computed by its own kernels over the fake driver: they are plain C.
#include <criterion/criterion.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "gpu_agreement.h"
#include "ir/inputs.h"
#include "oracle/derived.h"
#include "oracle/null_kernels.h"
#include "oracle/oracle_plan.h"
#include "parsed.h"

static void open_fake(struct gpu_bench *b, struct gpu_oracle *g) {
    struct error err = {0};
    setenv("CUDA_HOME", HONE_FAKE_CUDA, 1);
    bool ok = gpu_bench_open(b, 0, &err) && gpu_bench_load(b, "\177ELF", &err) &&
              gpu_oracle_load(g, b, "\177ELF", &err);
    cr_assert(ok, "%s", err.text);
}

static void close_fake(struct gpu_bench *b, struct gpu_oracle *g) {
    gpu_oracle_release(g);
    gpu_bench_close(b);
}

static void expect_equal(struct gpu_oracle *g, const struct problem *p, enum oracle_set set) {
    struct error err = {0};
    struct oracle o;
    struct gpu_agreement t;
    oracle_init(&o, p, 42);
    o.n_threads = 2;
    cr_assert(gpu_agreement(g, &o, set, &t, &err), "%s: %s", p->name, err.text);
    cr_expect_eq(t.n_inputs_differ, 0, "%s, %s: inputs", p->name, oracle_set_name(set));
    cr_expect(t.n > 0 && t.n_inputs > 0);
    cr_expect_eq(t.n_differ, 0, "%s, %s, budget %lld: %lld of %lld differ, truth %g, spread %g",
                 p->name, oracle_set_name(set), (long long)g->budget_bytes, (long long)t.n_differ,
                 (long long)t.n, t.truth, t.spread);
    cr_expect_eq(t.honest_max[0], t.honest_max[1]);
    cr_expect(gpu_agrees(&t), "%s, %s", p->name, oracle_set_name(set));
    oracle_reset(&o);
}

static struct lang_file read_problems(struct arena *a) {
    struct error err = {0};
    const char *text = file_read(a, "tests/gpu/truth.hone", 1 << 20, NULL, &err);
    cr_assert_not_null(text, "%s", err.text);
    return parsed_file(a, text);
}

Test(gpu_oracle, agrees_with_the_interpreter_to_the_bit) {
    struct arena a = {0};
    struct gpu_bench b;
    struct gpu_oracle g;
    struct lang_file file = read_problems(&a);
    int n_derived = 0;
    open_fake(&b, &g);
    for (int i = 0; i < file.n_problems; i++) {
        struct oracle o;
        oracle_init(&o, file.problems[i], 42);
        for (int set = 0; set < SET_SUMMED; set++) {
            cr_assert(oracle_plan_supports(file.problems[i]), "%s", file.problems[i]->name);
            g.budget_bytes = 0;
            if (set >= SET_DRAWN && !derived_exists(&o, (enum oracle_set)set))
                continue;
            n_derived += set >= SET_DRAWN;
            expect_equal(&g, file.problems[i], (enum oracle_set)set);
        }
        // One row at a time, and a few.
        g.budget_bytes = 1;
        expect_equal(&g, file.problems[i], SET_DECLARED);
        g.budget_bytes = 1 << 17;
        expect_equal(&g, file.problems[i], SET_INTEGERS);
    }
    cr_expect(n_derived >= 4, "%d sets that follow from others", n_derived);
    close_fake(&b, &g);
    arena_reset(&a);
}

// Every row of ops.def that is by element, in the place of another: exact operands, and such that
// stray, by little and by more than a function is straight.
Test(gpu_oracle, knows_every_operation_by_element) {
    static const char text[] = "problem p\ndim N = 700\nin x : f32[N] ~ uniform(-1.2, 1.2)\n"
                               "in z : f32[N] ~ integers(-2, 2)\nout a : f32[N]\nout b : f32[N]\n"
                               "out c : f32[N]\nout d : f32[N]\nout e : f32[N]\n"
                               "out f : f32[N]\nout g : f32[N]\nout h : f32[N]\n"
                               "a = exp(x)\nb = exp(x * 1.7)\nc = x + z\nd = x * 1.7 + z * x\n"
                               "e = where(x * 1.7 < z * x, x, z)\n"
                               "far = x * 3e8 - z * 3e8\nf = exp(far)\ng = far + far * 1.7\n"
                               "h = where(far < z * x, far * 1.7, far)\n";
    struct arena a = {0};
    struct gpu_bench b;
    struct gpu_oracle g;
    int n_unary = 0, n_binary = 0, n_tests = 0;
    open_fake(&b, &g);
    for (int op = 0; op < OP_COUNT; op++) {
        const struct op_info *info = &op_infos[op];
        bool is_number = info->types == OP_TYPES_NUMBER || info->types == OP_TYPES_REAL;
        struct problem *p = parsed(&a, text);
        if (info->class != OP_CLASS_ELEMENTWISE || info->arity > 2)
            continue;
        for (int i = 0; i < p->graph.n_nodes; i++) {
            struct node *n = &p->graph.nodes[i];
            if (is_number && info->arity == 1 && n->op == OP_EXP && ++n_unary)
                n->op = (enum op)op;
            if (is_number && info->arity == 2 && n->op == OP_ADD && ++n_binary)
                n->op = (enum op)op;
            if (info->types == OP_TYPES_TESTS && info->arity == 2 && n->op == OP_LT && ++n_tests)
                n->op = (enum op)op;
        }
        cr_assert(oracle_plan_supports(p), "%s", info->name);
        p->name = info->name;
        expect_equal(&g, p, SET_DECLARED);
        expect_equal(&g, p, SET_INTEGERS);
    }
    cr_expect(n_unary > 40 && n_binary > 12 && n_tests >= 4, "%d %d %d", n_unary, n_binary,
              n_tests);
    close_fake(&b, &g);
    arena_reset(&a);
}

Test(gpu_oracle, draws_every_distribution) {
    static const char text[] = "problem draws\ndim N = 1003\n"
                               "in a : f32[N] ~ normal\nin b : f32[N] ~ normal(-3, 0.01)\n"
                               "in c : f32[N] ~ uniform(-1, 1)\nin d : f32[N] ~ uniform(3, 7.5)\n"
                               "in e : f32[N] ~ integers(-5, 1000)\nin f : f32[N] ~ sign\n"
                               "out y : f32[N]\ny = a + b + c + d + e + f\n";
    struct arena a = {0};
    struct gpu_bench b;
    struct gpu_oracle g;
    struct problem *p = parsed(&a, text);
    open_fake(&b, &g);
    for (int set = 0; set < SET_DRAWN; set++)
        expect_equal(&g, p, (enum oracle_set)set);
    static const struct distribution more[] = {
        {DISTRIBUTION_CONSTANT, 2.5, 0},  {DISTRIBUTION_INDEX, 77, 0},
        {DISTRIBUTION_BERNOULLI, 0.3, 0}, {DISTRIBUTION_ZIPF, 1.1, 500},
        {DISTRIBUTION_PERMUTATION, 0, 0}, {DISTRIBUTION_SORTED, -1, 1},
        {DISTRIBUTION_OFFSETS, 5000, 0}};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        p->inputs[0].distribution = more[i];
        for (int set = 0; set < SET_DRAWN; set++)
            expect_equal(&g, p, (enum oracle_set)set);
    }
    close_fake(&b, &g);
    arena_reset(&a);
}

Test(gpu_oracle, one_element_is_as_in_the_whole) {
    struct arena a = {0};
    struct problem *p = parsed(&a, "problem p\ndim N = 999\nin x : f32[N] ~ normal\n"
                                   "out y : f32[N]\ny = x * 2\n");
    for (int set = 0; set < INPUT_SET_COUNT; set++) {
        float values[999];
        struct inputs_job job = {
            .problem = p, .set = (enum input_set)set, .seed = 7, .n_threads = 1};
        inputs_fill_parallel(&job, values);
        for (int i = 0; i < 999; i++)
            cr_expect_eq(inputs_at(&job, i), values[i]);
    }
    arena_reset(&a);
}

Test(gpu_oracle, stays_within_its_budget) {
    struct arena a = {0};
    struct oracle_plan plan;
    const struct problem *p =
        parsed(&a, "problem p\ndim M = 4096, N = 4096\nin x : f32[M, N] ~ normal\n"
                   "out y : f32[M, N]\ny = softmax(x)\n");
    int64_t budget = 2 * (int64_t)4 * 4096 * 4096;
    oracle_plan_make(&a, p, budget, &plan);
    cr_expect_leq(plan.bytes, budget);
    cr_expect_eq(plan.n_rows, 4096);
    cr_expect(plan.tile_rows >= 256 && plan.tile_rows < 4096, "%lld rows",
              (long long)plan.tile_rows);
    // Sums over rows close a pass: three of them, and each of a part of the rows.
    p = parsed(&a, "problem p\ndim N = 64, C = 8, H = 64, W = 64\n"
                   "in x : f32[N, C, H, W] ~ normal\nout y : f32[N, C, H, W]\n"
                   "d = x - mean(x, axis=(0, 2, 3), keepdims=true)\n"
                   "y = d * rsqrt(mean(d * d, axis=(0, 2, 3), keepdims=true))\n");
    budget = (int64_t)4 * 64 * 8 * 64 * 64;
    oracle_plan_make(&a, p, budget, &plan);
    cr_expect_eq(plan.n_phases, 3);
    cr_expect_leq(plan.bytes, budget);
    cr_expect(plan.tile_rows >= 4 && plan.tile_rows < 64, "%lld rows", (long long)plan.tile_rows);
    // Where rows look at one another in another way, or a run of a sum has more of them, there is
    // one tile.
    p = parsed(&a, "problem p\ndim M = 512, N = 64\nin x : f32[M, N] ~ normal\n"
                   "out y : f32[M, N]\ny = softmax(x, axis=0)\n");
    oracle_plan_make(&a, p, 1, &plan);
    cr_expect_eq(plan.tile_rows, plan.n_rows);
    arena_reset(&a);
}

// Posting lists are the host's.
Test(gpu_oracle, takes_the_worked_problems) {
    static const char *const left[] = {"sparse_retrieval"};
    struct arena a = {0};
    glob_t files;
    int n_left = 0;
    cr_assert_eq(glob("problems/*.hone", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct error err = {0};
        const char *text = file_read(&a, files.gl_pathv[i], 1 << 20, NULL, &err);
        cr_assert_not_null(text, "%s", err.text);
        const struct problem *p = parsed(&a, text);
        bool is_left = false;
        for (size_t k = 0; k < sizeof left / sizeof left[0]; k++)
            is_left = is_left || strcmp(p->name, left[k]) == 0;
        cr_expect_eq(oracle_plan_supports(p), !is_left, "%s", p->name);
        n_left += is_left;
    }
    cr_expect(files.gl_pathc >= 34 && n_left == 1, "%zu files, %d left", files.gl_pathc, n_left);
    globfree(&files);
    arena_reset(&a);
}

Test(gpu_oracle, leaves_to_the_host_what_it_does_not_know) {
    struct arena a = {0};
    struct problem *p = parsed(&a, "problem p\ndim N = 8\nin x : f32[N] ~ normal\n"
                                   "out y : f32[N]\ny = x * 2\n");
    cr_expect(oracle_plan_supports(p));
    p->graph.nodes[p->outputs[0].node].op = OP_RAGGED_SCATTER;
    cr_expect(!oracle_plan_supports(p));
    arena_reset(&a);
}

// What is out of range is the host's to name.
Test(gpu_oracle, finds_what_is_out_of_range) {
    static const char *const texts[] = {
        "problem p\ndim V = 50, D = 4\nin ids : i32[40] ~ index(V)\n"
        "in table : f32[V, D] ~ normal\nout y : f32[40, D]\ny = embedding(table, ids * 3)\n",
        "problem p\nin x : i64[40] ~ integers(100000000, 200000000)\nout y : i64[40]\ny = x * x\n",
        "problem p\ndim T = 9, E = 2\nin x : f32[T, 3] ~ normal\n"
        "in w : f32[E, 3, 4] ~ normal\nin o : i32[E + 1] ~ offsets(T)\n"
        "out y : f32[T, 4]\ny = ragged_matmul(x, w, o * 3)\n",
        "problem p\nin x : f32[2, 3, 9]\nin w : f32[4, 3, 3]\nout y : f32[2, 4, 9]\n"
        "y = conv1d(x, 1 / (w - w), padding=1)\n"};
    struct gpu_bench b;
    struct gpu_oracle g;
    open_fake(&b, &g);
    for (int i = 0; i < 4; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct oracle o;
        struct gpu_agreement t;
        const struct problem *p = parsed(&a, texts[i]);
        oracle_init(&o, p, 42);
        cr_assert(oracle_plan_supports(p));
        cr_expect_not(gpu_agreement(&g, &o, SET_DECLARED, &t, &err), "%d", i);
        cr_expect_not_null(strstr(err.text, "out of range"), "%d: %s", i, err.text);
        oracle_reset(&o);
        arena_reset(&a);
    }
    close_fake(&b, &g);
}

// Which place is right the host looks up, where rounding decides it.
Test(gpu_oracle, leaves_doubtful_places_to_the_host) {
    struct arena a = {0};
    struct error err = {0};
    struct oracle o;
    struct gpu_agreement t;
    struct gpu_bench b;
    struct gpu_oracle g;
    const struct problem *p =
        parsed(&a, "problem p\ndim M = 40, N = 6\nin x : f32[M, N] ~ normal\n"
                   "out y : i64[M]\ny = argmax(x * 0 + x * 1e-30 / 1e30 + 0.3, axis=1)\n");
    open_fake(&b, &g);
    oracle_init(&o, p, 42);
    cr_assert(oracle_plan_supports(p));
    cr_expect_not(gpu_agreement(&g, &o, SET_DECLARED, &t, &err));
    cr_expect(err.kind == ERROR_UNSUPPORTED && strstr(err.text, "rounding decides"), "%s",
              err.text);
    oracle_reset(&o);
    close_fake(&b, &g);
    arena_reset(&a);
}

// Any part of these that is wrong on the device shows as a kernel that computes nothing.
static void expect_null(struct gpu_oracle *g, const char *type, const char *line,
                        const char *expected) {
    struct arena a = {0};
    struct error err = {0};
    struct oracle o;
    struct null_kernels on_device, on_host;
    const struct cuda *cu = &g->bench->cu;
    const struct problem *p = parsed(
        &a,
        arena_printf(&a, "problem p\ndim N = 500\nin x : %s[N] ~ normal\nout y : %s[N]\ny = %s\n",
                     type, type, line));
    cuda_pointer x = 0;
    struct judge_expected e = {0};
    struct error_stats stats;
    struct gpu_oracle_request request = {
        .problem = p, .inputs = &x, .expected = &e, .stats = &stats};
    oracle_init(&o, p, 5);
    cr_assert(cu->allocate(&x, 2000) == 0 && cu->allocate(&e.high, 4000) == 0 &&
              cu->allocate(&e.low, 4000) == 0 && cu->allocate(&e.spread, 4000) == 0);
    oracle_fill(&o, SET_DECLARED, 0, (void *)x);  // the fake's device memory is ours
    null_kernels_start(&on_device);
    null_kernels_start(&on_host);
    cr_assert(gpu_oracle_compute(g, &request, &err) &&
                  gpu_oracle_null(g, &request, &on_device, &err),
              "%s", err.text);
    oracle_compute(&o, 1U << SET_DECLARED, 1);
    const void *inputs[] = {(const void *)x};
    null_kernels_try(&o, SET_DECLARED, inputs, &on_host);
    const char *what = null_kernels_text(&on_device), *host = null_kernels_text(&on_host);
    cr_expect(on_device.has_constants &&
              fabs(on_device.constants[0] - on_host.constants[0]) <= 1e-6);
    cr_expect_str_eq(what ? what : "no", expected, "%s: %s", line, what);
    cr_expect_str_eq(host ? host : "no", expected, "%s: host: %s", line, host);
    cu->release(x);
    cu->release(e.high);
    cu->release(e.low);
    cu->release(e.spread);
    oracle_reset(&o);
    arena_reset(&a);
}

Test(gpu_oracle, finds_kernels_that_compute_nothing) {
    struct gpu_bench b;
    struct gpu_oracle g;
    open_fake(&b, &g);
    static const char *const types[] = {"f32", "bf16"};
    for (int i = 0; i < 2; i++) {
        expect_null(&g, types[i], "x * 2 + 1", "no");
        expect_null(&g, types[i], "x * 0", "writing zeros");
        expect_null(&g, types[i], "x * 0 + 3", "writing one constant");
        expect_null(&g, types[i], "maximum(x, x)", "copying an input");
    }
    close_fake(&b, &g);
}

// What a maker gives: honest arithmetic of hidden draws, for tiles of rows and across them.
Test(gpu_oracle, makes_inputs_as_the_host_does) {
    static const char *const makers[] = {"softmax(u)", "u / sqrt(sum(u * u))",
                                         "sum(u, axis=1)[:, None] + u", "softmax(u)"};
    struct gpu_bench b;
    struct gpu_oracle g;
    open_fake(&b, &g);
    for (int k = 0; k < 4; k++) {
        struct arena a = {0};
        struct error err = {0};
        enum dtype type = k < 3 ? DTYPE_F32 : DTYPE_F16;
        const struct problem *p = parsed(
            &a,
            arena_printf(&a,
                         "problem p\ndim M = 30, N = 40\nin x : %s[M, N] = %s where u ~ normal\n"
                         "out y : f32[M, N]\ny = x * 2\n",
                         dtype_name(type), makers[k]));
        float host[1200];
        cuda_pointer hidden, made;
        struct inputs_job job = {.problem = p, .set = INPUT_SET_WIDE, .seed = 7, .n_threads = 1};
        struct inputs_job draw = inputs_hidden(&job, 0);
        const struct cuda *cu = &g.bench->cu;
        bool is_finite = false;
        inputs_fill_parallel(&job, host);
        cr_assert(cu->allocate(&hidden, sizeof host) == 0 && cu->allocate(&made, sizeof host) == 0);
        inputs_fill_parallel(&draw, (void *)hidden);  // the fake's device memory is ours
        struct gpu_oracle_request request = {
            .problem = p->inputs[0].maker, .inputs = &hidden, .made = made};
        g.budget_bytes = 20 * 40 * 4;
        cr_assert(gpu_oracle_compute(&g, &request, &err), "%s", err.text);
        cr_expect_arr_eq((const void *)made, host, (size_t)dtype_size(type, 1200), "%s", makers[k]);
        cr_expect(gpu_oracle_is_finite(&g, made, type, 1200, &is_finite, &err) && is_finite);
        dtype_put(type, (void *)made, 77, INFINITY);
        cr_expect(gpu_oracle_is_finite(&g, made, type, 1200, &is_finite, &err) && !is_finite);
        cu->release(hidden);
        cu->release(made);
        arena_reset(&a);
    }
    close_fake(&b, &g);
}
