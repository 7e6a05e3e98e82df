// Products over groups of rows by warpgroups (ragged_wgmma.c): groups that end within a tile or a
// slice, have one row or none, or leave rows out, compute what the problem says on fibres and in
// the interpreter of loops, and no barrier, wait, phase, fence or guard of the text can be missing.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "family/lower.h"
#include "text_mutants.h"

// On a card of two multiprocessors: a block has several tiles.
static const struct mutant_kernel kernels[] = {
    // Groups of no rows, and of more than a tile has, rows of no group before and behind; the depth
    // ends within a slice.
    {"problem forward\ndim T = 220, E = 5, K = 136, N = 72\nin x : bf16[T, K] ~ normal\n"
     "in p : i32[E + 1] ~ offsets(200)\nin w : bf16[E, K, N] ~ normal\nin d : f32[T, N] ~ normal\n"
     "out y : f32[T, N]\no = p // 67 * 67 + 7\ny = relu(ragged_matmul(x, w, o) + d)\n",
     "stage o : map\n"
     "stage y : ragged as wgmma  tile 64x64  warpgroups 1  stages 2  group 4\n"},
    // Two warpgroups; offsets of 64 bits; results of 16 bits pass shared memory.
    {"problem gaps\ndim T = 300, E = 3, K = 72, N = 72\nin x : f16[T, K] ~ normal\n"
     "in o : i64[E + 1] ~ sorted(5, 280)\nin w : f16[E, K, N] ~ normal\n"
     "in d : f32[T, N] ~ normal\nout y : f16[T, N]\ny = f16(ragged_matmul(x, w, o) + d)\n",
     "stage y : ragged as wgmma  tile 128x64  warpgroups 2  stages 3  group 1\n"},
    // The rows of a group are the depth, which some have none of; sums are put aside.
    {"problem outer\ndim T = 700, E = 5, K = 72, N = 80\nin x : bf16[T, K] ~ normal\n"
     "in g : bf16[T, N] ~ normal\nin p : i32[E + 1] ~ offsets(T)\nin d : f32[E, K, N] ~ normal\n"
     "out y : f32[E, K, N]\no = p // 150 * 150\ny = ragged_outer(x, g, o) + d\n",
     "stage o : map\n"
     "stage y : ragged as wgmma  tile 64x64  warpgroups 1  stages 2  group 1\n"},
    // Not for mutants: one sum of many rows, as libraries have it,
    {"problem one\ndim T = 700, E = 2, K = 72, N = 264\nin x : bf16[T, K] ~ normal\n"
     "in g : bf16[T, N] ~ normal\nin o : i32[E + 1] ~ offsets(T)\nout y : f32[E, K, N]\n"
     "y = ragged_outer(x, g, o)\n",
     "stage y : ragged as wgmma  tile 64x256  warpgroups 1  stages 2  group 1  aside 0\n"},
    // half of the columns at a time,
    {"problem halves\ndim T = 700, E = 2, K = 72, N = 264\nin x : bf16[T, K] ~ normal\n"
     "in g : bf16[T, N] ~ normal\nin o : i32[E + 1] ~ offsets(T)\nout y : f32[E, K, N]\n"
     "y = ragged_outer(x, g, o)\n",
     "stage y : ragged as wgmma  tile 64x256  warpgroups 1  stages 2  group 1  aside 1\n"},
    // and one sum of groups with a few rows, one or none.
    {"problem few\ndim T = 12, E = 7, K = 200, N = 72\nin x : f16[T, K] ~ normal\n"
     "in g : f16[T, N] ~ normal\nin o : i32[E + 1] ~ offsets(T)\nout y : f16[E, K, N]\n"
     "y = ragged_outer(x, g, o)\n",
     "stage y : ragged as wgmma  tile 128x128  warpgroups 2  stages 2  group 1\n"},
};
enum { N_KERNELS = sizeof kernels / sizeof *kernels, N_MUTANTS = 3 };

// Other threads give up registers that they do not have; offsets rise; and by what rows of no group
// are multiplied makes no difference, since they are zeros.
static const struct mutant_same same[] = {{"gaps", "if (thread < 128) {", 0}};

Test(ragged_wgmma, fails_without_any_one_barrier_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, N_MUTANTS, same, sizeof same / sizeof *same};
    struct mutant_tally tally;
    mutants_card(2);
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 30);
}

// As the interpreter of loops runs it, on other data.
Test(ragged_wgmma, loops_compute_it_too, .timeout = 600) {
    mutants_card(2);
    for (int i = 0; i < 2 * N_KERNELS; i++) {
        const struct mutant_kernel *k = &kernels[i % N_KERNELS];
        struct text_subject s;
        char message[1200] = "";
        mutants_subject(&s, k, (uint64_t)i);
        struct loop_program *p = mutants_loops(&s, k->stages);
        double error = expect_execute(&s.expected, &s.arena, s.problem, p, message, sizeof message);
        cr_expect(error >= 0 && error <= s.limit, "%s: %g, %s", s.problem->name, error, message);
        text_close(&s);
    }
}

