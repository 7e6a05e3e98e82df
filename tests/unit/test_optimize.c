// The closed loop on a table (loop_table.h).
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "family/lower.h"
#include "lang/lang.h"
#include "loop_table.h"
#include "mind/proposer.h"
#include "model/bound.h"
#include "record/advice.h"
#include "record/run.h"
#include "search/finale.h"
#include "search/optimize.h"
#include "search/policy.h"
#include "search/progress.h"
#include "search/tree.h"
#include "store/store.h"

TestSuite(optimize, .init = loop_set_up, .fini = loop_tear_down);

// Two kernels to begin with, one of which is the default and so no news. `is_first`: they are
// expected to be faster.
static const struct advice *advise_two(bool is_first) {
    static struct advice d;
    struct kernel k = {0};
    lower_default(&a, problem, &target, &k);
    d = (struct advice){.run = "r", .n_lessons = 2, .n_starts = 2, .is_start_first = is_first};
    d.starts[0] = (struct advice_start){kernel_print(&a, &k), "a sibling", false};
    struct kernel_stage *s = kernel_own_stage(&a, &k, k.n_stages - 1);
    kernel_find_knob(s, "rows")->part[0] = 2;
    d.starts[1] = (struct advice_start){kernel_print(&a, &k), "another", false};
    return &d;
}

Test(optimize, stores_every_node_and_finds_the_fastest) {
    struct table t = plain_table;
    struct run run;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_eq(run.state, RUN_DONE);
    cr_assert(run.confirm.present);
    struct search_node *nodes;
    int n = nodes_of("a.db", &nodes);
    cr_assert_gt(n, 4);
    for (int i = 0; i < n; i++) {
        cr_assert_eq(nodes[i].state, NODE_EVALUATED);
        if (nodes[i].verdict.kind == VERDICT_OK)
            cr_assert_leq(nodes[run.champion].time_s, nodes[i].time_s * 1.0000001);
        for (int j = 0; j < i; j++) {
            cr_assert_str_neq(nodes[i].candidate.hash, nodes[j].candidate.hash);
            cr_assert_str_neq(nodes[i].candidate.kernel, nodes[j].candidate.kernel);
        }
    }
    cr_assert_str_eq(t.baseline, "plain", "the confirmation is against plain");
    cr_assert_eq(run.champion, progress_champion(nodes, n));
}

Test(optimize, decides_the_same_with_the_same_seed) {
    struct run run;
    for (int i = 0; policies[i]; i++) {
        const char *text[3];
        for (int k = 0; k < 3; k++) {
            struct table t = plain_table;
            struct setting s = {arena_printf(&a, "%d-%d.db", i, k),
                                policies[i],
                                &proposer_blind,
                                k == 2 ? 8 : 7,
                                12,
                                1,
                                0};
            cr_assert(go(&s, &t, &run), "%s", err.text);
            text[k] = tree_text(s.db);
        }
        cr_assert_str_eq(text[0], text[1], "%s", policies[i]->name);
        cr_assert_str_neq(text[0], text[2], "%s", policies[i]->name);
    }
}

static void kill_everywhere(int batch, int race) {
    struct setting s = {"whole.db", &policy_mcts, &proposer_blind, 3, 8, batch, race};
    struct table t = plain_table;
    struct run whole, run;
    t.die_at = 1000000;
    cr_assert(go(&s, &t, &whole), "%s", err.text);
    int n_points = t.point;
    cr_assert_gt(n_points, 20);
    const char *expected = tree_text("whole.db");
    for (int k = 0; k < n_points; k++) {
        s.db = arena_printf(&a, "%d.db", k);
        pid_t child = fork();
        if (child == 0) {
            t = plain_table;
            t.die_at = k;
            go(&s, &t, &run);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 99, "point %d", k);
        t = plain_table;
        cr_assert(go(&s, &t, &run), "point %d: %s", k, err.text);
        cr_assert_str_eq(tree_text(s.db), expected, "point %d", k);
        cr_assert_eq(run.champion, whole.champion);
        cr_assert_eq(run.state, RUN_DONE);
    }
}

Test(optimize, resumed_after_a_kill_anywhere_it_takes_the_same_way, .timeout = 900) {
    kill_everywhere(1, 0);
}

Test(optimize, so_does_one_that_proposes_in_batches, .timeout = 900) {
    kill_everywhere(3, 0);
}

