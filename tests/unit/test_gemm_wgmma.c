// gemm on tensor cores by warpgroups (gemm_wgmma.c): every operand layout, type and edge computes
// the product on fibres and in the interpreter of loops, and no barrier, wait, phase, fence or
// guard of the text can be missing.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "family/lower.h"
#include "family/program.h"
#include "loop/passes.h"
#include "text_mutants.h"

// On a card of two multiprocessors: a block has several tiles.
static const struct mutant_kernel kernels[] = {
    // Both along K; more slices than slots, and tiles with edges.
    {"problem nt\ndim M = 72, N = 80, K = 136\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nout c : f32[M, N]\nc = a @ b.T\n",
     "stage c : gemm as wgmma  tile 64x64  warpgroups 1  stages 2  group 4  split 1\n"},
    // The right one along columns, two warpgroups, groups of tiles that do not divide, an epilogue.
    {"problem nn\ndim M = 264, N = 72, K = 72\nin a : f16[M, K] ~ normal\n"
     "in b : f16[K, N] ~ normal\nin d : f16[N] ~ normal\nout c : f32[M, N]\n"
     "c = relu(a @ b + d)\n",
     "stage c : gemm as wgmma  tile 128x64  warpgroups 2  stages 3  group 4  split 1  apart 0\n"},
    // The left one along rows, a whole batch, the right one the same for all.
    {"problem tn\ndim B = 3, M = 64, N = 128, K = 128\nin a : f16[B, K, M] ~ normal\n"
     "in b : f16[K, N] ~ normal\nout c : f32[B, M, N]\nc = transpose(a, (0, 2, 1)) @ b\n",
     "stage c : gemm as wgmma  tile 64x128  warpgroups 1  stages 2  group 1  split 1\n"},
    // Sums are put aside; a part of a tile for each of two products of a warpgroup.
    {"problem aside\ndim M = 128, N = 64, K = 648\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nout c : f32[M, N]\nc = a @ b.T\n",
     "stage c : gemm as wgmma  tile 128x64  warpgroups 1  stages 2  group 1  split 1\n"},
    // A result of 16 bits passes shared memory.
    {"problem half\ndim M = 72, N = 136, K = 72\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nin d : f32[M, N] ~ normal\nout c : f32[M, N]\n"
     "t = bf16(a @ b.T + d)\nc = relu(t)\n",
     "stage t : gemm as wgmma  tile 64x128  warpgroups 1  stages 2  group 1  split 1\nstage c : "
     "map\n"},
    // Two blocks of a cluster share the slices of a tile, of which one has fewer.
    {"problem shared\ndim M = 72, N = 72, K = 520\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nin d : f32[N] ~ normal\nout c : bf16[M, N]\n"
     "c = relu(a @ b.T + d)\n",
     "stage c : gemm as wgmma  tile 64x64  warpgroups 1  stages 2  group 1  split 2\n"},
    // Warpgroups have every other of the block's three tiles, or of its two: one ends before the
    // other.
    {"problem turns\ndim M = 200, N = 72, K = 200\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nin d : f32[N] ~ normal\nout c : bf16[M, N]\n"
     "c = relu(a @ b.T + d)\n",
     "stage c : gemm as wgmma  tile 64x64  warpgroups 2  stages 3  group 1  split 1  apart 1\n"},
    // The same with sums that are put aside.
    {"problem turns_aside\ndim M = 200, N = 72, K = 328\nin a : f16[M, K] ~ normal\n"
     "in b : f16[N, K] ~ normal\nout c : f32[M, N]\nc = a @ b.T\n",
     "stage c : gemm as wgmma  tile 64x64  warpgroups 2  stages 2  group 1  split 1  apart 1\n"},
    // Two blocks with tiles one above the other bring half of the right operand each, for both; of
    // the last pair one tile lies outside, or half of one.
    {"problem pairs\ndim M = 200, N = 136, K = 200\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nin d : f32[N] ~ normal\nout c : bf16[M, N]\n"
     "c = relu(a @ b.T + d)\n",
     "stage c : gemm as wgmma  tile 64x128  warpgroups 1  stages 2  group 1  split 1  apart 0  "
     "cluster 2\n"},
    // The same side by side, of the left one along rows, of every matrix another.
    {"problem pairs_across\ndim B = 2, M = 136, N = 72, K = 136\nin a : f16[B, K, M] ~ normal\n"
     "in b : f16[K, N] ~ normal\nout c : f32[B, M, N]\nc = transpose(a, (0, 2, 1)) @ b\n",
     "stage c : gemm as wgmma  tile 128x64  warpgroups 2  stages 2  group 1  split 1  apart 0  "
     "cluster 2\n"},
    // With tiles of their own for warpgroups of both.
    {"problem pairs_turns\ndim M = 72, N = 392, K = 136\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nout c : bf16[M, N]\nc = a @ b.T\n",
     "stage c : gemm as wgmma  tile 64x128  warpgroups 2  stages 3  group 1  split 1  apart 1  "
     "cluster 2\n"},
    // One row of tiles: every block begins with another slice, of which the last is short.
    {"problem around\ndim M = 40, N = 136, K = 2056\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nout c : bf16[M, N]\nc = a @ b.T\n",
     "stage c : gemm as wgmma  tile 64x64  warpgroups 1  stages 2  group 1  split 1  apart 0  "
     "cluster 1\n"},
    // Whole numbers, 128 deep a slice; pairs of sums with scales.
    {"problem whole\ndim M = 72, N = 80, K = 272\nin a : i8[M, K] ~ integers(-128, 127)\n"
     "in b : i8[N, K] ~ integers(-128, 127)\nout c : i32[M, N]\nc = a @ b.T\n",
     "stage c : gemm as wgmma  tile 64x64  warpgroups 1  stages 2  group 4  split 1\n"},
    {"problem scales\ndim M = 72, N = 136, K = 272\nin a : i8[M, K] ~ integers(-128, 127)\n"
     "in b : i8[N, K] ~ integers(-128, 127)\nin s : f32[M, 1] ~ uniform(0.5, 2)\n"
     "in u : f16[N] ~ uniform(0.001, 0.002)\nout c : bf16[M, N]\nc = (a @ b.T) * s * u\n",
     "stage c : gemm as wgmma  tile 64x128  warpgroups 1  stages 2  group 1  split 1\n"},
    // f8 as it is, 128 deep a slice.
    {"problem bytes\nprecision f8e4m3 accumulate f22\ndim M = 72, N = 80, K = 272\n"
     "in a : f8e4m3[M, K] ~ normal\nin b : f8e4m3[N, K] ~ normal\nout c : bf16[M, N]\n"
     "c = a @ b.T\n",
     "stage c : gemm as wgmma  tile 64x64  warpgroups 1  stages 2  group 4  split 1\n"},
    {"problem wide_bytes\nprecision f8e5m2 accumulate f22\ndim M = 8, N = 72, K = 1040\n"
     "in a : f8e5m2[M, K] ~ normal\nin b : f8e5m2[N, K] ~ normal\nin s : f32[N] ~ normal\n"
     "out c : f32[M, N]\nc = (a @ b.T) * s\n",
     "stage c : gemm as wgmma  tile 64x128  warpgroups 1  stages 2  group 1  split 1\n"},
    // Sums that are put aside, one half of the columns after the other.
    {"problem halves\ndim M = 72, N = 264, K = 328\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
     "stage c : gemm as wgmma  tile 64x256  warpgroups 1  stages 2  group 1  split 1\n"},
};

