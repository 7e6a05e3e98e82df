#include <criterion/criterion.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "family/block.h"
#include "family/family.h"
#include "family/moves_far.h"
#include "family/plain.h"
#include "family/program.h"
#include "family/stages.h"
#include "family/support.h"
#include "loop/passes.h"
#include "lowering.h"

// An error this many spreads out is not rounding.
enum { TOLERANCE = 60 };

static const int vector_bytes[] = {16, 32, 64};

// Run a kernel before and after each pass and compare both with the reference.
static void check_kernel(struct arena *a, const struct problem *p, const char *text,
                         struct loop_program *program, const char *block, uint64_t seed) {
    struct expectation e;
    struct error err;
    char message[1200] = "";
    expect_open(&e, a, p, seed);
    static const char *const steps[] = {"as built", "unrolled", "pruned"};
    for (int step = 0; step < 3; step++) {
        if (step == 1)
            pass_unroll(program);
        if (step == 2)
            pass_prune(program);
        double error = expect_execute(&e, a, p, program, message, sizeof message);
        cr_assert(error >= 0 && error < TOLERANCE, "%s\n%s\n%s error %g %s", text, block,
                  steps[step], error, message);
    }
    cr_assert(pass_verify(program, &err), "%s\n%s\n%s", text, block, err.text);
    expect_close(&e);
}

Test(family, random_blocks_of_random_problems_compute_the_problem) {
    struct rng r;
    rng_init(&r, 20261115);
    for (int i = 0; i < 150; i++) {
        struct arena a = {0};
        const char *text = random_problem(&a, &r);
        struct problem *p = problem_from(&a, text);
        struct target t = test_target(vector_bytes[i % 3]);
        struct kernel *k = random_kernel(&a, &r, p, &t, (int)rng_below(&r, 7));
        check_kernel(&a, p, text, program_lower(&a, p, &t, k), kernel_print(&a, k), (uint64_t)i);
        arena_reset(&a);
    }
}

Test(family, plain_of_random_problems_computes_the_problem) {
    struct rng r;
    rng_init(&r, 7);
    for (int i = 0; i < 40; i++) {
        struct arena a = {0};
        const char *text = random_problem(&a, &r);
        struct problem *p = problem_from(&a, text);
        struct target t = test_target(64);
        check_kernel(&a, p, text, plain_program(&a, p, &t), "plain", (uint64_t)i);
        arena_reset(&a);
    }
}

// The default block, random ones and plain.
static void check_problem(struct rng *r, const struct problem *p, const char *text) {
    for (int i = 0; i < 8; i++) {
        struct arena a = {0};
        struct target t = test_target(vector_bytes[i % 3]);
        if (i % 2)
            target_of_arch("sm_90a", &t);
        struct kernel *k = random_kernel(&a, r, p, &t, i);
        if (i < 2)
            lower_default(&a, p, &t, k);
        check_kernel(&a, p, text, program_lower(&a, p, &t, k), kernel_print(&a, k), (uint64_t)i);
        check_kernel(&a, p, text, plain_program(&a, p, &t), "plain", (uint64_t)i);
        arena_reset(&a);
    }
}

Test(family, every_accepted_file_is_lowered) {
    struct rng r;
    glob_t files;
    rng_init(&r, 99);
    cr_assert(glob("tests/lang/accept/*.hone", 0, NULL, &files) == 0 && files.gl_pathc > 5);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct arena a = {0};
        struct lang_source source = {.file = files.gl_pathv[i]};
        struct lang_file file;
        struct error err;
        const char *diagnostics;
        source.text = file_read(&a, source.file, 1 << 20, &source.len, &err);
        cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err));
        for (int j = 0; j < file.n_problems; j++) {
            if (!support_problem(file.problems[j], &err))
                continue;
            int64_t elements = 0;
            for (node_id n = 0; n < file.problems[j]->graph.n_nodes; n++)
                elements += shape_count(&file.problems[j]->graph.nodes[n].shape);
            // What is large is lowered too, but not run.
            struct target t = test_target(64);
            struct kernel k;
            lower_default(&a, file.problems[j], &t, &k);
            cr_assert(program_lower(&a, file.problems[j], &t, &k)->n_kernels > 0);
            if (elements < 100000)
                check_problem(&r, file.problems[j], source.text);
        }
        arena_reset(&a);
    }
    globfree(&files);
}

