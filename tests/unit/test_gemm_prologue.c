// Operands of products on tensor cores that are computed on their way (gemm_operand.h): right on
// fibres and for the interpreter of loops at every layout, type and odd shape, also where prologues
// and knobs are drawn; no barrier, wait, fence or guard can be missing; what cannot be multiplied
// is refused with the nearest choice.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/str.h"
#include "family/lower.h"
#include "family/program.h"
#include "text_mutants.h"

// What the prologue makes of zeros is no number, so that a tile that is not zero beyond the end of
// K shows.
static const struct mutant_kernel mma[] = {
    // In place, along K, with a vector along rows that is read where it is needed; a short last
    // slice, and rows that end within a tile.
    {"problem place\ndim M = 40, N = 24, K = 72\nin a : bf16[M, K] ~ uniform(1, 2)\n"
     "in s : f32[M, 1] ~ uniform(1, 2)\nin b : bf16[N, K] ~ normal\nout c : f32[M, N]\n"
     "t : bf16 = s / a\nc = t @ b.T\n",
     "stage c : gemm as mma  tile 32x16x32  warps 2x1  stages 4  group 1\n"},
    // Two sources, of which one has slots of its own, across K; columns that end within a tile.
    {"problem two\ndim M = 16, N = 40, K = 32\nin a : f16[M, K] ~ normal\n"
     "in g : f16[K, N] ~ normal\nin u : f16[K, N] ~ uniform(1, 2)\nout c : f32[M, N]\n"
     "t : f16 = g / u\nc = a @ t\n",
     "stage c : gemm as mma  tile 16x32x32  warps 1x2  stages 2  group 1\n"},
    // From f32, both sides: two copies for a piece, a tile with slots of its own.
    {"problem narrow\nprecision bf16 accumulate f32\ndim M = 16, N = 16, K = 40\n"
     "in a : f32[M, K] ~ uniform(1, 2)\nin b : f32[N, K] ~ uniform(1, 2)\nout c : f32[M, N]\n"
     "c = (1 / a) @ (2 / b).T\n",
     "stage c : gemm as mma  tile 16x16x32  warps 1x1  stages 2  group 1\n"},
};

Test(gemm_prologue, mma_fails_without_any_one_barrier_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {mma, sizeof mma / sizeof *mma, NULL, 0};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 10);
}

// Runs the loops of a problem and its block in the interpreter.
static void compute(const struct mutant_kernel *k, uint64_t seed) {
    struct text_subject s;
    char message[1200] = "";
    mutants_subject(&s, k, seed);
    struct loop_program *p = mutants_loops(&s, k->stages);
    double error = expect_execute(&s.expected, &s.arena, s.problem, p, message, sizeof message);
    cr_expect(error >= 0 && error <= s.limit, "%s%s%g, %s", s.problem->text, k->stages, error,
              message);
    text_close(&s);
}

#define MMA(knobs) "stage c : gemm as mma  " knobs "\n"

