// Emitted CUDA of poolings and of maps that read across, run by fibres: right as it is, and wrong
// without any one barrier or guard.
#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "loop/loop.h"
#include "text_mutants.h"

enum { TOLERANCE = 60 };  // spreads: more is not rounding

static const struct mutant_kernel kernels[] = {
    // Windows that overlap and end within a group of items; lines beyond the last; padding.
    {"problem best\ndim B = 3, H = 14, W = 45\nin x : f32[B, 1, H, W] ~ normal\n"
     "out y : f32[B, 1, H - 1, W - 1]\ny = avg_pool2d(x, 2, stride=1) * 2\n",
     "stage y : pool  threads 32  lines 2  items 2\n"},
    {"problem deep\ndim B = 3, D = 4, H = 5, W = 40\nin x : f32[B, 1, D, H, W] ~ normal\n"
     "out y : f32[B, 1, 3, H, 20]\ny = avg_pool3d(x, (2, 1, 2), stride=(2, 1, 2), padding=(1, 0, "
     "0))\n",
     "stage y : pool  threads 32  lines 1  items 1\n"},
    {"problem line\ndim B = 3, W = 170\nin x : f32[B, 3, W] ~ normal\n"
     "out y : f32[B, 3, W]\ny = avg_pool1d(x, 3, stride=1, padding=1)\n",
     "stage y : pool  threads 32  lines 4  items 2  stage none\n"},
    {"problem staged\ndim B = 3, W = 194\nin x : f32[B, 3, W] ~ normal\n"
     "out y : f32[B, 3, W - 2]\ny = max_pool1d(x, 3, stride=1, padding=1, dilation=2)\n",
     "stage y : pool  threads 32  lines 1  items 2  stage shared\n"},
    // A transpose whose tiles are not full, with something that is not read across.
    {"problem turn\ndim B = 2, M = 45, N = 70\nin x : f32[B, M, N] ~ normal\n"
     "in c : f32[M] ~ normal\nout y : f32[B, N, M]\ny = transpose(x, (0, 2, 1)) * 2 + c\n",
     "stage y : map as tiles  tile 32  rows 8\n"},
    {"problem halves\ndim M = 64, N = 100\nin x : bf16[M, N] ~ normal\nin z : f32[M, N] ~ normal\n"
     "out y : bf16[N, M]\ny = x.T + tanh(z.T)\n",
     "stage y : map as tiles  tile 64  rows 2  vec 1\n"},
    {"problem pairs\ndim B = 3, M = 46, N = 70\nin x : bf16[B, M, N] ~ normal\n"
     "in c : f32[M] ~ normal\nout y : bf16[B, N, M]\ny = transpose(x, (0, 2, 1)) * 2 + c\n",
     "stage y : map as tiles  tile 64  rows 4  vec 2\n"},
    // Truth values, two at once.
    {"problem mask\ndim M = 46, N = 70\nin c : bool[M, N] ~ bernoulli(0.5)\n"
     "in x : f32[N, M] ~ normal\nout y : f32[N, M]\ny = where(c.T, x, 2)\n",
     "stage y : map as tiles  tile 32  rows 4  vec 2\n"},
};

// By vectors: rows of results that begin anywhere, windows beyond the border, planes of planes,
// groups of items and lines of a block that are not full. Many of their guards are missed in few
// places alone, or by sums alone, so bounds are the interpreter's to check.
static const struct mutant_kernel by_vectors[] = {
    {"problem wide\ndim B = 3, H = 9, W = 24\nin x : f32[B, H, W] ~ normal\n"
     "out y : f32[B, H, W - 1]\ny = max_pool2d(x, (3, 4), stride=1, padding=1) * 2\n",
     "stage y : pool as vectors  threads 32  lines 2  items 2  columns 4\n"},
    {"problem mean\ndim B = 3, H = 9, W = 24\nin x : bf16[B, H, W] ~ normal\n"
     "out y : f32[B, H, W - 1]\ny = avg_pool2d(x, (3, 4), stride=1, padding=1)\n",
     "stage y : pool as vectors  threads 32  lines 4  items 4  columns 8\n"},
    {"problem cube\ndim B = 2, D = 5, W = 40\nin x : f32[B, D, D, W] ~ normal\n"
     "out y : f32[B, 3, 3, 20]\ny = avg_pool3d(x, 3, stride=2, padding=1)\n",
     "stage y : pool as vectors  threads 32  lines 2  items 2  columns 2\n"},
    {"problem apart\ndim B = 2, D = 12, W = 32\nin x : f32[B, D, D, W] ~ normal\n"
     "out y : bf16[B, 4, 4, 14]\ny = max_pool3d(x, 3, stride=2, padding=1, dilation=3)\n",
     "stage y : pool as vectors  threads 32  lines 1  items 2  columns 4\n"},
    {"problem tiled\ndim B = 2, H = 10, W = 40\nin x : f32[B, H, W] ~ normal\n"
     "out y : f32[B, H / 5, W / 5]\ny = avg_pool2d(x, 5)\n",
     "stage y : pool as vectors  threads 64  lines 2  items 1  columns 4\n"},
};

Test(cuda_tiles, pools_by_vectors_are_right_and_miss_their_barrier) {
    for (size_t i = 0; i < sizeof by_vectors / sizeof *by_vectors; i++) {
        struct text_subject s = {0};
        char message[1200] = "";
        mutants_subject(&s, &by_vectors[i], i);
        struct loop_program *p = mutants_loops(&s, by_vectors[i].stages);
        double error = expect_execute(&s.expected, &s.arena, s.problem, p, message, sizeof message);
        cr_assert(error >= 0 && error < TOLERANCE, "%zu: %g %s", i, error, message);
        struct loop_stmt *before = p->kernels[0]->body.first;
        while (before->next->kind != LOOP_BARRIER)
            before = before->next;
        before->next = before->next->next;
        error = expect_execute(&s.expected, &s.arena, s.problem, p, message, sizeof message);
        cr_assert(error < 0 && strstr(message, "before a barrier after another"), "%s", message);
        text_close(&s);
    }
}

Test(cuda_tiles, pools_by_vectors_run_on_fibres, .timeout = 600) {
    struct arena a = {0};
    struct fibre_program *p = arena_new(&a, struct fibre_program);
    enum { N = sizeof by_vectors / sizeof *by_vectors };
    struct text_subject s[N] = {0};
    for (int i = 0; i < N; i++) {
        mutants_subject(&s[i], &by_vectors[i], (uint64_t)i);
        text_add(p, &s[i]);
    }
    fibre_build(&a, "cc", p);
    for (int i = 0; i < N; i++)
        for (uint64_t seed = 0; seed < 2; seed++) {
            const char *fault = "";
            cr_assert(text_is_right(&s[i], p, (struct fibre_run){i, seed, 0}, &fault), "%d: %s", i,
                      fault);
        }
    for (int i = 0; i < N; i++)
        text_close(&s[i]);
    fibre_remove(p);
    arena_reset(&a);
}

Test(cuda_tiles, fails_without_any_one_barrier_or_guard) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, NULL, 0};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_geq(tally.all[FIBRE_BARRIER], 2);
    cr_assert_geq(tally.all[FIBRE_MASK], 4);
}