// Batches, several axes, views in every place.
Test(family, higher_ranks_are_lowered) {
    static const char *const bodies[] = {
        "in x : f32[B, M, K] ~ normal\nin w : f32[B, K, N] ~ normal\nout y : f32[B, M, N]\n"
        "y = gelu(x @ w)\n",
        "in x : f32[B, M, K] ~ normal\nin w : f32[N, K] ~ normal\nin b : f32[N] ~ normal\n"
        "out y : f32[B, M, N]\ny = softmax(x @ w.T + b)\n",
        "in x : f32[B, M, K] ~ normal\nin w : f32[M, N] ~ normal\nout y : f32[B, N]\n"
        "y = sum(x, axis=2) @ w\n",
        "in x : f32[B, M, N] ~ normal\nin z : f32[B, K] ~ normal\nout y : f32[M]\n"
        "out s : f32\ny = sum(x * x, axis=(0, 2))\ns = max(z) + sum(y)\n",
        "in x : f32[B, M, N] ~ normal\nin z : f32[K] ~ normal\nout y : f32[B, N]\n"
        "y = min(x, axis=1) * max(z)\n",
        "in x : f32[B, M, N] ~ normal\nin z : f32[B, K] ~ normal\nout y : f32[B, M, N]\n"
        "y = softmax(x) * sum(z, axis=1)[:, None, None]\n",
        "in x : f32[B, M, N] ~ normal\nin z : f32[M, K] ~ normal\nout y : f32[B, M, N]\n"
        "y = (x - mean(x, axis=1, keepdims=true)) * mean(z, axis=1)[:, None]\n",
    };
    struct rng r;
    rng_init(&r, 5);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct arena a = {0};
        const char *text =
            arena_printf(&a, "problem ranks\ndim B = 3, M = 7, N = 18, K = 33\n%s", bodies[i]);
        check_problem(&r, problem_from(&a, text), text);
        arena_reset(&a);
    }
}

// A chain of `n` steps, each from the one before it, which `$` stands for.
static struct problem *chain(struct arena *a, int n, const char *step) {
    struct str text = {0};
    str_puts(&text, "problem chain\ndim M = 8, N = 8\nin x : f32[M, N] ~ normal\n"
                    "out y : f32[M, N]\nt0 = x * 0.5\n");
    for (int i = 1; i < n; i++) {
        str_printf(&text, "t%d = ", i);
        for (const char *c = step; *c; c++)
            if (*c == '$')
                str_printf(&text, "t%d", i - 1);
            else
                str_append(&text, c, 1);
        str_puts(&text, "\n");
    }
    str_printf(&text, "y = t%d * 2\n", n - 1);
    return problem_from(a, str_take(a, &text));
}

Test(family, large_problems_are_cut_into_stages_or_refused) {
    struct arena a = {0};
    struct target t = test_target(64);
    struct kernel k;
    struct error err = {0};
    struct problem *p = chain(&a, 1200, "erf($) + x * 0.1");
    lower_default(&a, p, &t, &k);
    cr_assert(k.n_stages > 1 && lower_check(&a, p, &t, &k, &err), "%s", err.text);
    check_kernel(&a, p, "a long chain", program_lower(&a, p, &t, &k), "default", 1);

    // Ten softmaxes are twenty walks over a row, more than one stage takes.
    p = chain(&a, 11, "softmax($) * x");
    lower_default(&a, p, &t, &k);
    cr_assert(k.n_stages > 1 && k.n_stages < 6);
    check_kernel(&a, p, "softmaxes", program_lower(&a, p, &t, &k), "default", 1);

    p = chain(&a, 62, "cumsum($ * 0.1, axis=0)");
    lower_default(&a, p, &t, &k);
    cr_assert(k.n_stages > 60 && lower_check(&a, p, &t, &k, &err), "%s", err.text);
    check_kernel(&a, p, "a tall network", program_lower(&a, p, &t, &k), "default", 1);

    p = chain(&a, STAGES_MAX + 2, "cumsum($ * 0.1, axis=0)");
    lower_default(&a, p, &t, &k);
    cr_assert(!lower_check(&a, p, &t, &k, &err));
    cr_assert(strstr(err.text, "no room for more stages"), "%s", err.text);
    arena_reset(&a);
}

static const char softmax[] = "problem p\ndim M = 64, N = 60\nin x : f32[M, N] ~ normal\n"
                              "out y : f32[M, N]\ny = softmax(x)\n";
static const char gelu[] =
    "problem p\ndim M = 64, N = 60\nin x : f32[M, N] ~ normal\n"
    "in b : f32[N] ~ normal\nout y : f32[M, N]\nh = gelu(x + b)\ny = h * x\n";
static const char hidden[] = "problem p\ndim M = 64, N = 48, K = 32\nin x : f32[M, K] ~ normal\n"
                             "in w : f32[N, K] ~ normal\nin b : f32[N] ~ normal\n"
                             "out y : f32[M, N]\ny = gelu(x @ w.T + b)\n";
