// What real problems rarely have and kernels must get right: axes of one element, windows that see
// nothing but padding, packed elements of odd number, infinities and NaN in every type.
#include <criterion/criterion.h>
#include <math.h>

#include "base/error.h"
#include "family/family.h"
#include "family/plain.h"
#include "family/program.h"
#include "loop/execute.h"
#include "loop/passes.h"
#include "lowering.h"

// Integers exactly, floats within this many spreads, NaN and infinities themselves.
enum { TOLERANCE = 60 };

static void check_element(const char *text, enum dtype t, double got, double honest) {
    bool is_special = isnan(honest) || isinf(honest);
    cr_assert(!is_special || (isnan(honest) ? isnan(got) : got == honest),
              "%s\n%g instead of %g (%s)", text, got, honest, dtype_infos[t].name);
}

static void check_program(struct arena *a, const struct problem *p, struct loop_program *program,
                          const struct expectation *e) {
    struct error err = {0};
    void **data = arena_array(a, void *, program->n_buffers);
    void *outputs[OUTPUTS_MAX];
    pass_unroll(program);
    pass_prune(program);
    cr_assert(pass_verify(program, &err), "%s\n%s", p->text, err.text);
    for (int i = 0; i < p->n_inputs; i++)
        data[i] = e->inputs[i];
    for (int o = 0; o < p->n_outputs; o++) {
        const struct node *n = &p->graph.nodes[p->outputs[o].node];
        outputs[o] = data[p->n_inputs + o] =
            arena_array(a, char, dtype_size(n->dtype, e->result.count[o]));
    }
    cr_assert(execute(program, (void *const *)data, &err), "%s\n%s", p->text, err.text);
    double error = expect_error(e, outputs);
    cr_assert_lt(error, TOLERANCE, "%s\n%g spreads", p->text, error);
    for (int o = 0; o < p->n_outputs; o++) {
        enum dtype t = p->graph.nodes[p->outputs[o].node].dtype;
        for (int64_t i = 0; i < e->result.count[o]; i++)
            check_element(p->text, t, dtype_get(t, outputs[o], i),
                          e->result.wide[o] ? e->result.wide[o][i] : e->result.honest[o][i]);
    }
}

static void check_problem(const char *text) {
    static const char *const archs[] = {NULL, "sm_90a"};
    struct arena a = {0};
    struct problem *p = problem_from(&a, text);
    struct expectation e;
    expect_open(&e, &a, p, 5);
    cr_assert_eq(e.result.fault[0], '\0', "%s", e.result.fault);
    for (int i = 0; i < 2; i++) {
        struct target t = test_target(32);
        if (archs[i])
            target_of_arch(archs[i], &t);
        struct kernel k;
        lower_default(&a, p, &t, &k);
        check_program(&a, p, program_lower(&a, p, &t, &k), &e);
        check_program(&a, p, plain_program(&a, p, &t), &e);
    }
    expect_close(&e);
    arena_reset(&a);
}

// "OUTPUT = EXPRESSION of INPUT, INPUT": types and shapes of each.
struct edge {
    const char *inputs, *output, *expression;
};

static void check_edges(const struct edge *edges, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct arena a = {0};
        check_problem(arena_printf(&a, "problem p\n%s\nout y : %s\ny = %s\n", edges[i].inputs,
                                   edges[i].output, edges[i].expression));
        arena_reset(&a);
    }
}
#define CHECK_EDGES(edges) check_edges(edges, sizeof(edges) / sizeof *(edges))