// Other threads give up registers that they do not have; what lies outside of a result's map is not
// stored, and nothing is read for it.
static const struct mutant_same same[] = {{"nn", "if (thread < 128) {", 0},
                                          {"nt", "if (row < M) {", 0},
                                          {"nt", "if (column < N) {", 0},
                                          {"nn", "if (row < M) {", 0},
                                          {"bytes", "if (row < M) {", 0},
                                          {"bytes", "if (column < N) {", 0},
                                          {"wide_bytes", "if (row < M) {", 0},
                                          {"halves", "if (row < M) {", 0},
                                          {"halves", "if (column < N) {", 0},
                                          {"turns", "if (thread < 128) {", 0},
                                          {"turns", "if (row < M) {", 0},
                                          {"turns_aside", "if (thread < 128) {", 0},
                                          {"turns_aside", "if (row < M) {", 0},
                                          {"turns_aside", "if (column < N) {", 0},
                                          {"around", "if (row < M) {", 0},
                                          {"around", "if (column < N) {", 0},
                                          {"pairs", "if (row < M) {", 0},
                                          {"pairs_across", "if (thread < 128) {", 0},
                                          {"pairs_across", "if (row < M) {", 0},
                                          {"pairs_across", "if (column < N) {", 0},
                                          {"pairs_turns", "if (thread < 128) {", 0},
                                          {"pairs_turns", "if (row < M) {", 0},
                                          {"pairs_turns", "if (column < N) {", 0}};

