#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "family/block_set.h"
#include "family/enumerate.h"
#include "family/lower.h"
#include "family/moves.h"
#include "parsed.h"
#include "record/table.h"
#include "scratch.h"
#include "search/judging_table.h"

static const char DEEP[] = "kernel for p on cpu\n"
                           "stage t : map      vec 16  tile 4x8\n"
                           "stage y : rowwise  vec 8   rows 4   store stream\n";
static const char OTHER[] = "kernel for p on cpu\nstage y : rowwise  vec 8  rows 4  store stream\n";

static struct table head(void) {
    return (struct table){.version = "1.2",
                          .problem_text = "problem p\n",
                          .facts = "{\"target\":\"cpu\"}",
                          .space = "all",
                          .method = "pairs",
                          .made_at = "now",
                          .seed = 3,
                          .limit = 40,
                          .seconds = 0.5};
}

// Two rows, one of them not ok, and plain, with and without the end.
static const char *written(struct arena *a, const char *path, bool has_end) {
    struct str text = {0};
    struct error err = {0};
    struct table t = head();
    struct table_row ok = {DEEP, VERDICT_OK, 12.5e-6, 0.99, 1.02, NULL};
    struct table_row wrong = {OTHER, VERDICT_WRONG, NAN, NAN, NAN, NULL};
    table_print_head(&text, &t);
    table_print_row(a, &text, &t, &ok);
    table_print_plain(&text, &(struct table_row){.time_s = 2e-3, .low = 0.9, .high = 1.1});
    table_print_row(a, &text, &t, &wrong);
    if (has_end)
        table_print_end(&text, 2);
    const char *kept = str_take(a, &text);
    cr_assert(file_write(path, kept, strlen(kept), &err), "%s", err.text);
    return kept;
}

Test(table, reads_back_what_was_written) {
    struct arena a = {0};
    struct error err = {0};
    struct table t;
    const char *dir = scratch_make(&a), *path = arena_printf(&a, "%s/t.table", dir);
    written(&a, path, true);
    cr_assert(table_read(&a, path, &t, &err), "%s", err.text);
    cr_expect(t.has_end && t.n_rows == 2 && t.n_shapes == 2 && t.seed == 3 && t.limit == 40);
    cr_expect_str_eq(t.rows[0].block, "kernel for p on cpu\nstage t : map vec 16 tile 4x8\n"
                                      "stage y : rowwise vec 8 rows 4 store stream\n");
    cr_expect_float_eq(t.rows[0].time_s, 12.5e-6, 1e-12);
    cr_expect(t.rows[0].low == 0.99 && t.rows[0].high == 1.02);
    cr_expect(t.rows[1].verdict == VERDICT_WRONG && isnan(t.rows[1].time_s));
    cr_expect_float_eq(t.plain.time_s, 2e-3, 1e-9);
    scratch_remove(dir);
    arena_reset(&a);
}

// Its writer was killed within a line: the lines before stay.
Test(table, leaves_out_a_torn_line) {
    struct arena a = {0};
    struct error err = {0};
    struct table t;
    const char *dir = scratch_make(&a), *path = arena_printf(&a, "%s/t.table", dir);
    const char *text = written(&a, path, false);
    cr_assert(file_write(path, text, strlen(text) - 3, &err));
    cr_assert(table_read(&a, path, &t, &err), "%s", err.text);
    cr_expect(!t.has_end && t.n_rows == 1);
    cr_expect_str_eq(text + t.whole_bytes, "1 8 4 = wrong\n", "cut where that line begins");
    scratch_remove(dir);
    arena_reset(&a);
}

Test(table, takes_the_last_row_of_a_block) {
    struct arena a = {0};
    struct error err = {0};
    struct table t;
    const char *dir = scratch_make(&a), *path = arena_printf(&a, "%s/t.table", dir);
    const char *text = arena_printf(&a, "%s%s", written(&a, path, false),
                                    "1 8 8 = 7 1 1\n0 16 4x8 8 4 = 11 1 1.01\nend 3\n");
    cr_assert(file_write(path, text, strlen(text), &err));
    cr_assert(table_read(&a, path, &t, &err), "%s", err.text);
    cr_expect_eq(t.n_rows, 3);
    cr_expect_float_eq(t.rows[0].time_s, 11e-6, 1e-12);
    scratch_remove(dir);
    arena_reset(&a);
}

