#include <criterion/criterion.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "ir/inputs.h"
#include "ir/interpret.h"
#include "parsed.h"

static const double U = 0x1p-24;

// Interpret a problem on given data.
static struct interpret_result interpreted(const char *text, const float *x, const float *z) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, text);
    struct interpret_data data = {.inputs = {x, z}};
    struct interpret_result r;
    interpret(p, &data, &r);
    arena_reset(&a);
    return r;
}

// ---- values, by hand

#define UNARY "problem p\nin x : f32[4]\nout y : f32[4]\ny = %s\n"

static void check_unary(const char *expression, const float *x, const double *want) {
    char text[256];
    snprintf(text, sizeof text, UNARY, expression);
    struct interpret_result r = interpreted(text, x, NULL);
    for (int i = 0; i < 4; i++) {
        double v = r.value[0][i];
        cr_assert(isnan(want[i]) ? isnan(v)
                                 : v == want[i] || fabs(v - want[i]) <= 1e-15 * fabs(want[i]),
                  "%s at %g: %.17g, not %.17g", expression, (double)x[i], v, want[i]);
        float h = (float)want[i];
        cr_assert(isnan(want[i]) ? isnan(r.honest[0][i]) : r.honest[0][i] == h,
                  "%s at %g: honest %.9g, not %.9g", expression, (double)x[i],
                  (double)r.honest[0][i], (double)h);
    }
    interpret_reset(&r);
}

Test(interpret, computes_every_function) {
    static const float x[4] = {0.5f, 1, 2, 4};
    check_unary("exp(x)", x, (double[]){exp(0.5), exp(1), exp(2), exp(4)});
    check_unary("log(x)", x, (double[]){log(0.5), 0, log(2), log(4)});
    check_unary("sqrt(x)", x, (double[]){sqrt(0.5), 1, sqrt(2), 2});
    check_unary("rsqrt(x)", x, (double[]){1 / sqrt(0.5), 1, 1 / sqrt(2), 0.5});
    check_unary("tanh(x)", x, (double[]){tanh(0.5), tanh(1), tanh(2), tanh(4)});
    check_unary("erf(x)", x, (double[]){erf(0.5), erf(1), erf(2), erf(4)});
    check_unary("-x", x, (double[]){-0.5, -1, -2, -4});
    check_unary("abs(x - 2)", x, (double[]){1.5, 1, 0, 2});
    check_unary("x + 1", x, (double[]){1.5, 2, 3, 5});
    check_unary("1 - x", x, (double[]){0.5, 0, -1, -3});
    check_unary("3 * x", x, (double[]){1.5, 3, 6, 12});
    check_unary("1 / x", x, (double[]){2, 1, 0.5, 0.25});
    check_unary("maximum(x, 1.5)", x, (double[]){1.5, 1.5, 2, 4});
    check_unary("minimum(x, 1.5)", x, (double[]){0.5, 1, 1.5, 1.5});
    check_unary("where(x < 2, x, 0)", x, (double[]){0.5, 1, 0, 0});
    check_unary("where(x <= 2, x, 0)", x, (double[]){0.5, 1, 2, 0});
    check_unary("where(x == 2, x, 0)", x, (double[]){0, 0, 2, 0});
    check_unary("where(x > 2, x, 0)", x, (double[]){0, 0, 0, 4});
    check_unary("where(x >= 2, x, 0)", x, (double[]){0, 0, 2, 4});
    check_unary("relu(x - 2)", x, (double[]){0, 0, 0, 2});
    check_unary("sum(x) + x - x", x, (double[]){7.5, 7.5, 7.5, 7.5});
    check_unary("prod(x) * x / x", x, (double[]){4, 4, 4, 4});
    check_unary("mean(x) + 0 * x", x, (double[]){1.875, 1.875, 1.875, 1.875});
}