static const char scores[] = "problem p\ndim M = 64, N = 48, K = 32\nin x : f32[M, K] ~ normal\n"
                             "in w : f32[N, K] ~ normal\nin b : f32[N] ~ normal\n"
                             "out y : f32[M, N]\ny = softmax(x @ w.T + b)\n";
static const char columns[] = "problem p\ndim M = 64, N = 48\nin x : f32[M, N] ~ normal\n"
                              "out y : f32[M, N]\ny = softmax(x, axis=0)\n";
static const char outputs[] = "problem p\ndim M = 64, N = 48\nin x : f32[M, N] ~ normal\n"
                              "out m : f32[M]\nout y : f32[M, N]\nm = max(x, axis=1)\n"
                              "y = x - m[:, None]\n";

Test(family, default_blocks_fuse_what_they_can) {
    static const struct {
        const char *problem, *stages;
    } cases[] = {
        {softmax, "y rowwise"},
        {gelu, "y map"},
        {hidden, "y gemm"},
        // The bias goes out with the product, the softmax is a stage of its own.
        {scores, "t.2 gemm, y rowwise"},
        {columns, "y rowwise"},
        // Two outputs from one walk over the rows.
        {outputs, "y+m rowwise"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct target t = test_target(64);
        struct kernel k;
        lower_default(&a, problem_from(&a, cases[i].problem), &t, &k);
        char stages[256] = "";
        for (int s = 0; s < k.n_stages; s++) {
            size_t len = strlen(stages);
            snprintf(stages + len, sizeof stages - len, "%s%s%s%s %s", s ? ", " : "",
                     k.stages[s]->values[0], k.stages[s]->n_values > 1 ? "+" : "",
                     k.stages[s]->n_values > 1 ? k.stages[s]->values[1] : "", k.stages[s]->family);
        }
        cr_assert_str_eq(stages, cases[i].stages);
        arena_reset(&a);
    }
}

static struct kernel *kernel_of(struct arena *a, const char *stages) {
    const char *text = arena_printf(a, "kernel for p on cpu\n%s\n", stages);
    struct lang_source source = {.file = "k", .text = text, .len = strlen(text)};
    struct lang_file file;
    const char *diagnostics;
    struct error err = {0};
    cr_assert(lang_parse(a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    return file.kernels[0];
}

// Check a block given as text; the message, or "" when it is legal.
static const char *check_block(struct arena *a, const char *problem, const char *stages,
                               int vector_bytes_of) {
    struct problem *p = problem_from(a, problem);
    struct target t = test_target(vector_bytes_of);
    struct error err = {0};
    // Without the line and the caret, which follow.
    return lower_check(a, p, &t, kernel_of(a, stages), &err)
               ? ""
               : arena_strndup(a, err.text, strcspn(err.text, "\n"));
}

// What depends on the machine is checked here; what does not, by tests/lang/reject.
// What goes past the caches starts with the knobs that every search of such problems came to.
Test(family, rows_from_memory_to_memory_start_as_a_stream) {
    struct arena a = {0};
    struct target t = test_target(32);
    static const struct {
        const char *sizes, *knobs;
    } cases[] = {
        {"dim M = 64, N = 4096\n",
         "keep reread  ahead 0  overlap none  divide exact  store cached"},
        {"dim M = 8192, N = 4096\n",
         "keep local  ahead 1  overlap rows  divide reciprocal  store stream"},
        {"dim M = 8192, N = 4095\n", "store cached"},  // rows are not aligned
    };
    t.llc_bytes = 32 << 20;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kernel k;
        const char *text = arena_printf(&a,
                                        "problem p\n%sin x : f32[M, N] ~ normal\n"
                                        "out y : f32[M, N]\ny = softmax(x)\n",
                                        cases[i].sizes);
        lower_default(&a, problem_from(&a, text), &t, &k);
        cr_expect(strstr(kernel_print(&a, &k), cases[i].knobs), "%s", kernel_print(&a, &k));
    }
    arena_reset(&a);
}

// What is kept, stored meanwhile and asked for goes by what of two or three rows stays near.
Test(family, rows_from_memory_keep_what_stays_near) {
    struct arena a = {0};
    struct target t = test_target(64);
    static const struct {
        const char *text, *knobs;
    } cases[] = {
        {"dim M = 8192, N = 4096\nin x : f16[M, N]\nout y : f16[M, N]\ny = softmax(x)\n",
         "keep local  ahead 2  overlap rows  divide reciprocal  store stream"},
        {"dim M = 512, N = 98305\nin x : bf16[M, N]\nout y : bf16[M, N]\ny = softmax(x)\n",
         "keep local  ahead 1  overlap none  divide reciprocal  store stream"},
        {"dim B = 8, C = 64, N = 16384\nin x : f32[B, C, N]\nin w : f32[C]\nin b : f32[C]\n"
         "out y : f32[B, C, N]\ny = batchnorm(x, w, b)\n",
         "rows 8  unroll 4  keep reread  ahead 1  overlap rows  divide reciprocal  store stream"},
        {"dim M = 64, N = 1048576\nin x : f32[M, N]\nout y : f32[M, N]\ny = softmax(x)\n",
         "keep reread  ahead 0  overlap none  divide reciprocal  store stream"},
        {"dim M = 512, N = 65537\nin x : f32[M, N]\nout y : f32[M, N]\n"
         "y = x / mean(abs(x), axis=1, keepdims=true)\n",
         "divide reciprocal  store stream"},
    };
    t.l2_bytes = 1 << 20;
    t.llc_bytes = 32 << 20;
    t.n_threads = 2;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kernel k;
        lower_default(&a, problem_from(&a, arena_printf(&a, "problem p\n%s", cases[i].text)), &t,
                      &k);
        cr_expect(strstr(kernel_print(&a, &k), cases[i].knobs), "%s", kernel_print(&a, &k));
    }
    arena_reset(&a);
}

// Outputs that share a stage have the knobs of that stage, not those that one of them began
// with: 1.61 ms instead of 2.61 for an RMS norm and the loss of its rows.
Test(family, merged_stages_begin_as_one) {
    struct arena a = {0};
    struct kernel k, blank;
    struct target t = test_target(32);
    struct error err = {0};
    struct problem *p =
        problem_from(&a, "problem p\ndim M = 2048, N = 2048\nin x : f32[M, N]\nin t : f32[M, N]\n"
                         "in g : f32[N]\nout y : f32[M, N]\nout loss : f32\ny = rmsnorm(x, g)\n"
                         "row = sum(square(y - t), axis=1)\nloss = sum(row) / (M * N)\n");
    t.llc_bytes = 4 << 20;
    lower_default(&a, p, &t, &k);
    cr_assert_eq(k.stages[0]->n_values, 2);
    blank = kernel_copy(&a, &k);
    kernel_own_stage(&a, &blank, 0)->n_knobs = 0;
    cr_assert(lower_check(&a, p, &t, &blank, &err), "%s", err.text);
    for (int i = 0; i < k.stages[0]->n_knobs; i++) {
        const struct kernel_knob *is = &k.stages[0]->knobs[i], *want = &blank.stages[0]->knobs[i];
        cr_expect(is->word ? strcmp(is->word, want->word) == 0 : is->part[0] == want->part[0], "%s",
                  is->name);
    }
    arena_reset(&a);
}

Test(family, limits_of_the_machine_are_limits_of_knobs) {
    static const struct {
        const char *stages;
        int vector_bytes;
        const char *message;
    } cases[] = {
        {"stage y : gemm vec 16 micro 8x32", 64, ""},
        {"stage y : gemm vec 16 micro 8x32", 32,
         "k:2:16: stage y: vec 16 does not fit the 32-byte vectors of this machine: the nearest is "
         "vec 8"},
        {"stage y : gemm vec 8 micro 4x16", 16,
         "k:2:16: stage y: vec 8 does not fit the 16-byte vectors of this machine: the nearest is "
         "vec 4"},
        {"stage y : gemm vec 16 micro 16x32", 64,
         "k:2:23: stage y: micro 16x32 with vec 16 takes 35 vector registers of 32: the nearest is "
         "12x32"},
        {"stage y : gemm vec 8 micro 8x16", 32,
         "k:2:22: stage y: micro 8x16 with vec 8 takes 19 vector registers of 16: the nearest is "
         "6x16"},
        {"stage y : gemm vec 16 micro 4x8", 64,
         "k:2:23: stage y: micro 4x8: 8 columns are no multiple of vec 16: the nearest is 4x16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        cr_assert_str_eq(check_block(&a, hidden, cases[i].stages, cases[i].vector_bytes),
                         cases[i].message);
        arena_reset(&a);
    }
}

Test(family, a_kernel_for_something_else_is_refused) {
    struct arena a = {0};
    struct problem *p = problem_from(&a, softmax);
    struct target t = test_target(64);
    struct kernel k;
    struct error err = {0};
    lower_default(&a, p, &t, &k);
    k.problem = "q";
    cr_assert(!lower_check(&a, p, &t, &k, &err));
    cr_assert_str_eq(err.text, "the kernel is for q, not for p");
    k.problem = "p";
    k.target = "sm_90a";
    cr_assert(!lower_check(&a, p, &t, &k, &err));
    cr_assert_str_eq(err.text, "the kernel is for the target sm_90a, not for cpu");
    arena_reset(&a);
}

static const struct move *find_move(const struct move *moves, int n, const char *words) {
    for (int i = 0; i < n; i++)
        if (strcmp(moves[i].words, words) == 0)
            return &moves[i];
    return NULL;
}

Test(moves, turn_merge_split_and_change) {
    struct arena a = {0};
    struct problem *p = problem_from(&a, scores);
    struct target t = test_target(64);
    struct kernel k;
    int n;
    lower_default(&a, p, &t, &k);
    struct move *moves = moves_list(&a, p, &t, &k, &n);
    const struct move *m = find_move(moves, n, "y: vec 16 -> 8");
    cr_assert(m && m->direction == -1 && !m->word && strcmp(m->knob, "vec") == 0);
    cr_assert_str_eq(m->stage, "y");
    m = find_move(moves, n, "y: keep reread -> local");
    cr_assert(m && m->direction == 0 && strcmp(m->word, "local") == 0);
    m = find_move(moves, n, "y: rows 8 -> 4");
    cr_assert(m && m->direction == -1);
    // Eight columns are too few for sixteen lanes: the repair is part of the move.
    m = find_move(moves, n, "t.2: micro 8x32 -> 8x16");
    cr_assert(m && m->direction == -1);
    struct kernel narrow = *m->kernel;
    m = find_move(moves_list(&a, p, &t, &narrow, &n), n, "t.2: micro 8x16 -> 8x8, vec 8");
    cr_assert(m && m->direction == -1);
    narrow = *m->kernel;
    struct move *more = moves_list(&a, p, &t, &narrow, &n);
    cr_assert_not_null(find_move(more, n, "t.2: vec 8 -> 16, micro 8x16"));
    moves = moves_list(&a, p, &t, &k, &n);
    m = find_move(moves, n, "split t.2 at t.1");
    cr_assert(m && !m->knob && m->kernel->n_stages == 3);

    struct kernel split = *m->kernel;
    moves = moves_list(&a, p, &t, &split, &n);
    m = find_move(moves, n, "merge t.1 into t.2");
    cr_assert(m && m->kernel->n_stages == 2);

    p = problem_from(&a, "problem p\ndim M = 64, N = 48\nin x : f32[M, N] ~ normal\n"
                         "out y : f32[M]\ny = sum(x, axis=1)\n");
    lower_default(&a, p, &t, &k);
    moves = moves_list(&a, p, &t, &k, &n);
    cr_assert_not_null(find_move(moves, n, "y: rowwise as cpu -> reduce"));
    arena_reset(&a);
}

// One edit with what is known of the block and without: the same answer, the same block.
static void expect_same_edit(struct arena *a, struct stages_edit *e, const struct block *base,
                             bool (*edit)(const struct stages_edit *, int, struct kernel *),
                             int what) {
    struct kernel near, alone;
    e->base = base;
    bool ok = edit(e, what, &near);
    e->base = NULL;
    cr_assert(edit(e, what, &alone) == ok, "stage %d, %d", e->stage, what);
    if (ok)
        cr_assert_str_eq(kernel_print(a, &near), kernel_print(a, &alone));
}

static bool edit_split(const struct stages_edit *e, int node, struct kernel *out) {
    return stages_split(e, node, out);
}

static bool edit_merge(const struct stages_edit *e, int unused, struct kernel *out) {
    (void)unused;
    return stages_merge(e, out);
}

static bool edit_family(const struct stages_edit *e, int family, struct kernel *out) {
    // A family's emitters one behind the other; a place behind the last is none.
    const struct family *f = &families[family / 4];
    for (int i = 0; i < family % 4; i++)
        if (!f->emitters[i])
            return false;
    const struct emitter *emitter = f->emitters[family % 4];
    return emitter && stages_change_emitter(e, f->name, emitter->name, out);
}

Test(moves, what_is_known_of_a_block_changes_no_answer) {
    static const char *const problems[] = {softmax, gelu, hidden, scores, columns, outputs};
    for (size_t i = 0; i < sizeof problems / sizeof *problems + 1; i++) {
        struct arena a = {0};
        bool is_chain = i == sizeof problems / sizeof *problems;
        struct problem *p = is_chain ? chain(&a, 4, "softmax($ @ x.T @ x) - max($, axis=0)")
                                     : problem_from(&a, problems[i]);
        struct target t = test_target(64);
        struct kernel k;
        lower_default(&a, p, &t, &k);
        struct lang_source source = {0};
        struct mistakes m = {.arena = &a, .source = &source};
        const struct block *base = block_resolve(&a, p, &t, &k, &m);
        cr_assert_eq(m.count, 0);
        for (int s = 0; s < k.n_stages; s++) {
            struct stages_edit e = {&a, p, &t, &k, s, NULL};
            expect_same_edit(&a, &e, base, edit_merge, 0);
            for (int f = 0; f < 4 * FAMILY_COUNT; f++)
                expect_same_edit(&a, &e, base, edit_family, f);
            for (node_id n = 0; n < p->graph.n_nodes; n++)
                if (base->stages[s].region->is_member[n] && p->graph.nodes[n].op != OP_CONST)
                    expect_same_edit(&a, &e, base, edit_split, n);
        }
        arena_reset(&a);
    }
}

Test(moves, are_complete_legal_different_and_stable) {
    static const char *const problems[] = {softmax, gelu, hidden, scores, columns, outputs};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        struct arena a = {0};
        struct problem *p = problem_from(&a, problems[i]);
        struct target t = test_target(i % 2 ? 64 : 32);
        struct kernel k;
        struct error err;
        int n, again;
        lower_default(&a, p, &t, &k);
        struct move *moves = moves_list(&a, p, &t, &k, &n),
                    *twice = moves_list(&a, p, &t, &k, &again);
        cr_assert(n > 4 && n == again);
        for (int j = 0; j < n; j++) {
            const char *text = kernel_print(&a, moves[j].kernel);
            struct kernel checked = *moves[j].kernel;
            cr_assert(lower_check(&a, p, &t, &checked, &err), "%s: %s", moves[j].words, err.text);
            cr_assert_str_eq(text, kernel_print(&a, &checked));
            cr_assert(strcmp(text, kernel_print(&a, &k)) != 0);
            cr_assert_str_eq(moves[j].words, twice[j].words);
            cr_assert(isfinite(moves[j].prior), "%s", moves[j].words);
            for (int l = 0; l < j; l++)
                cr_assert(strcmp(text, kernel_print(&a, moves[l].kernel)) != 0);
        }
        arena_reset(&a);
    }
}

