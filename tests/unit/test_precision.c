// Long sums in emitted CUDA, run on fibres: their order of summation must not cost more precision
// than a judge allows. Terms are positive, so that partial sums grow and a long chain of additions
// shows. Where chunks that are added one after the other fail, the table says what they gave.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "family/cascade.h"
#include "fibre.h"
#include "loop/execute.h"
#include "lowering.h"

#define ROWS(n) "dim M = 4, N = " #n "\nin x : f32[M, N] ~ uniform(0, 1)\n"

static const struct {
    const char *problem, *stages;  // stages NULL: plain
} cases[] = {
    {"problem softmax\n" ROWS(393216) "out y : f32[M, N]\ny = softmax(x)\n", NULL},
    {"problem softmax\n" ROWS(393216) "out y : f32[M, N]\ny = softmax(x)\n",
     "stage y : rowwise as blocks  threads 128  blocks 8  meet cluster  vec 4  unroll 4  keep "
     "shared\n"},
    {"problem rows\n" ROWS(4194304) "out y : f32[M]\ny = sum(x, axis=1)\n", NULL},
    {"problem warps\n" ROWS(4194304) "out y : f32[M]\ny = sum(x, axis=1)\n",
     "stage y : reduce  threads 32  results 4  vec 1  split 1\n"},
    {"problem columns\ndim M = 1048576, N = 3\nin x : f32[M, N] ~ uniform(0, 1)\nout y : f32[N]\n"
     "y = sum(x, axis=0)\n",
     "stage y : reduce  threads 1  results 32  vec 1  split 1024\n"},  // 7.0 of 4
    {"problem vector\ndim M = 4, K = 1048576\nin a : f32[M, K] ~ uniform(0, 1)\n"
     "in v : f32[K, 1] ~ uniform(0, 1)\nout y : f32[M, 1]\ny = a @ v\n",
     "stage y : gemm  tile 16x16x16  micro 2x2  stages 1  vec 1\n"},  // 5.0 of 4
    {"problem vector\ndim M = 4, K = 1048576\nin a : f32[M, K] ~ uniform(0, 1)\n"
     "in v : f32[K, 1] ~ uniform(0, 1)\nout y : f32[M, 1]\ny = a @ v\n",
     NULL},
};
enum { CASES = sizeof cases / sizeof *cases };