Test(optimize, and_one_that_races_and_has_kernels_from_memory, .timeout = 900) {
    advised = advise_two(true);
    kill_everywhere(1, 5);
}

Test(optimize, and_one_that_begins_with_a_kernel_from_memory, .timeout = 900) {
    advised = advise_two(true);
    kill_everywhere(1, 0);
}

Test(optimize, kernels_of_memory_are_the_first_to_be_tried) {
    struct table t = plain_table;
    struct run run;
    struct search_node *nodes;
    advised = advise_two(false);
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    nodes_of("a.db", &nodes);
    cr_assert(nodes[1].parent == 0 && strstr(nodes[1].candidate.kernel, "rows 2 "));
    cr_assert_str_eq(nodes[1].move, "the champion of another");
    cr_assert_str_eq(nodes[2].by, "expert");
    cr_assert(strncmp(t.judged, "default node1 node2 ", 20) == 0, "%s", t.judged);
}

// Champions of two siblings, neither of them the default kernel; on one of them the second was
// three times as fast as the first.
static const struct advice *advise_others(bool is_weighed) {
    static struct advice d;
    static struct advice_block blocks[2];
    struct kernel k = {0};
    lower_default(&a, problem, &target, &k);
    d = (struct advice){.run = "r",
                        .n_lessons = 2,
                        .n_starts = 2,
                        .is_weighed = is_weighed,
                        .blocks = blocks,
                        .n_blocks = 2};
    for (int i = 0; i < 2; i++) {
        struct kernel_stage *s = kernel_own_stage(&a, &k, k.n_stages - 1);
        kernel_find_knob(s, "rows")->part[0] = 2 + 30 * i;
        d.starts[i] =
            (struct advice_start){kernel_print(&a, &k), i ? "another" : "a sibling", false};
        blocks[i] = (struct advice_block){d.starts[i].kernel, -log(1 + 2 * i), 0, 1};
    }
    return &d;
}

// What is proposed before anything is judged: `race`, `policy` and record as given.
static int count_champions(const char *db, const struct policy *policy, int race, bool is_weighed,
                           int *n_tried) {
    struct setting s = usual;
    struct table t = plain_table;
    struct run run;
    struct search_node *nodes;
    s.db = db;
    s.policy = policy;
    s.race = race;
    s.evals = 12;
    advised = advise_others(is_weighed);
    cr_assert(go(&s, &t, &run), "%s", err.text);
    int n = nodes_of(db, &nodes), n_first = 0;
    *n_tried = 0;
    for (int i = 1; i < n; i++) {
        bool is_champion = strncmp(nodes[i].move, "the champion of ", 16) == 0;
        n_first += is_champion && i <= 2;
        *n_tried += is_champion;
        cr_expect_eq(is_champion, strcmp(nodes[i].by, "memory") == 0, "%d: %s", i, nodes[i].by);
    }
    return n_first;
}

// Each champion costs an evaluation, so a policy that can weigh them is given the nearest one's;
// what it makes of the others is its own. In a race they cost none, and records of before had all
// judged.
Test(optimize, the_first_champion_is_enough_for_a_policy_that_weighs_the_others) {
    int n;
    cr_assert_eq(count_champions("weighed.db", &policy_surrogate, 0, true, &n), 1);
    cr_assert_eq(n, 2, "it was in the pool: %d", n);
    cr_assert_eq(count_champions("before.db", &policy_surrogate, 0, false, &n), 2);
    cr_assert_eq(count_champions("race.db", &policy_surrogate, 6, true, &n), 2);
    cr_assert_eq(count_champions("mcts.db", &policy_mcts, 0, true, &n), 2);
}

// In whatever order: the tree and the times are the same.
Test(optimize, one_that_should_be_faster_is_judged_before_the_root) {
    struct setting s = usual;
    struct table t = plain_table;
    struct run run;
    advised = advise_two(false);
    cr_assert(go(&s, &t, &run), "%s", err.text);
    s.db = "first.db";
    t = plain_table;
    advised = advise_two(true);
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_assert(strncmp(t.judged, "node1 default node2 ", 20) == 0, "%s", t.judged);
    cr_assert_str_eq(tree_text("first.db"), tree_text("a.db"));
    // Not where somebody said what to begin with, nor with one evaluation, which is the root's.
    s.db = "one.db";
    s.evals = 1;
    t = plain_table;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_assert(strncmp(t.judged, "default ", 8) == 0, "%s", t.judged);
}