static void expect_far(const char *text, const struct target *t) {
    enum { ROOM = 40 };
    struct arena a = {0};
    struct problem *p = problem_from(&a, text);
    struct kernel k;
    struct error err;
    int n, again;
    lower_default(&a, p, t, &k);
    for (int by_chance = 0; by_chance < 2; by_chance++) {
        struct rng rng, same;
        rng_init(&rng, 3);
        rng_init(&same, 3);
        struct move *moves = moves_far(&a, p, t, &k, ROOM, by_chance ? &rng : NULL, &n);
        struct move *twice = moves_far(&a, p, t, &k, ROOM, by_chance ? &same : NULL, &again);
        cr_assert(n > 10 && n == again, "%d", n);
        for (int j = 0; j < n; j++) {
            const char *block = kernel_print(&a, moves[j].kernel);
            struct kernel checked = *moves[j].kernel;
            cr_assert(lower_check(&a, p, t, &checked, &err), "%s: %s", moves[j].words, err.text);
            cr_assert_str_eq(block, kernel_print(&a, &checked));
            cr_assert_str_neq(block, kernel_print(&a, &k));
            cr_assert_str_eq(moves[j].words, twice[j].words);
            cr_assert(by_chance || j == 0 || moves[j].prior <= moves[j - 1].prior + 1e-9);
            for (int l = 0; l < j; l++)
                cr_assert_str_neq(block, kernel_print(&a, moves[l].kernel));
        }
    }
    arena_reset(&a);
}

