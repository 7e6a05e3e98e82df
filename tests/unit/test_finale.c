#include <criterion/criterion.h>

#include "base/arena.h"
#include "record/run.h"
#include "search/finale.h"

static struct search_node timed_node(int number, double speedup) {
    return (struct search_node){
        .number = number,
        .state = NODE_EVALUATED,
        .time_s = 1 / speedup,
        .verdict = {.kind = VERDICT_OK},
        .measurement = {.present = true,
                        .speedup = speedup,
                        .speedup_low = 0.99 * speedup,
                        .speedup_high = 1.01 * speedup},
    };
}

Test(finale, those_play_off_that_cannot_be_told_apart) {
    // 3 is the champion; 2 is certainly slower, 4 failed, 7 is the slowest of four near ones.
    struct search_node nodes[] = {timed_node(0, 1),     timed_node(1, 1.995), timed_node(2, 1.9),
                                  timed_node(3, 2),     timed_node(4, 1.99),  timed_node(5, 1.999),
                                  timed_node(6, 1.985), timed_node(7, 1.981)};
    int contenders[CONTENDERS_MAX];
    nodes[4].verdict.kind = VERDICT_SUSPECT;
    cr_assert_eq(finale_contenders(nodes, 8, 3, contenders), 3);
    cr_expect_eq(contenders[0], 5);
    cr_expect_eq(contenders[1], 1);
    cr_expect_eq(contenders[2], 6);
    // Nobody near: nothing to play.
    cr_expect_eq(finale_contenders(nodes, 4, 3, contenders), 1);
    nodes[1] = timed_node(1, 1.5);
    cr_expect_eq(finale_contenders(nodes, 4, 3, contenders), 0);
}

Test(finale, keeps_time_for_the_confirmation) {
    cr_expect_eq(finale_timing_s(600), 4);
    cr_expect_eq(finale_timing_s(100), 2);
    cr_expect_eq(finale_timing_s(1), 0.5);
    cr_expect_eq(finale_ranking_s(600), 2);
    cr_expect_eq(finale_ranking_s(50), 1);
    // A first evaluation of 10 s: a run of 60 stops at 37.6, with energy at 33.6; one of 12 at 6.
    cr_expect(!finale_is_near(37, 60, 10, 0));
    cr_expect(finale_is_near(38, 60, 10, 0));
    cr_expect(!finale_is_near(33, 60, 10, 4));
    cr_expect(finale_is_near(34, 60, 10, 4));
    cr_expect(!finale_is_near(5.9, 12, 10, 0));
    cr_expect(finale_is_near(6, 12, 10, 0));
}

Test(finale, verdicts_follow_from_how_long_the_judge_took_to_open) {
    cr_expect_eq(finale_verdicts_s(0), 0, "not known: no reason to hurry");
    cr_expect_eq(finale_verdicts_s(2), 2 * finale_verdicts_s(1));
}

Test(finale, a_race_has_as_many_verdicts_as_there_is_time_for) {
    cr_expect_eq(finale_survivors(30, 9, 2), 2);
    cr_expect_eq(finale_survivors(26, 9, 2), 1, "one of three is the confirmation's");
    cr_expect_eq(finale_survivors(2, 9, 2), 1, "something must come of a race");
    cr_expect_eq(finale_survivors(-5, 9, 2), 1);
    cr_expect_eq(finale_survivors(1, 0, 2), 2);
}

Test(finale, says_what_took_a_run_beyond_its_time) {
    struct arena a = {0};
    struct finale_times t = {.play_off_s = 0.8, .confirm_s = 3.5, .energy_s = 2.2};
    cr_expect_null(finale_overrun_text(&a, 8.6, 8, &t), "hardly");
    cr_expect_str_eq(finale_overrun_text(&a, 11.5, 8, &t),
                     "play-off 0.8 s, confirmation 1.3 s, energy of the champion 2.2 s");
    cr_expect_str_eq(finale_overrun_text(&a, 14, 8, &(struct finale_times){.confirm_s = 1}),
                     "what was under way 5.0 s, confirmation 1.0 s");
    arena_reset(&a);
}
