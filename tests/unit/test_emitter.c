// The table of families and their emitters.
#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/block.h"
#include "family/family.h"
#include "family/gemm_form.h"
#include "family/moves.h"
#include "family/stages.h"
#include "lang/lang.h"
#include "lowering.h"

static const char *const archs[] = {"sm_80", "sm_90a", "sm_100a"};

// Every target that there is: the CPU, then the architectures.
static struct target nth_target(int i) {
    struct target t = test_target(32);
    if (i > 0)
        cr_assert(target_of_arch(archs[i - 1], &t));
    return t;
}

static int count_knobs(const struct emitter *e) {
    int n = 0;
    while (e->knobs[n].name)
        n++;
    return n;
}

static bool share_a_target(const struct emitter *a, const struct emitter *b) {
    for (int i = 0; i < 4; i++) {
        struct target t = nth_target(i);
        if (a->runs_on(&t) && b->runs_on(&t))
            return true;
    }
    return false;
}

Test(emitter, rows_are_whole_and_names_tell_them_apart) {
    for (const struct family *f = families; f->name; f++) {
        cr_expect_eq(family_find(f->name), f);
        cr_expect_eq(!f->find, !f->emitters[0], "%s", f->name);
        for (int i = 0; f->emitters[i]; i++) {
            const struct emitter *e = f->emitters[i];
            cr_expect(e->name && e->summary && e->defaults && e->is_legal && e->lower &&
                          e->estimate,
                      "%s", f->name);
            cr_expect_leq(count_knobs(e), KNOBS_MAX);
            for (int j = 0; j < i; j++)
                if (share_a_target(e, f->emitters[j]))
                    cr_expect_str_neq(e->name, f->emitters[j]->name, "%s", f->name);
        }
    }
}

// ragged, scatter, attention, maxsim and qgemm have none for a CPU, rowgemm has one for
// sm_90a alone: others take their regions, whole or in parts.
Test(emitter, a_family_that_has_one_has_one_for_every_target) {
    for (int i = 0; i < 4; i++) {
        struct target t = nth_target(i);
        for (const struct family *f = families; f->name; f++) {
            bool tensor = f == &families[FAMILY_RAGGED] || f == &families[FAMILY_QGEMM] ||
                          f == &families[FAMILY_MAXSIM] || f == &families[FAMILY_ATTENTION];
            bool elsewhere = (tensor || f == &families[FAMILY_SCATTER]) && !t.is_gpu;
            elsewhere |= f == &families[FAMILY_ROWGEMM] && !(t.isa && strcmp(t.isa, "sm_90a") == 0);
            cr_expect_eq(family_count_emitters(f, &t) == 0, !f->find || elsewhere, "%s on %s",
                         f->name, target_kernel_name(&t));
        }
    }
}

// ---- which one a stage gets

