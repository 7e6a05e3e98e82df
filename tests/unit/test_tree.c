#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "record/run.h"
#include "search/decide.h"
#include "search/policy.h"
#include "search/progress.h"
#include "search/tree.h"

// What a policy selects in a tree; those that select none begin at what greedy does.
static int selected(const struct policy *p, struct tree *t, struct rng *rng) {
    struct search_context c = {.nodes = t->nodes, .n_nodes = t->n_nodes, .policy = p};
    struct search_state s = {.tree = *t};
    if (rng)
        s.rng = *rng;
    int node = (p->select ? p : &policy_greedy)->select(&c, &s);
    if (rng)
        *rng = s.rng;
    return node;
}

static struct search_node node(int number, int parent, enum verdict_kind verdict, double time_s) {
    return (struct search_node){
        .number = number,
        .parent = parent,
        .state = NODE_EVALUATED,
        .verdict = {.kind = verdict, .evidence = ""},
        .time_s = verdict == VERDICT_OK ? time_s : NAN,
        .measurement = {.present = verdict == VERDICT_OK,
                        .speedup = 1 / time_s,
                        .speedup_low = 0.99 / time_s,
                        .speedup_high = 1.01 / time_s},
    };
}

//            0 (1.0)
//       /       |      \            .
//   1 (0.5)  2 wrong  3 suspect
//     |                  |
//   4 (0.25)          5 (0.1)
static void sample(struct search_node *n) {
    n[0] = node(0, -1, VERDICT_OK, 1.0);
    n[1] = node(1, 0, VERDICT_OK, 0.5);
    n[2] = node(2, 0, VERDICT_WRONG, 0);
    n[3] = node(3, 0, VERDICT_SUSPECT, 0);
    n[4] = node(4, 1, VERDICT_OK, 0.25);
    n[5] = node(5, 3, VERDICT_OK, 0.1);
}

Test(tree, counts_visits_and_ranks_what_works) {
    struct arena a = {0};
    struct search_node n[6];
    struct tree t;
    sample(n);
    tree_build(&a, &t, n, 6);
    cr_assert_eq(t.at[0].visits, 6);
    cr_assert_eq(t.at[0].n_children, 3);
    cr_assert_eq(t.at[1].visits, 2);
    cr_assert_float_eq(tree_rank(&t, t.at[0].time_s), 1.0 / 3, 1e-12);
    cr_assert_float_eq(tree_rank(&t, t.at[1].time_s), 2.0 / 3, 1e-12);
    cr_assert_float_eq(tree_rank(&t, t.at[4].time_s), 1.0, 1e-12);
    cr_assert_eq(tree_rank(&t, t.at[2].time_s), 0);
    cr_assert_float_eq(tree_rank(&t, t.at[0].best_s), 1.0, 1e-12);
    cr_assert_eq(tree_fastest(&t), 4);
    arena_reset(&a);
}

// As many nodes as a long run with races has: 100 000 of 1000 different times.
Test(tree, equal_times_share_the_better_rank) {
    enum { N = 100000, TIMES = 1000 };
    struct arena a = {0};
    struct search_node *n = arena_array(&a, struct search_node, N);
    struct tree t;
    for (int i = 0; i < N; i++)
        n[i] = node(i, i - 1 < 0 ? -1 : 0, VERDICT_OK, 1 + (double)(i % TIMES));
    tree_build(&a, &t, n, N);
    for (int i = 0; i < N; i += 777)
        cr_assert_float_eq(tree_rank(&t, t.at[i].time_s), 1 - (double)(i % TIMES) / TIMES, 1e-12,
                           "%d", i);
    cr_assert_eq(t.at[0].visits, N);
    arena_reset(&a);
}

Test(tree, suspicion_is_inherited) {
    struct arena a = {0};
    struct search_node n[6];
    struct tree t;
    sample(n);
    tree_build(&a, &t, n, 6);
    cr_assert(t.at[3].is_suspect && t.at[5].is_suspect && !t.at[4].is_suspect);
    cr_assert(!t.at[5].works);
    cr_assert_eq(progress_champion(n, 6), 4);
    arena_reset(&a);
}

