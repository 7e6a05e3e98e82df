// The loop where --seconds is short: what is judged then, and how often.
#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "loop_table.h"
#include "record/run.h"
#include "search/optimize.h"
#include "store/store.h"

TestSuite(hurried, .init = loop_set_up, .fini = loop_tear_down);

// Without time for a verdict and a confirmation there is one judgement, the stricter one.
Test(hurried, a_run_too_short_for_two_verdicts_confirms_its_first_kernel_at_once) {
    struct table t = plain_table;
    struct run run;
    struct setting s = usual;
    s.evals = 0;
    s.race = 6;
    t.opening_s = given_s;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_assert(strstr(t.notes, "is confirmed at once"), "%s", t.notes);
    cr_assert_eq(strncmp(t.judged, "default node", 12), 0, "what time is left is used: %s",
                 t.judged);
    struct search_node *nodes;
    nodes_of("a.db", &nodes);
    cr_expect_eq(nodes[0].measurement.speedup, 1, "others are timed against it");
    cr_expect(nodes[0].state == NODE_EVALUATED && nodes[0].verdict.kind == VERDICT_OK);
    cr_expect_eq(nodes[1].number, 1);
}

Test(hurried, it_ends_there_when_its_time_is_over_and_a_replay_does_too) {
    struct table t = plain_table;
    struct run run;
    struct setting s = usual;
    s.evals = 0;
    s.race = 6;
    t.opening_s = given_s = 1e-9;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_expect_eq(t.n_calls, 1);
    cr_expect_eq(t.n_confirmed, 1);
    cr_expect_eq(t.n_races, 0);
    cr_assert(run.champion == 0 && run.confirm.present && run.n_nodes == 1);
    cr_expect_str_eq(t.baseline, "plain");
    cr_expect_gt(run.confirm.speedup, 0);
    cr_expect_str_eq(run.stop_reason, "seconds");
    const char *tree = tree_text("a.db");
    struct table again = plain_table;
    again.confirms_first = true;
    given_s = 1e9;
    s.evals = 1;
    s.db = "b.db";
    cr_assert(go(&s, &again, &run), "%s", err.text);
    cr_expect_eq(again.n_confirmed, 1);
    cr_assert_str_eq(tree_text("b.db"), tree);
}

// --evals asks for verdicts.
Test(hurried, a_run_of_so_many_evaluations_has_them_however_long_they_take) {
    struct table t = plain_table;
    struct run run;
    t.opening_s = given_s;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_expect_str_eq(t.notes, "");
    cr_expect_gt(run.n_nodes, 3);
}

// Where the first kernel does not pass the search goes on as ever.
Test(hurried, a_first_kernel_that_fails_its_confirmation_is_not_champion) {
    struct table t = plain_table;
    struct run run;
    struct setting s = usual;
    s.evals = 0;
    t.opening_s = given_s;
    t.n_confirm_fails = 1;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_expect_gt(run.champion, 0);
}

// Nor is a baseline that cannot be timed a reason to end.
Test(hurried, without_a_baseline_the_first_kernel_is_judged_alone) {
    struct table t = plain_table;
    struct run run;
    struct setting s = usual;
    s.evals = 0;
    t.opening_s = given_s = 1e-9;
    t.baseline_fails = true;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_expect_eq(run.champion, 0);
    cr_expect_not_null(run.speedup_unknown);
}

// Reach that was measured in a slow moment costs a calibration, not a verdict and its repetition.
Test(hurried, a_race_far_beyond_reach_has_the_ceilings_measured_before_the_first_verdict) {
    struct table t = plain_table;
    struct run run;
    struct setting s = usual;
    s.race = 6;
    s.evals = 3;
    bound.reach_s = 1;
    t.reach_again_s = 1e-4;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_expect_eq(t.n_remeasured, 1);
    cr_expect_eq(t.point_remeasured, 0, "before anything was judged");
}

// One that was clearly faster in its race is not left behind, and its screening is enough.
Test(hurried, a_clear_winner_of_a_race_is_screened_in_the_time_kept_for_the_end) {
    struct table t = plain_table;
    struct run run;
    struct setting s = usual;
    struct store *store;
    struct search_node *nodes;
    s.race = 6;
    s.evals = 0;
    given_s = 100;
    t.is_lucky = true;
    cr_assert(store_open(&store, s.db, true, &err), "%s", err.text);
    run = new_run(&s);
    run.elapsed_s = 97;
    cr_assert(store_add_run(store, &run, &err), "%s", err.text);
    store_close(store);
    cr_assert(go(&s, &t, &run), "%s", err.text);
    int n = nodes_of("a.db", &nodes), n_judged = 0, n_proposed = 0;
    for (int i = 1; i < n; i++) {
        n_judged += nodes[i].state == NODE_EVALUATED;
        n_proposed += nodes[i].state == NODE_PROPOSED;
    }
    cr_expect_eq(n_judged, 1);
    cr_expect_eq(n_proposed, 1, "one like it waits");
    cr_expect_eq(t.n_screened, 1);
    cr_expect_eq(t.n_ranked, 0);
    cr_expect_gt(run.champion, 0);
    cr_expect(run.confirm.present);
}
