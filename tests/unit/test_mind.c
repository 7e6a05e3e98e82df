#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/block_set.h"
#include "family/enumerate.h"
#include "family/lower.h"
#include "lang/lang.h"
#include "mind/priors.h"
#include "mind/proposer.h"
#include "record/move_kind.h"
#include "record/run.h"
#include "table_target.h"
#include "tools/tool.h"

static struct arena a;
static struct target target = TABLE_TARGET;
static struct search_node node;
static struct rng rng;

static struct brief sample_brief(void) {
    static const char text[] = "problem soft\ndim M = 512, N = 256\nin x : f32[M, N] ~ normal\n"
                               "out y : f32[M, N]\ny = softmax(x)\n";
    struct lang_file file;
    const char *diagnostics;
    struct error err;
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", err.text);
    struct kernel *k = arena_new(&a, struct kernel);
    lower_default(&a, file.problems[0], &target, k);
    node = (struct search_node){.state = NODE_EVALUATED};
    rng_init(&rng, 1);
    return (struct brief){
        .problem = file.problems[0], .target = &target, .node = &node, .kernel = k, .rng = &rng};
}

static void find(struct action action) {
    struct finding *f = &node.findings[node.n_findings++];
    *f = (struct finding){.tool = "test", .cause = "a cause", .n_actions = 1};
    f->actions[0] = action;
}

static const char *knob_of(const struct proposal *p) {
    const char *colon = strchr(p->move, ':');
    cr_assert(colon, "%s", p->move);
    return arena_strndup(&a, colon + 2, strcspn(colon + 2, " "));
}

Test(mind, expert_follows_the_findings_in_their_order) {
    struct brief brief = sample_brief();
    struct proposal p;
    find((struct action){.words = "nothing to turn"});
    find((struct action){.words = "no such knob", .knob = "nonesuch", .direction = 1});
    find((struct action){.words = "other word", .knob = "divide", .word = "reciprocal"});
    find((struct action){.words = "larger", .knob = "rows", .direction = 1});
    cr_assert(proposer_expert.propose(&a, &brief, &p, 1));
    cr_assert_str_eq(knob_of(&p), "divide");
    cr_assert(strstr(p.reason, "test: a cause; other word"), "%s", p.reason);

    const char *tried[] = {kernel_print(&a, p.kernel)};
    brief.tried = tried;
    brief.n_tried = 1;
    cr_assert(proposer_expert.propose(&a, &brief, &p, 1));
    cr_assert_str_eq(knob_of(&p), "rows");
}

