#include "eval/judge.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/timing.h"

// What the evaluator tries again is an accident without a rule.
Test(judge, blames_a_baseline_but_not_for_an_accident) {
    static const struct {
        struct verdict why;
        const char *rule;
    } cases[] = {
        {{.kind = VERDICT_INFRA, .evidence = "was killed from outside"}, NULL},
        {{.kind = VERDICT_INFRA, .rule = "throttled", .evidence = "hot"}, "baseline"},
        {{.kind = VERDICT_TIMEOUT, .evidence = "did not end"}, "baseline"},
        {{.kind = VERDICT_CHEAT, .rule = "stale-output", .evidence = "again"}, "baseline"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct verdict v = {.evidence = ""};
        judge_blame_baseline(&a, "the baseline failed", &cases[i].why, &v);
        cr_expect_eq(v.kind, VERDICT_INFRA);
        cr_expect(cases[i].rule ? v.rule && strcmp(v.rule, cases[i].rule) == 0 : !v.rule);
        cr_expect_str_eq(v.evidence,
                         arena_printf(&a, "the baseline failed: %s: %s",
                                      verdict_kind_name(cases[i].why.kind), cases[i].why.evidence));
    }
    // The verdict itself may be the reason.
    struct verdict v = {.kind = VERDICT_CRASH, .rule = "early-exit", .evidence = "ended"};
    judge_blame_baseline(&a, "the baseline failed", &v, &v);
    cr_expect_str_eq(v.evidence, "the baseline failed: crash: ended");
    cr_expect_str_eq(v.rule, "baseline");
    arena_reset(&a);
}

// Who is slow is not stuck: a call may take longer where the problem itself does.
Test(judge, waits_for_a_call_as_long_as_the_problem_asks_for) {
    static const struct {
        double limit_s, truth_s, wait_s;
    } cases[] = {{NAN, 0, 2},     {1e-6, 0, 2},   {1e-6, 0.4, 2}, {1e-6, 3, 12},  {NAN, 3, 12},
                 {0.005, 0.1, 5}, {0.005, 3, 12}, {1, 0, 60},     {1e-6, 100, 60}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct judge *j = calloc(1, sizeof *j);
        cr_assert(j);
        j->settings.limit_s = cases[i].limit_s;
        j->truth_s = cases[i].truth_s;
        cr_expect_float_eq((double)judge_timeout_ns(j) * 1e-9, cases[i].wait_s, 1e-6);
        free(j);
    }
}

// Nobody can tell which slot comes next; but all come, and none comes again before most others.
Test(judge, takes_slots_by_chance_but_none_soon_again) {
    static const int counts[] = {2, 3, 4, 9, 33, 64};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        struct judge *j = calloc(1, sizeof *j);
        int n = counts[c], last[SLOTS_MAX], n_in_order = 0, before = -1;
        j->layout.n_slots = n;
        rng_init_secret(&j->shown, 5, 0);
        for (int i = 0; i < SLOTS_MAX; i++) {
            j->slot_used[i] = i;
            last[i] = -1;
        }
        j->n_used = SLOTS_MAX;
        for (int i = 0; i < 20 * n; i++) {
            int slot = timing_next_slot(j);
            cr_assert(slot >= 0 && slot < n);
            cr_expect(last[slot] < 0 || i - last[slot] > n - (n < 4 ? 1 : n / 4),
                      "%d of %d slots came again after %d", slot, n, i - last[slot]);
            cr_expect(i < 10 * n || last[slot] >= 0);
            n_in_order += slot == (before + 1) % n;
            before = slot;
            last[slot] = i;
        }
        cr_expect(n < 9 || n_in_order < 10 * n, "%d of %d in order", n_in_order, 20 * n);
        free(j);
    }
}
