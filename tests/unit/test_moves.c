// Each kind of structural move is proposed where it is legal, repaired where a neighbour is, and
// not offered elsewhere.
#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/family.h"
#include "family/lower.h"
#include "family/moves.h"
#include "lang/lang.h"
#include "lowering.h"

struct listed {
    struct arena arena;
    struct problem *problem;
    struct target target;
    struct kernel kernel;
    struct move *moves;
    int n;
};

static void list_moves(struct listed *l) {
    struct error err;
    cr_assert(lower_check(&l->arena, l->problem, &l->target, &l->kernel, &err), "%s", err.text);
    l->moves = moves_list(&l->arena, l->problem, &l->target, &l->kernel, &l->n);
    for (int i = 0; i < l->n; i++) {
        struct kernel k = *l->moves[i].kernel;
        cr_assert(lower_check(&l->arena, l->problem, &l->target, &k, &err), "%s: %s",
                  l->moves[i].words, err.text);
    }
}

// From the default kernel, or from this one. `arch` NULL: the CPU.
static void list_from(struct listed *l, const char *problem, const char *arch, const char *block) {
    *l = (struct listed){.target = test_target(32)};
    l->problem = problem_from(&l->arena, problem);
    if (arch)
        cr_assert(target_of_arch(arch, &l->target));
    if (!block) {
        lower_default(&l->arena, l->problem, &l->target, &l->kernel);
    } else {
        struct lang_source source = {.file = "test", .text = block, .len = strlen(block)};
        struct lang_file file = {0};
        struct error err;
        const char *diagnostics;
        cr_assert(lang_parse(&l->arena, &source, &file, &diagnostics, &err), "%s", err.text);
        l->kernel = *file.kernels[0];
    }
    list_moves(l);
}

static const struct move *find(const struct listed *l, const char *words) {
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->moves[i].words, words) == 0)
            return &l->moves[i];
    return NULL;
}

static int count(const struct listed *l, enum change change) {
    int n = 0;
    for (int i = 0; i < l->n; i++)
        n += l->moves[i].change == change;
    return n;
}

static void expect_move(const struct listed *l, const char *words, enum change change,
                        const char *part) {
    const struct move *m = find(l, words);
    struct arena scratch = {0};
    cr_assert(m, "no move '%s'", words);
    cr_expect_str_eq(change_name(m->change), change_name(change), "%s", words);
    const char *text = kernel_print(&scratch, m->kernel);
    cr_expect(strstr(text, part), "%s:\n%s", words, text);
    arena_reset(&scratch);
}

static const char across[] = "problem p\ndim M = 256, N = 192\nin x : f32[N, M] ~ normal\n"
                             "out y : f32[M, N]\ny = softmax(x.T)\n";
static const char along[] = "problem p\ndim M = 256, N = 192\nin x : f32[M, N] ~ normal\n"
                            "out y : f32[M, N]\ny = softmax(x)\n";

Test(moves, lay_out_what_is_read_across) {
    struct listed l;
    list_from(&l, across, NULL, NULL);
    cr_expect_eq(count(&l, CHANGE_LAYOUT), 1);
    expect_move(&l, "lay out v.1 for y", CHANGE_LAYOUT, "stage v.1 : map");
    // The way back is a merge.
    struct listed back = l;
    back.kernel = *find(&l, "lay out v.1 for y")->kernel;
    list_moves(&back);
    expect_move(&back, "merge v.1 into y", CHANGE_MERGE, kernel_print(&l.arena, &l.kernel));
    cr_expect_eq(count(&back, CHANGE_LAYOUT), 0);
    arena_reset(&l.arena);
    // Nothing is read across, but for a broadcast and an axis of one element.
    list_from(&l, along, NULL, NULL);
    cr_expect_eq(count(&l, CHANGE_LAYOUT), 0);
    arena_reset(&l.arena);
    list_from(&l,
              "problem p\ndim M = 256, N = 192\nin x : f32[N, 1] ~ normal\nin z : f32[M, N] ~ "
              "normal\nout y : f32[M, N]\ny = softmax(z + x.T)\n",
              NULL, NULL);
    cr_expect_eq(count(&l, CHANGE_LAYOUT), 0);
    arena_reset(&l.arena);
}

static const char product[] = "problem p\ndim M = 64, N = 64, K = 256\nin a : f32[M, K] ~ normal\n"
                              "in b : f32[N, K] ~ normal\nout c : f32[M, N]\nc = a @ b.T\n";

Test(moves, pack_operands_of_a_product_or_not) {
    struct listed l;
    list_from(&l, product, NULL, NULL);
    expect_move(&l, "lay out v.1 for c", CHANGE_LAYOUT, "stage v.1 : map");
    expect_move(&l, "c: pack both -> rhs", CHANGE_LAYOUT, "pack rhs");
    // The right operand is not stored row by row: it must be packed, whatever else is turned.
    for (int i = 0; i < l.n; i++)
        cr_expect(!strstr(kernel_print(&l.arena, l.moves[i].kernel), "pack none") ||
                      l.moves[i].kernel->n_stages == 2,
                  "%s", l.moves[i].words);
    // Where it is laid out, it need not be.
    l.kernel = *find(&l, "lay out v.1 for c")->kernel;
    list_moves(&l);
    expect_move(&l, "c: pack both -> none", CHANGE_LAYOUT, "pack none");
    arena_reset(&l.arena);
}