static void expect_refused(const char *text, const char *words) {
    struct arena a = {0};
    struct error err = {0};
    struct table t;
    const char *dir = scratch_make(&a), *path = arena_printf(&a, "%s/t.table", dir);
    cr_assert(file_write(path, text, strlen(text), &err));
    err = (struct error){0};
    cr_expect(!table_read(&a, path, &t, &err), "%s", text);
    cr_expect_eq(err.kind, ERROR_USAGE);
    cr_expect(strstr(err.text, words), "'%s' has no '%s'", err.text, words);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(table, refuses_other_versions_and_damage) {
    struct arena a = {0};
    struct str text = {0};
    struct table t = head();
    expect_refused("", "no table");
    expect_refused("a,b\n1,2\n", "no table");
    expect_refused("hone.table/2\n{}\n", "it is hone.table/2, and this hone reads hone.table/1");
    expect_refused("hone.table/1\n", "no head");
    expect_refused("hone.table/1\n{}\n", ":2:");
    table_print_head(&text, &t);
    const char *h = str_take(&a, &text);
    static const char *const lines[][2] = {
        {"0 1 = 3 1 1\n", "expected a row of one of 0 shapes"},
        {"shape a ?\n1 1 = 3 1 1\n", "expected a row of one of 1 shapes"},
        {"shape a ?\n0 = 3 1 1\n", "do not fit shape 0"},
        {"shape a ?\n0 1 2 = 3 1 1\n", "do not fit shape 0"},
        {"shape a ?\n0 1 = 0 1 1\n", "no time"},
        {"shape a ?\n0 1 = 3 1.5 1\n", "no time"},
        {"shape a ?\n0 1 = 3 1 nan\n", "no time"},
        {"shape a ?\n0 1 = fine\n", "no verdict"},
        {"shape a ?\n0 1 = ok\n", "no verdict"},
        {"shape a ?\n0 1 = 3 1 1\nend 2\n", "has 1 rows and says 2"},
        {"end 0\nend 0\n", "behind the end"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        expect_refused(arena_printf(&a, "%s%s", h, lines[i][0]), lines[i][1]);
    arena_reset(&a);
}

static struct candidate block(const char *text) {
    return (struct candidate){.kernel = text, .source = text, .hash = text, .label = "b"};
}

Test(table, judges_by_its_rows) {
    struct arena a = {0};
    struct error err = {0};
    struct table_row rows[] = {{"first", VERDICT_OK, 4e-6, 1, 1, NULL},
                               {"fast", VERDICT_OK, 2e-6, 0.9, 1.1, NULL},
                               {"bad", VERDICT_WRONG, NAN, NAN, NAN, NULL}};
    struct table t = {.rows = rows, .n_rows = 3, .plain = {.time_s = 8e-6, .low = 1, .high = 1}};
    struct judge_table state;
    struct judging j = judging_of_table(&a, &state, &t, "x.table");
    struct candidate first = block("first"), fast = block("fast"), bad = block("bad");
    struct candidate none = block("none"), plain = {.source = "p", .hash = "p", .label = "plain"};
    struct eval_result r;
    cr_expect(state.best_s == 2e-6 && state.n_ok == 2);
    struct eval_job job = {.candidate = &fast, .baseline = &first, .depth = EVAL_RANK};
    cr_assert(j.judge(j.ctx, &a, &job, &r, &err));
    cr_expect(r.verdict.kind == VERDICT_OK && r.measurement.speedup == 2);
    cr_expect_float_eq(r.measurement.speedup_low, 2 / 1.1, 1e-12);
    cr_expect_float_eq(r.measurement.speedup_high, 2 / 0.9, 1e-12);
    job.baseline = &plain;
    cr_assert(j.judge(j.ctx, &a, &job, &r, &err));
    cr_expect_eq(r.measurement.speedup, 4);
    job.baseline = NULL;
    cr_assert(j.judge(j.ctx, &a, &job, &r, &err));
    cr_expect(r.measurement.speedup == 1 && r.measurement.median_s == 2e-6);
    job = (struct eval_job){.candidate = &bad, .baseline = &first};
    cr_assert(j.judge(j.ctx, &a, &job, &r, &err));
    cr_expect(r.verdict.kind == VERDICT_WRONG && !r.measurement.present);
    job.candidate = &none;
    cr_assert(j.judge(j.ctx, &a, &job, &r, &err));
    cr_expect_eq(r.verdict.kind, VERDICT_ILLEGAL);
    cr_expect_str_eq(r.verdict.rule, "not-in-table");
    cr_expect(strstr(r.verdict.evidence, "x.table"));
    arena_reset(&a);
}

// The fastest come through, unless they are clearly slower than the incumbent; what is not ok
// cannot.
Test(table, races_by_its_rows) {
    struct arena a = {0};
    struct error err = {0};
    struct table_row rows[] = {
        {"first", VERDICT_OK, 4e-6, 1, 1, NULL},     {"fast", VERDICT_OK, 2e-6, 1, 1, NULL},
        {"bad", VERDICT_WRONG, NAN, NAN, NAN, NULL}, {"near", VERDICT_OK, 4.1e-6, 1, 1, NULL},
        {"slow", VERDICT_OK, 4.2e-6, 1, 1, NULL},
    };
    struct table t = {.rows = rows, .n_rows = 5, .plain = {.time_s = NAN}};
    struct judge_table state;
    struct judging j = judging_of_table(&a, &state, &t, "x.table");
    struct candidate first = block("first"), field[] = {block("slow"), block("bad"), block("none"),
                                                        block("near"), block("fast")};
    struct screening s[5];
    struct race_job job = {
        .candidates = field, .n_candidates = 5, .incumbent = &first, .n_survivors = 3};
    cr_assert(j.race(j.ctx, &a, &job, s, &err));
    cr_expect(s[4].survived && s[4].speedup == 2 && s[4].time_s == 2e-6 && !s[4].fault);
    cr_expect(s[3].survived && !s[0].survived, "4.2 is beyond 3% of 4, 4.1 is not");
    cr_expect(!s[1].survived && isnan(s[1].speedup) && !s[1].is_untimed);
    cr_expect(strstr(s[1].fault, "wrong") && strstr(s[2].fault, "x.table does not have"));
    for (int i = 0; i < 5; i++)
        cr_expect(s[i].present && strcmp(s[i].against, "b") == 0);
    job.n_survivors = 1;
    cr_assert(j.race(j.ctx, &a, &job, s, &err));
    cr_expect(s[4].survived && !s[3].survived);
    arena_reset(&a);
}

// A table may be of a hone without `plain`, or that could not time it.
Test(table, has_no_time_of_a_baseline_that_it_lacks) {
    struct arena a = {0};
    struct error err = {0};
    struct table_row row = {"first", VERDICT_OK, 4e-6, 1, 1, NULL};
    struct table t = {.rows = &row, .n_rows = 1, .plain = {.time_s = NAN}};
    struct judge_table state;
    struct judging j = judging_of_table(&a, &state, &t, "x.table");
    struct candidate first = block("first"), plain = {.source = "p", .hash = "p", .label = "plain"};
    struct eval_job job = {.candidate = &first, .baseline = &plain};
    struct eval_result r;
    cr_assert(j.judge(j.ctx, &a, &job, &r, &err));
    cr_expect_eq(r.verdict.kind, VERDICT_INFRA);
    cr_expect_str_eq(r.verdict.rule, "baseline");
    arena_reset(&a);
}

static const char PROBLEM[] = "problem p\ndim M = 64, N = 64\nin x : f32[M, N] ~ normal\n"
                              "out y : f32[M, N]\ny = cumsum(x, axis=1)\n";

static void start(struct arena *a, struct problem **p, struct target *t, struct kernel *k) {
    struct error err = {0};
    *p = parsed(a, PROBLEM);
    cr_assert(target_read_cpu(a, 2, "cc", t, &err));
    lower_default(a, *p, t, k);
    cr_assert(lower_check(a, *p, t, k, &err), "%s", err.text);
}

Test(table, enumerates_a_space_or_a_connected_sample) {
    struct arena a = {0};
    struct problem *p;
    struct target t;
    struct kernel k = {0};
    struct enumerated all, some, again;
    start(&a, &p, &t, &k);
    enumerate_blocks(&a, p, &t, &k, 1000, 1, &all);
    cr_assert(all.is_complete && all.n == all.n_seen, "%d of %d", all.n, all.n_seen);
    struct block_set *set = block_set_new(&a);
    for (int i = 0; i < all.n; i++) {
        cr_expect(!block_set_has(set, all.texts[i]), "%s", all.texts[i]);
        block_set_add(set, all.texts[i]);
    }
    enumerate_blocks(&a, p, &t, &k, 20, 1, &some);
    enumerate_blocks(&a, p, &t, &k, 20, 1, &again);
    cr_assert(some.n == 20 && !some.is_complete);
    cr_expect_str_eq(some.texts[0], kernel_print(&a, &k));
    for (int i = 0; i < some.n; i++) {
        cr_expect(block_set_has(set, some.texts[i]));
        cr_expect_str_eq(some.texts[i], again.texts[i], "the seed decides");
    }
    cr_expect_geq(some.degree, 1.0, "each but the first was found from another");
    arena_reset(&a);
}

// Moves stay within a target's blocks, are the same when they are asked for again, and nothing else
// is lowered.
Test(table, bounds_what_is_legal) {
    struct arena a = {0}, brief = {0};
    struct error err = {0};
    struct problem *p;
    struct target t;
    struct kernel k = {0};
    struct enumerated some;
    struct candidate c, once_more;
    start(&a, &p, &t, &k);
    enumerate_blocks(&a, p, &t, &k, 20, 1, &some);
    int n_free, n, n_again;
    moves_list(&a, p, &t, &k, &n_free);
    t.blocks = block_set_new(&a);
    for (int i = 0; i + 1 < some.n; i++)
        block_set_add(t.blocks, some.texts[i]);
    struct kernel own = kernel_copy_whole(&brief, &k);
    struct move *moves = moves_list(&brief, p, &t, &own, &n);
    cr_assert(n > 0 && n < n_free);
    arena_reset(&brief);
    moves = moves_list(&a, p, &t, &k, &n_again);
    cr_assert_eq(n, n_again);
    for (int i = 0; i < n; i++) {
        cr_expect(block_set_has(t.blocks, kernel_print(&a, moves[i].kernel)));
        cr_assert(lower_kernel(&a, p, &t, moves[i].kernel, &c, &err), "%s", err.text);
        cr_assert(lower_kernel(&a, p, &t, moves[i].kernel, &once_more, &err));
        cr_expect_eq(c.source, once_more.source, "kept, not made again");
    }
    cr_expect(!lower_kernel(&a, p, &t, some.kernels[some.n - 1], &c, &err));
    cr_expect(strstr(err.text, "not in the table"));
    arena_reset(&a);
}