Test(edges, axes_of_one_element) {
    static const struct edge edges[] = {
        {"in x : f32[1, 1, 1]", "f32", "sum(x)"},
        {"in x : f32[1, 1]", "f32[1]", "max(x, axis=1)"},
        {"in x : f32[1, 1]", "f32[1, 1]", "softmax(x) + x"},
        {"in x : f32[1, 1]\nin w : f32[1, 1]", "f32[1, 1]", "x @ w"},
        {"in x : bf16[1, 1]\nin w : bf16[1, 1]", "bf16[1, 1]", "x @ w"},
        {"in x : f32[1, 1, 1, 1]\nin w : f32[1, 1, 1, 1]", "f32[1, 1, 1, 1]", "conv2d(x, w)"},
        {"in x : f32[1, 1, 1]\nin w : f32[1, 1, 3]", "f32[1, 1, 1]", "conv1d(x, w, padding=1)"},
        {"in x : f32[2, 4, 1]", "f32[2, 4, 1]", "avg_pool1d(x, 3, stride=1, padding=1)"},
        {"in x : f32[2, 4, 1]", "f32[2, 4, 1]", "max_pool1d(x, 3, stride=1, padding=1)"},
        {"in x : f32[2, 4, 1, 1]", "f32[2, 4, 1, 1]", "max_pool2d(x, 3, stride=1, padding=1)"},
        {"in x : f32[1]", "f32[1]", "cumsum(x)"},
        {"in x : f32[1]", "i64[1]", "topk_index(x, 1)"},
        {"in x : f32[1]", "i64", "argmax(x)"},
        {"in x : f32[1]", "f32", "var(x)"},
        {"in x : f32[1, 1]", "f32[1, 1]", "layernorm(x)"},
        {"in x : f32[1, 3]\nin i : i32[1] ~ index(1)", "f32[1, 3]", "take(x, i)"},
        {"in x : f32[1, 3]\nin i : i32[1] ~ index(1)", "f32[1, 3]", "index_add(x, i, x)"},
    };
    CHECK_EDGES(edges);
}

Test(edges, windows_that_see_only_padding) {
    static const struct edge edges[] = {
        {"in x : f32[2, 3, 3]", "f32[2, 3, 1]",
         "max_pool1d(x, 2, stride=1, padding=1, dilation=4)"},
        {"in x : f16[2, 3, 3]", "f16[2, 3, 1]",
         "max_pool1d(x, 2, stride=1, padding=1, dilation=4)"},
        {"in x : f32[1, 1, 2]\nin w : f32[1, 1, 2]", "f32[1, 1, 2]",
         "conv1d(x, w, padding=3, dilation=6)"},
        {"in x : f32[1, 1, 3]\nin w : f32[1, 1, 2]", "f32[1, 1, 10]",
         "conv_transpose1d(x, w, stride=4)"},
        {"in x : f32[1, 1, 3]", "f32[1, 1, 2]",
         "avg_pool1d(x, 2, stride=3, padding=1, count_include_pad=false, ceil_mode=true)"},
        {"in x : f32[3, 4]\nin w : f32[5, 4, 2]\nin o : i32[6] ~ integers(0, 0)", "f32[3, 2]",
         "ragged_matmul(x, w, o)"},
    };
    CHECK_EDGES(edges);
}

// On a GPU they go through tiles that reach beyond a row, the last one at the buffer's end.
Test(edges, windows_without_padding) {
    static const struct edge edges[] = {
        {"in x : f32[2, 3, 77]", "f32[2, 3, 75]", "max_pool1d(x, 3, stride=1)"},
        {"in x : f32[2, 3, 77]", "f32[2, 3, 73]", "avg_pool1d(x, 5, stride=1)"},
        {"in x : f32[2, 3, 7]", "f32[2, 3, 7]", "adaptive_avg_pool1d(x, 7)"},
    };
    CHECK_EDGES(edges);
}

