// What `hone eval` prints below several reports, and of two against each other.
#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "ops/op_eval.h"
#include "ops/op_rank.h"

static struct arena a;

static struct eval_report report_of(const char *name, double time_s, double speedup, double low,
                                    double high) {
    return (struct eval_report){.candidate = {.label = name},
                                .result = {.verdict = {.kind = VERDICT_OK, .evidence = ""},
                                           .measurement = {.present = true,
                                                           .baseline = "plain",
                                                           .n_pairs = 8,
                                                           .median_s = time_s,
                                                           .baseline_median_s = 0.1,
                                                           .speedup = speedup,
                                                           .speedup_low = low,
                                                           .speedup_high = high}}};
}

static const char *table_of(const struct eval_report *reports, int n, enum rank_form form) {
    struct ranking *r = arena_new(&a, struct ranking);
    for (int i = 0; i < n; i++)
        ranking_add(&a, r, &reports[i]);
    return ranking_print(&a, r, form);
}

// One interval spans a factor of 1700 and is resolved; the other says what it says.
Test(rank, wide_intervals_and_whose_times_are_told) {
    struct eval_report reports[] = {report_of("near.c", 0.051, 2, 1.9, 2.1),
                                    report_of("far.c", 0.02, 10, 1.17, 2000)};
    cr_expect_str_eq(table_of(reports, 2, RANK_TEXT),
                     "\n"
                     "rank  candidate       time  over plain\n"
                     "=1    far.c          10 ms      10x  1.17x to 2000x, wide\n"
                     "=1    near.c         50 ms       2x  1.9x to 2.1x\n"
                     "=: not resolved from the first of that rank; more --seconds may\n"
                     "wide: uncertain by more than a factor of 2; more --seconds, or a quieter "
                     "machine\n"
                     "times here are plain's, its median over all, divided by the speed-up; those "
                     "above are each candidate's own\n");
    cr_expect_null(strstr(table_of(reports, 1, RANK_TEXT), "wide"));
    cr_expect_null(strstr(table_of(reports, 2, RANK_CSV), "wide"));
}

Test(rank, of_two_a_wide_interval_is_told) {
    struct eval_report reports[2] = {report_of("a.c", 0.05, 2, 1.17, 2000),
                                     report_of("b.c", 0.1, 1, 1, 1)};
    cr_expect_str_eq(op_eval_pair_text(&a, reports),
                     "a.c is faster than b.c: 2x, between 1.17x and 2000x; how much is uncertain "
                     "by a factor of 1709, more --seconds or a quieter machine would help");
    reports[0] = report_of("a.c", 0.05, 2, 1.9, 2.1);
    cr_expect_str_eq(op_eval_pair_text(&a, reports),
                     "a.c is faster than b.c: 2x, between 1.9x and 2.1x");
}

// The share of reach is that of the time in the table, not of the moment when the finding was made.
Test(rank, a_finding_and_its_row_tell_one_time) {
    struct eval_report report = report_of("far.c", 0.02, 10, 9, 11);
    report.bound.reach_s = 0.005;
    report.n_findings = 1;
    report.findings[0] = (struct finding){
        .tool = "reach", .cause = "memory-bound, at 25% of what this machine reaches"};
    const char *table = table_of(&report, 1, RANK_MARKDOWN);
    cr_expect(strstr(table, "| far.c | 10 ms |"), "%s", table);
    cr_expect(strstr(table, "| reach: memory-bound, at 50% of reach |"), "%s", table);
    report.findings[0] = (struct finding){.tool = "idle", .cause = "threads wait, 25% of the time"};
    table = table_of(&report, 1, RANK_MARKDOWN);
    cr_expect(strstr(table, "| idle: threads wait, 25% of the time |"), "%s", table);
}