Test(tree, closes_subtrees_that_have_nothing_left) {
    struct arena a = {0};
    struct search_node n[6];
    struct tree t;
    sample(n);
    tree_build(&a, &t, n, 6);
    cr_assert(tree_is_closed(&t, 2) && tree_is_closed(&t, 3) && !tree_is_closed(&t, 1));
    tree_exhaust(&t, 1);
    cr_assert(!tree_is_closed(&t, 1), "node 4 below is still open");
    tree_exhaust(&t, 4);
    cr_assert(tree_is_closed(&t, 1) && !tree_is_closed(&t, 0));
    tree_exhaust(&t, 0);
    cr_assert(tree_is_closed(&t, 0));
    struct rng rng;
    rng_init(&rng, 1);
    for (const struct policy *const *p = policies; *p; p++)
        cr_assert_eq(selected(*p, &t, &rng), -1, "%s", (*p)->name);
    arena_reset(&a);
}

Test(tree, a_root_that_fails_is_still_the_way_on) {
    struct arena a = {0};
    struct search_node n[1] = {node(0, -1, VERDICT_CRASH, 0)};
    struct tree t;
    tree_build(&a, &t, n, 1);
    struct rng rng;
    rng_init(&rng, 1);
    for (const struct policy *const *p = policies; *p; p++)
        cr_assert_eq(selected(*p, &t, &rng), 0, "%s", (*p)->name);
    cr_assert_eq(progress_champion(n, 1), -1);
    arena_reset(&a);
}

Test(policy, selects_only_what_works_and_is_not_exhausted) {
    struct arena a = {0};
    struct search_node n[6];
    struct tree t;
    sample(n);
    tree_build(&a, &t, n, 6);
    tree_exhaust(&t, 4);
    struct rng rng;
    rng_init(&rng, 7);
    for (const struct policy *const *p = policies; *p; p++)
        for (int i = 0; i < 50; i++) {
            int s = selected(*p, &t, &rng);
            cr_assert(s == 0 || s == 1, "%s selected %d", (*p)->name, s);
        }
    cr_assert_eq(selected(&policy_greedy, &t, &rng), 1);
    arena_reset(&a);
}

Test(policy, is_found_by_name) {
    cr_assert_eq(policy_find("greedy"), &policy_greedy);
    cr_assert_null(policy_find("mcst"));
}

Test(policy, mcts_goes_where_the_best_lies_and_does_not_crowd_a_node) {
    struct arena a = {0};
    struct tree t;
    struct search_node n[12];
    n[0] = node(0, -1, VERDICT_OK, 1.0);
    n[1] = node(1, 0, VERDICT_OK, 0.5);
    tree_build(&a, &t, n, 2);
    cr_assert_eq(selected(&policy_mcts, &t, NULL), 1);
    // Worse children only: the root itself is the best arm until it has 3 sqrt(visits).
    for (int i = 1; i < 12; i++)
        n[i] = node(i, 0, VERDICT_OK, 1.5 + 0.01 * i);
    tree_build(&a, &t, n, 5);
    cr_assert_eq(selected(&policy_mcts, &t, NULL), 0);
    tree_build(&a, &t, n, 12);
    cr_assert_neq(selected(&policy_mcts, &t, NULL), 0);
    arena_reset(&a);
}

Test(progress, counts_what_is_charged_and_small_gains_that_add_up) {
    struct search_node n[5];
    n[0] = node(0, -1, VERDICT_OK, 1.0);
    n[1] = node(1, 0, VERDICT_OK, 0.995);  // within the interval: no gain
    n[2] = node(2, 1, VERDICT_INFRA, 0);
    n[3] = node(3, 1, VERDICT_OK, 0.98);  // against the root it is one
    n[4] = node(4, 3, VERDICT_WRONG, 0);
    cr_assert_eq(progress_evals(n, 5), 4);
    cr_assert_eq(progress_evals_left(n, 5, 10), 6);
    cr_assert_eq(progress_evals_left(n, 5, 3), 0);
    cr_assert_eq(progress_evals_left(n, 5, 0), 0, "no limit");
    n[4].state = NODE_PROPOSED;
    cr_assert_eq(progress_evals_left(n, 5, 10), 6, "what waits is taken off");
    n[4].state = NODE_EVALUATED;
    cr_assert_eq(progress_since_gain(n, 2), 1);
    cr_assert_eq(progress_since_gain(n, 4), 0);
    cr_assert_eq(progress_since_gain(n, 5), 1);
    cr_assert_eq(progress_infra_at_end(n, 3), 1);
    cr_assert_eq(progress_infra_at_end(n, 4), 0);
}