// What an infinite weight gives with the padding is left open, and nothing else is.
static void check_padding(const char *text) {
    struct arena a = {0};
    const struct problem *p = problem_from(&a, text);
    struct target t = test_target(32);
    struct expectation e;
    char message[1200] = "";
    int n_open = 0;
    expect_open(&e, &a, p, 5);
    for (int64_t i = 0; i < e.result.count[0]; i++)
        n_open += isnan(e.result.spread[0][i]);
    cr_assert(n_open > 0 && n_open < e.result.count[0] / 3, "%d open", n_open);
    struct loop_program *plain = plain_program(&a, p, &t);
    double error = expect_execute(&e, &a, p, plain, message, sizeof message);
    cr_assert(error >= 0 && error < TOLERANCE, "%s\n%g spreads %s", text, error, message);
    expect_close(&e);
    arena_reset(&a);
}

Test(edges, infinite_weights_and_padding) {
    check_padding("problem p\nin x : f32[2, 3, 9]\n"
                  "in w : f32[4, 3, 3] = where(u < 0.1, inf, u) where u ~ uniform(0, 1)\n"
                  "out y : f32[2, 4, 9]\ny = tanh(conv1d(x, w, padding=1))\n");
    check_padding("problem p\nin x : f32[2, 3, 9]\n"
                  "in w : f32[3, 4, 3] = where(u < 0.1, -inf, u) where u ~ uniform(0, 1)\n"
                  "out y : f32[2, 4, 17]\ny = tanh(conv_transpose1d(x, w, stride=2, padding=1))\n");
}

Test(edges, packed_elements_of_odd_number) {
    static const struct edge edges[] = {
        {"in x : i4[37]\nin z : i4[37]", "i4[37]", "i4(x + z)"},
        {"in x : i4[1]", "i4[1]", "i4(x + 1)"},
        {"in x : i4[3, 5]\nin z : i4[5]", "i4[3, 5]", "i4(x * z)"},
        {"in a : f32[3, 9]\nin w : i4[7, 9]\nin s : f32[7]", "f32[3, 7]", "qmatmul(a, w, s)"},
        {"in w : i4[3, 7]", "i4[7, 3]", "w.T"},
        {"in w : i4[7, 3]\nin i : i32[5] ~ index(7)", "i4[5, 3]", "take(w, i)"},
        {"in w : i4[7, 3]", "i4[7, 5]", "pad(w, ((0, 0), (1, 1)))"},
        {"in w : i4[7, 3]", "i4[7]", "i4(sum(w, axis=1))"},
        {"in w : i4[7, 3]", "i4[7, 3]", "i4(cumsum(w))"},
        {"in w : i4[7, 3]", "i4[7, 3]", "sort(w)"},
        {"in w : i4[7, 3]\nin i : i32[7, 3] ~ index(7)", "i4[7, 3]", "i4(scatter_add(w, i, w))"},
    };
    CHECK_EDGES(edges);
}

Test(edges, infinities_and_nan_in_every_type) {
    static const char *const reals[] = {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2"};
    static const char *const wholes[] = {"i64", "i32", "i8", "u8", "i4"};
    static const char *const made[] = {"where(x > 0.5, inf, x)",
                                       "where(x > 0.5, -inf, x)",
                                       "log(x)",
                                       "x * 1e30",
                                       "maximum(log(x), x)",
                                       "x / (x - x)",
                                       "sum(log(x), axis=0) + x",
                                       "max(log(x), axis=0) + x"};
    static const char *const converted[] = {"log(x)", "x / 0", "-x / 0", "x * 1e30"};
    for (size_t t = 0; t < sizeof reals / sizeof *reals; t++)
        for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
            struct arena a = {0};
            check_problem(arena_printf(&a, "problem p\nin x : %s[21]\nout y : %s[21]\ny = %s\n",
                                       reals[t], reals[t], made[i]));
            arena_reset(&a);
        }
    for (size_t t = 0; t < sizeof wholes / sizeof *wholes; t++)
        for (size_t i = 0; i < sizeof converted / sizeof *converted; i++) {
            struct arena a = {0};
            check_problem(arena_printf(&a,
                                       "problem p\nin x : f32[21]\nout y : %s[21]\ny = %s(%s)\n",
                                       wholes[t], wholes[t], converted[i]));
            arena_reset(&a);
        }
}