Test(gemm_prologue, mma_computes_every_form, .timeout = 300) {
    static const struct mutant_kernel forms[] = {
        // A maximum of bf16 is one of them: nothing is rounded.
        {"problem relu\ndim M = 33, N = 17, K = 64\nin x : bf16[M, K] ~ normal\n"
         "in w : bf16[K, N] ~ normal\nout c : bf16[M, N]\nc = relu(x) @ w\n",
         MMA("tile 32x32x32  warps 1x2  stages 3  group 4")},
        // As f32, by parts: one side is widened where it is stored.
        {"problem scale\ndim M = 20, N = 24, K = 48\nin x : f32[M, K] ~ normal\n"
         "in s : f32[K] ~ normal\nin w : bf16[N, K] ~ normal\nout c : f32[M, N]\n"
         "c = (x * s) @ w.T\n",
         MMA("tile 32x32x16  warps 1x2  stages 2  group 1")},
        {"problem tf\nprecision tf32\ndim M = 20, N = 24, K = 48\nin x : f32[K, M] ~ normal\n"
         "in w : f32[K, N] ~ normal\nin s : f32[N] ~ normal\nout c : f32[M, N]\n"
         "c = sigmoid(x).T @ (w - s)\n",
         MMA("tile 32x32x16  warps 1x2  stages 4  group 1")},
        // SwiGLU, both sides computed, a batch that shares the right one.
        {"problem swiglu\ndim B = 2, M = 19, N = 16, K = 72\nin g : bf16[B, M, K] ~ normal\n"
         "in u : bf16[B, M, K] ~ normal\nin w : bf16[N, K] ~ normal\nin s : f32[N] ~ normal\n"
         "out c : bf16[B, M, N]\nt : bf16 = silu(g) * u\nv : bf16 = w * s[:, None]\n"
         "c = t @ v.T\n",
         MMA("tile 16x16x32  warps 1x1  stages 3  group 1")},
        // A mask that is computed, slices, the other order.
        {"problem mask\ndim M = 24, N = 16, K = 40\nin x : f16[M, 2 * K] ~ normal\n"
         "in w : f16[N, K] ~ normal\nout c : f32[M, N]\n"
         "c = where(arange(M)[:, None] >= arange(K), x[:, K:], 0) @ w.T\n",
         MMA("tile 32x16x32  warps 1x1  stages 2  group 1")},
        // Sums that are put aside, blocks that begin with different slices.
        {"problem around\ndim M = 13, N = 40, K = 1032\nin x : bf16[M, K] ~ normal\n"
         "in w : bf16[N, K] ~ normal\nout c : f32[M, N]\nc = abs(x) @ (-w).T\n",
         MMA("tile 16x16x32  warps 1x1  stages 3  group 1")},
        // One of everything.
        {"problem one\ndim M = 1, N = 1, K = 1\nin x : f16[M, K] ~ normal\n"
         "in w : f16[K, N] ~ normal\nout c : f32[M, N]\nc = relu(x) @ w\n",
         MMA("tile 16x16x32  warps 1x1  stages 2  group 1")},
        // Odd rows: element by element.
        {"problem odd\ndim M = 17, N = 19, K = 35\nin x : f16[M, K] ~ normal\n"
         "in w : f16[K, N] ~ normal\nout c : f32[M, N]\nc = relu(x) @ (w * 2)\n",
         MMA("tile 16x32x32  warps 1x1  stages 2  group 1")},
        // Rows that an infinity makes no numbers of, beyond the end as well.
        {"problem wide\ndim M = 16, N = 16, K = 20\nin x : f32[M, K] ~ uniform(1, 2)\n"
         "in w : f32[K, N] ~ normal\nout c : f32[M, N]\nc = (1 / x) @ w\n",
         MMA("tile 16x32x16  warps 1x1  stages 2  group 1")},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        compute(&forms[i], i);
}

#define WGMMA(knobs) "stage c : gemm as wgmma  " knobs "\n"

// On a card of two multiprocessors: a block has several tiles.
static const struct mutant_kernel wgmma[] = {
    // Along K, with a vector along rows; a short last slice; rows that end within a tile.
    {"problem place\ndim M = 136, N = 64, K = 264\nin a : bf16[M, K] ~ uniform(1, 2)\n"
     "in s : f32[M, 1] ~ uniform(1, 2)\nin b : bf16[N, K] ~ normal\nout c : f32[M, N]\n"
     "t : bf16 = s / a\nc = t @ b.T\n",
     WGMMA("tile 64x64  warpgroups 1  stages 2  group 1  split 1  boxes 1")},
    // The right one, of two sources, across K.
    {"problem two\ndim M = 64, N = 136, K = 200\nin a : f16[M, K] ~ normal\n"
     "in g : f16[K, N] ~ normal\nin u : f16[K, N] ~ uniform(1, 2)\nout c : f16[M, N]\n"
     "t : f16 = g / u\nc = a @ t\n",
     WGMMA("tile 64x64  warpgroups 1  stages 2  group 1  split 1  boxes 1")},
};

// Rows and columns outside of boxes are not stored.
static const struct mutant_same wgmma_same[] = {{"place", "if (row < M) {", 0},
                                                {"two", "if (column < N) {", 0}};

Test(gemm_prologue, wgmma_fails_without_any_one_barrier_fence_or_guard, .timeout = 600) {
    static const struct mutant_set set = {wgmma, sizeof wgmma / sizeof *wgmma, wgmma_same,
                                          sizeof wgmma_same / sizeof *wgmma_same};
    struct mutant_tally tally;
    mutants_card(2);
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 20);
}