Test(moves, split_a_reduction_where_its_parts_are_long_enough) {
    struct listed l;
    const char *long_sum = "problem p\ndim N = 4096\nin x : f32[N] ~ normal\nout y : f32[1]\n"
                           "y = sum(x, axis=0, keepdims=true)\n";
    list_from(&l, long_sum, NULL, "kernel for p on cpu\nstage y : reduce split 1\n");
    expect_move(&l, "y: split 1 -> 2", CHANGE_COMBINE, "split 2");
    arena_reset(&l.arena);
    const char *short_sum = "problem p\ndim N = 100\nin x : f32[N] ~ normal\nout y : f32[1]\n"
                            "y = sum(x, axis=0, keepdims=true)\n";
    list_from(&l, short_sum, NULL, "kernel for p on cpu\nstage y : reduce split 1\n");
    cr_expect_eq(count(&l, CHANGE_COMBINE), 0);
    arena_reset(&l.arena);
}

Test(moves, blocks_of_a_row_meet_in_another_way) {
    struct listed l;
    const char *rows = "problem p\ndim M = 8, N = 65536\nin x : f32[M, N] ~ normal\n"
                       "out y : f32[M, N]\ny = softmax(x)\n";
    list_from(&l, rows, "sm_90a",
              "kernel for p on sm_90a\nstage y : rowwise as blocks blocks 4 meet cluster "
              "keep reread stats levels\n");
    expect_move(&l, "y: meet cluster -> grid", CHANGE_COMBINE, "meet grid");
    // One block has nobody to meet: how many there are is turned with it.
    expect_move(&l, "y: meet cluster -> none, blocks 1", CHANGE_COMBINE, "blocks 1");
    expect_move(&l, "y: stats levels -> once", CHANGE_LAW, "stats once");
    arena_reset(&l.arena);
    // No clusters before sm_90.
    list_from(&l, rows, "sm_80",
              "kernel for p on sm_80\nstage y : rowwise as blocks blocks 4 meet grid\n");
    for (int i = 0; i < l.n; i++)
        cr_expect(!strstr(kernel_print(&l.arena, l.moves[i].kernel), "cluster"));
    arena_reset(&l.arena);
}

Test(moves, laws_are_used_where_their_pattern_stands) {
    struct listed l;
    list_from(&l, along, NULL, NULL);
    expect_move(&l, "y: divide exact -> reciprocal", CHANGE_LAW, "divide reciprocal");
    arena_reset(&l.arena);
    // One level of reductions has statistics of one walk already.
    list_from(&l,
              "problem p\ndim M = 8, N = 65536\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
              "y = x - max(x, axis=1, keepdims=true)\n",
              "sm_90a",
              "kernel for p on sm_90a\nstage y : rowwise as blocks blocks 4 meet cluster\n");
    for (int i = 0; i < l.n; i++)
        cr_expect(!strstr(kernel_print(&l.arena, l.moves[i].kernel), "stats once"), "%s",
                  l.moves[i].words);
    arena_reset(&l.arena);
}

// What is split off a product stays the product that it was, with its knobs.
Test(moves, what_is_split_off_keeps_its_emitter) {
    struct listed l;
    list_from(&l,
              "problem p\ndim M = 512, N = 512, K = 512\nin a : f16[M, K] ~ normal\n"
              "in b : f16[K, N] ~ normal\nout c : f16[M, N]\nt = a @ b\nc = relu(t)\n",
              "sm_90a", "kernel for p on sm_90a\nstage c : gemm as wgmma tile 128x64 stages 3\n");
    expect_move(&l, "split c at t", CHANGE_SPLIT, "gemm as wgmma  tile 128x64");
    expect_move(&l, "c: gemm as wgmma -> gemm as mma", CHANGE_EMITTER, "gemm as mma");
    arena_reset(&l.arena);
}

// The language has clauses that no emitter takes; nobody is sent there.
Test(moves, no_word_without_an_emitter_is_proposed) {
    static const char *const problems[] = {across, along, product};
    for (int i = 0; i < 6; i++) {
        struct listed l;
        list_from(&l, problems[i / 2], i % 2 ? "sm_90a" : NULL, NULL);
        for (int j = 0; j < l.n; j++)
            for (int s = 0; s < l.moves[j].kernel->n_stages; s++) {
                const struct kernel_stage *stage = l.moves[j].kernel->stages[s];
                cr_expect(!stage->combine && !stage->n_laws && !stage->n_layout, "%s",
                          l.moves[j].words);
            }
        arena_reset(&l.arena);
    }
}