// Its pairs were with a root that turned out to be wrong: it counts all the same.
Test(optimize, one_that_was_judged_before_a_root_that_fails_is_champion) {
    struct setting s = usual;
    struct table t = plain_table;
    struct run run;
    struct search_node *nodes;
    advised = advise_two(true);
    t.root_fails = true;
    s.evals = 2;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    nodes_of("a.db", &nodes);
    cr_assert_eq(nodes[0].verdict.kind, VERDICT_WRONG);
    cr_assert_eq(run.champion, 1);
    cr_assert_float_eq(nodes[1].time_s, table_time(&t, &nodes[1].candidate), 1e-12);
    // Nothing could be timed against it: once that is known, against plain.
    s.db = "crashes.db";
    t = plain_table;
    t.root_crashes = true;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_assert(strncmp(t.judged, "node1 default node1 ", 20) == 0, "%s", t.judged);
    nodes_of(s.db, &nodes);
    cr_assert_eq(nodes[1].verdict.kind, VERDICT_OK);
    cr_assert_eq(run.champion, 1);
}

// The default of today need not be the one that a record begins with.
Test(optimize, begins_with_the_block_that_a_record_began_with) {
    struct table t = plain_table;
    struct setting s = usual;
    struct kernel k;
    struct candidate first;
    struct run run;
    int n;
    lower_default(&a, problem, &target, &k);
    struct move *moves = moves_list(&a, problem, &target, &k, &n);
    cr_assert(n > 0 && lower_kernel(&a, problem, &target, moves[0].kernel, &first, &err));
    first.label = "default";
    t.first = &first;
    s.evals = 1;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    struct search_node *nodes;
    nodes_of(s.db, &nodes);
    cr_expect_str_eq(nodes[0].candidate.kernel, first.kernel);
}

// ---- races

Test(optimize, judges_only_what_comes_through_a_race) {
    struct setting s = usual;
    struct table t = plain_table;
    struct run run;
    s.race = 6;
    s.evals = 7;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    struct search_node *nodes;
    int n = nodes_of(s.db, &nodes), n_evaluated = 0, n_screened = 0;
    for (int i = 0; i < n; i++) {
        const struct search_node *x = &nodes[i];
        n_evaluated += x->state == NODE_EVALUATED;
        n_screened += x->state == NODE_SCREENED;
        cr_expect_eq(x->screening.present, i > 0, "all but the root are raced");
        cr_expect_eq(x->screening.survived, i > 0 && x->state == NODE_EVALUATED);
        cr_expect(x->state != NODE_SCREENED || (isnan(x->time_s) && !x->measurement.present));
        cr_expect(i == 0 || nodes[x->parent].state == NODE_EVALUATED, "nothing grows on a rumour");
    }
    cr_expect_eq(t.n_raced, n - 1);
    cr_expect_gt(n_screened, n_evaluated);
    cr_expect(n_evaluated > 2 && n_evaluated <= 7, "%d", n_evaluated);
    cr_expect_eq(n_evaluated + n_screened, n, "nothing is left over");
    cr_expect_eq(progress_screened(nodes, n), n_screened);
    cr_expect_eq(nodes[run.champion].state, NODE_EVALUATED);
    for (int i = 1; i <= 6; i++)
        cr_expect_eq(nodes[i].parent, 0, "the first race is the root's, before it is judged");
    cr_expect_str_neq(t.incumbent, "default", "later ones are against the champion");
}

Test(optimize, a_race_has_no_more_survivors_than_there_are_evaluations) {
    for (int evals = 1; evals <= 4; evals++) {
        struct setting s = usual;
        struct table t = plain_table;
        struct run run;
        s.db = arena_printf(&a, "%d.db", evals);
        s.race = 6;
        s.evals = evals;
        cr_assert(go(&s, &t, &run), "%s", err.text);
        struct search_node *nodes;
        int n = nodes_of(s.db, &nodes);
        cr_expect_eq(progress_evals(nodes, n), evals);
        cr_expect(evals > 1 || n == 1, "no race whose survivors nobody could judge");
        cr_expect_str_eq(run.stop_reason, "evals");
    }
}

