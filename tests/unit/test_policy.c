// Policies on trees that are made by hand: what distinguishes each, what a choice of one is as
// text, and how much of a large tree a selection goes through.
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rng.h"
#include "family/cross.h"
#include "family/lower.h"
#include "lang/lang.h"
#include "mind/priors.h"
#include "mind/proposer.h"
#include "record/run.h"
#include "search/decide.h"
#include "search/policy.h"

static struct arena a, scratch;
static struct search_state state;

static void tear_down(void) {
    state_reset(&state);
    arena_reset(&scratch);
    arena_reset(&a);
}

TestSuite(policy_trees, .fini = tear_down);

static void set_node(struct search_node *n, int number, int parent, double time_s) {
    n[number] = (struct search_node){
        .number = number,
        .parent = parent,
        .state = NODE_EVALUATED,
        .move = "",
        .candidate = {.hash = "", .source = "", .kernel = "x"},
        .verdict = {.kind = time_s > 0 ? VERDICT_OK : VERDICT_WRONG, .evidence = ""},
        .time_s = time_s > 0 ? time_s : NAN,
        .gain = parent >= 0 ? n[parent].time_s / time_s : NAN,
    };
}

static struct search_context context(const struct policy *p, const struct search_node *n,
                                     int n_nodes) {
    state_reset(&state);
    struct search_context c = {.nodes = n, .n_nodes = n_nodes, .policy = p, .scratch = &scratch};
    state_follow(&c, &state);
    return c;
}