// The best of all legal blocks by their estimates, on the whole grid of every emitter.
Test(moves, far_ones_are_legal_different_and_the_best_first) {
    static const char *const problems[] = {softmax, gelu, hidden, scores, columns, outputs};
    struct target gpu;
    cr_assert(target_of_arch("sm_90a", &gpu));
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        struct target t = test_target(i % 2 ? 64 : 32);
        expect_far(problems[i], &t);
        expect_far(problems[i], &gpu);
    }
}

// None of the single moves is better by its estimate than the best of all.
Test(moves, the_best_of_all_is_no_worse_than_the_best_of_the_near) {
    struct arena a = {0};
    struct target t = test_target(64);
    struct problem *p = problem_from(&a, softmax);
    struct kernel k;
    int n_near, n_far;
    lower_default(&a, p, &t, &k);
    struct move *near = moves_list(&a, p, &t, &k, &n_near);
    struct move *far = moves_far(&a, p, &t, &k, 1, NULL, &n_far);
    cr_assert_eq(n_far, 1);
    for (int i = 0; i < n_near; i++)
        cr_expect(!near[i].knob || near[i].prior <= far[0].prior + 1e-9, "%s", near[i].words);
    arena_reset(&a);
}

// A wider vector, several accumulators and a bigger tile are better in the reckoning.
Test(moves, priors_know_the_obvious) {
    struct arena a = {0};
    struct target t = test_target(64);
    struct problem *p = problem_from(&a, "problem p\ndim M = 1024, N = 1024, K = 1024\n"
                                         "in x : f32[M, K] ~ normal\nin w : f32[K, N] ~ normal\n"
                                         "out y : f32[M, N]\ny = x @ w\n");
    struct kernel *k = kernel_of(&a, "stage y : gemm  vec 8  micro 4x16");
    struct error err;
    int n;
    cr_assert(lower_check(&a, p, &t, k, &err), "%s", err.text);
    struct move *moves = moves_list(&a, p, &t, k, &n);
    const struct move *wider = find_move(moves, n, "y: vec 8 -> 16");
    const struct move *narrower = find_move(moves, n, "y: vec 8 -> 4");
    cr_assert(wider && narrower && wider->prior > narrower->prior);
    arena_reset(&a);
}

