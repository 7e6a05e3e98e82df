// Each policy in the closed loop on a table (loop_table.h).
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "family/block_set.h"
#include "family/enumerate.h"
#include "family/lower.h"
#include "loop_table.h"
#include "mind/proposer.h"
#include "search/policy.h"

TestSuite(policy_runs, .init = loop_set_up, .fini = loop_tear_down);

// Killed at a few points, in a batch and in a race, each policy goes on as if it had not been.
static void kill_at(const struct policy *policy, int batch, int race) {
    struct setting s = {arena_printf(&a, "%s-%d.db", policy->name, race),
                        policy,
                        race ? &proposer_blind : &proposer_expert,
                        3,
                        7,
                        batch,
                        race};
    struct table t = plain_table;
    struct run whole, run;
    t.die_at = 1000000;
    cr_assert(go(&s, &t, &whole), "%s", err.text);
    int n_points = t.point;
    const char *expected = tree_text(s.db);
    for (int k = 1; k < 3; k++) {
        s.db = arena_printf(&a, "%s-%d-%d.db", policy->name, race, k);
        pid_t child = fork();
        if (child == 0) {
            t = plain_table;
            t.die_at = n_points * k / 3;
            go(&s, &t, &run);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 99, "%s, %d", policy->name, k);
        t = plain_table;
        cr_assert(go(&s, &t, &run), "%s: %s", policy->name, err.text);
        cr_assert_str_eq(tree_text(s.db), expected, "%s, %d", policy->name, k);
        cr_assert_eq(run.champion, whole.champion);
    }
}

Test(policy_runs, every_policy_goes_on_as_if_it_had_not_been_killed) {
    for (int i = 0; policies[i]; i++) {
        kill_at(policies[i], 3, 0);
        if (policies[i]->propose != policy_propose_selected)
            kill_at(policies[i], 1, 6);
    }
}

Test(policy_runs, every_policy_ends_where_nothing_passes) {
    for (int i = 0; policies[i]; i++) {
        struct setting s = usual;
        struct table t = plain_table;
        struct run run;
        s.db = arena_printf(&a, "%s.db", policies[i]->name);
        s.policy = policies[i];
        s.evals = 6;
        t.all_fail = true;
        cr_assert(go(&s, &t, &run), "%s: %s", policies[i]->name, err.text);
        cr_expect_eq(run.champion, -1);
        cr_expect_str_eq(run.stop_reason, "evals", "%s: %s", policies[i]->name, run.stop_reason);
        struct search_node *nodes;
        int n = nodes_of(s.db, &nodes);
        for (int k = 1; k < n; k++)
            cr_expect_eq(nodes[k].parent, 0, "%s: node %d", policies[i]->name, k);
    }
}

// In a race many are taken of what is left at once, down to the last.
Test(policy_runs, every_policy_ends_a_race_where_nothing_is_left, .timeout = 120) {
    struct kernel k = {0};
    struct enumerated some;
    lower_default(&a, problem, &target, &k);
    enumerate_blocks(&a, problem, &target, &k, 24, 1, &some);
    target.blocks = block_set_new(&a);
    for (int i = 0; i < some.n; i++)
        block_set_add(target.blocks, some.texts[i]);
    for (int i = 0; policies[i]; i++) {
        struct setting s = usual;
        struct table t = plain_table;
        struct run run;
        s.db = arena_printf(&a, "%s.db", policies[i]->name);
        s.policy = policies[i];
        s.proposer = &proposer_expert;
        s.evals = 100;
        s.race = 16;
        cr_assert(go(&s, &t, &run), "%s: %s", policies[i]->name, err.text);
        cr_expect(run.n_nodes > 16 && run.n_nodes <= some.n, "%s: %d nodes", policies[i]->name,
                  run.n_nodes);
        cr_expect_str_eq(run.stop_reason, "exhausted", "%s: %s", policies[i]->name,
                         run.stop_reason);
    }
    target.blocks = NULL;
}

Test(policy_runs, evolve_crosses_what_it_found) {
    struct setting s = {"a.db", &policy_evolve, &proposer_expert, 1, 40, 1, 0};
    struct table t = plain_table;
    struct run run;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    struct search_node *nodes;
    int n = nodes_of("a.db", &nodes), n_crossed = 0;
    for (int i = 1; i < n; i++) {
        int mate;
        if (sscanf(nodes[i].move, "cross with %d: ", &mate) != 1)
            continue;
        n_crossed++;
        cr_assert(mate < i && mate != nodes[i].parent);
        cr_assert_str_eq(nodes[i].by, "evolve");
    }
    cr_assert_gt(n_crossed, 1);
}