// A verdict of 10 TB of data would take hours: one kernel is judged besides the root.
Test(optimize, one_of_the_opening_race_is_judged_where_a_verdict_takes_long) {
    for (int is_large = 0; is_large < 2; is_large++) {
        struct setting s = usual;
        struct table t = plain_table;
        struct run run;
        s.db = is_large ? "large.db" : "small.db";
        s.race = 6;
        s.evals = 3;
        bound.work.bytes_read = is_large ? 1e13 : 1e6;
        cr_assert(go(&s, &t, &run), "%s", err.text);
        struct search_node *nodes;
        nodes_of(s.db, &nodes);
        int n_survived = 0;
        for (int i = 1; i <= 6; i++)
            n_survived += nodes[i].screening.survived;
        cr_expect_eq(n_survived, is_large ? 1 : 2);
    }
}

// What had no turn is not held to be tried.
Test(optimize, what_a_race_had_no_time_for_is_proposed_again) {
    struct setting s = usual;
    struct table t = plain_table;
    struct run run;
    s.race = 6;
    s.evals = 12;
    s.policy = &policy_random;
    t.untimed = 2;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    struct search_node *nodes;
    int n = nodes_of(s.db, &nodes), n_again = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(nodes[i].candidate.hash, nodes[k].candidate.hash) == 0) {
                cr_expect(search_node_is_untimed(&nodes[k]));
                n_again++;
            }
    cr_expect_gt(n_again, 0);
}

// Where there was no time for any of them the first goes on all the same, by no speed-up.
Test(optimize, a_race_without_time_says_so) {
    struct setting s = usual;
    struct table t = plain_table;
    struct run run;
    s.race = 6;
    s.evals = 2;
    t.untimed = 6;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_expect_str_eq(t.raced, "no time to race 6 against 1.0, on to the judge: 1.1");
}

// What nobody verified is not a candidate for anything, however fast it looks.
Test(optimize, a_plateau_counts_what_was_screened_for_less) {
    struct setting s = usual;
    struct table t = plain_table;
    struct run run;
    s.race = 8;
    s.evals = 0;
    t.flat = true;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_assert_str_eq(run.stop_reason, "plateau");
    struct search_node *nodes;
    int n = nodes_of(s.db, &nodes);
    cr_expect_geq(progress_since_gain(nodes, n), PLATEAU_EVALS);
    cr_expect_lt(progress_evals(nodes, n), PLATEAU_EVALS);
}

// ---- who is ranked

// The end of nearly every interval lies above the champion here, yet most are not taken for it.
Test(optimize, a_wide_interval_is_no_reason_to_measure_again) {
    struct table t = plain_table, sure = plain_table;
    struct run run;
    t.doubt = 0.9;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    struct setting other = usual;
    other.db = "b.db";
    cr_assert(go(&other, &sure, &run), "%s", err.text);
    cr_expect_gt(t.n_ranked, 0);
    cr_expect_lt(2 * t.n_ranked, t.n_screened, "%d of %d", t.n_ranked, t.n_screened);
    cr_expect_leq(sure.n_ranked, t.n_ranked);
    cr_expect_eq(t.ranking_s, finale_ranking_s(1000));
}

// ---- batches

// The judge looks up how many nodes wait when it is first asked about one of a batch.
struct batches {
    struct table table;
    const char *db;
    int sizes[16], n;  // of the batches, as seen by the judge
    int n_announced;
};

static int count_waiting(const char *db) {
    struct search_node *nodes;
    int n = nodes_of(db, &nodes), n_waiting = 0;
    for (int i = 1; i < n; i++)
        n_waiting += nodes[i].state == NODE_PROPOSED;
    return n_waiting;
}

static bool judge_batches(void *ctx, struct arena *into, const struct eval_job *job,
                          struct eval_result *r, struct error *e) {
    struct batches *b = ctx;
    if (job->depth == EVAL_SCREEN && b->n < 16)
        b->sizes[b->n++] = count_waiting(b->db);
    return judge_table(&b->table, into, job, r, e);
}

static bool announce(void *ctx, const struct eval_job *job, struct error *e) {
    (void)e;
    cr_assert_eq(job->depth, EVAL_SCREEN);
    cr_assert_str_eq(job->baseline->label, "default");
    ((struct batches *)ctx)->n_announced++;
    return true;
}