// What an author leaves out gives way to what the block says: the best legal value of its knob.
Test(family, what_is_left_out_fits_what_is_said) {
    struct arena a = {0};
    struct target t = test_target(64);
    struct error err;
    struct problem *p = problem_from(&a, "problem p\ndim M = 1024, N = 1024, K = 1024\n"
                                         "in x : f32[M, K] ~ normal\nin w : f32[K, N] ~ normal\n"
                                         "out y : f32[M, N]\ny = x @ w\n");
    struct kernel *k = kernel_of(&a, "stage y : gemm  vec 4");
    cr_assert(lower_check(&a, p, &t, k, &err), "%s", err.text);
    // 8 x 32 in vectors of 4 would take 73 registers; 1 x 4, the first of the grid, has one sum.
    cr_expect_geq(stage_number(k->stages[0], "micro", 0) * stage_number(k->stages[0], "micro", 1),
                  32);
    cr_expect_eq(stage_number(k->stages[0], "vec", 0), 4);
    arena_reset(&a);
}

Test(family, scaffold_explains_the_contract) {
    struct arena a = {0};
    struct target t = test_target(64);
    const char *text = lower_scaffold(&a, problem_from(&a, softmax), &t);
    cr_assert(strstr(text, "void F(long block, <a pointer per argument>)"));
    cr_assert(strstr(text, "#pragma hone launch y_rowwise grid(M) args(x, y)"), "%s", text);
    cr_assert(strstr(text, "expf("));
    arena_reset(&a);
}