static void lower_case(struct arena *a, const struct problem *p, int i, struct candidate *out) {
    struct target t;
    struct error err = {0};
    target_of_arch("sm_90a", &t);
    struct kernel k = {0};
    if (!cases[i].stages) {
        lower_plain(a, p, &t, out);
        return;
    }
    const char *text = arena_printf(a, "%skernel for %s on %s\n%s", cases[i].problem, p->name,
                                    t.name, cases[i].stages);
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    struct lang_file file;
    const char *diagnostics = "";
    cr_assert(lang_parse(a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    k = *file.kernels[0];
    cr_assert(lower_kernel(a, p, &t, &k, out, &err), "%s", err.text);
}

// Root mean square of the error, in spreads.
static double rms_of(const struct interpret_result *r, const float *output) {
    double sum = 0;
    for (int64_t i = 0; i < r->count[0]; i++) {
        double error = (output[i] - r->value[0][i]) / r->spread[0][i];
        sum += error * error;
    }
    return sqrt(sum / (double)r->count[0]);
}

static void check_case(int i) {
    struct arena a = {0};
    const struct problem *p = problem_from(&a, cases[i].problem);
    struct expectation e = {0};
    expect_open(&e, &a, p, 7);
    struct candidate candidate = {0};
    lower_case(&a, p, i, &candidate);
    struct fibre_program *program = arena_new(&a, struct fibre_program);
    struct fibre_text *t = &program->texts[program->n_texts++];
    *t = (struct fibre_text){.source = candidate.source};
    for (int k = 0; k < p->n_inputs; k++) {
        const struct node *n = &p->graph.nodes[p->inputs[k].node];
        t->buffers[t->n_buffers++] =
            (struct fibre_buffer){n->name, shape_count(&n->shape), e.inputs[k], n->dtype};
    }
    t->buffers[t->n_buffers++] =
        (struct fibre_buffer){p->outputs[0].name, e.result.count[0], NULL, DTYPE_F32};
    fibre_build(&a, "gcc", program);
    float *output;
    const char *fault;
    cr_assert(fibre_run(&a, program, (struct fibre_run){0, 1, 0}, &output, &fault), "%s\n%s", fault,
              candidate.source);
    double limit = 4 * fmax(1, rms_of(&e.result, e.result.honest[0]));
    double rms = rms_of(&e.result, output);
    cr_expect(rms <= limit, "case %d: rms %.3g of %.3g\n%s", i, rms, limit, candidate.source);
    fibre_remove(program);
    expect_close(&e);
    arena_reset(&a);
}

Test(precision, of_long_sums_in_emitted_cuda_is_that_of_honest_arithmetic) {
    for (int i = 0; i < CASES; i++)
        check_case(i);
}

// The sum of 0 .. n - 1 by a cascade, in the loop interpreter; exact in f32.
struct numbers {
    struct arena *a;
    struct loop_buffer *level;
};

static void carry(void *ctx, struct loop_builder *b, int level) {
    const struct numbers *n = ctx;
    const struct loop_expr *to = loop_int(n->a, level), *from = loop_int(n->a, level - 1);
    loop_store(b, n->level, to,
               loop_binary(n->a, LOOP_ADD, loop_load(n->a, n->level, to, 1, 1),
                           loop_load(n->a, n->level, from, 1, 1)),
               false);
    loop_store(b, n->level, from, loop_real(n->a, 0), false);
}

static float cascaded_sum(int n, int radix, int *levels) {
    struct arena a = {0};
    struct loop_program *p = loop_program_new(&a);
    struct loop_size size = {n, NULL}, one = {1, NULL};
    struct loop_buffer *x = loop_global(p, "x", LOOP_INPUT, &size, 1);
    struct loop_buffer *y = loop_global(p, "y", LOOP_OUTPUT, &one, 1);
    struct cascade c = cascade_for(n, radix);
    struct loop_builder b, inner;
    loop_kernel_new(p, "k", loop_int(&a, 1), &b);
    struct loop_size room = {c.n_levels, NULL};
    struct numbers numbers = {&a, loop_local(p, "level", &room, 1)};
    const struct loop_expr *zero = loop_int(&a, 0);
    for (int i = 0; i < c.n_levels; i++)
        loop_store(&b, numbers.level, loop_int(&a, i), loop_real(&a, 0), false);
    struct loop_for f = {"i", zero, loop_int(&a, n), 1, false};
    const struct loop_expr *i = loop_open_for(&b, &f, &inner);
    loop_store(&inner, numbers.level, zero,
               loop_binary(&a, LOOP_ADD, loop_load(&a, numbers.level, zero, 1, 1),
                           loop_load(&a, x, i, 1, 1)),
               false);
    cascade_carry(&c, &inner, i, carry, &numbers);
    loop_close(&b, &inner);
    const struct loop_expr *all = loop_real(&a, 0);
    for (int l = 0; l < c.n_levels; l++)
        all = loop_binary(&a, LOOP_ADD, all, loop_load(&a, numbers.level, loop_int(&a, l), 1, 1));
    loop_store(&b, y, zero, all, false);
    float *in = arena_array(&a, float, n), out = NAN;
    void *data[8] = {0};
    for (int k = 0; k < n; k++)
        in[k] = (float)k;
    data[x->id] = in;
    data[y->id] = &out;
    struct error err = {0};
    cr_assert(execute(p, data, &err), "%s", err.text);
    *levels = c.n_levels;
    arena_reset(&a);
    return out;
}

Test(precision, cascade_adds_everything_once_and_has_a_level_for_every_radix) {
    static const int sizes[][2] = {{1, 1}, {7, 1}, {8, 1}, {9, 2}, {64, 2}, {65, 3}, {513, 4}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int n = sizes[i][0], levels;
        cr_expect_eq(cascaded_sum(n, 8, &levels), (float)(n * (n - 1) / 2), "%d", n);
        cr_expect_eq(levels, sizes[i][1], "%d chunks: %d levels", n, levels);
    }
}