// Leave out what waits for boxes that are stored; how many there were.
static int take_out(struct loop_block *b) {
    struct loop_stmt *before = NULL;
    int n = 0;
    for (struct loop_stmt *s = b->first; s; s = s->next) {
        n += take_out(&s->body);
        if (s->kind == LOOP_INTRINSIC && s->intrinsic == INTRINSIC_BULK_STORED) {
            *(before ? &before->next : &b->first) = s->next;
            n++;
        } else {
            before = s;
        }
    }
    return n;
}

Test(ragged_wgmma, the_interpreter_finds_boxes_that_nobody_waits_for, .timeout = 600) {
    mutants_card(2);
    for (int i = 0; i < 2; i++) {
        struct text_subject s;
        char message[1200] = "";
        mutants_subject(&s, &kernels[i], 0);
        struct loop_program *p = mutants_loops(&s, kernels[i].stages);
        cr_assert_eq(take_out(&p->kernels[p->n_kernels - 1]->body), 2);
        cr_expect_lt(expect_execute(&s.expected, &s.arena, s.problem, p, message, sizeof message),
                     0);
        text_close(&s);
    }
}

static const struct kernel_stage *stage_of(struct arena *a, const char *text, const char *arch) {
    struct kernel *k = arena_new(a, struct kernel);
    struct target t;
    target_of_arch(arch, &t);
    lower_default(a, problem_from(a, text), &t, k);
    return k->stages[k->n_stages - 1];
}

#define SIZES(type, rows, in, out)                                                         \
    "problem p\ndim T = " rows ", E = 8, K = " in ", N = " out "\nin x : " type "[T, K]\n" \
    "in o : i32[E + 1] ~ offsets(T)\n"
#define ROWS(type, rows, in, out)                        \
    SIZES(type, rows, in, out)                           \
    "in w : " type "[E, K, N]\nout y : " type "[T, N]\n" \
    "y = ragged_matmul(x, w, o)\n"
#define OUTER(type, rows, in, out)                  \
    SIZES(type, rows, in, out)                      \
    "in w : " type "[T, N]\nout y : f32[E, K, N]\n" \
    "y = ragged_outer(x, w, o)\n"

// Groups of 16-bit numbers begin there on sm_90a; what the copy engine cannot bring, and cards
// without it, go to mma.
Test(ragged_wgmma, is_what_groups_begin_with_on_sm_90a) {
    struct arena a = {0};
    static const char *const both[] = {ROWS("bf16", "8192", "1024", "2048"),
                                       OUTER("f16", "8192", "1024", "2048")};
    for (int i = 0; i < 2; i++) {
        const char *emitter = stage_of(&a, both[i], "sm_90a")->emitter;
        cr_expect(emitter && strcmp(emitter, "wgmma") == 0, "%d", i);
        cr_expect_null(stage_of(&a, both[i], "sm_80")->emitter);
    }
    cr_expect_null(stage_of(&a, OUTER("f16", "8192", "1020", "2048"), "sm_90a")->emitter);
    arena_reset(&a);
}

Test(ragged_wgmma, what_it_cannot_do_is_refused_with_the_nearest_choice) {
    struct arena a = {0};
    static const char outer[] = OUTER("bf16", "4096", "512", "512");
    static const struct {
        const char *problem, *knobs, *want;
    } cases[] = {
        {ROWS("f16", "64", "68", "64"), "",
         "rows of a multiple of 16 bytes, and those of the operands of y.f32 have 136 and 128; "
         "take mma"},
        {ROWS("f32", "64", "64", "64"), "", "those of y are f32 and f32; take mma or nest"},
        {outer, "tile 256x256  warpgroups 2", "the nearest is half the columns"},
        // Half of the columns at a time, or one sum.
        {outer, "tile 128x256  warpgroups 2", ""},
        {outer, "tile 128x256  warpgroups 2  aside 0", ""},
        {outer, "tile 256x128  warpgroups 2  aside 1", "the nearest is half the columns"},
        {outer, "tile 256x128  warpgroups 2  aside 0", ""},
        {outer, "tile 64x64  warpgroups 2", "the nearest is 1"},
        {outer, "tile 128x192  warpgroups 2  stages 5", "fewer stages"},
        {outer, "tile 128x192  warpgroups 2  stages 4", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct target t;
        struct error err = {0};
        target_of_arch("sm_90a", &t);
        struct problem *p = problem_from(&a, cases[i].problem);
        const char *text = arena_printf(
            &a, "kernel for p on sm_90a\nstage y : ragged as wgmma  %s\n", cases[i].knobs);
        struct lang_source source = {.text = text, .len = strlen(text)};
        struct lang_file file;
        const char *diagnostics;
        cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", diagnostics);
        bool ok = lower_check(&a, p, &t, file.kernels[0], &err);
        cr_expect(*cases[i].want ? !ok && strstr(err.text, cases[i].want) : ok, "case %zu: %s", i,
                  err.text);
    }
    arena_reset(&a);
}