Test(gemm_prologue, wgmma_computes_every_form, .timeout = 300) {
    static const struct mutant_kernel forms[] = {
        // Two warpgroups that multiply, sums put aside, both operands computed.
        {"problem both\ndim M = 136, N = 64, K = 328\nin x : bf16[M, K] ~ normal\n"
         "in w : bf16[K, N] ~ normal\nout c : f32[M, N]\nc = relu(x) @ abs(w)\n",
         WGMMA("tile 128x64  warpgroups 2  stages 3  group 4  split 1")},
        // Tiles of their own; a batch that shares what is computed on the right.
        {"problem apart\ndim B = 3, M = 72, N = 64, K = 64\nin g : bf16[B, M, K] ~ normal\n"
         "in u : bf16[B, M, K] ~ normal\nin w : bf16[N, K] ~ normal\nin s : f32[N] ~ normal\n"
         "out c : bf16[B, M, N]\nt : bf16 = silu(g) * u\nv : bf16 = w * s[:, None]\n"
         "c = t @ v.T\n",
         WGMMA("tile 64x64  warpgroups 2  stages 2  group 1  split 1  apart 1")},
        // Blocks that share what is computed, each its own copy of it.
        {"problem cluster\ndim M = 64, N = 256, K = 128\nin x : f16[M, K] ~ normal\n"
         "in w : f16[N, K] ~ normal\nin s : f32[K] ~ normal\nout c : f16[M, N]\n"
         "t : f16 = x * s\nc = t @ w.T\n",
         WGMMA("tile 64x64  warpgroups 1  stages 2  group 1  split 1  cluster 2")},
        // Terms of a tile in several blocks, each with its slices.
        {"problem parts\ndim M = 40, N = 72, K = 1032\nin x : f16[M, K] ~ normal\n"
         "in w : f16[N, K] ~ normal\nout c : f32[M, N]\n"
         "c = where(x > 0, x, 0) @ w.T\n",
         WGMMA("tile 64x64  warpgroups 1  stages 2  group 1  split 4")},
        // One row, and a vector along it.
        {"problem row\ndim M = 1, N = 8, K = 2056\nin x : bf16[M, K] ~ normal\n"
         "in w : bf16[N, K] ~ normal\nin m : bf16[K] ~ normal\nout c : bf16[M, N]\n"
         "c = where(m > 0, x, 0) @ w.T\n",
         WGMMA("tile 64x64  warpgroups 1  stages 3  group 1  split 1")},
    };
    mutants_card(2);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        compute(&forms[i], i);
}

// An operand of `rows` by `columns`, transposed or not, as its inputs and an expression; named by
// `c`.
struct drawn {
    const char *inputs, *expression;
};

static struct drawn draw_operand(struct arena *a, struct rng *r, const char *type, char c,
                                 const char *rows, const char *columns) {
    static const char *const forms[] = {
        "maximum(x, -x)", "silu(x) * y",        "x * s[:, None]",           "x - t",
        "abs(x)",         "where(y > 0, x, t)", "exp(x * 0.1) * s[:, None]"};
    bool turned = rng_below(r, 2);
    const char *shape = turned ? arena_printf(a, "%s, %s", columns, rows)
                               : arena_printf(a, "%s, %s", rows, columns);
    const char *form = forms[rng_below(r, sizeof forms / sizeof *forms)];
    struct str out = {0};
    for (char before = ' '; *form; before = *form++) {
        bool is_name = strchr("xyst", *form) && !(form[1] >= 'a' && form[1] <= 'z') &&
                       (before < 'a' || before > 'z');
        if (is_name && strchr("xy", *form) && turned)
            str_printf(&out, "%c%c.T", c, *form);
        else if (is_name)
            str_printf(&out, "%c%c", c, *form);
        else
            str_append(&out, form, 1);
    }
    struct drawn d = {.expression = str_take(a, &out)};
    const char *const of[] = {shape, shape, rows, columns};
    for (int i = 0; i < 4; i++)
        if (strstr(d.expression, arena_printf(a, "%c%c", c, "xyst"[i])))
            str_printf(&out, "in %c%c : %s[%s] ~ normal\n", c, "xyst"[i], i == 2 ? "f32" : type,
                       of[i]);
    d.inputs = str_take(a, &out);
    return d;
}

// Prologues, types, layouts and sizes that are drawn, with the knobs that a stage begins with.
static void compute_drawn(uint64_t seed, const char *emitter, int multiple) {
    static const char *const types[] = {"f16", "bf16", "f32"};
    struct arena a = {0};
    struct rng r;
    rng_init(&r, seed);
    bool wide = multiple == 1 && rng_below(&r, 3) == 0;
    const char *type = types[wide ? 2 : rng_below(&r, 2)];
    struct drawn lhs = draw_operand(&a, &r, type, 'p', "M", "K");
    struct drawn rhs = draw_operand(&a, &r, type, 'q', "K", "N");
    int size[3];
    for (int i = 0; i < 3; i++)
        size[i] = multiple * (1 + (int)rng_below(&r, (uint64_t)(80 / multiple)));
    struct mutant_kernel k;
    k.problem = arena_printf(&a,
                             "problem p\ndim M = %d, N = %d, K = %d\n%s%sout c : f32[M, N]\n"
                             "l : %s = %s\nr : %s = %s\nc = l @ r\n",
                             size[0], size[1], size[2], lhs.inputs, rhs.inputs, type,
                             lhs.expression, type, rhs.expression);
    k.stages = arena_printf(&a, "stage c : gemm as %s\n", emitter);
    compute(&k, seed);
    arena_reset(&a);
}

Test(gemm_prologue, what_is_drawn_is_as_the_interpreter_has_it, .timeout = 300) {
    mutants_card(2);
    for (uint64_t seed = 0; seed < 24; seed++)
        compute_drawn(seed, "mma", seed % 2 ? 1 : 8);
    for (uint64_t seed = 0; seed < 12; seed++)
        compute_drawn(100 + seed, "wgmma", 8);
}
