// What `nest` and the index mechanism emit as CUDA, executed by the fibre runtime: random problems
// over all operations and types, and texts without one of their guards or masks, which must fail.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "family/lower.h"
#include "family/plain.h"
#include "loop/loop.h"
#include "random_any.h"
#include "text_mutants.h"

// An error this many spreads out is not rounding.
enum { TOLERANCE = 60, BATCHES = 2, BATCH = 24 };

static void make_random(struct text_subject *s, struct rng *r, int i) {
    static const char *const archs[] = {"sm_90a", "sm_80", "sm_100a"};
    struct target t;
    struct error err = {0};
    *s = (struct text_subject){0};
    target_of_arch(archs[i % 3], &t);
    s->problem = problem_from(&s->arena, random_any(&s->arena, r));
    expect_open(&s->expected, &s->arena, s->problem, (uint64_t)i);
    if (i % 6 == 5) {
        lower_plain(&s->arena, s->problem, &t, &s->candidate);
        return;
    }
    struct kernel *k = random_kernel(&s->arena, r, s->problem, &t, i % 4);
    cr_assert(lower_kernel(&s->arena, s->problem, &t, k, &s->candidate, &err), "%s", err.text);
}

static double run(struct text_subject *s, const struct fibre_program *p, struct fibre_run r,
                  const char **fault) {
    float *all;
    void *outputs[OUTPUTS_MAX];
    if (!fibre_run(&s->arena, p, r, &all, fault))
        return -1;
    char *bytes = (char *)all;
    for (int i = 0; i < s->problem->n_outputs; i++) {
        enum dtype t = s->problem->graph.nodes[s->problem->outputs[i].node].dtype;
        int64_t size = dtype_size(t, s->expected.result.count[i]);
        outputs[i] = arena_array(&s->arena, char, size);
        memcpy(outputs[i], bytes, (size_t)size);
        bytes += size;
    }
    *fault = "";
    return expect_error(&s->expected, outputs);
}

Test(nest_text, random_problems_of_all_operations_and_types) {
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
        for (int i = 0; i < BATCH; i++) {
            // Buffers end at a page for even seeds and begin at one for odd ones.
            for (uint64_t seed = 0; seed < 2; seed++) {
                const char *fault;
                double error = run(&s[i], p, (struct fibre_run){i, seed, 0}, &fault);
                cr_assert(error >= 0 && error < TOLERANCE, "%s%s\nerror %g %s", s[i].problem->text,
                          s[i].candidate.source, error, fault);
            }
            text_close(&s[i]);
        }
        fibre_remove(p);
        arena_reset(&a);
    }
}