Test(interpret, keeps_infinities_and_nan_as_numpy_does) {
    static const float x[4] = {NAN, 1, -INFINITY, INFINITY};
    check_unary("maximum(x, 0)", x, (double[]){NAN, 1, 0, INFINITY});
    check_unary("maximum(0, x)", x, (double[]){NAN, 1, 0, INFINITY});
    check_unary("minimum(x, 0)", x, (double[]){NAN, 0, -INFINITY, 0});
    check_unary("exp(x)", x, (double[]){NAN, exp(1), 0, INFINITY});
    check_unary("1 / x", x, (double[]){NAN, 1, 0, 0});
    check_unary("max(x) + 0 * x", (float[]){1, NAN, 3, 2}, (double[]){NAN, NAN, NAN, NAN});
    check_unary("min(x) + x - x", (float[]){1, 5, 3, NAN}, (double[]){NAN, NAN, NAN, NAN});
    check_unary("where(x < 2, 1, 0)", x, (double[]){0, 1, 1, 0});

    // An infinite truth has nothing uncertain; a finite one beyond an infinity has no limit.
    struct interpret_result r =
        interpreted("problem p\nin x : f32[4]\nout y : f32[4]\ny = exp(x)\n",
                    (float[]){1000, 1, 0, -1000}, NULL);
    cr_assert_eq(r.value[0][0], INFINITY);
    cr_assert_eq(r.spread[0][0], 0);
    cr_assert_gt(r.spread[0][1], 0);
    cr_assert_gt(r.spread[0][2], 0);  // that ours is exact there is no promise
    interpret_reset(&r);
}

Test(interpret, computes_gelu_and_softmax) {
    static const float x[4] = {-1, 0, 0.5f, 3};
    char text[256];
    snprintf(text, sizeof text, UNARY, "gelu(x)");
    struct interpret_result r = interpreted(text, x, NULL);
    for (int i = 0; i < 4; i++) {
        double want = 0.5 * x[i] * (1 + erf(x[i] / sqrt(2)));
        cr_assert_float_eq(r.value[0][i], want, 1e-7);
    }
    interpret_reset(&r);
    snprintf(text, sizeof text, UNARY, "softmax(x)");
    r = interpreted(text, x, NULL);
    double sum = exp(-1) + 1 + exp(0.5) + exp(3), total = 0;
    for (int i = 0; i < 4; i++) {
        cr_assert_float_eq(r.value[0][i], exp(x[i]) / sum, 1e-15);
        total += r.honest[0][i];
    }
    cr_assert_float_eq(total, 1, 1e-6);
    interpret_reset(&r);
}

// A sum of huge terms that is -10 by exact arithmetic may honestly be some thousands more: behind
// a function that is flat at -10, those thousands come out.
Test(interpret, knows_that_operands_far_off_cross_a_bend) {
    static const float x[4] = {1e11f, -8, -1e11f, -2};
    static const char *const bent[] = {"gelu(t)",        "elu(t)",  "silu(t)", "t * tanh(t) + t",
                                       "t * erf(t) + t", "relu(t)", "mish(t)", "leaky_relu(t)"};
    for (size_t i = 0; i < sizeof bent / sizeof *bent; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "problem p\nin x : f32[4]\nout y : f32[4]\nt = sum(x) + x - x\ny = %s\n", bent[i]);
        struct interpret_result r = interpreted(text, x, NULL);
        for (int j = 0; j < 4; j++)
            cr_expect_gt(r.spread[0][j], 500, "%s: %g", bent[i], r.spread[0][j]);
        interpret_reset(&r);
    }
    // Ordinary data are not concerned: the slope alone counts.
    char text[256];
    snprintf(text, sizeof text, UNARY, "tanh(sum(x) + x - x)");
    struct interpret_result r = interpreted(text, (float[]){1, -8, -1, -2.1f}, NULL);
    cr_assert_lt(r.spread[0][0], 1e-7);
    interpret_reset(&r);
}

