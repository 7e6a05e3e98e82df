// The regions of a block's stages together compute exactly the problem.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "family/block.h"
#include "lowering.h"

// An error this many spreads out is not rounding.
enum { TOLERANCE = 60 };

// Of the outputs against the reference, in units of its spread.
static double largest_error(const struct problem *p, const struct expectation *e,
                            void *const *outputs) {
    double worst = 0;
    for (int o = 0; o < e->result.n_outputs; o++) {
        enum dtype t = p->graph.nodes[p->outputs[o].node].dtype;
        for (int64_t i = 0; i < e->result.count[o]; i++) {
            double want = e->result.value[o][i], got = dtype_get(t, outputs[o], i);
            double unit = e->result.spread[o][i] + fabs(want) * 0x1p-25 + 1e-30;
            double error = isnan(want) && isnan(got) ? 0 : fabs(got - want) / unit;
            worst = error <= worst ? worst : isnan(error) ? INFINITY : error;
        }
    }
    return worst;
}

// Run every stage's region as a problem of its own, values in memory as their types keep them.
static double run_by_stages(struct arena *a, const struct problem *p, const struct block *b,
                            const struct expectation *e) {
    void **data = arena_array(a, void *, p->graph.n_nodes);
    void *outputs[OUTPUTS_MAX];
    for (int i = 0; i < p->n_inputs; i++)
        data[p->inputs[i].node] = e->inputs[i];
    for (int s = 0; s < b->n_stages; s++) {
        node_id leaves[INPUTS_MAX];
        struct problem *stage = region_problem(a, b->stages[s].region, leaves);
        struct interpret_data in = {{NULL}};
        struct interpret_result result;
        struct error err = {0};
        cr_assert(stage && graph_verify(&stage->graph, &err), "%s", err.text);
        for (int i = 0; i < stage->n_inputs; i++) {
            in.inputs[i] = data[leaves[i]];
            cr_assert_not_null(in.inputs[i], "stage %d reads %s, which nobody made", s,
                               p->graph.nodes[leaves[i]].name);
        }
        interpret(stage, &in, &result);
        for (int o = 0; o < result.n_outputs; o++) {
            enum dtype t = stage->graph.nodes[stage->outputs[o].node].dtype;
            void *to = arena_array(a, char, dtype_size(t, result.count[o]));
            for (int64_t i = 0; i < result.count[o]; i++)
                dtype_put(t, to, i, result.value[o][i]);
            data[b->stages[s].value[o].node] = to;
            for (int k = 0; k < p->n_outputs; k++)
                if (strcmp(p->outputs[k].name, stage->outputs[o].name) == 0)
                    outputs[k] = to;
        }
        interpret_reset(&result);
    }
    return largest_error(p, e, outputs);
}

static void check_block(struct arena *a, const struct problem *p, const struct block *b,
                        uint64_t seed) {
    struct expectation e;
    expect_open(&e, a, p, seed);
    double error = run_by_stages(a, p, b, &e);
    cr_assert(error < TOLERANCE, "%s\n%s\nerror %g", p->text, kernel_print(a, b->kernel), error);
    expect_close(&e);
}

static struct block *resolve(struct arena *a, const struct problem *p, const struct target *t,
                             const struct kernel *k, int *n_mistakes) {
    struct lang_source source = {.file = "k"};
    struct mistakes m = {.arena = a, .source = &source};
    struct block *b = block_resolve(a, p, t, k, &m);
    *n_mistakes = m.count;
    return b;
}

Test(region, stages_of_a_search_compute_the_problem) {
    struct rng r;
    rng_init(&r, 11);
    for (int i = 0; i < 60; i++) {
        struct arena a = {0};
        struct problem *p = problem_from(&a, random_problem(&a, &r));
        struct target t = test_target(64);
        if (i % 2)
            target_of_arch("sm_90a", &t);
        struct kernel *k = random_kernel(&a, &r, p, &t, (int)rng_below(&r, 8));
        int n_mistakes;
        struct block *b = resolve(&a, p, &t, k, &n_mistakes);
        cr_assert_eq(n_mistakes, 0);
        check_block(&a, p, b, (uint64_t)i);
        arena_reset(&a);
    }
}