// Every kind of guard, clamp and mask, in sizes where each of them is needed.
static const struct mutant_kernel kernels[] = {
    {"problem padded\nin x : f32[2, 3, 7]\nin w : f32[6, 3, 3]\nout y : f32[2, 6, 7]\n"
     "y = conv1d(x, w, padding=1)\n",
     "stage y : nest  block 64  items 1  split 1\n"},
    {"problem channels\nin x : f32[2, 3, 6]\nin w : f32[6, 3, 3]\nout y : f32[2, 6, 6]\n"
     "y = relu(conv1d(x, w, padding=1))\n",
     "stage y : nest  block 64  items 2  split 1\n"},
    {"problem pool\nin x : f32[2, 3, 7]\nout y : f32[2, 3, 6]\n"
     "y = max_pool1d(x, 2, stride=1, padding=1, dilation=3)\n",
     "stage y : nest  block 64  items 1  split 1\n"},
    {"problem upward\nin x : f32[3, 2, 3]\nin w : f32[2, 1, 4]\nout y : f32[3, 1, 10]\n"
     "y = conv_transpose1d(x, w, stride=3)\n",
     "stage y : nest  block 64  items 1  split 1\n"},
    {"problem scan\nin x : f32[3, 2500]\nout y : f32[3, 2500]\ny = cumsum(x)\n",
     "stage y : nest  block 64  items 1  split 4\n"},
    {"problem scatter\nin x : f32[7, 5]\nin i : i32[9] ~ index(7)\nin s : f32[9, 5]\n"
     "out y : f32[7, 5]\ny = index_add(x, i, s)\n",
     "stage y : nest  block 64  items 1  split 4\n"},
    {"problem gathered\nin x : f32[523, 5]\nin i : i64[300] ~ index(523)\nin s : f32[300, 5]\n"
     "out y : f32[523, 5]\ny = relu(index_add(x, i, s * 2))\n",
     "stage y : scatter  block 64  vec 1  ahead 2\n"},
    {"problem tokens\nin w : f32[70, 37]\nin i : i64[5, 60] ~ index(70)\nin p : f32[60, 37]\n"
     "out y : f32[5, 60, 37]\ny = embedding(w, i) * 2 + p\n",
     "stage y : map as rows  threads 32  rows 4  vec 1\n"},
    {"problem postings\nin d : i32[30] ~ index(10)\nin w : f32[30]\nin o : i32[6] ~ offsets(30)\n"
     "in l : i32[2, 3] ~ index(5)\nin f : f32[2, 3]\nout y : f32[2, 10]\n"
     "y = ragged_scatter(d, w, o, l, f, 10)\n",
     "stage y : nest  block 64  items 1  split 4\n"},
    {"problem lists\nin d : i32[300] ~ index(70)\nin w : f32[300]\n"
     "in o : i32[6] ~ offsets(300)\nin l : i32[2, 3] ~ index(5)\nin f : f32[2, 3]\n"
     "in z : f32[70]\nout y : f32[2, 70]\ny = relu(ragged_scatter(d, w * 2, o, l, f, 70) + z)\n",
     "stage y : scatter as lists  block 64  ranges 2  items 2  add ordered\n"},
    {"problem unordered\norder any\nin d : i64[300] ~ index(71)\nin w : f16[300]\n"
     "in o : i32[6] ~ offsets(300)\nin l : i32[2, 3] ~ index(5)\nin f : f32[2, 3]\n"
     "out y : f32[2, 71]\ny = ragged_scatter(d, f32(w), o, l, f, 71)\n",
     "stage y : scatter as lists  block 64  ranges 4  items 4  add atomic\n"},
    {"problem order\nin x : f32[3, 5]\nout y : f32[3, 2]\ny = topk(x, 2)\n",
     "stage y.index : nest  block 64  items 1  split 1\n"
     "stage y : map  block 64  vec 1  items 1\n"},
    {"problem groups\nin a : f32[9, 4]\nin w : f32[3, 4, 10]\nin o : i32[4] ~ offsets(9)\n"
     "out y : f32[9, 10]\ny = ragged_matmul(a, w, o)\n",
     "stage y : nest  block 64  items 1  split 1\n"},
    {"problem moves\nin x : f32[7, 9]\nin z : f32[7, 4]\nout y : f32[9, 15]\n"
     "y = exp(pad(concat(x, z, axis=1), ((1, 1), (2, 0))))\n",
     "stage y : map  block 64  vec 1  items 1\n"},
    {"problem steps\nin x : f32[5, 6, 4]\nin u : f32[4, 4]\nout y : f32[5, 6, 4]\n"
     "for t in 6 with h : f32[5, 4] = 0:\n    h = tanh(x[:, t] + h @ u.T)\n    y[:, t] = h\n",
     "stage y : nest  block 64  items 1  split 1\n"},
};

Test(nest_text, fails_without_any_one_guard_or_mask) {
    // A row that nobody asks for is not read.
    static const struct mutant_same same[] = {{"tokens", "if (first < last) {", 0}};
    static const struct mutant_set set = {.kernels = kernels,
                                          .n_kernels = sizeof kernels / sizeof *kernels,
                                          .same = same,
                                          .n_same = 1};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 2);
    cr_assert_gt(tally.all[FIBRE_GUARD], 15);
    cr_assert_gt(tally.all[FIBRE_MINIMUM], 25);
    cr_assert_gt(tally.all[FIBRE_MASK], 10);
}

// Drop the barriers of a block, at its own level.
static void drop_barriers(struct loop_block *b) {
    for (struct loop_stmt *s = b->first; s; s = s->next)
        while (s->next && s->next->kind == LOOP_BARRIER)
            s->next = s->next->next;
}

// Additions to one element by several threads are no race; reading it before a barrier is one.
Test(nest_text, sums_over_lists_in_the_interpreter) {
    int n = 0;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (!strstr(kernels[i].stages, "as lists"))
            continue;
        struct text_subject s = {0};
        char message[1200] = "";
        mutants_subject(&s, &kernels[i], i);
        struct loop_program *p = mutants_loops(&s, kernels[i].stages);
        double error = expect_execute(&s.expected, &s.arena, s.problem, p, message, sizeof message);
        cr_assert(error >= 0 && error < TOLERANCE, "%g %s", error, message);
        drop_barriers(&p->kernels[0]->body);
        error = expect_execute(&s.expected, &s.arena, s.problem, p, message, sizeof message);
        cr_assert(error < 0 && strstr(message, "before a barrier after another"), "%s", message);
        text_close(&s);
        n++;
    }
    cr_assert_eq(n, 2);
}
