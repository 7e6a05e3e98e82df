// What the judge makes of a candidate that wakes it too early, by a device whose calls do as told.
#include <criterion/criterion.h>

#include "base/error.h"
#include "eval/judge.h"

static bool nudges;
static int n_rests;
static bool comes_back = true;

static bool says_untouched(struct judge *j, struct subject *s, int slot) {
    (void)j, (void)s, (void)slot;
    return true;
}

static void call_at_once(struct judge *j, struct subject *s, int slot, int64_t timeout_ns,
                         struct call_result *result) {
    (void)j, (void)s, (void)slot, (void)timeout_ns;
    *result = (struct call_result){.status = RUNNER_OK, .was_nudged = nudges};
}

static void explain_nothing(struct arena *a, struct subject *s, enum runner_status status,
                            struct verdict *v) {
    (void)a, (void)s, (void)status, (void)v;
}

static int no_overrun(struct judge *j, struct subject *s, int slot, uint32_t poison) {
    (void)j, (void)s, (void)slot, (void)poison;
    return -1;
}

static uint64_t same_digest(struct judge *j, struct subject *s, int slot) {
    (void)j, (void)s, (void)slot;
    return 7;
}

static bool settle(struct subject *s, struct call_result *call) {
    (void)s, (void)call;
    n_rests++;
    return comes_back;
}

// So many calls, of which the last ones wake the judge.
static enum verdict_kind judged(int n_calls, int n_nudged) {
    static const struct judge_device device = {.is_untouched = says_untouched,
                                               .call = call_at_once,
                                               .explain = explain_nothing,
                                               .find_overrun = no_overrun,
                                               .digest = same_digest,
                                               .settle = settle};
    static struct judge j;
    static struct subject s;
    struct arena a = {0};
    struct call_result call;
    struct verdict v = {0};
    j = (struct judge){.device = &device};
    s = (struct subject){.sets[0] = {.is_known = true, .digest = 7}};
    n_rests = 0;
    for (int i = 0; i < n_calls && v.kind == VERDICT_OK; i++) {
        nudges = i >= n_calls - n_nudged;
        subject_check(&j, &a, &s, 0, &call, &v);
    }
    arena_reset(&a);
    return v.kind;
}

// Chance brings one such call or other.
Test(subject, that_wakes_the_judge_early_is_a_cheat_where_it_is_a_habit) {
    cr_assert_eq(judged(3, 3), VERDICT_OK);
    cr_assert_eq(judged(4, 4), VERDICT_CHEAT);
    cr_assert_eq(judged(64, 4), VERDICT_OK);
    cr_assert_eq(n_rests, 64);
    cr_assert_eq(judged(64, 5), VERDICT_CHEAT);
}

Test(subject, whose_thread_does_not_come_back_from_a_block_is_a_cheat) {
    comes_back = false;
    cr_assert_eq(judged(1, 0), VERDICT_CHEAT);
    cr_assert_eq(n_rests, 1);
}