Test(gemm_wgmma, fails_without_any_one_barrier_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same,
                                          sizeof same / sizeof *same};
    struct mutant_tally tally;
    mutants_card(2);
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 40);
}

// Take out statement number `*n` among those that keep order.
static bool take_out(struct loop_block *b, int *n) {
    struct loop_stmt *before = NULL;
    for (struct loop_stmt *s = b->first; s; before = s, s = s->next) {
        bool is_barrier = s->kind == LOOP_BARRIER || s->kind == LOOP_GROUP_BARRIER;
        if ((is_barrier || mutants_is_order(s)) && --*n == 0) {
            *(before ? &before->next : &b->first) = s->next;
            b->last = s->next ? b->last : before;
            return true;
        }
        if (take_out(&s->body, n))
            return true;
    }
    return false;
}

// The error of the loops without statement number `n` of those; 0: of all. Below 0: not run.
static double run_without(struct text_subject *s, const char *stages, int n, char *message,
                          size_t room) {
    struct error err = {0};
    struct loop_program *p = mutants_loops(s, stages);
    if (n > 0 && !take_out(&p->kernels[0]->body, &n))
        return -2;
    if (!pass_verify(p, &err)) {
        cr_assert(n == 0 && strstr(err.text, "and end apart"), "%s", err.text);
        return -1;
    }
    return expect_execute(&s->expected, &s->arena, s->problem, p, message, room);
}

Test(gemm_wgmma, the_interpreter_finds_what_is_missing, .timeout = 600) {
    int n_found = 0;
    mutants_card(2);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct text_subject s;
        char message[1200] = "";
        mutants_subject(&s, &kernels[i], i);
        double error = run_without(&s, kernels[i].stages, 0, message, sizeof message);
        cr_assert(error >= 0 && error <= s.limit, "%s: %g, %s", s.problem->name, error, message);
        for (int n = 1;; n++) {
            error = run_without(&s, kernels[i].stages, n, message, sizeof message);
            if (error == -2)
                break;
            cr_expect(error < 0 || error > s.limit, "%s survives without number %d",
                      s.problem->name, n);
            n_found++;
        }
        text_close(&s);
    }
    cr_assert_gt(n_found, 40);
}