// Some family that takes the stage, with whatever it takes to let tiles meet.
static bool choose_family(struct arena *a, const struct problem *p, const bool *is_ready,
                          struct rng *r, struct kernel_stage *s) {
    struct region *region = region_build(a, p, s->values, s->n_values, is_ready);
    struct law_uses uses = {0};
    bool splits = rng_below(r, 2);
    if (splits && law_use(law_find("online_softmax"), region, &uses))
        s->laws[s->n_laws++] = "online_softmax";
    for (const struct family *f = families; f->name; f++) {
        struct form_request q = {.family = f, .laws = &uses};
        struct form form;
        struct form_reject why;
        for (q.combine = COMBINE_NONE; q.combine < COMBINE_COUNT; q.combine++)
            if (form_find(a, region, &q, &form, &why)) {
                s->family = f->name;
                s->combine = q.combine;
                return true;
            }
    }
    return false;
}

// Stages at random values of the graph, in order of evaluation.
static bool random_stages(struct arena *a, const struct problem *p, struct rng *r,
                          struct kernel *k) {
    bool *is_ready = arena_array(a, bool, p->graph.n_nodes);
    for (node_id n = 0; n < p->graph.n_nodes; n++) {
        const struct node *node = &p->graph.nodes[n];
        const char *name = node->name;
        bool is_output = false;
        for (int o = 0; o < p->n_outputs; o++)
            is_output |= p->outputs[o].node == n;
        if (node->op == OP_INPUT || node->op == OP_CONST || (!is_output && rng_below(r, 5) > 0) ||
            k->n_stages == STAGES_MAX)
            continue;
        struct kernel_stage *s = kernel_add_stage(a, k, k->n_stages);
        *s = (struct kernel_stage){.values = {name}, .n_values = 1};
        if (!choose_family(a, p, is_ready, r, s))
            return false;
        is_ready[n] = true;
    }
    return true;
}

static void add_stage(struct arena *a, struct kernel *k, const char *value, const char *family) {
    struct kernel_stage *s = kernel_add_stage(a, k, k->n_stages);
    *s = (struct kernel_stage){.values = {value}, .n_values = 1, .family = family};
}

Test(region, any_legal_block_computes_the_problem) {
    struct rng r;
    rng_init(&r, 13);
    int n_legal = 0, n_without_emitter = 0;
    for (int i = 0; i < 600; i++) {
        struct arena a = {0};
        struct problem *p = problem_from(&a, random_problem(&a, &r));
        struct target t;
        target_of_arch("sm_90a", &t);
        struct kernel k = {.problem = p->name, .target = "sm_90a"};
        int n_mistakes = 1;
        struct block *b = random_stages(&a, p, &r, &k) ? resolve(&a, p, &t, &k, &n_mistakes) : NULL;
        if (n_mistakes == 0) {
            n_legal++;
            for (int s = 0; s < b->n_stages; s++)
                n_without_emitter += b->stages[s].no_emitter != NULL;
            check_block(&a, p, b, (uint64_t)i);
        }
        arena_reset(&a);
    }
    cr_assert(n_legal > 100, "only %d of 600 blocks are legal", n_legal);
    cr_assert(n_without_emitter > 5, "only %d stages go beyond the emitters", n_without_emitter);
}

