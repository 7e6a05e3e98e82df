// What a move that a finding asks for should bring.
#include "mind/expect.h"

#include <criterion/criterion.h>
#include <math.h>

static struct finding found(const char *tool, double gain) {
    return (struct finding){.tool = tool, .cause = "a cause", .expected_gain = gain};
}

// A move to a block whose closed form is so many times as fast as that of the block it leaves.
static struct move turn(double times) {
    return (struct move){
        .words = "y: vec 4 -> 8", .knob = "vec", .direction = 1, .prior = log(times)};
}

static const struct expect_from here = {.prior = 0, .time_s = NAN, .reach_s = NAN};

Test(expect, takes_the_finding_where_the_closed_form_sees_no_difference) {
    struct finding f = found("occupancy", 1.3);
    struct move m = turn(1.001);
    cr_assert_float_eq(expect_gain(&here, &f, &m), 1.3, 1e-9);
    cr_assert(isnan(expect_gain(&here, NULL, &m)));
}

Test(expect, takes_the_smaller_of_two_gains) {
    struct finding f = found("reread", 1.8);
    struct move small = turn(1.05), large = turn(2.5);
    cr_assert_float_eq(expect_gain(&here, &f, &small), 1.05, 1e-9);
    cr_assert_float_eq(expect_gain(&here, &f, &large), 1.8, 1e-9);
}

Test(expect, lies_between_a_measured_cause_and_a_closed_form_that_says_slower) {
    struct finding f = found("reread", 1.44);
    struct move m = turn(0.81), far = turn(0.17);
    cr_assert_float_eq(expect_gain(&here, &f, &m), 1.2 * 0.9, 1e-9);
    cr_assert_lt(expect_gain(&here, &f, &far), 0.6);
}

// How far from reach it is says nothing of one move.
Test(expect, does_not_take_a_distance_for_the_gain_of_a_move) {
    static const char *const tools[] = {"reach", "disagree"};
    for (int i = 0; i < 2; i++) {
        struct finding f = found(tools[i], 4);
        struct move same = turn(1), better = turn(1.1), worse = turn(0.9);
        cr_assert(isnan(expect_gain(&here, &f, &same)));
        cr_assert_float_eq(expect_gain(&here, &f, &better), 1.1, 1e-9);
        cr_assert_float_eq(expect_gain(&here, &f, &worse), 0.9, 1e-9);
    }
}

// What was measured here over what the other emitter should take, and never beyond reach.
Test(expect, compares_another_emitter_with_the_time_that_was_measured) {
    struct finding f = found("tensor", 2.67);
    struct move m = {.words = "c: gemm as simt -> gemm as wgmma", .prior = -log(100e-6)};
    struct expect_from from = {.prior = -log(300e-6), .time_s = 800e-6, .reach_s = 50e-6};
    cr_assert_float_eq(expect_gain(&from, &f, &m), 8, 1e-9);
    from.reach_s = 160e-6;
    cr_assert_float_eq(expect_gain(&from, &f, &m), 5, 1e-9);
    from.time_s = NAN;
    cr_assert_float_eq(expect_gain(&from, &f, &m), 3, 1e-9);
}

Test(expect, lets_a_run_hear_what_it_may) {
    struct finding cause = found("waves", 1.2), distance = found("reach", 2);
    cr_assert(expect_uses_finding(NULL, &cause) && expect_uses_finding("findings", &cause));
    cr_assert(!expect_uses_finding("raw", &cause) && expect_uses_finding("raw", &distance));
    cr_assert(!expect_uses_finding("none", &cause) && !expect_uses_finding("none", &distance));
}