// What it may not hear it does not follow; of raw figures only how far it is from reach.
Test(mind, expert_hears_what_the_run_says) {
    static const struct {
        const char *feedback, *by;
    } cases[] = {{NULL, "test: "}, {"findings", "test: "}, {"raw", "reach: "}, {"none", "best of"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct brief brief = sample_brief();
        struct proposal p;
        brief.feedback = cases[i].feedback;
        find((struct action){.words = "other word", .knob = "divide", .word = "reciprocal"});
        find((struct action){.words = "larger", .knob = "rows", .direction = 1});
        node.findings[1].tool = "reach";
        cr_assert(proposer_expert.propose(&a, &brief, &p, 1));
        cr_expect(strncmp(p.reason, cases[i].by, strlen(cases[i].by)) == 0, "%s: %s",
                  cases[i].feedback ? cases[i].feedback : "-", p.reason);
        // How far it is from reach is no prediction of one move.
        cr_expect(strncmp(p.reason, "reach", 5) != 0 || isnan(p.expected), "%g", p.expected);
    }
}

Test(mind, expert_goes_by_the_prior_when_no_finding_helps) {
    struct brief brief = sample_brief();
    struct proposal p;
    cr_assert(proposer_expert.propose(&a, &brief, &p, 1));
    int n;
    struct move *moves = moves_list(&a, brief.problem, brief.target, brief.kernel, &n);
    double best = moves[0].prior;
    for (int i = 1; i < n; i++)
        best = moves[i].prior > best ? moves[i].prior : best;
    for (int i = 0; i < n; i++)
        if (strcmp(moves[i].words, p.move) == 0)
            cr_assert_eq(moves[i].prior, best);
}

Test(mind, both_propose_each_move_once_and_then_nothing) {
    static const struct proposer *const both[] = {&proposer_expert, &proposer_blind};
    for (int i = 0; i < 2; i++) {
        struct brief brief = sample_brief();
        find((struct action){.words = "larger", .knob = "vec", .direction = 1});
        int n_moves;
        moves_list(&a, brief.problem, brief.target, brief.kernel, &n_moves);
        const char **tried = arena_array(&a, const char *, n_moves + 1);
        brief.tried = tried;
        struct proposal p;
        while (both[i]->propose(&a, &brief, &p, 1)) {
            cr_assert_lt(brief.n_tried, n_moves);
            tried[brief.n_tried] = kernel_print(&a, p.kernel);
            for (int j = 0; j < brief.n_tried; j++)
                cr_assert_str_neq(tried[j], tried[brief.n_tried]);
            brief.n_tried++;
        }
        cr_assert_eq(brief.n_tried, n_moves, "%s", both[i]->name);
    }
}

// What they give at once is what they would have given one after the other.
Test(mind, several_at_once_are_those_of_one_after_the_other) {
    enum { ROOM = 7 };
    static const struct proposer *const both[] = {&proposer_expert, &proposer_blind};
    for (int i = 0; i < 2; i++) {
        struct brief brief = sample_brief();
        struct rng first = rng;
        struct proposal many[ROOM], one;
        const char *tried[ROOM];
        find((struct action){.words = "other word", .knob = "divide", .word = "reciprocal"});
        cr_assert_eq(both[i]->propose(&a, &brief, many, ROOM), ROOM);
        rng = first;
        brief.tried = tried;
        for (; brief.n_tried < ROOM; brief.n_tried++) {
            cr_assert_eq(both[i]->propose(&a, &brief, &one, 1), 1);
            cr_assert_str_eq(one.move, many[brief.n_tried].move, "%s", both[i]->name);
            cr_assert_str_eq(one.reason, many[brief.n_tried].reason);
            tried[brief.n_tried] = kernel_print(&a, one.kernel);
        }
    }
}

// In a race half of them come from anywhere on the grid.
Test(mind, the_expert_goes_far_in_a_race) {
    enum { ROOM = 12 };
    struct brief brief = sample_brief();
    struct proposal many[ROOM];
    int n_moves, n_far = 0;
    brief.is_race = true;
    struct move *moves = moves_list(&a, brief.problem, brief.target, brief.kernel, &n_moves);
    cr_assert_eq(proposer_expert.propose(&a, &brief, many, ROOM), ROOM);
    for (int i = 0; i < ROOM; i++) {
        bool is_near = false;
        for (int j = 0; j < n_moves; j++)
            is_near |=
                strcmp(kernel_print(&a, moves[j].kernel), kernel_print(&a, many[i].kernel)) == 0;
        n_far += !is_near;
        cr_expect(i >= ROOM / 2 || is_near, "the near ones come first");
    }
    cr_expect_gt(n_far, 0);
}

// A bounded space is drawn from too: another seed, another order, and nothing beyond it.
Test(mind, the_expert_draws_from_a_bounded_space_in_a_race) {
    enum { ROOM = 12 };
    struct brief brief = sample_brief();
    struct enumerated some;
    const char *text[3] = {"", "", ""};
    struct target bounded = target;
    enumerate_blocks(&a, brief.problem, &target, brief.kernel, 60, 1, &some);
    bounded.blocks = block_set_new(&a);
    for (int i = 0; i < some.n; i++)
        block_set_add(bounded.blocks, some.texts[i]);
    brief.target = &bounded;
    brief.is_race = true;
    for (int k = 0; k < 3; k++) {
        struct proposal many[ROOM];
        rng_init(&rng, k == 2 ? 8 : 7);
        cr_assert_eq(proposer_expert.propose(&a, &brief, many, ROOM), ROOM);
        for (int i = 0; i < ROOM; i++) {
            cr_expect(block_set_has(bounded.blocks, kernel_print(&a, many[i].kernel)));
            text[k] = arena_printf(&a, "%s%s\n", text[k], many[i].move);
        }
    }
    cr_expect_str_eq(text[0], text[1]);
    cr_expect_str_neq(text[0], text[2]);
}

// From the facts of a launch over the findings to the move: what the loop does on a GPU.
Test(mind, expert_relieves_what_limits_a_gpu_kernel) {
    static const char text[] =
        "problem g\nprecision f32 exact\ndim N = 2048\n"
        "in a : f32[N, N] ~ normal\nin b : f32[N, N] ~ normal\nout c : f32[N, N]\nc = a @ b\n";
    struct lang_file file;
    const char *diagnostics;
    struct error err;
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", err.text);
    struct target gpu;
    cr_assert(target_of_arch("sm_90a", &gpu));
    struct kernel k;
    struct candidate c;
    lower_default(&a, file.problems[0], &gpu, &k);
    cr_assert(lower_kernel(&a, file.problems[0], &gpu, &k, &c, &err), "%s", err.text);
    node = (struct search_node){.state = NODE_EVALUATED, .candidate = c};
    profile_set(&node.profile, METRIC_TIME, 1e-3);
    profile_set(&node.profile, METRIC_LOCAL_BYTES, 128);
    profile_set(&node.profile, METRIC_SPILL_BYTES, 128);
    profile_set(&node.profile, METRIC_REGISTERS, 128);
    struct bound bound;
    bound_compute(file.problems[0], &gpu, &bound);
    struct tool_input in = {.problem = file.problems[0],
                            .target = &gpu,
                            .bound = &bound,
                            .candidate = &c,
                            .profile = &node.profile};
    node.n_findings = tools_examine(&a, &in, node.findings, NODE_FINDINGS_MAX);
    cr_assert_eq(node.n_findings, 1);
    struct brief brief = {.problem = file.problems[0],
                          .target = &gpu,
                          .bound = &bound,
                          .node = &node,
                          .kernel = &k,
                          .rng = &rng};
    struct proposal p;
    cr_assert(proposer_expert.propose(&a, &brief, &p, 1));
    cr_assert(strstr(p.reason, "spill: registers spill to memory; "), "%s", p.reason);
    cr_assert(strcmp(knob_of(&p), "minblocks") == 0 || strcmp(knob_of(&p), "micro") == 0, "%s",
              p.move);
}

// What a test learned: this kind of move by this gain.
struct learned {
    const char *kind;
    double gain;
};

static struct prior expect_learned(const void *ctx, const char *kind, const char *tool,
                                   const char *bottleneck) {
    const struct learned *l = ctx;
    (void)tool, (void)bottleneck;
    if (strcmp(kind, l->kind) != 0)
        return (struct prior){0};
    return (struct prior){.gain = l->gain, .weight = 1000, .words = "so it was"};
}

Test(mind, expert_prefers_what_was_learned_to_pay) {
    struct brief brief = sample_brief();
    struct proposal before, p;
    int n_moves;
    cr_assert(proposer_expert.propose(&a, &brief, &before, 1));
    struct move *moves = moves_list(&a, brief.problem, brief.target, brief.kernel, &n_moves);
    const char *kind = NULL, *first = move_kind(&a, before.move);
    for (int i = 0; i < n_moves && !kind; i++)
        if (strcmp(move_kind(&a, moves[i].words), first) != 0)
            kind = move_kind(&a, moves[i].words);
    cr_assert(kind);
    struct learned l = {kind, 1e6};
    struct priors priors = {.expect = expect_learned, .ctx = &l};
    brief.priors = &priors;
    cr_assert(proposer_expert.propose(&a, &brief, &p, 1));
    cr_assert_str_eq(move_kind(&a, p.move), kind);
    cr_assert(strstr(p.reason, "learned: so it was"), "%s", p.reason);
    // What was learned to cost is not tried while there is something else.
    l = (struct learned){first, 1e-6};
    cr_assert(proposer_expert.propose(&a, &brief, &p, 1));
    cr_assert_str_neq(move_kind(&a, p.move), first);
    // Few trials hardly count, none not at all.
    cr_assert_float_eq(prior_log_gain(&(struct prior){.gain = exp(1), .weight = PRIOR_DOUBT}), 0.5,
                       1e-12);
    cr_assert_eq(prior_log_gain(&(struct prior){.gain = 2}), 0);
}

Test(mind, a_finding_that_was_learned_not_to_pay_comes_last) {
    struct brief brief = sample_brief();
    struct proposal p;
    find((struct action){.words = "first", .knob = "divide", .word = "reciprocal"});
    find((struct action){.words = "second", .knob = "rows", .direction = -1});
    struct learned l = {"divide reciprocal", 0.5};
    struct priors priors = {.expect = expect_learned, .ctx = &l};
    cr_assert(proposer_expert.propose(&a, &brief, &p, 1));
    cr_assert_str_eq(knob_of(&p), "divide");
    brief.priors = &priors;
    cr_assert(proposer_expert.propose(&a, &brief, &p, 1));
    cr_assert_str_eq(knob_of(&p), "rows");
}