Test(policy_trees, a_choice_and_its_text) {
    struct policy_choice c, again;
    struct error err = {0};
    cr_assert(policy_choose("mcts", false, &c, &err));
    cr_assert_eq(c.policy, &policy_mcts);
    for (int i = 0; policies[i]; i++) {
        cr_assert(policy_choose(policies[i]->name, false, &c, &err));
        cr_assert(policy_choose(policy_text(&a, &c), true, &again, &err), "%s", err.text);
        cr_assert(memcmp(&c, &again, sizeof c) == 0, "%s", policies[i]->name);
    }
    cr_assert(policy_choose("epsilon:leaf=0.5:dead=3", false, &c, &err));
    cr_assert_str_eq(policy_text(&a, &c), "epsilon:dead=3:leaf=0.5");
    static const char *const bad[] = {"",
                                      "mcst",
                                      "mcts:",
                                      "mcts:explore",
                                      "mcts:x=1",
                                      "mcts:explore=",
                                      "mcts:explore=-1",
                                      "greedy:a=1",
                                      "mcts:explore=inf",
                                      "mcts:explore=nan"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect(!policy_choose(bad[i], false, &c, &err) && err.kind == ERROR_USAGE, "%s", bad[i]);
}

// Settings that a run does not name are those of its time, not of today.
Test(policy_trees, old_runs_keep_the_settings_that_they_had) {
    struct policy_choice c;
    struct error err = {0};
    cr_assert(policy_choose("mcts", true, &c, &err));
    for (int i = 0; policy_mcts.settings[i].name; i++)
        cr_assert_eq(c.settings[i], policy_mcts.settings[i].first);
    static const double first[] = {0.08, 3, 0.5, 0, 0, 0};
    for (int i = 0; i < 6; i++)
        cr_assert_eq(policy_mcts.settings[i].first, first[i], "recorded runs rely on this");
}

// Statistics that followed a tree as it grew are those of the whole tree.
static void expect_same_tree(const struct tree *x, const struct tree *y) {
    cr_assert(x->n_nodes == y->n_nodes && x->n_works == y->n_works && x->n_open == y->n_open);
    for (int i = 0; i < x->n_nodes; i++) {
        cr_assert_eq(x->at[i].visits, y->at[i].visits);
        cr_assert_eq(x->at[i].n_children, y->at[i].n_children);
        cr_assert_eq(x->at[i].n_open, y->at[i].n_open);
        cr_assert_eq(x->at[i].first, y->at[i].first);
        cr_assert_eq(x->at[i].after, y->at[i].after);
        cr_assert_eq(x->at[i].best_s, y->at[i].best_s);
        cr_assert_eq(tree_is_open(x, i), tree_is_open(y, i));
    }
    for (int i = 0; i < x->n_works; i++)
        cr_assert_eq(x->fastest[i].node, y->fastest[i].node);
    for (int i = 0; i < x->n_open; i++)
        cr_assert_eq(x->open[i], y->open[i]);
}

Test(policy_trees, following_a_tree_is_building_it) {
    enum { N = 300 };
    struct search_node n[N];
    for (int failing = 0; failing < 2; failing++) {
        struct rng rng;
        struct tree grown = {.arena = &a, .failing_children = failing};
        rng_init(&rng, 5);
        for (int i = 0; i < N;) {
            // A batch is proposed, then judged or screened, in any order and in parts.
            int size = i == 0 ? 1 : 1 + (int)rng_below(&rng, 4), end = i + size < N ? i + size : N;
            int parent = i == 0 ? -1 : grown.open[rng_below(&rng, (uint64_t)grown.n_open)];
            for (int k = i; k < end; k++) {
                set_node(n, k, parent, 1 + (double)rng_below(&rng, 50));
                n[k].state = NODE_PROPOSED;
            }
            tree_follow(&grown, n, end);
            tree_expect_child(&grown, 0);
            tree_exhaust(&grown, 0);
            for (int k = end - 1; k >= i; k--) {
                n[k].state = k > 0 && rng_below(&rng, 3) == 0 ? NODE_SCREENED : NODE_EVALUATED;
                uint64_t luck = rng_below(&rng, 10);
                if (k > 0 && luck < 2)
                    n[k].verdict.kind = luck ? VERDICT_WRONG : VERDICT_SUSPECT;
                if (k % 2)
                    tree_follow(&grown, n, end);
            }
            tree_follow(&grown, n, end);
            struct tree built = {.arena = &scratch, .failing_children = failing};
            tree_follow(&built, n, end);
            expect_same_tree(&grown, &built);
            arena_reset(&scratch);
            i = end;
        }
    }
}

// 100 000 nodes, as random growth makes them: some nodes with hundreds of children.
Test(policy_trees, a_selection_reads_little_of_a_large_tree) {
    enum { N = 100000, STEPS = 2500 };
    struct search_node *n = arena_array(&a, struct search_node, N);
    struct rng rng;
    rng_init(&rng, 1);
    for (int i = 0; i < N; i++) {
        int parent = i == 0 ? -1 : 0;
        while (i >= 500 && (parent == 0 || !(n[parent].time_s > 0)))
            parent = (int)rng_below(&rng, 2000 < i ? 2000 : (uint64_t)i);
        set_node(n, i, parent, i % 10 == 3 ? -1 : 1 + rng_unit(&rng));
    }
    for (int i = 0; policies[i]; i++) {
        if (!policies[i]->select)
            continue;
        struct search_context c = context(policies[i], n, N);
        state.n_steps = 0;
        int node = policies[i]->select(&c, &state);
        cr_expect(node >= 0 && tree_is_open(&state.tree, node), "%s", policies[i]->name);
        cr_expect_leq(state.n_steps, STEPS, "%s: %ld", policies[i]->name, state.n_steps);
    }
}

Test(policy_trees, mcts_weighs_the_reward_against_the_bound) {
    struct search_node n[3];
    struct bound bound = {.reach_s = 0.25};
    set_node(n, 0, -1, 1);
    set_node(n, 1, 0, 0.45);
    set_node(n, 2, 0, 0.99);
    double settings[POLICY_SETTINGS_MAX] = {0, 3, 0.5, 0, 0, 1};
    struct search_context c = context(&policy_mcts, n, 3);
    c.bound = &bound;
    c.settings = settings;
    cr_assert_eq(policy_mcts.select(&c, &state), 1);
    // The three ranks are a third apart; by the reward 0 and 2 are next to each other.
    settings[0] = 0.7;
    state.tree.at[1].visits = 5;
    state.tree.at[0].visits = 7;
    cr_assert_eq(policy_mcts.select(&c, &state), 2, "by ranks it goes to what was tried seldom");
    settings[3] = 1;
    cr_assert_eq(policy_mcts.select(&c, &state), 1, "by rewards that is not worth it");
}

Test(policy_trees, mcts_gives_failing_nodes_fewer_children_than_working_ones) {
    struct search_node n[8];
    set_node(n, 0, -1, 1);
    set_node(n, 1, 0, -1);
    double settings[POLICY_SETTINGS_MAX] = {5, 1, 0, 0, 1, 1};
    struct search_context c = {.nodes = n,
                               .n_nodes = 2,
                               .policy = &policy_mcts,
                               .settings = settings,
                               .scratch = &scratch};
    state_follow(&c, &state);
    cr_assert(tree_is_open(&state.tree, 1));
    cr_assert_eq(policy_mcts.select(&c, &state), 1, "the root has as many as it may");
    set_node(n, 2, 1, 2);
    c.n_nodes = 3;
    state_follow(&c, &state);
    cr_assert(!tree_is_open(&state.tree, 1) && !tree_is_closed(&state.tree, 1));
    settings[4] = 0;
    state_reset(&state);
    state_follow(&c, &state);
    cr_assert(!tree_is_open(&state.tree, 1));
}

static struct prior expect_stream(const void *ctx, const char *kind, const char *tool,
                                  const char *bottleneck) {
    (void)ctx, (void)tool, (void)bottleneck;
    bool is_stream = strcmp(kind, "store stream") == 0;
    return (struct prior){.gain = is_stream ? 4 : 0, .weight = is_stream ? 100 : 0};
}

static int n_asked_model;

static int ask_model(struct arena *arena, const struct brief *brief, struct proposal *out,
                     int room) {
    (void)arena, (void)brief, (void)out, (void)room;
    n_asked_model++;
    return 0;
}

// A model's proposals are its own: the surrogate makes none in its place.
Test(policy_trees, surrogate_leaves_it_to_a_model) {
    static const struct proposer model = {
        .name = "model", .propose = ask_model, .can_repair = true};
    struct search_node n[1];
    struct decision d;
    set_node(n, 0, -1, 1);
    n[0].candidate.kernel = NULL;
    struct search_context c = context(&policy_surrogate, n, 1);
    c.proposer = &model;
    cr_assert_eq(policy_surrogate.propose(&c, &state, &d, 1), 0);
    cr_assert_eq(n_asked_model, 1);
}

Test(policy_trees, mcts_widens_where_other_runs_found_gains) {
    struct search_node n[3];
    set_node(n, 0, -1, 1);
    set_node(n, 1, 0, 0.5);
    double settings[POLICY_SETTINGS_MAX] = {0.08, 3, 0.5, 0, 0, 1};
    struct search_context c = context(&policy_mcts, n, 2);
    c.settings = settings;
    cr_assert_eq(policy_mcts.select(&c, &state), 1);
    struct priors priors = {.expect = expect_stream};
    n[0].findings[0] = (struct finding){
        .tool = "t", .n_actions = 1, .actions = {{.knob = "store", .word = "stream"}}};
    n[0].n_findings = 1;
    c.priors = &priors;
    cr_assert_eq(policy_mcts.select(&c, &state), 0);
}

Test(policy_trees, epsilon_leaves_dead_branches_and_prefers_leaves) {
    struct search_node n[12];
    double settings[POLICY_SETTINGS_MAX] = {0, 10, 8, 0.02};
    set_node(n, 0, -1, 1);
    set_node(n, 1, 0, 0.5);
    set_node(n, 2, 0, 0.505);
    set_node(n, 3, 1, 0.9);
    struct search_context c = context(&policy_epsilon, n, 4);
    c.settings = settings;
    cr_assert_eq(policy_epsilon.select(&c, &state), 2, "nearly as fast, and a leaf");
    settings[3] = 0;
    cr_assert_eq(policy_epsilon.select(&c, &state), 1);
    settings[2] = 1;
    cr_assert_eq(policy_epsilon.select(&c, &state), 2, "1 is dead: its child was slower");
    tree_exhaust(&state.tree, 2);
    tree_exhaust(&state.tree, 3);
    tree_exhaust(&state.tree, 0);
    cr_assert_eq(policy_epsilon.select(&c, &state), 1, "better than to give up");
}

Test(policy_trees, epsilon_throttles_the_root) {
    struct search_node n[8];
    double settings[POLICY_SETTINGS_MAX] = {0, 0, 100, 0};
    set_node(n, 0, -1, 1);
    for (int i = 1; i < 6; i++)
        set_node(n, i, 0, 1 + i);
    struct search_context c = context(&policy_epsilon, n, 4);
    c.settings = settings;
    cr_assert_eq(policy_epsilon.select(&c, &state), 0, "three children are free");
    c = context(&policy_epsilon, n, 6);
    c.settings = settings;
    cr_assert_eq(policy_epsilon.select(&c, &state), 1, "the fastest but the root");
    settings[1] = 1;
    cr_assert_eq(policy_epsilon.select(&c, &state), 0);
    // By chance any open node, the throttled root left out.
    settings[0] = 1;
    settings[1] = 0;
    int seen[6] = {0};
    for (int i = 0; i < 200; i++)
        seen[policy_epsilon.select(&c, &state)]++;
    for (int i = 1; i < 6; i++)
        cr_assert_gt(seen[i], 0, "%d", i);
    cr_assert_lt(seen[0], 5);
}

Test(policy_trees, beam_takes_its_members_in_turn) {
    struct search_node n[8];
    double settings[POLICY_SETTINGS_MAX] = {2, 2};
    set_node(n, 0, -1, 1);
    for (int i = 1; i < 5; i++)
        set_node(n, i, 0, 0.1 * i);
    struct search_context c = context(&policy_beam, n, 5);
    c.settings = settings;
    static const int turns[] = {1, 1, 2, 2, 1, 1, 2, 2};
    for (int i = 0; i < 8; i++) {
        int node = policy_beam.select(&c, &state);
        cr_assert_eq(node, turns[i], "turn %d: %d", i, node);
        tree_expect_child(&state.tree, node);
    }
    tree_exhaust(&state.tree, 1);
    tree_exhaust(&state.tree, 2);
    cr_assert_eq(policy_beam.select(&c, &state), 3, "the next fastest move up");
}

Test(policy_trees, random_takes_any_open_node) {
    struct search_node n[8];
    int seen[8] = {0};
    for (int i = 0; i < 8; i++)
        set_node(n, i, i - 1 < 0 ? -1 : 0, i == 3 ? -1 : 1);
    struct search_context c = context(&policy_random, n, 8);
    for (int i = 0; i < 700; i++)
        seen[policy_random.select(&c, &state)]++;
    for (int i = 0; i < 8; i++)
        cr_assert(i == 3 ? seen[i] == 0 : seen[i] > 60, "%d: %d", i, seen[i]);
}

// A mind that has two moves and notes what it was told to expect of them.
static double told[2];

static int ask(struct arena *into, const struct brief *b, struct proposal *out, int room) {
    (void)into, (void)room, (void)out;
    struct prior up = priors_expect(b->priors, "y: vec 8 -> 16", NULL, NULL);
    struct prior down = priors_expect(b->priors, "y: vec 8 -> 4", NULL, NULL);
    told[0] = prior_log_gain(&up);
    told[1] = prior_log_gain(&down);
    return 0;
}

Test(policy_trees, bandit_learns_which_kind_of_move_pays) {
    static const struct proposer proposer = {.name = "asked", .propose = ask};
    enum { N = 41 };
    struct search_node n[N];
    struct decision out[1];
    int n_up = 0;
    set_node(n, 0, -1, 1);
    for (int i = 1; i < N; i++) {
        set_node(n, i, 0, i % 2 ? 0.8 : 1.25);
        n[i].move = i % 2 ? "y: vec 8 -> 16" : "y: vec 8 -> 4";
    }
    for (int i = 0; i < N; i++)
        n[i].candidate.kernel = NULL;
    for (int known = 1; known < N; known += N - 2) {
        n_up = 0;
        for (uint64_t seed = 0; seed < 40; seed++) {
            struct search_context c = {.nodes = n,
                                       .n_nodes = known,
                                       .seed = seed,
                                       .policy = &policy_bandit,
                                       .proposer = &proposer,
                                       .scratch = &scratch};
            state_reset(&state);
            state_follow(&c, &state);
            cr_assert_eq(policy_bandit.propose(&c, &state, out, 1), 0);
            n_up += told[0] > told[1];
        }
        if (known == 1)
            cr_assert(n_up > 8 && n_up < 32, "nothing is known: %d of 40", n_up);
    }
    cr_assert_eq(n_up, 40, "20 trials of each: %d of 40", n_up);
}

static struct kernel parsed(const char *text, const struct problem **problem,
                            const struct target *t) {
    struct lang_file file;
    const char *diagnostics;
    struct error err = {0};
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", err.text);
    if (file.n_problems > 0)
        *problem = file.problems[0];
    struct kernel k = {0};
    if (file.n_kernels > 0) {
        k = *file.kernels[0];
        cr_assert(lower_check(&a, *problem, t, &k, &err), "%s", err.text);
    }
    return k;
}

Test(policy_trees, crossed_blocks_are_legal_and_of_both_parents) {
    static const struct target target = {.name = "cpu",
                                         .isa = "none",
                                         .n_threads = 2,
                                         .vector_bytes = 32,
                                         .l1_bytes = 32768,
                                         .l2_bytes = 1 << 20,
                                         .llc_bytes = 16 << 20,
                                         .top_clock_hz = 3e9};
    const struct problem *p = NULL;
    parsed("problem soft\ndim M = 512, N = 256\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
           "t = x * 2\ny = softmax(t)\n",
           &p, &target);
    struct kernel x = parsed("kernel for soft on cpu\nstage y : rowwise  vec 1\n", &p, &target);
    struct kernel y =
        parsed("kernel for soft on cpu\nstage y : rowwise  vec 8  store stream\n", &p, &target);
    struct kernel two =
        parsed("kernel for soft on cpu\nstage t : map\nstage y : rowwise  vec 8\n", &p, &target);
    struct rng rng;
    int n_new = 0;
    rng_init(&rng, 3);
    for (int i = 0; i < 60; i++) {
        const struct kernel *mate = i % 2 ? &y : &two;
        struct kernel child;
        struct error err = {0};
        const char *words;
        if (!kernel_cross(&a, p, &target, &x, mate, &rng, &child, &words))
            continue;
        n_new++;
        cr_assert(lower_check(&a, p, &target, &child, &err), "%s", err.text);
        cr_assert_eq(child.n_stages, 1, "the stages of the first parent");
        cr_assert_str_neq(kernel_print(&a, &child), kernel_print(&a, &x));
        cr_assert(strncmp(words, "y: ", 3) == 0, "%s", words);
        cr_assert_eq(kernel_find_knob(child.stages[0], "rows")->part[0],
                     kernel_find_knob(x.stages[0], "rows")->part[0], "the same in both parents");
    }
    cr_assert_gt(n_new, 10);
    // Nothing in common: no child.
    struct kernel other = kernel_copy(&a, &two);
    kernel_remove_stage(&other, 1);
    struct kernel child;
    const char *words;
    cr_assert(!kernel_cross(&a, p, &target, &x, &other, &rng, &child, &words));
}