Test(optimize, a_batch_is_proposed_before_it_is_judged) {
    struct setting s = usual;
    s.evals = 9;
    s.batch = 3;
    struct batches b = {.table = plain_table, .db = s.db};
    struct store *store;
    cr_assert(store_open(&store, s.db, true, &err), "%s", err.text);
    struct run run = new_run(&s);
    cr_assert(store_add_run(store, &run, &err), "%s", err.text);
    struct optimize_job job = {
        .context = {.problem = problem,
                    .target = &target,
                    .bound = &bound,
                    .policy = s.policy,
                    .proposer = s.proposer},
        .judge = {.judge = judge_batches, .ctx = &b, .announce = announce},
        .store = store,
    };
    cr_assert(optimize(&a, &job, &run, &err), "%s", err.text);
    store_close(store);
    cr_assert_str_eq(run.stop_reason, "evals");
    cr_assert_eq(run.n_nodes, 9, "the last batch is cut to what is left");
    static const int expected[] = {3, 2, 1, 3, 2, 1, 2, 1};
    cr_assert_eq(b.n, 8);
    for (int i = 0; i < 8; i++)
        cr_assert_eq(b.sizes[i], expected[i], "screening %d", i);
    cr_assert_eq(b.n_announced, 8);
    struct search_node *nodes;
    nodes_of(s.db, &nodes);
    for (int i = 1; i <= 3; i++)
        cr_assert_eq(nodes[i].parent, 0, "nothing was known of others yet");
}

// One that repairs what did not pass, as a model would.
static int repair(struct arena *into, const struct brief *b, struct proposal *out, int room) {
    (void)room;
    if (proposer_blind.propose(into, b, out, 1) == 0)
        return 0;
    out->by = b->is_repair ? "debug" : "team";
    return 1;
}

static const struct proposer proposer_repairing = {
    .name = "blind", .propose = repair, .can_repair = true};

static bool has_child(const struct search_node *nodes, int n, int node) {
    for (int i = node + 1; i < n; i++)
        if (nodes[i].parent == node)
            return true;
    return false;
}

Test(optimize, repairs_every_node_of_a_batch_that_did_not_pass) {
    for (int batch = 1; batch <= 4; batch++) {
        struct setting s = {
            arena_printf(&a, "%d.db", batch), &policy_mcts, &proposer_repairing, 6, 40, batch, 0};
        struct table t = plain_table;
        struct run run;
        cr_assert(go(&s, &t, &run), "%s", err.text);
        struct search_node *nodes;
        int n = nodes_of(s.db, &nodes), n_repaired = 0;
        int last = (n - 1) / batch * batch;  // later ones may not have had their turn
        for (int i = 1; i <= last - 2 * batch; i++) {
            bool is_failed = verdict_is_failure(nodes[i].verdict.kind);
            bool is_tried = has_child(nodes, n, i);
            if (is_failed && verdict_is_failure(nodes[nodes[i].parent].verdict.kind))
                continue;  // repaired already, and in vain: that ends
            cr_assert(!is_failed || is_tried, "batch %d: node %d was left", batch, i);
            n_repaired += is_failed;
        }
        cr_assert_gt(n_repaired, 0, "batch %d: the table has no failure to repair", batch);
    }
}

Test(optimize, an_interrupted_run_says_so_and_goes_on) {
    struct table t = plain_table;
    struct run run;
    t.interrupt_at = 5;
    cr_assert(!go(&usual, &t, &run));
    cr_assert_eq(err.kind, ERROR_INTERRUPTED);
    cr_assert_eq(run.state, RUN_INTERRUPTED);
    cr_assert_str_eq(run.stop_reason, "interrupted");
    struct search_node *nodes;
    int n = nodes_of("a.db", &nodes);
    cr_assert_eq(nodes[n - 1].state, NODE_PROPOSED);
    t = plain_table;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_eq(run.state, RUN_DONE);
    struct setting other = usual;
    other.db = "b.db";
    t = plain_table;
    cr_assert(go(&other, &t, &run), "%s", err.text);
    cr_assert_str_eq(tree_text("a.db"), tree_text("b.db"));
}

Test(optimize, a_finished_run_with_a_larger_budget_goes_on) {
    struct setting s = usual;
    s.evals = 5;
    struct table t = plain_table;
    struct run run;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_assert_str_eq(run.stop_reason, "evals");
    struct store *store;
    cr_assert(store_open(&store, "a.db", true, &err));
    run.max_evals = 9;
    cr_assert(store_update_run(store, &run, &err));
    store_close(store);
    t = plain_table;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_assert_eq(run.n_nodes, 9);
    t = plain_table;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_assert_eq(t.n_calls, 0, "nothing was left to do");
}

