#include "eval/judge.h"

#include <criterion/criterion.h>

// What the evaluator tries again is an accident without a rule.
Test(judge, blames_a_rival_but_not_for_an_accident) {
    static const struct {
        struct verdict why;
        const char *rule;
    } cases[] = {
        {{.kind = VERDICT_INFRA, .evidence = "was killed from outside"}, NULL},
        {{.kind = VERDICT_INFRA, .rule = "throttled", .evidence = "hot"}, "rival"},
        {{.kind = VERDICT_TIMEOUT, .evidence = "did not end"}, "rival"},
        {{.kind = VERDICT_CHEAT, .rule = "stale-output", .evidence = "again"}, "rival"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct verdict v = {.evidence = ""};
        judge_blame_rival(&a, "the rival failed", &cases[i].why, &v);
        cr_expect_eq(v.kind, VERDICT_INFRA);
        cr_expect(cases[i].rule ? v.rule && strcmp(v.rule, cases[i].rule) == 0 : !v.rule);
        cr_expect_str_eq(v.evidence,
                         arena_printf(&a, "the rival failed: %s: %s",
                                      verdict_kind_name(cases[i].why.kind), cases[i].why.evidence));
    }
    // The verdict itself may be the reason.
    struct verdict v = {.kind = VERDICT_CRASH, .rule = "early-exit", .evidence = "ended"};
    judge_blame_rival(&a, "the rival failed", &v, &v);
    cr_expect_str_eq(v.evidence, "the rival failed: crash: ended");
    cr_expect_str_eq(v.rule, "rival");
    arena_reset(&a);
}