Test(interpret, multiplies_matrices) {
    static const float x[6] = {1, 2, 3, 4, 5, 6}, z[6] = {1, 0, 2, 1, 3, -1};
    struct interpret_result r = interpreted("problem p\nin x : f32[2, 3]\nin z : f32[3, 2]\n"
                                            "out y : f32[2, 2]\ny = x @ z\n",
                                            x, z);
    static const double want[4] = {14, -1, 32, -1};
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(r.value[0][i], want[i]);
        cr_assert_eq(r.honest[0][i], (float)want[i]);
        cr_assert_eq(r.spread[0][i], 0);
    }
    interpret_reset(&r);
}

// ---- values, against another interpreter

// One element by recursion over the graph: as slow as can be, and nothing shared with ours.
static double at(const struct problem *p, const struct interpret_data *data, node_id id,
                 const int64_t *index);

static double contracted(const struct problem *p, const struct interpret_data *data,
                         const struct node *n, const int64_t *index) {
    int rank = n->shape.rank;
    int64_t left[RANK_MAX], right[RANK_MAX], k = p->graph.nodes[n->arg[0]].shape.size[rank - 1];
    memcpy(left, index, sizeof left);
    memcpy(right, index, sizeof right);
    double sum = 0;
    for (int64_t i = 0; i < k; i++) {
        left[rank - 1] = right[rank - 2] = i;
        sum += at(p, data, n->arg[0], left) * at(p, data, n->arg[1], right);
    }
    return sum;
}

static double reduced(const struct problem *p, const struct interpret_data *data,
                      const struct node *n, const int64_t *index) {
    const struct shape *s = &p->graph.nodes[n->arg[0]].shape;
    int64_t full[RANK_MAX] = {0}, count = shape_count(s) / shape_count(&n->shape);
    double result = 0, best = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;
        for (int axis = s->rank - 1, kept = n->shape.rank - 1; axis >= 0; axis--) {
            if (n->axes >> axis & 1) {
                full[axis] = rest % s->size[axis];
                rest /= s->size[axis];
            } else {
                full[axis] = index[kept--];
            }
        }
        double x = at(p, data, n->arg[0], full);
        if (n->op == OP_ARGMAX || n->op == OP_ARGMIN) {
            if (i == 0 || (n->op == OP_ARGMAX ? x > best : x < best)) {
                best = x;
                result = (double)i;
            }
            continue;
        }
        if (i == 0)
            result = x;
        else if (n->op == OP_RSUM)
            result += x;
        else if (n->op == OP_RPROD)
            result *= x;
        else
            result = n->op == OP_RMAX || n->op == OP_ANY ? fmax(result, x) : fmin(result, x);
    }
    return result;
}

static double elementwise(enum op op, const double *x) {
    switch (op) {
    case OP_NEG:
        return -x[0];
    case OP_ABS:
        return fabs(x[0]);
    case OP_EXP:
        return exp(x[0]);
    case OP_LOG:
        return log(x[0]);
    case OP_SQRT:
        return sqrt(x[0]);
    case OP_RSQRT:
        return 1 / sqrt(x[0]);
    case OP_TANH:
        return tanh(x[0]);
    case OP_ERF:
        return erf(x[0]);
    case OP_ADD:
        return x[0] + x[1];
    case OP_SUB:
        return x[0] - x[1];
    case OP_MUL:
        return x[0] * x[1];
    case OP_DIV:
        return x[0] / x[1];
    case OP_MAX:
        return fmax(x[0], x[1]);
    case OP_MIN:
        return fmin(x[0], x[1]);
    case OP_LT:
        return x[0] < x[1];
    case OP_LE:
        return x[0] <= x[1];
    case OP_EQ:
        return x[0] == x[1];
    case OP_WHERE:
        return x[0] != 0 ? x[1] : x[2];
    default:  // the rows of ops.def are checked against NumPy and torch
        return op_evaluate(op, x[0], op_infos[op].arity > 1 ? x[1] : 0);
    }
}