Test(progress, a_champion_must_be_certainly_faster_than_the_root) {
    struct search_node n[2];
    n[0] = node(0, -1, VERDICT_OK, 1.0);
    n[1] = node(1, 0, VERDICT_OK, 0.995);
    cr_assert_eq(progress_champion(n, 2), 0);
    n[1] = node(1, 0, VERDICT_OK, 0.9);
    cr_assert_eq(progress_champion(n, 2), 1);
    n[1].state = NODE_PROPOSED;
    cr_assert_eq(progress_champion(n, 2), 0);
}

// A tabulated space: five knobs of eight values, a table of times with a valley that no single
// knob shows, a tenth of the points failing. Moves turn one knob by one.
enum { KNOBS = 5, VALUES = 8, SPACE = 32768 };

static double table_time(int point) {
    static const int best[KNOBS] = {6, 5, 7, 2, 6};
    double t = 1;
    for (int k = 0; k < KNOBS; k++) {
        int d = point % VALUES - best[k];
        point /= VALUES;
        t *= 1 + 0.15 * abs(d);
    }
    return t;
}

static bool table_fails(int point) {
    return point != 0 && (uint32_t)point * 2654435761u % 10 == 0;
}

static int neighbour(int point, int move) {
    int unit = 1;
    for (int k = 0; k < move / 2; k++)
        unit *= VALUES;
    int value = point / unit % VALUES;
    if (move % 2 == 0)
        return value + 1 < VALUES ? point + unit : -1;
    return value > 0 ? point - unit : -1;
}

static double search_table(const struct policy *policy, uint64_t seed, int n_evals) {
    struct arena a = {0};
    struct search_node n[256];
    int points[256] = {0};
    static bool seen[SPACE];
    memset(seen, 0, sizeof seen);
    struct rng rng;
    rng_init(&rng, seed);
    n[0] = node(0, -1, VERDICT_OK, table_time(0));
    seen[0] = true;
    for (int i = 1; i < n_evals;) {
        struct tree t;
        tree_build(&a, &t, n, i);
        int parent, child = -1;
        while (child < 0 && (parent = selected(policy, &t, &rng)) >= 0) {
            int options[2 * KNOBS], n_options = 0;
            for (int m = 0; m < 2 * KNOBS; m++) {
                int p = neighbour(points[parent], m);
                if (p >= 0 && !seen[p])
                    options[n_options++] = p;
            }
            if (n_options == 0)
                tree_exhaust(&t, parent);
            else
                child = options[rng_below(&rng, (uint64_t)n_options)];
        }
        cr_assert_geq(child, 0);
        seen[child] = true;
        points[i] = child;
        n[i] = node(i, parent, table_fails(child) ? VERDICT_WRONG : VERDICT_OK, table_time(child));
        i++;
        arena_reset(&a);
    }
    double best = INFINITY;
    for (int i = 0; i < n_evals; i++)
        best = fmin(best, isnan(n[i].time_s) ? INFINITY : n[i].time_s);
    return best;
}

Test(policy, mcts_beats_random_on_a_table) {
    double sum_mcts = 0, sum_random = 0, sum_greedy = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        sum_mcts += log(search_table(&policy_mcts, seed, 64));
        sum_greedy += log(search_table(&policy_greedy, seed, 64));
        sum_random += log(search_table(&policy_random, seed, 64));
    }
    cr_log_info("mean log time: mcts %.3f greedy %.3f random %.3f", sum_mcts / 100,
                sum_greedy / 100, sum_random / 100);
    cr_assert_lt(sum_mcts, sum_random - 20, "mcts %g, random %g", sum_mcts, sum_random);
    cr_assert_lt(sum_greedy, sum_random - 20, "greedy %g, random %g", sum_greedy, sum_random);
}