Test(optimize, disqualifies_what_fails_the_confirmation) {
    struct table t = plain_table;
    struct run run, reference;
    struct setting s = usual;
    cr_assert(go(&s, &t, &reference), "%s", err.text);
    s.db = "b.db";
    t = plain_table;
    t.n_confirm_fails = 2;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    struct search_node *nodes;
    nodes_of("b.db", &nodes);
    cr_assert_neq(run.champion, reference.champion);
    cr_assert_geq(run.champion, 0);
    cr_assert_eq(nodes[reference.champion].verdict.kind, VERDICT_WRONG);
    cr_assert(strstr(nodes[reference.champion].verdict.evidence, "on confirmation"));
    cr_assert(run.confirm.present);
}

Test(optimize, does_not_announce_what_could_not_be_confirmed) {
    struct table t = plain_table;
    struct run run;
    t.confirm_infra = true;
    cr_assert(!go(&usual, &t, &run));
    cr_assert_eq(err.kind, ERROR_IO);
    cr_assert_eq(run.champion, -1);
    cr_assert_eq(run.state, RUN_INTERRUPTED);
    t = plain_table;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_eq(t.n_calls, 1, "only the confirmation was left");
    cr_assert_geq(run.champion, 0);
}

Test(optimize, a_suspect_is_never_champion_and_has_no_children) {
    struct table t = plain_table;
    struct run run;
    struct setting s = usual;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    int fastest = run.champion;
    cr_assert_gt(fastest, 0);
    s.db = "b.db";
    t = plain_table;
    t.suspect = fastest;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_assert_neq(run.champion, fastest);
    struct search_node *nodes;
    int n = nodes_of("b.db", &nodes);
    for (int i = 0; i < n; i++)
        cr_assert_neq(nodes[i].parent, fastest);
}

Test(optimize, stops_on_a_plateau) {
    struct table t = plain_table;
    t.flat = true;
    struct run run;
    struct setting s = usual;
    s.evals = 1000;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_assert_str_eq(run.stop_reason, "plateau");
    cr_assert_eq(run.n_nodes, 1 + PLATEAU_EVALS);
    cr_assert_eq(run.champion, 0, "nothing was faster than the default");
}

Test(optimize, stops_near_reach) {
    struct table t = plain_table;
    struct run run;
    bound.reach_s = 1e-3;
    t.flat = true;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_str_eq(run.stop_reason, "reach");
    cr_assert_eq(run.n_nodes, 1);
}

Test(optimize, ends_when_nothing_is_left_to_try) {
    struct table t = plain_table;
    struct run run;
    struct setting s = {"a.db", &policy_random, &proposer_blind, 1, 0, 1, 0};
    // Every gain resets the plateau; a table without gains would stop there instead.
    static const char text[] = "problem one\ndim N = 4\nin x : f32[N] ~ normal\nout y : f32[N]\n"
                               "y = -x\n";
    struct lang_file file;
    const char *diagnostics;
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err));
    problem = file.problems[0];
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_assert(strcmp(run.stop_reason, "exhausted") == 0 || strcmp(run.stop_reason, "plateau") == 0,
              "%s", run.stop_reason);
}

Test(optimize, times_against_plain_where_the_default_fails) {
    struct table t = plain_table;
    t.root_fails = true;
    struct run run;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_gt(run.champion, 0);
    struct search_node *nodes;
    nodes_of("a.db", &nodes);
    cr_assert_str_eq(nodes[run.champion].measurement.baseline, "plain");
}

// On a GPU the emitter that should be fastest may be wrong; the first one of its family is tried
// then.
Test(optimize, tries_the_first_emitters_where_the_default_fails) {
    static const char text[] = "problem soft\ndim M = 16, N = 393216\nin x : f32[M, N] ~ normal\n"
                               "out y : f32[M, N]\ny = softmax(x)\n";
    struct lang_file file;
    const char *diagnostics;
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    struct table t = plain_table;
    struct setting few = usual;
    struct run run;
    struct search_node *nodes;
    few.evals = 2;
    t.named_fails = true;
    cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", err.text);
    problem = file.problems[0];
    cr_assert(target_of_arch("sm_90a", &target));
    bound_compute(problem, &target, &bound);
    cr_assert(go(&few, &t, &run), "%s", err.text);
    nodes_of("a.db", &nodes);
    cr_assert_not_null(strstr(nodes[0].candidate.kernel, " as "), "%s", nodes[0].candidate.kernel);
    cr_assert_eq(run.champion, 1);
    cr_expect_str_eq(nodes[1].reason, "the default kernel does not pass");
}