static const char *default_on(struct arena *a, const char *text, const char *arch) {
    struct target t = {0};
    struct kernel k;
    target_of_arch(arch, &t);
    lower_default(a, problem_from(a, text), &t, &k);
    return kernel_print(a, &k);
}

Test(family, the_default_takes_the_emitter_that_should_be_fastest) {
    struct arena a = {0};
    const char *tall = default_on(&a,
                                  "problem p\nin a : f32[2048, 65536]\nin x : f32[65536, 1]\n"
                                  "out y : f32[2048, 1]\ny = a @ x\n",
                                  "sm_90a");
    cr_expect(strstr(tall, "gemm as dot"), "%s", tall);
    static const char text[] = "problem p\nin a : f32[2048, 2048]\nin x : f32[2048, 2048]\n"
                               "out y : f32[2048, 2048]\ny = a @ x\n";
    const char *older = default_on(&a, text, "sm_80");
    cr_expect(strstr(older, "gemm as mma  tile "), "%s", older);
    const char *square = default_on(&a, text, "sm_90a");
    cr_expect(strstr(square, "gemm as wgmma  tile 128x128"), "%s", square);
    const char *exact = default_on(&a,
                                   "problem p\nprecision f32 exact\nin a : f32[2048, 2048]\n"
                                   "in x : f32[2048, 2048]\nout y : f32[2048, 2048]\ny = a @ x\n",
                                   "sm_90a");
    cr_expect(strstr(exact, "gemm  tile "), "%s", exact);
    arena_reset(&a);
}