// The worked blocks of tests/lang/kernel, at sizes that can be run.
Test(region, worked_blocks_compute_their_problems) {
    static const struct {
        const char *file;
        struct dim_override sizes[8];
    } cases[] = {
        {"layernorm_split", {{"M", 6}, {"N", 12}}},
        {"conv_groupnorm", {{"B", 2}, {"C", 3}, {"O", 64}, {"H", 6}, {"W", 5}}},
        {"softmax_large", {{"M", 3}, {"N", 50}}},
        {"gemm_gelu_sum", {{"M", 4}, {"N", 130}, {"K", 7}}},
        {"maxsim", {{"Q", 4}, {"D", 5}, {"E", 6}, {"B", 3}}},
        {"attention", {{"B", 2}, {"S", 8}, {"D", 4}}},
        {"cross_entropy", {{"M", 5}, {"V", 11}, {"K", 4}}},
        {"two_outputs", {{"M", 5}, {"N", 6}, {"K", 7}}},
        {"half_stored", {{"M", 5}, {"N", 6}, {"K", 7}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct error err = {0};
        const char *path = arena_printf(&a, "tests/lang/kernel/%s.hone", cases[i].file);
        struct lang_source source = {.file = path, .overrides = cases[i].sizes};
        struct lang_file file;
        const char *diagnostics = "";
        while (source.n_overrides < 8 && cases[i].sizes[source.n_overrides].name)
            source.n_overrides++;
        source.text = file_read(&a, path, 1 << 20, &source.len, &err);
        cr_assert(source.text && lang_parse(&a, &source, &file, &diagnostics, &err), "%s%s",
                  err.text, diagnostics);
        for (int k = 0; k < file.n_kernels; k++) {
            struct target t;
            struct mistakes m = {.arena = &a, .source = &source};
            cr_assert(target_of_arch(file.kernels[k]->target, &t));
            struct block *b = block_resolve(&a, file.problems[0], &t, file.kernels[k], &m);
            cr_assert(m.count == 0, "%s", mistakes_print(&a, &m));
            check_block(&a, file.problems[0], b, i);
        }
        arena_reset(&a);
    }
}

Test(region, prices_what_is_computed_again) {
    struct arena a = {0};
    struct problem *p = problem_from(&a, "problem p\ndim M = 100, N = 50\nin x : f32[M, N]\n"
                                         "out y : f32[M, N]\nout z : f32[M, N]\n"
                                         "t = tanh(x)\ny = t + 1\nz = t * x\n");
    struct target t = test_target(64);
    struct kernel k = {.problem = "p", .target = "cpu"};
    add_stage(&a, &k, "y", "map");
    add_stage(&a, &k, "z", "map");
    int n_mistakes;
    struct block *b = resolve(&a, p, &t, &k, &n_mistakes);
    cr_assert_eq(n_mistakes, 0);
    cr_assert_eq(b->stages[0].again_flops, 0);
    // x is read by z itself as well, so nothing is read because of t alone.
    cr_assert_eq(b->stages[1].again_flops, 5000);
    cr_assert_eq(b->stages[1].again_bytes, 0);
    cr_assert(b->stages[1].is_recomputed[graph_find(&p->graph, "t")]);

    p = problem_from(&a, "problem p\ndim M = 100, N = 50\nin x : f32[M, N]\n"
                         "out y : f32[M, N]\nout z : f32[M, N]\n"
                         "t = tanh(x)\ny = t + 1\nz = t * 2\n");
    b = resolve(&a, p, &t, &k, &n_mistakes);
    cr_assert_eq(n_mistakes, 0);
    cr_assert_eq(b->stages[1].again_flops, 5000);
    cr_assert_eq(b->stages[1].again_bytes, 20000);
    arena_reset(&a);
}

Test(region, params_alone_are_the_prepare_part) {
    struct arena a = {0};
    struct problem *p =
        problem_from(&a, "problem p\ndim M = 8\nin x : f32[M, M]\nparam w : f32[M, M]\n"
                         "out y : f32[M, M]\nv = tanh(w)\nu = v * 2\ny = x @ u\n");
    struct target t = test_target(64);
    struct kernel k = {.problem = "p", .target = "cpu"};
    add_stage(&a, &k, "v", "map");
    add_stage(&a, &k, "u", "map");
    add_stage(&a, &k, "y", "gemm");
    int n_mistakes;
    struct block *b = resolve(&a, p, &t, &k, &n_mistakes);
    cr_assert_eq(n_mistakes, 0);
    cr_assert(b->stages[0].is_prepare && b->stages[1].is_prepare && !b->stages[2].is_prepare);
    arena_reset(&a);
}