static double at(const struct problem *p, const struct interpret_data *data, node_id id,
                 const int64_t *index) {
    const struct node *n = &p->graph.nodes[id];
    int64_t flat = 0, inner[RANK_MAX] = {0};
    double args[ARGS_MAX];
    switch (n->op) {
    case OP_CONST:
        return n->value;
    case OP_INPUT:
        for (int i = 0; i < n->shape.rank; i++)
            flat = flat * n->shape.size[i] + index[i];
        for (int i = 0; i < p->n_inputs; i++)
            if (p->inputs[i].node == id)
                return dtype_get(n->dtype, data->inputs[i], flat);
        cr_assert_fail("an input without data");
    case OP_VIEW:
        for (int i = 0; i < n->shape.rank; i++)
            if (n->view[i] >= 0)
                inner[n->view[i]] = index[i];
        return at(p, data, n->arg[0], inner);
    case OP_MATMUL:
        return contracted(p, data, n, index);
    default:
        if (op_infos[n->op].class == OP_CLASS_REDUCE)
            return reduced(p, data, n, index);
        for (int i = 0; i < n->n_args; i++)
            args[i] = at(p, data, n->arg[i], index);
        if (n->op == OP_CAST)
            return dtype_is_float(n->dtype)
                       ? args[0]
                       : dtype_convert(p->graph.nodes[n->arg[0]].dtype, n->dtype, args[0]);
        return elementwise(n->op, args);
    }
}

static void check_output(const struct problem *p, const struct interpret_data *data, int output,
                         const struct interpret_result *r) {
    const struct shape *s = &p->graph.nodes[p->outputs[output].node].shape;
    cr_assert_eq(r->count[output], shape_count(s));
    for (int64_t i = 0; i < r->count[output]; i++) {
        int64_t index[RANK_MAX] = {0}, rest = i;
        for (int axis = s->rank - 1; axis >= 0; axis--) {
            index[axis] = rest % s->size[axis];
            rest /= s->size[axis];
        }
        double want = at(p, data, p->outputs[output].node, index), got = r->value[output][i];
        cr_assert(fabs(got - want) <= 1e-12 * (1 + fabs(want)), "%s.%s[%ld]: %.17g, not %.17g",
                  p->name, p->outputs[output].name, (long)i, got, want);
        double honest = r->wide[output] ? r->wide[output][i] : (double)r->honest[output][i];
        double error = fabs(honest - want);
        cr_assert(error <= 12 * r->spread[output][i], "%s.%s[%ld]: honest %g off, spread %g",
                  p->name, p->outputs[output].name, (long)i, error, r->spread[output][i]);
    }
}

static void check_problem(const struct problem *p) {
    struct interpret_data data = {0};
    void *buffers[INPUTS_MAX];
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *n = &p->graph.nodes[p->inputs[i].node];
        data.inputs[i] = buffers[i] = malloc((size_t)dtype_size(n->dtype, shape_count(&n->shape)));
        inputs_fill(p, i, 5, buffers[i]);
    }
    struct interpret_result r;
    interpret(p, &data, &r);
    cr_assert_eq(r.n_outputs, p->n_outputs);
    for (int i = 0; i < p->n_outputs; i++)
        check_output(p, &data, i, &r);
    interpret_reset(&r);
    for (int i = 0; i < p->n_inputs; i++)
        free(buffers[i]);
}

// Those are compared with NumPy and PyTorch (bridge/reference).
static bool has_structure(const struct problem *p) {
    for (node_id i = 0; i < p->graph.n_nodes; i++)
        if (op_infos[p->graph.nodes[i].op].class > OP_CLASS_CONTRACT)
            return true;
    return false;
}