// Results that are rounded to 16 bits do not show how exactly they were divided, or exp computed.
Test(family, defaults_of_narrow_rows_are_quick) {
    struct arena a = {0};
    for (int narrow = 0; narrow < 2; narrow++) {
        const char *type = narrow ? "bf16" : "f32", *divide = narrow ? "reciprocal" : "exact";
        divide = arena_printf(&a, "divide %s", divide);
        const char *rows = arena_printf(&a,
                                        "problem p\nin x : %s[64, 65536]\nout y : %s[64, 65536]\n"
                                        "y = softmax(x)\n",
                                        type, type);
        cr_expect(strstr(default_on(&a, rows, "sm_90a"), divide));
        const char *across = arena_printf(&a,
                                          "problem p\nin x : %s[64, 512, 4096]\nout y : %s[64, "
                                          "512, 4096]\ny = x / sum(x * x, axis=1, keepdims=true)\n",
                                          type, type);
        cr_expect(strstr(default_on(&a, across, "sm_90a"), divide));
        struct target t;
        struct kernel k;
        struct candidate c;
        struct error err;
        target_of_arch("sm_90a", &t);
        const struct problem *p = problem_from(&a, rows);
        lower_default(&a, p, &t, &k);
        cr_assert(lower_kernel(&a, p, &t, &k, &c, &err), "%s", err.text);
        cr_expect_eq(strstr(c.source, "hone_exp_quick") != NULL, narrow == 1);
        p = problem_from(&a, arena_printf(&a,
                                          "problem p\nin x : %s[64, 4096]\nout y : %s[64, 4096]\n"
                                          "y = gelu(x)\n",
                                          type, type));
        lower_default(&a, p, &t, &k);
        cr_assert(lower_kernel(&a, p, &t, &k, &c, &err), "%s", err.text);
        cr_expect_eq(strstr(c.source, "hone_erf_quick") != NULL, narrow == 1);
        p = problem_from(&a, arena_printf(&a,
                                          "problem p\nin x : %s[64, 4096]\nout y : %s[64, 4096]\n"
                                          "y = silu(x) + x / (1 + abs(x))\n",
                                          type, type));
        lower_default(&a, p, &t, &k);
        cr_assert(lower_kernel(&a, p, &t, &k, &c, &err), "%s", err.text);
        cr_expect_eq(strstr(c.source, "hone_inverse_quick") != NULL, narrow == 1);
        const char *exact = strstr(c.source, " / ");  // the denominator is no sigmoid's
        cr_expect(exact && (!narrow || !strstr(exact + 1, " / t")), "%s", c.source);
    }
    arena_reset(&a);
}

// What an H200 was found to want (docs/results/h200-memory.md).
Test(family, defaults_have_enough_under_way) {
    struct arena a = {0};
    const char *odd = default_on(&a,
                                 "problem p\nin x : f32[128, 4096, 4095]\nout y : f32[128, 4095]\n"
                                 "y = sum(x, axis=1)\n",
                                 "sm_90a");
    cr_expect(strstr(odd, "split 4"), "%s", odd);
    const char *even = default_on(&a,
                                  "problem p\nin x : f32[128, 4096, 4096]\nout y : f32[128, 4096]\n"
                                  "y = sum(x, axis=1)\n",
                                  "sm_90a");
    cr_expect(strstr(even, "split 1"), "%s", even);
    const char *loss = default_on(&a,
                                  "problem p\nin x : f32[16384, 16384]\nout y : f32\n"
                                  "y = mean(abs(x))\n",
                                  "sm_90a");
    cr_expect(strstr(loss, "split 8192"), "%s", loss);
    const char *gather = default_on(&a,
                                    "problem p\nin w : f32[1000, 1024]\nin i : i64[4096] ~ "
                                    "index(1000)\nout y : f32[4096, 1024]\ny = embedding(w, i)\n",
                                    "sm_90a");
    cr_expect(strstr(gather, "items 4"), "%s", gather);
    const char *plane = default_on(&a,
                                   "problem p\nin x : bf16[8, 64, 512, 512]\nout y : bf16[8, 64, "
                                   "511, 511]\ny = max_pool2d(x, 4, stride=1, padding=1)\n",
                                   "sm_90a");
    cr_expect(strstr(plane, "pool as vectors  threads 64  lines 1  items 8  columns 8"), "%s",
              plane);
    const char *apart = default_on(&a,
                                   "problem p\nin x : f32[16, 64, 2048, 2048]\nout y : f32[16, "
                                   "64, 186, 186]\ny = avg_pool2d(x, 11)\n",
                                   "sm_90a");
    cr_expect(strstr(apart, "pool  threads"), "%s", apart);
    // A table that no cache holds, and of which rows come again.
    const char *tokens = default_on(&a,
                                    "problem p\nin w : f32[128256, 1024]\nin i : i64[262144] ~ "
                                    "index(128256)\nout y : f32[262144, 1024]\n"
                                    "y = embedding(w, i)\n",
                                    "sm_90a");
    cr_expect(strstr(tokens, "map as rows"), "%s", tokens);
    const char *few = default_on(&a,
                                 "problem p\nin w : f32[128256, 1024]\nin i : i64[512] ~ "
                                 "index(128256)\nout y : f32[512, 1024]\ny = embedding(w, i)\n",
                                 "sm_90a");
    cr_expect(strstr(few, "map  block"), "%s", few);
    arena_reset(&a);
}