// What is said about a stage on sm_90a; "" where nothing is.
static const char *said(struct arena *a, const char *problem, const char *stage) {
    struct target t;
    struct error err = {0};
    target_of_arch("sm_90a", &t);
    struct problem *p = problem_from(a, problem);
    const char *text = arena_printf(a, "kernel for %s on sm_90a\nstage %s\n", p->name, stage);
    struct lang_source source = {.text = text, .len = strlen(text)};
    struct lang_file file;
    const char *diagnostics;
    cr_assert(lang_parse(a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    return lower_check(a, p, &t, file.kernels[0], &err) ? "" : arena_strdup(a, err.text);
}

#define F8(sums, left, right, product)                                              \
    "problem p\nprecision f8e4m3 accumulate " sums "\ndim M = 64, N = 64, K = 64\n" \
    "in a : f8e4m3[" left "]\nin b : f8e4m3[" right "]\nout c : bf16[M, N]\nc = " product "\n"

Test(gemm_wgmma, what_it_cannot_do_is_refused_with_the_nearest_choice) {
    struct arena a = {0};
    static const char whole[] = "problem p\ndim M = 512, N = 512, K = 1024\nin a : bf16[M, K]\n"
                                "in b : bf16[K, N]\nout c : f32[M, N]\nc = a @ b\n";
    static const char half[] = "problem p\ndim M = 4096, N = 4096, K = 512\nin a : bf16[M, K]\n"
                               "in b : bf16[K, N]\nout c : bf16[M, N]\nc = a @ b\n";
    static const struct {
        const char *problem, *stage, *want;
    } cases[] = {
        {"problem p\ndim M = 64, N = 64, K = 68\nin a : f16[M, K]\nin b : f16[K, N]\n"
         "out c : f16[M, N]\nc = a @ b\n",
         "c : gemm as wgmma",
         "rows of a multiple of 16 bytes, and those of the left operand of c.f32 have 136; take "
         "mma"},
        {"problem p\nprecision f32 exact\ndim M = 64, N = 64, K = 64\nin a : f32[M, K]\n"
         "in b : f32[K, N]\nout c : f32[M, N]\nc = a @ b\n",
         "c : gemm as wgmma", "those of c are f32 and f32 under 'f32 exact'; take mma or simt"},
        {"problem p\ndim M = 64, N = 64, K = 65536, B = 256\nin a : f32[B, M, K]\n"
         "in b : f32[B, K, N]\nout c : f32[B, M, N]\nc = a @ b\n",
         "c : gemm as wgmma", "of scratch, above"},
        {"problem p\ndim M = 64, N = 64, K = 64\nin a : f16[M, K]\nin b : f16[K, N]\n"
         "out c : f16[M, N]\nc = relu(a) @ b\n",
         "c : gemm as wgmma", ""},
        // Computed on the way, but not as f16; of a matrix of another type; of rows of 24 bytes; of
        // two that lie otherwise.
        {"problem p\ndim M = 64, N = 64, K = 64\nin a : f16[M, K]\nin b : f16[K, N]\n"
         "out c : f16[M, N]\nc = exp(a) @ b\n",
         "c : gemm as wgmma", "as f16 or bf16, and those of c.f32 are not; materialise them first"},
        {"problem p\ndim M = 64, N = 64, K = 64\nin a : f32[M, K]\nin b : f16[K, N]\n"
         "out c : f16[M, N]\nt : f16 = a * 2\nc = t @ b\n",
         "c : gemm as wgmma", "the left one of c.f32 is made of a, f32; take mma"},
        {"problem p\ndim M = 64, N = 64, K = 12\nin a : f16[M, K]\nin b : f16[K, N]\n"
         "out c : f16[M, N]\nc = abs(a) @ b\n",
         "c : gemm as wgmma", "in rows of a multiple of 16 bytes, and vectors, and the left one"},
        {"problem p\ndim M = 64, N = 64, K = 64, B = 2\nin a : f16[B, M, K]\nin d : f16[M, K]\n"
         "in b : f16[K, N]\nout c : f16[B, M, N]\nc = maximum(a, d) @ b\n",
         "c : gemm as wgmma", "matrices that lie alike, and those of the left one"},
        {"problem p\nprecision f32 exact\ndim M = 64, N = 64, K = 64\nin a : f32[M, K]\n"
         "in b : f32[K, N]\nout c : f32[M, N]\nc = relu(a) @ b\n",
         "c : gemm as mma", "precision admits none of them for c; materialise the operand first"},
        {"problem p\ndim M = 64, N = 64, K = 64\nin a : i8[M, K]\nin b : i8[N, K]\n"
         "out c : i32[M, N]\nc = (a + 1) @ b.T\n",
         "c : gemm as mma", "of floats on the way, and c is a sum of whole numbers"},
        {"problem p\ndim M = 64, N = 64, K = 64\nin a : f16[M, 8, K]\nin b : f16[8, K, N]\n"
         "out c : f16[8, M, N]\nc = transpose(a, (1, 0, 2)) @ b\n",
         "c : gemm as wgmma", "the last two axes of the left operand of c.f32 are none"},
        {half, "c : gemm as wgmma  tile 128x256  warpgroups 2  apart 1",
         "256 sums for each thread of a warpgroup that has the whole tile are more than 192 "
         "registers: the nearest is 0, or half the tile"},
        {half, "c : gemm as wgmma  tile 64x64  warpgroups 1  apart 1", "the nearest is 0"},
        // Left out, it goes with what was said.
        {half, "c : gemm as wgmma  tile 64x64  warpgroups 1", ""},
        {half, "c : gemm as wgmma  tile 128x256  warpgroups 2  stages 4", ""},
        {whole, "c : gemm as wgmma  tile 64x64  warpgroups 2", "the nearest is 1"},
        {whole, "c : gemm as wgmma  tile 256x256  warpgroups 2", "the nearest is half the columns"},
        // Sums and totals of half the columns at a time fit.
        {whole, "c : gemm as wgmma  tile 128x256  warpgroups 2", ""},
        // f8 is multiplied as it is, or as f16 where it does not lie along K.
        {F8("f22", "M, K", "K, N", "a @ b"), "c : gemm as wgmma", ""},
        {F8("f32", "M, K", "N, K", "a @ b.T"), "c : gemm as wgmma", ""},
        {F8("f22", "M, K", "N, K", "relu(a) @ b.T"), "c : gemm as wgmma", "materialise it first"},
        {F8("f32", "M, K", "N, K", "a @ b.T"), "c : gemm as mma", "or of f8 ('accumulate f22')"},
        {F8("f22", "M, K", "K, N", "a @ b"), "c : gemm as mma",
         "mma multiplies f8e4m3 that lie side by side along K, and the right operand of c.f32 does "
         "not; take nest"},
        {F8("f22", "M, K", "N, K", "a @ b.T"), "c : gemm as simt", "is a sum of products of f8"},
        {whole, "c : gemm as wgmma  tile 128x128  warpgroups 2  stages 8", "fewer stages"},
        {whole, "c : gemm as wgmma  tile 128x128  warpgroups 2  stages 4  split 8", ""},
        {"problem p\ndim M = 64, N = 64, K = 256\nin a : bf16[M, K]\nin b : bf16[K, N]\n"
         "out c : f32[M, N]\nc = a @ b\n",
         "c : gemm as wgmma  split 8",
         "4 slices of 64 terms are too few for 8 blocks: the nearest "
         "is 4"},
        {whole, "c : gemm as wgmma  tile 64x128  warpgroups 1  cluster 4",
         "a part of 32 rows or columns for each of 4 blocks is no box of an operand that lies "
         "across: the nearest is 2"},
        {whole, "c : gemm as wgmma  tile 64x128  warpgroups 1  split 2  cluster 2",
         "share no operand: the nearest is 1"},
        {whole, "c : gemm as wgmma  tile 64x128  warpgroups 1  cluster 2", ""},
        {whole, "c : gemm as wgmma", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = said(&a, cases[i].problem, cases[i].stage);
        cr_expect(*cases[i].want ? strstr(got, cases[i].want) != NULL : !*got, "case %zu: %s", i,
                  got);
    }
    arena_reset(&a);
}

static void begin(struct arena *a, const char *problem, struct kernel_stage *stage) {
    struct kernel k;
    struct target t;
    target_of_arch("sm_90a", &t);
    lower_default(a, problem_from(a, problem), &t, &k);
    *stage = *k.stages[0];
}

// Where sums are put aside, 256 columns by halves had 1.02 times the speed of 192 (f16 to f32 at
// 4096 cubed, an H200), whose last wave is thin; where K is short, warpgroups with tiles
// of their own had 1.07 times the speed (bf16 8192 x 8192 x 512), and 0.97 where it is not.
Test(gemm_wgmma, begins_with_what_was_fastest) {
    struct arena a = {0};
    struct kernel_stage s;
    begin(&a,
          "problem p\ndim M = 4096\nin a : f16[M, M]\nin b : f16[M, M]\nout c : f32[M, M]\n"
          "c = a @ b.T\n",
          &s);
    cr_expect_eq(stage_number(&s, "tile", 1), 256);
    begin(&a,
          "problem p\ndim M = 8192, K = 512\nin a : bf16[M, K]\nin b : bf16[M, K]\n"
          "out c : bf16[M, M]\nc = a @ b.T\n",
          &s);
    cr_expect_eq(stage_number(&s, "apart", 0), 1);
    begin(&a,
          "problem p\ndim M = 4096\nin a : bf16[M, M]\nin b : bf16[M, M]\nout c : bf16[M, M]\n"
          "c = a @ b.T\n",
          &s);
    cr_expect_eq(stage_number(&s, "apart", 0), 0);
    begin(&a,
          "problem p\nprecision f8e4m3 accumulate f22\ndim M = 4096\nin a : f8e4m3[M, M]\n"
          "in b : f8e4m3[M, M]\nout c : bf16[M, M]\nc = a @ b.T\n",
          &s);
    cr_expect_str_eq(s.emitter, "wgmma");
    cr_expect_eq(stage_number(&s, "tile", 1), 256);
    arena_reset(&a);
}

// sm_80 has no f8.
Test(gemm_wgmma, f8_without_tensor_cores_for_it_is_a_nest) {
    struct arena a = {0};
    struct kernel k;
    struct target t;
    target_of_arch("sm_80", &t);
    lower_default(&a, problem_from(&a, F8("f22", "M, K", "N, K", "a @ b.T")), &t, &k);
    cr_expect_str_eq(k.stages[0]->family, "nest");
    arena_reset(&a);
}

// Half of the instructions of erf, where results keep 16 bits.
Test(gemm_wgmma, gelu_is_quick_where_results_keep_16_bits) {
    static const struct {
        const char *type, *function;
        bool is_quick;
    } cases[] = {{"bf16", "gelu(x @ w.T)", true},
                 {"f32", "gelu(x @ w.T)", false},
                 {"bf16", "gelu_tanh(x @ w.T)", false},
                 {"bf16", "erf(x @ w.T) + 1", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct kernel k;
        struct target t;
        struct candidate c;
        struct error err = {0};
        target_of_arch("sm_90a", &t);
        const char *text = arena_printf(&a,
                                        "problem p\ndim M = 1024\nin x : bf16[M, M]\n"
                                        "in w : bf16[M, M]\nout y : %s[M, M]\ny = %s\n",
                                        cases[i].type, cases[i].function);
        const struct problem *p = problem_from(&a, text);
        lower_default(&a, p, &t, &k);
        cr_assert(lower_kernel(&a, p, &t, &k, &c, &err), "%s", err.text);
        cr_expect_eq(strstr(c.source, "hone_gelu_quick2(") != NULL, cases[i].is_quick, "case %zu",
                     i);
        arena_reset(&a);
    }
}