Test(interpret, agrees_with_recursion_on_every_accepted_file) {
    glob_t found;
    if (glob("tests/lang/accept/*.hone", 0, NULL, &found) == GLOB_NOMATCH)
        cr_skip_test("not run from the root of the repository");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct arena a = {0};
        struct error err = {0};
        const char *text = file_read(&a, found.gl_pathv[i], 1 << 20, NULL, &err);
        struct lang_file file = parsed_file(&a, text);
        for (int j = 0; j < file.n_problems; j++)
            if (!has_structure(file.problems[j]))
                check_problem(file.problems[j]);
        arena_reset(&a);
    }
    globfree(&found);
}

// Sizes around the run of 1024 elements and the tile of 4 x 8.
Test(interpret, agrees_with_recursion_across_runs_and_tiles) {
    static const char *const texts[] = {
        "problem p\nin x : f32[3, 2500]\nout y : f32[3]\nout z : f32[2500]\n"
        "y = sum(x * x, axis=1)\nz = sum(x, axis=0) - max(x, axis=0)\n",
        "problem p\nin x : f32[2500]\nin w : f32[5, 1025]\nout y : f32[2500]\nout z : f32[5]\n"
        "y = exp(x) / sum(exp(x))\nz = max(w, axis=1) * min(w, axis=1)\n",
        "problem p\nin x : f32[5, 2049]\nin w : f32[2049, 9]\nout y : f32[5, 9]\n"
        "y = x @ w\n",
        "problem p\nin x : f32[5, 6]\nin w : f32[6, 9]\nin v : f32[9, 3]\nout y : f32[5, 3]\n"
        "y = tanh(x @ w) @ exp(v)\n",
        "problem p\nin x : f32[3, 4, 5]\nout y : f32[4]\nout z : f32[3, 5]\n"
        "y = sum(x, axis=(0, 2))\nz = prod(x, axis=1)\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena a = {0};
        check_problem(parsed(&a, texts[i]));
        arena_reset(&a);
    }
}

// More operations in a row than one group holds, with and without branches.
Test(interpret, takes_long_chains_in_pieces) {
    struct arena a = {0};
    check_problem(parsed(&a, "problem p\nin x : f32[2000]\nout y : f32[2000]\n"
                             "y = --------------------------------------------------exp(x)\n"));
    char *text = arena_strdup(&a, "problem p\nin x0 : f32[20]\nin w : f32[20]\nout y : f32[20]\n");
    for (int i = 1; i <= 12; i++)
        text = arena_printf(&a, "%sx%d = tanh(x%d + w) * (w * 0.5 - x%d) + w\n", text, i, i - 1,
                            i - 1);
    check_problem(parsed(&a, arena_printf(&a, "%sy = x12\n", text)));
    arena_reset(&a);
}

// ---- honest

Test(interpret, honest_sums_run_by_run_and_then_pairwise) {
    enum { N = 3000 };
    static float x[N];
    for (int i = 0; i < N; i++)
        x[i] = 1.0f / (float)(i + 1);
    struct interpret_result r =
        interpreted("problem p\nin x : f32[3000]\nout y : f32\ny = sum(x)\n", x, NULL);
    float runs[3];
    for (int run = 0; run < 3; run++) {
        runs[run] = x[run * 1024];
        for (int i = run * 1024 + 1; i < N && i < (run + 1) * 1024; i++)
            runs[run] += x[i];
    }
    cr_assert_eq(r.honest[0][0], (runs[0] + runs[1]) + runs[2]);
    interpret_reset(&r);
}

// ---- spread