// ---- what is found is never lost

static void check_stored(const struct run *run) {
    struct store *store;
    struct run stored;
    cr_assert(store_open(&store, "a.db", false, &err), "%s", err.text);
    cr_assert(store_get_run(store, &a, 1, &stored, &err), "%s", err.text);
    store_close(store);
    cr_expect_eq(stored.state, RUN_DONE);
    cr_expect_eq(stored.champion, run->champion);
    cr_expect(stored.confirm.present && isnan(stored.confirm.speedup));
    cr_expect_eq(stored.confirm.median_s, run->confirm.median_s);
    cr_expect_str_eq(stored.speedup_unknown, "plain: slow");
}

Test(optimize, a_baseline_that_cannot_be_timed_costs_the_speedup_not_the_champion) {
    struct table t = plain_table;
    struct run run;
    t.baseline_fails = true;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_gt(run.champion, 0);
    cr_assert_null(t.baseline, "confirmed alone, in the end");
    cr_assert(strstr(t.notes, "speed-up stays unknown"), "%s", t.notes);
    check_stored(&run);
}

Test(optimize, neither_default_nor_baseline_is_needed_for_a_champion) {
    struct table t = plain_table;
    struct run run;
    t.baseline_fails = t.root_fails = true;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_gt(run.champion, 0);
    check_stored(&run);
    struct search_node *nodes;
    int n = nodes_of("a.db", &nodes);
    cr_assert_gt(n, 4);
    for (int i = 0; i < n; i++)
        if (nodes[i].verdict.kind == VERDICT_OK)
            cr_assert_leq(nodes[run.champion].time_s, nodes[i].time_s);
}

Test(optimize, a_known_speedup_is_not_called_unknown) {
    struct table t = plain_table;
    struct run run;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_null(run.speedup_unknown);
    cr_assert(isfinite(run.confirm.speedup));
    cr_assert_str_eq(t.notes, "");
}

Test(optimize, time_that_is_over_before_the_first_verdict_is_prolonged_to_it) {
    struct table t = plain_table;
    struct run run;
    given_s = 1e-9;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_eq(run.champion, 0);
    cr_assert_eq(run.n_nodes, 1);
    cr_assert_str_eq(run.stop_reason, "seconds");
    cr_assert(strstr(t.notes, "prolonged to its confirmation"), "%s", t.notes);
}

// A verdict can take minutes on a busy machine: those that came through a race wait for a resumed
// run.
Test(optimize, survivors_of_a_race_are_not_judged_when_the_time_is_over) {
    struct table t = plain_table;
    struct run run;
    struct setting s = usual;
    s.race = 6;
    given_s = 1e-9;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    struct search_node *nodes;
    int n = nodes_of("a.db", &nodes), n_proposed = 0;
    for (int i = 1; i < n; i++) {
        n_proposed += nodes[i].state == NODE_PROPOSED;
        cr_assert_neq(nodes[i].state, NODE_EVALUATED);
    }
    cr_assert_gt(n_proposed, 0);
    cr_assert(run.champion == 0 && run.confirm.present && run.state == RUN_DONE);
    cr_assert_str_eq(run.stop_reason, "seconds");
    cr_assert(strstr(t.notes, "prolonged to its confirmation"), "%s", t.notes);
    cr_assert_eq(t.n_games, 0);
    // With time they are judged.
    struct store *store;
    cr_assert(store_open(&store, "a.db", true, &err), "%s", err.text);
    run.max_seconds = 1000;
    cr_assert(store_update_run(store, &run, &err), "%s", err.text);
    store_close(store);
    t = plain_table;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    n = nodes_of("a.db", &nodes);
    for (int i = 0; i < n; i++)
        cr_assert_neq(nodes[i].state, NODE_PROPOSED, "%d", i);
    cr_assert_gt(run.champion, 0);
}

// Source that a model wrote was paid for.
Test(optimize, but_what_a_model_proposed_is) {
    struct table t = plain_table;
    struct run run;
    struct setting s = usual;
    struct store *store;
    struct search_node *nodes;
    s.race = 6;
    given_s = 1e-9;
    cr_assert(store_open(&store, s.db, true, &err), "%s", err.text);
    run = new_run(&s);
    run.llm.spec = "exec:none";
    cr_assert(store_add_run(store, &run, &err), "%s", err.text);
    store_close(store);
    cr_assert(go(&s, &t, &run), "%s", err.text);
    int n = nodes_of("a.db", &nodes), n_judged = 0;
    for (int i = 0; i < n; i++) {
        n_judged += nodes[i].state == NODE_EVALUATED;
        cr_assert_neq(nodes[i].state, NODE_PROPOSED, "%d", i);
    }
    cr_assert_gt(n_judged, 1);
}