static struct kernel *kernel_from(struct arena *a, const char *text) {
    struct lang_source source = {.text = text, .len = strlen(text)};
    struct lang_file file;
    struct error err;
    const char *diagnostics;
    cr_assert(lang_parse(a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    return file.kernels[0];
}

static const char product[] = "problem p\ndim M = 64, N = 8, K = 4096\nin a : f32[M, K] ~ normal\n"
                              "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n";

// The complete block of one stage on sm_80, or what is said about it.
static const char *completed(struct arena *a, const char *stage) {
    struct problem *p = problem_from(a, product);
    struct target t = nth_target(1);
    struct error err;
    struct kernel *k = kernel_from(a, arena_printf(a, "kernel for p on sm_80\nstage %s\n", stage));
    return lower_check(a, p, &t, k, &err) ? strstr(kernel_print(a, k), "stage ")
                                          : arena_strdup(a, err.text);
}

static void expect_begins(struct arena *a, const char *stage, const char *begin) {
    const char *got = completed(a, stage);
    cr_expect(strncmp(got, begin, strlen(begin)) == 0, "%s\ngives %s", stage, got);
}

Test(emitter, as_chooses_one_and_otherwise_the_first_that_has_the_knobs) {
    struct arena a = {0};
    expect_begins(&a, "c : gemm", "stage c : gemm  tile ");
    expect_begins(&a, "c : gemm as simt", "stage c : gemm  tile ");
    expect_begins(&a, "c : gemm as dot", "stage c : gemm as dot  threads ");
    expect_begins(&a, "c : gemm  split 2", "stage c : gemm as dot  threads ");
    expect_begins(&a, "c : gemm  vec 1", "stage c : gemm  tile ");
    expect_begins(&a, "c : nest as simt", "stage c : nest  block ");
    arena_reset(&a);
}

Test(emitter, a_name_or_a_knob_that_is_not_there_is_refused_in_words) {
    struct arena a = {0};
    static const char *const cases[][2] = {
        {"c : gemm as wmma", "gemm has no emitter 'wmma' on sm_80: it is simt, dot or mma"},
        {"c : gemm as cpu", "gemm has no emitter 'cpu' on sm_80: it is simt, dot or mma"},
        {"c : nest as dot", "nest has no emitter 'dot' on sm_80: it is simt or persistent"},
        {"c : gemm as dot  tile 16x16x4", "gemm as dot has no knob 'tile'"},
        {"c : gemm  tile 16x16x4  split 2", "gemm as simt has no knob 'split'"},
        {"c : nest  tile 16x16x4", "nest as simt has no knob 'tile'; it has "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect(strstr(completed(&a, cases[i][0]), cases[i][1]), "%s\ngives %s", cases[i][0],
                  completed(&a, cases[i][0]));
    arena_reset(&a);
}

Test(emitter, a_form_is_found_once_and_is_what_a_block_has) {
    struct arena a = {0};
    struct problem *p = problem_from(&a, product);
    struct target t = nth_target(1);
    struct kernel *k = kernel_from(&a, "kernel for p on sm_80\nstage c : gemm\n");
    struct mistakes m = {.arena = &a, .source = &(struct lang_source){0}};
    const struct block *b = block_resolve(&a, p, &t, k, &m);
    cr_assert_eq(m.count, 0);
    const struct form *f = b->stages[0].form;
    struct objection why;
    cr_expect_eq(family_first_form(b->stages[0].region, &t), f);
    cr_expect_eq(family_form(&families[FAMILY_GEMM], b->stages[0].region, &why), f);
    cr_expect(f->gemm && f->gemm->k == 4096 && !f->rows && !f->reduce);
    // What was refused is refused again in the same words.
    for (int i = 0; i < 2; i++) {
        cr_expect_null(family_form(&families[FAMILY_MAP], b->stages[0].region, &why));
        cr_expect_str_eq(why.text, "map computes elementwise values, but c is a matmul");
    }
    arena_reset(&a);
}

// ---- a move

static const struct move *find_move(const struct move *moves, int n, const char *words) {
    for (int i = 0; i < n; i++)
        if (strcmp(moves[i].words, words) == 0)
            return &moves[i];
    return NULL;
}

Test(emitter, going_to_another_one_is_a_move_and_back_is_too) {
    struct arena a = {0};
    struct problem *p = problem_from(&a, product);
    struct target t = nth_target(2);
    struct kernel k;
    int n;
    lower_default(&a, p, &t, &k);
    struct move *moves = moves_list(&a, p, &t, &k, &n);
    const struct move *there = find_move(moves, n, "c: gemm as dot -> gemm as simt");
    cr_assert(there);
    cr_expect_null(there->kernel->stages[0]->emitter, "the first needs no name");
    cr_expect(find_move(moves, n, "c: gemm as dot -> nest as simt"));
    moves = moves_list(&a, p, &t, there->kernel, &n);
    const struct move *back = find_move(moves, n, "c: gemm as simt -> gemm as dot");
    cr_assert(back);
    cr_expect_str_eq(kernel_print(&a, back->kernel), kernel_print(&a, &k));
    arena_reset(&a);
}

// Few results of many terms are what it is for: no tile promises as much, nor does nest.
Test(emitter, dot_is_estimated_best_for_a_matrix_by_a_vector) {
    struct arena a = {0};
    struct problem *p =
        problem_from(&a, "problem p\ndim M = 2048, K = 65536\nin a : f32[M, K] ~ normal\n"
                         "in b : f32[K, 1] ~ normal\nout c : f32[M, 1]\nc = a @ b\n");
    struct target t = nth_target(2);
    struct kernel *k = kernel_from(&a, "kernel for p on sm_90a\nstage c : gemm as simt\n");
    struct error err;
    int n;
    cr_assert(lower_check(&a, p, &t, k, &err), "%s", err.text);
    struct move *moves = moves_list(&a, p, &t, k, &n);
    const struct move *there = find_move(moves, n, "c: gemm as simt -> gemm as dot");
    cr_assert(there);
    for (int i = 0; i < n; i++)
        cr_expect(&moves[i] == there || moves[i].prior < there->prior, "%s", moves[i].words);
    arena_reset(&a);
}

Test(emitter, a_stage_keeps_its_own_when_it_is_split) {
    struct arena a = {0};
    struct problem *p =
        problem_from(&a, "problem p\ndim M = 64, N = 8, K = 4096\nin a : f32[M, K] ~ normal\n"
                         "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nh = relu(a)\nc = h @ b\n");
    struct target t = nth_target(2);
    struct kernel *k = kernel_from(&a, "kernel for p on sm_90a\nstage c : gemm as dot  split 2\n");
    struct kernel split;
    struct error err;
    cr_assert(lower_check(&a, p, &t, k, &err), "%s", err.text);
    struct stages_edit edit = {&a, p, &t, k, 0, NULL};
    cr_assert(stages_split(&edit, region_find_value(p, "h"), &split));
    cr_assert_eq(split.n_stages, 2);
    cr_expect_str_eq(split.stages[1]->emitter, "dot");
    cr_expect_eq(stage_number(split.stages[1], "split", 0), 2);
    arena_reset(&a);
}

Test(emitter, rows_in_lists_are_refused_with_the_nearest_choice) {
    static const char *const cases[][3] = {
        {"embedding(w, i)", "threads 64  rows 1  vec 2", ""},
        {"embedding(w, i)", "threads 512  rows 4  vec 2", "above 1024: the nearest is rows 2"},
        {"embedding(w, i)", "threads 32  rows 1  vec 4", "the nearest is vec 2"},
        {"embedding(w, i)", "threads 32  rows 1  vec 1", "33 vectors of a thread, above 16"},
        {"embedding(w * 2, i)", "threads 32", "is not made of rows of one table"},
        {"embedding(w, i)[::-1]", "threads 32", "is not made of rows of one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct target t = nth_target(1);
        struct problem *p = problem_from(
            &a, arena_printf(&a,
                             "problem p\nin w : f32[40, 1050]\nin i : i64[9] ~ index(38)\n"
                             "out y : f32[9, 1050]\ny = %s\n",
                             cases[i][0]));
        struct kernel *k =
            kernel_from(&a, arena_printf(&a, "kernel for p on sm_80\nstage y : map as rows  %s\n",
                                         cases[i][1]));
        bool ok = lower_check(&a, p, &t, k, &err);
        cr_expect_eq(ok, !*cases[i][2], "%zu: %s", i, ok ? "accepted" : err.text);
        cr_expect(ok || strstr(err.text, cases[i][2]), "%zu: %s", i, err.text);
        arena_reset(&a);
    }
}

Test(emitter, pools_by_vectors_are_refused_with_the_nearest_choice) {
    static const char *const cases[][3] = {
        {"f32[2, 16, 64]", "threads 32  lines 1  items 2  columns 4", ""},
        {"f32[2, 16, 64]", "threads 512  lines 4  items 1  columns 4", "the nearest is lines 2"},
        {"f32[2, 16, 64]", "threads 32  lines 1  items 1  columns 2",
         "do not begin at multiples of 4 elements: the nearest is more columns"},
        {"f32[2, 16, 63]", "threads 32  lines 1  items 1  columns 4", "rows of 63, and 4 columns"},
        {"f32[2, 16, 256]", "threads 32  lines 1  items 1  columns 4",
         "have fewer than the 255 of a row: the nearest is more threads"},
        {"i32[2, 16, 64]", "threads 32  lines 1  items 1  columns 4",
         "vectors are for windows of two axes or more, over floats that are in memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct target t = nth_target(1);
        int width = i == 3 ? 62 : i == 4 ? 255 : 63;
        const char *type = arena_printf(&a, "%.3s[2, 13, %d]", cases[i][0], width);
        struct problem *p = problem_from(
            &a, arena_printf(&a,
                             "problem p\nin x : %s\nout y : %s\ny = max_pool2d(x, (4, 2), "
                             "stride=1)\n",
                             cases[i][0], type));
        struct kernel *k = kernel_from(
            &a, arena_printf(&a, "kernel for p on sm_80\nstage y : pool as vectors  %s\n",
                             cases[i][1]));
        bool ok = lower_check(&a, p, &t, k, &err);
        cr_expect_eq(ok, !*cases[i][2], "%zu: %s", i, ok ? "accepted" : err.text);
        cr_expect(ok || strstr(err.text, cases[i][2]), "%zu: %s", i, err.text);
        arena_reset(&a);
    }
}