Test(interpret, spread_is_one_rounding_times_the_derivatives) {
    float x[4] = {1.1f, 1.3f, 0.7f, 2}, z[4] = {1.7f, 0.3f, 0.9f, 2};
    struct interpret_result r = interpreted("problem p\nin x : f32[4]\nin z : f32[4]\n"
                                            "out y : f32[4]\ny = x * z\n",
                                            x, z);
    for (int i = 0; i < 3; i++)
        cr_assert_float_eq(r.spread[0][i] / (U * fabs(r.value[0][i]) / sqrt(3)), 1, 1e-9);
    cr_assert_eq(r.spread[0][3], 0);  // 4 is exact
    interpret_reset(&r);

    r = interpreted("problem p\nin x : f32[4]\nin z : f32[4]\nout y : f32[4]\ny = exp(x * z)\n", x,
                    z);
    for (int i = 0; i < 3; i++) {
        double product = (double)x[i] * z[i], v = exp(product);
        double want = U / sqrt(3) * v * sqrt(product * product + 1);
        cr_assert_float_eq(r.spread[0][i] / want, 1, 1e-9);
    }
    interpret_reset(&r);

    r = interpreted("problem p\nin x : f32[4]\nin z : f32[4]\nout y : f32[4]\ny = x * z - z\n", x,
                    z);
    for (int i = 0; i < 3; i++) {
        double product = (double)x[i] * z[i], v = product - z[i];
        double want = U / sqrt(3) * sqrt(product * product + v * v);
        cr_assert_float_eq(r.spread[0][i] / want, 1, 1e-9);
    }
    interpret_reset(&r);
}

struct quotient {
    double rms;
    int64_t n_exact, n_wrong;  // spread 0; of these, honest differs from the truth
};

static struct quotient quotient_of(const char *text, enum input_set set) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, text);
    struct interpret_data data = {0};
    float *buffers[INPUTS_MAX];
    for (int i = 0; i < p->n_inputs; i++) {
        int64_t count = shape_count(&p->graph.nodes[p->inputs[i].node].shape);
        data.inputs[i] = buffers[i] = malloc(sizeof(float) * (size_t)count);
        inputs_fill_set(p, i, set, 11, buffers[i]);
    }
    struct interpret_result r;
    interpret(p, &data, &r);
    struct quotient q = {0};
    for (int64_t i = 0; i < r.count[0]; i++) {
        double error = r.honest[0][i] - r.value[0][i];
        if (r.spread[0][i] == 0) {
            q.n_exact++;
            q.n_wrong += error != 0;
        } else {
            double z = error / r.spread[0][i];
            q.rms += z * z / (double)r.count[0];
        }
    }
    q.rms = sqrt(q.rms);
    interpret_reset(&r);
    for (int i = 0; i < p->n_inputs; i++)
        free(buffers[i]);
    arena_reset(&a);
    return q;
}

static const char *const GEMM = "problem p\nin a : f32[100, 1500]\nin b : f32[1500, 100]\n"
                                "out c : f32[100, 100]\nc = a @ b\n";

Test(interpret, spread_is_the_size_of_the_honest_error) {
    static const char *const texts[] = {
        "problem p\nin x : f32[64, 512]\nout y : f32[64, 512]\ny = softmax(x)\n",
        "problem p\nin x : f32[64, 512]\nin b : f32[512]\nout y : f32[64, 512]\n"
        "y = gelu(x + b) * b + x\n",
        GEMM,
        "problem p\nin a : f32[50, 300]\nin b : f32[300, 50]\nout c : f32[50, 50]\n"
        "c = exp(a * 0.1) @ tanh(b) \n",
        "problem p\nin x : f32[64, 2000]\nout y : f32[64]\ny = sum(x * x, axis=1)\n",
        "problem p\nin x : f32[64, 30] ~ uniform(0.5, 1.5)\nout y : f32[64]\ny = prod(x, axis=1)\n",
        "problem p\nin x : f32[4096] ~ uniform(0.5, 2)\nout y : f32[4096]\n"
        "y = rsqrt(x) + log(x) / sqrt(x) - tanh(x)\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct quotient q = quotient_of(texts[i], INPUT_SET_DECLARED);
        cr_assert(q.rms > 0.3 && q.rms < 3, "%zu: rms %g", i, q.rms);
        cr_assert_eq(q.n_wrong, 0);
    }
}