Test(optimize, and_to_the_first_candidate_that_passes_but_not_for_ever) {
    struct table t = plain_table;
    struct run run;
    struct setting s = usual;
    given_s = 1e-9;
    t.root_fails = true;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_assert_gt(run.champion, 0);
    cr_assert_leq(run.n_nodes, 4);
    cr_assert(strstr(t.notes, "prolonged to the first candidate that passes"), "%s", t.notes);
    s.db = "b.db";
    t = plain_table;
    t.n_beyond = 1000;
    t.n_remeasured = 3;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_assert_eq(run.champion, -1);
    cr_assert_leq(run.n_nodes, 4);
}

// ---- faster than reach

// The default is far beyond reach, since the ceilings are those of a slow moment.
Test(optimize, a_suspect_by_reach_is_judged_again_by_ceilings_measured_again) {
    struct table t = plain_table;
    struct run run;
    t.n_beyond = 1;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_eq(t.n_remeasured, 1);
    struct search_node *nodes;
    nodes_of("a.db", &nodes);
    cr_assert_eq(nodes[0].verdict.kind, VERDICT_OK);
    cr_assert_geq(run.champion, 0);
}

Test(optimize, a_champion_beyond_reach_has_the_ceilings_measured_again) {
    struct table t = plain_table;
    struct run run;
    t.remeasure_helps = true;
    bound.reach_s = 1;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_eq(t.n_remeasured, 2);
    cr_assert_gt(run.n_nodes, 4, "the search went on");
    cr_assert_str_neq(run.stop_reason, "reach");
    cr_assert_str_eq(run.bound, "measured again");
    // What was found by the old bound is found anew, also in the store.
    struct search_node *nodes;
    for (int i = nodes_of("a.db", &nodes) - 1; i >= 0; i--)
        if (isfinite(nodes[i].time_s))
            cr_expect(nodes[i].n_findings > 0 && strcmp(nodes[i].findings[0].tool, "reach") == 0,
                      "node %d", i);
}

// A root at reach, by ceilings that are measured again: `reach_s` is what they say then, 0 the
// same.
static struct run run_at_reach(double reach_s) {
    struct table t = plain_table;
    struct run run;
    t.flat = true;
    t.reach_again_s = reach_s;
    bound.reach_s = 0.97e-3;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_eq(t.n_remeasured, 1);
    return run;
}

// The ceilings may be of a slow moment: an end by them alone is not believed at once.
Test(optimize, a_champion_at_reach_is_believed_after_a_second_look) {
    struct run run = run_at_reach(0);
    cr_assert_str_eq(run.stop_reason, "reach");
    cr_assert_eq(run.n_nodes, 1, "the root was at reach");
}

Test(optimize, a_champion_that_was_at_reach_by_mistake_does_not_end_the_search) {
    struct run run = run_at_reach(1e-4);
    cr_assert_str_neq(run.stop_reason, "reach");
    cr_assert_gt(run.n_nodes, 4, "the search went on");
}

Test(optimize, measures_again_only_so_often) {
    struct table t = plain_table;
    struct run run;
    bound.reach_s = 1;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_eq(t.n_remeasured, 3);
    cr_assert_str_eq(run.stop_reason, "reach");
}

Test(optimize, the_champion_is_the_best_not_the_luckiest) {
    struct table t = plain_table;
    struct run run;
    t.is_lucky = true;
    cr_assert(go(&usual, &t, &run), "%s", err.text);
    cr_assert_eq(run.state, RUN_DONE);
    struct search_node *nodes;
    int n = nodes_of("a.db", &nodes), luckiest = 1;
    cr_assert_eq(run.champion, progress_champion(nodes, n));
    cr_assert_gt(t.n_games, 0);
    for (int i = 1; i < n; i++)
        if (nodes[i].verdict.kind == VERDICT_OK &&
            nodes[i].measurement.speedup > nodes[luckiest].measurement.speedup)
            luckiest = i;
    cr_assert_lt(table_time(&t, &nodes[run.champion].candidate),
                 table_time(&t, &nodes[luckiest].candidate));
}
