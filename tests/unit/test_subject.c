// What the judge makes of threads that run after a call, by a device whose calls are late as told.
#include <criterion/criterion.h>

#include "base/error.h"
#include "eval/judge.h"

static bool was_idle_call;

static bool says_untouched(struct judge *j, struct subject *s, int slot) {
    (void)j, (void)s, (void)slot;
    return true;
}

static void call_at_once(struct judge *j, struct subject *s, int slot, int64_t timeout_ns,
                         struct call_result *result) {
    (void)j, (void)s, (void)timeout_ns;
    *result = (struct call_result){.status = RUNNER_OK};
    was_idle_call = slot < 0;
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

static double lateness_called, lateness_idle;

static double scripted_lateness(struct subject *s, const struct call_result *call) {
    (void)s, (void)call;
    return was_idle_call ? lateness_idle : lateness_called;
}

static void call_nothing(struct subject *s, int64_t timeout_ns, struct call_result *result) {
    call_at_once(NULL, s, -1, timeout_ns, result);
}

static enum verdict_kind judged(double called, double idle) {
    static const struct judge_device device = {.is_untouched = says_untouched,
                                               .call = call_at_once,
                                               .explain = explain_nothing,
                                               .find_overrun = no_overrun,
                                               .digest = same_digest,
                                               .lateness = scripted_lateness,
                                               .call_nothing = call_nothing};
    static struct judge j;
    static struct subject s;
    struct arena a = {0};
    struct call_result call;
    struct verdict v = {0};
    j = (struct judge){.device = &device};
    s = (struct subject){.sets[0] = {.is_known = true, .digest = 7}};
    lateness_called = called;
    lateness_idle = idle;
    for (int i = 0; i < 4 && v.kind == VERDICT_OK; i++)
        subject_check(&j, &a, &s, 0, &call, &v);
    arena_reset(&a);
    return v.kind;
}

// Threads that are as late when they are woken for nothing are late by chance, unless it is by far
// more than chance adds.
Test(subject, late_threads_are_a_cheat_where_idle_ones_are_not_late) {
    cr_assert_eq(judged(1, 0), VERDICT_OK);
    cr_assert_eq(judged(3, 2), VERDICT_OK);
    cr_assert_eq(judged(3, 0.5), VERDICT_CHEAT);
    cr_assert_eq(judged(20, 3), VERDICT_CHEAT);
}