Test(interpret, exact_data_stays_exact) {
    struct quotient q = quotient_of(GEMM, INPUT_SET_INTEGERS);
    cr_assert_eq(q.n_exact, 100 * 100);
    cr_assert_eq(q.n_wrong, 0);
    q = quotient_of(
        "problem p\nin x : f32[64, 100]\nout y : f32[64]\n"
        "y = maximum(sum(x.T, axis=0) * 2, -max(x, axis=1)) + prod(x * 0 + 2, axis=1) * 0\n",
        INPUT_SET_INTEGERS);
    cr_assert_eq(q.n_exact, 64);
    cr_assert_eq(q.n_wrong, 0);
}

// ---- exactness does not depend on the order of a sum

// A value that is rounded may be on either side of zero, and with it what a choice takes.
Test(interpret, a_choice_that_rounding_decides_has_a_spread) {
    static const float x[4] = {0.1f, 0.1f, -3, 7};
    static const float z[4] = {0.17000002f, 0.1701f, 2, -2};
    struct interpret_result r = interpreted("problem p\nin x : f32[4]\nin z : f32[4]\n"
                                            "out y : f32[4]\nout n : f32[4]\n"
                                            "y = maximum(x * 1.7 - z, 0)\n"
                                            "n = minimum(z - x * 1.7, 0)\n",
                                            x, z);
    for (int i = 0; i < 2; i++) {
        cr_assert(r.value[i][0] == 0 && r.value[i][1] == 0 && r.value[i][2] == 0);
        cr_assert(r.spread[i][0] > 0, "output %d", i);
        cr_assert_eq(r.spread[i][1], 0);
        cr_assert_eq(r.spread[i][2], 0);
    }
    interpret_reset(&r);
}

Test(interpret, a_sum_that_is_exact_by_luck_still_has_a_spread) {
    struct arena a = {0};
    // Draws lie on a grid of 2^-21: partial sums below 8 need no rounding, in our order.
    const struct problem *p = parsed(&a, "problem p\ndim M = 400, N = 64\nin x : f32[M, N]\n"
                                         "out y : f32[M]\ny = sum(x, axis=1)\n");
    float *x = arena_array(&a, float, 400 * 64);
    inputs_fill(p, 0, 3, x);
    struct interpret_data data = {.inputs = {x}};
    struct interpret_result r;
    interpret(p, &data, &r);
    int n_lucky = 0;
    for (int i = 0; i < 400; i++) {
        n_lucky += r.value[0][i] == (double)r.honest[0][i];
        cr_assert(r.spread[0][i] > 0, "row %d", i);
    }
    cr_assert_gt(n_lucky, 0, "some rows are exact in the honest order");
    interpret_reset(&r);
    arena_reset(&a);
}

Test(interpret, sums_of_small_integers_are_exact_in_any_order) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, "problem p\ndim M = 8, N = 3000, K = 8\n"
                                         "in x : f32[M, N] ~ integers(-3, 3)\n"
                                         "in z : f32[N, K] ~ integers(-3, 3)\n"
                                         "out y : f32[M]\nout c : f32[M, K]\n"
                                         "y = sum(x, axis=1)\nc = x @ z\n");
    float *x = arena_array(&a, float, 8 * 3000), *z = arena_array(&a, float, 8 * 3000);
    inputs_fill(p, 0, 3, x);
    inputs_fill(p, 1, 3, z);
    struct interpret_data data = {.inputs = {x, z}};
    struct interpret_result r;
    interpret(p, &data, &r);
    for (int i = 0; i < 8; i++)
        cr_assert_eq(r.spread[0][i], 0);
    for (int i = 0; i < 64; i++)
        cr_assert_eq(r.spread[1][i], 0);
    // One term with a bit far below the others', and no order is sure to be exact.
    x[5] += 0x1p-14f;
    interpret_reset(&r);
    interpret(p, &data, &r);
    cr_assert_gt(r.spread[0][0], 0);
    cr_assert_gt(r.spread[1][0], 0);
    cr_assert_eq(r.spread[0][1], 0);
    interpret_reset(&r);
    arena_reset(&a);
}
