#include "lowering.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "family/family.h"
#include "family/moves.h"
#include "family/program.h"
#include "ir/inputs.h"
#include "loop/execute.h"
#include "loop/passes.h"

struct problem *problem_from(struct arena *a, const char *text) {
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    struct lang_file file;
    const char *diagnostics = "";
    struct error err;
    bool ok = lang_parse(a, &source, &file, &diagnostics, &err);
    cr_assert(ok, "%s\n%s", text, diagnostics);
    cr_assert(file.n_problems == 1);
    return file.problems[0];
}

struct loop_program *program_from(struct arena *a, const struct problem *p, const struct target *t,
                                  const char *block) {
    struct lang_source source = {.file = "test", .text = arena_printf(a, "%s\n%s", p->text, block)};
    struct lang_file file;
    const char *diagnostics = "";
    struct error err = {0};
    source.len = strlen(source.text);
    cr_assert(lang_parse(a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    cr_assert(lower_check(a, p, t, file.kernels[0], &err), "%s", err.text);
    struct loop_program *loops = program_lower(a, p, t, file.kernels[0]);
    pass_prune(loops);
    cr_assert(pass_verify(loops, &err), "%s", err.text);
    return loops;
}

struct target test_target(int vector_bytes) {
    struct target t = {.name = "cpu", .device = "test", .n_threads = 2};
    t.vector_bytes = vector_bytes;
    t.l1_bytes = 32 << 10;
    t.l2_bytes = 1 << 20;
    t.llc_bytes = 32 << 20;
    return t;
}

// Random elementwise expression of shape [M, N] over the operands in `leaves`.
static void expression(struct str *out, struct rng *r, const char *const *leaves, int n_leaves,
                       int depth) {
    if (depth == 0 || rng_below(r, 5) == 0) {
        str_puts(out, leaves[rng_below(r, (uint64_t)n_leaves)]);
        return;
    }
    static const char *const binary[] = {" + ", " - ", " * "};
    static const char *const unary[] = {"tanh(", "erf(", "gelu(", "relu(", "sigmoid(", "abs("};
    switch (rng_below(r, 6)) {
    case 0:
    case 1:
        str_puts(out, "(");
        expression(out, r, leaves, n_leaves, depth - 1);
        str_puts(out, binary[rng_below(r, 3)]);
        expression(out, r, leaves, n_leaves, depth - 1);
        str_puts(out, ")");
        break;
    case 2:
        str_puts(out, "maximum(");
        expression(out, r, leaves, n_leaves, depth - 1);
        str_puts(out, ", ");
        expression(out, r, leaves, n_leaves, depth - 1);
        str_puts(out, ")");
        break;
    case 3:
        // Compared are inputs, which have no error that could tip the balance.
        str_printf(out, "where(%s < %s, ", leaves[rng_below(r, (uint64_t)n_leaves)],
                   leaves[rng_below(r, (uint64_t)n_leaves)]);
        expression(out, r, leaves, n_leaves, depth - 1);
        str_puts(out, ", 0.5)");
        break;
    default:
        str_puts(out, unary[rng_below(r, sizeof unary / sizeof *unary)]);
        expression(out, r, leaves, n_leaves, depth - 1);
        str_puts(out, ")");
    }
}

static int64_t random_size(struct rng *r) {
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 13, 16, 17, 24, 32, 33, 40, 48, 64};
    return sizes[rng_below(r, sizeof sizes / sizeof *sizes)];
}

static const char *const leaves[] = {"x", "z", "b", "s[:, None]", "w.T", "c", "2"};

static void full_expression(struct str *out, struct rng *r) {
    // The first operand has the full shape, so that the whole has it too.
    str_puts(out, "(x + ");
    expression(out, r, leaves, 7, 3);
    str_puts(out, ")");
}

static void product(struct str *out, struct rng *r) {
    static const char *const forms[] = {"p @ q", "p @ u.T", "v.T @ q", "p @ (q * 0.5)",
                                        "tanh(p) @ u.T"};
    str_puts(out, forms[rng_below(r, 5)]);
}

// Does the text hold the one-letter name as a word?
static bool mentions(const char *text, char name) {
    for (const char *c = strchr(text, name); c; c = strchr(c + 1, name)) {
        bool starts = c == text || !(isalnum((unsigned char)c[-1]) || c[-1] == '.');
        if (starts && !isalnum((unsigned char)c[1]))
            return true;
    }
    return false;
}

static void body(struct str *out, struct rng *r, int kind) {
    static const char *const reduce[] = {"sum", "max", "min", "mean"};
    const char *fold = reduce[rng_below(r, 4)];
    bool with_h = kind > 0 && kind != 8 && (kind != 6 || rng_below(r, 2));
    if (with_h) {
        str_puts(out, "h = ");
        full_expression(out, r);
        str_puts(out, "\n");
    }
    str_puts(out, "y = ");
    switch (kind) {
    case 0:
        full_expression(out, r);
        break;
    case 1:
        str_puts(out, "softmax(h) * z");
        break;
    case 2:
        str_printf(out, "%s(h, axis=1) + s", fold);
        break;
    case 3:
        str_printf(out, "tanh(%s(h, axis=0)) * b", fold);
        break;
    case 4:
        str_puts(out, "(h - mean(h, axis=1, keepdims=true)) * "
                      "rsqrt(mean(h * h, axis=1, keepdims=true) + 1)");
        break;
    case 5:
        str_puts(out, "softmax(h, axis=0)");
        break;
    case 6:
        product(out, r);
        str_puts(out, with_h ? " + h" : " + b");
        break;
    case 7:
        str_puts(out, "softmax(");
        product(out, r);
        str_puts(out, " + b) + h");
        break;
    case 8:
        str_puts(out, "(x * z).T + w");
        break;
    default:
        str_printf(out, "cumsum(h, axis=%d%s%s) + z", (int)rng_below(r, 2),
                   rng_below(r, 2) ? ", reverse=true" : "",
                   rng_below(r, 2) ? ", exclusive=true" : "");
    }
    str_puts(out, "\n");
}

const char *random_problem(struct arena *a, struct rng *r) {
    static const char *const inputs[] = {
        "x : f32[M, N]", "z : f32[M, N]", "b : f32[N]",    "s : f32[M]",    "w : f32[N, M]",
        "c : f32[1, N]", "p : f32[M, K]", "q : f32[K, N]", "u : f32[N, K]", "v : f32[K, M]"};
    static const char *const shapes[] = {"[M, N]", "[M, N]", "[M]",    "[N]",    "[M, N]",
                                         "[M, N]", "[M, N]", "[M, N]", "[N, M]", "[M, N]"};
    int kind = (int)rng_below(r, 10);
    struct str text = {0}, out = {0};
    bool second = kind == 1 && rng_below(r, 2);
    str_puts(&text, second ? "m = max(x, axis=1)\n" : "");
    body(&text, r, kind);
    const char *lines = str_take(a, &text);
    str_printf(&out, "problem random\ndim M = %lld, N = %lld", (long long)random_size(r),
               (long long)random_size(r));
    if (strchr(lines, '@'))
        str_printf(&out, ", K = %lld", (long long)random_size(r));
    str_puts(&out, "\n");
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (mentions(lines, inputs[i][0]))
            str_printf(&out, "in %s ~ normal\n", inputs[i]);
    str_printf(&out, "out y : f32%s\n%s%s", shapes[kind], second ? "out m : f32[M]\n" : "", lines);
    return str_take(a, &out);
}

// Set every knob of a stage to some value of its grid.
static void shuffle_knobs(struct rng *r, const struct target *t, struct kernel_stage *s) {
    const struct emitter *e = stage_emitter(s, t);
    for (const struct knob *k = e->knobs; k->name; k++) {
        int n = 0;
        if (k->words) {
            while (k->words[n])
                n++;
            stage_set_word(s, k->name, k->words[rng_below(r, (uint64_t)n)]);
        }
        for (int part = 0; part < k->n_parts; part++) {
            for (n = 0; k->grid[part][n] >= 0;)
                n++;
            stage_set(s, k->name, part, k->grid[part][rng_below(r, (uint64_t)n)]);
        }
    }
}

struct kernel *random_kernel(struct arena *a, struct rng *r, const struct problem *p,
                             const struct target *t, int n_moves) {
    struct kernel *k = arena_new(a, struct kernel);
    lower_default(a, p, t, k);
    for (int i = 0; i < n_moves; i++) {
        int n;
        struct move *moves = moves_list(a, p, t, k, &n);
        if (n == 0)
            break;
        k = moves[rng_below(r, (uint64_t)n)].kernel;
    }
    // Moves go one step at a time; now jump, as often as that is legal.
    for (int i = 0; i < 20; i++) {
        struct kernel *jumped = arena_new(a, struct kernel);
        *jumped = kernel_copy(a, k);
        struct error err;
        for (int s = 0; s < k->n_stages; s++)
            shuffle_knobs(r, t, kernel_own_stage(a, jumped, s));
        if (lower_check(a, p, t, jumped, &err))
            return jumped;
    }
    return k;
}

void expect_open(struct expectation *e, struct arena *a, const struct problem *p, uint64_t seed) {
    struct interpret_data data = {{NULL}};
    e->problem = p;
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *n = &p->graph.nodes[p->inputs[i].node];
        e->inputs[i] = arena_array(a, char, dtype_size(n->dtype, shape_count(&n->shape)));
        inputs_fill(p, i, seed, e->inputs[i]);
        data.inputs[i] = e->inputs[i];
    }
    interpret(p, &data, &e->result);
}

void expect_close(struct expectation *e) {
    interpret_reset(&e->result);
}

// One unit of error of a value: what honest arithmetic strays, and half a rounding to its type.
static double unit_of(enum dtype t, double want, double spread) {
    if (!dtype_is_float(t))
        return spread + 0x1p-20;
    double ulp = ldexp(fabs(want), -dtype_infos[t].digits - 1);
    return spread + ulp +
           (t == DTYPE_F64                      ? 1e-300
            : t == DTYPE_F32 || t == DTYPE_BF16 ? 1e-30
                                                : 1e-7);
}

double expect_error(const struct expectation *e, void *const *outputs) {
    double worst = 0;
    for (int o = 0; o < e->result.n_outputs; o++) {
        enum dtype t = e->problem->graph.nodes[e->problem->outputs[o].node].dtype;
        for (int64_t i = 0; i < e->result.count[o]; i++) {
            double want = e->result.value[o][i], got = dtype_get(t, outputs[o], i);
            double honest = e->result.wide[o] ? e->result.wide[o][i] : e->result.honest[o][i];
            // Where something on the way was infinite, only the honest computation knows.
            bool same = got == honest || (isnan(got) && isnan(honest));
            if (same || isnan(e->result.spread[o][i]))
                continue;
            double error = isnan(want)
                               ? INFINITY
                               : fabs(got - want) / unit_of(t, want, e->result.spread[o][i]);
            if (!(error <= worst))
                worst = isnan(error) ? INFINITY : error;
        }
    }
    return worst;
}

double expect_execute(const struct expectation *e, struct arena *a, const struct problem *p,
                      const struct loop_program *program, char *message, int room) {
    void **data = arena_array(a, void *, program->n_buffers);
    void *outputs[OUTPUTS_MAX];
    for (int i = 0; i < p->n_inputs; i++)
        data[i] = e->inputs[i];
    for (int o = 0; o < p->n_outputs; o++) {
        const struct node *n = &p->graph.nodes[p->outputs[o].node];
        outputs[o] = data[p->n_inputs + o] =
            arena_array(a, char, dtype_size(n->dtype, e->result.count[o]));
    }
    struct error err;
    if (!execute(program, (void *const *)data, &err)) {
        snprintf(message, (size_t)room, "%s", err.text);
        return -1;
    }
    return expect_error(e, outputs);
}
