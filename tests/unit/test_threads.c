// Kernels with threads: what they mean (execute.h), what is refused (passes.h), how they are
// printed and that the text, run on the fibre runtime, computes the same.
#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "fibre.h"
#include "loop/execute.h"
#include "loop/loop_build.h"
#include "loop/passes.h"
#include "loop/print_cuda.h"

enum { N = 128 };

// What to leave out or to do wrong.
enum fault {
    NO_FAULT,
    NO_BARRIER,         // between writing and reading
    NO_SECOND_BARRIER,  // between reading and writing again
    DIVERGENT_BARRIER,
    DIVERGENT_WARP,
    TWO_WRITERS,
};

static const struct loop_expr *add(struct arena *a, const struct loop_expr *x, int64_t y) {
    return loop_binary(a, LOOP_ADD, x, loop_int(a, y));
}

// Each block reverses 64 elements through shared memory, twice, and adds the warp's sum.
static struct loop_program *build(struct arena *a, enum fault fault) {
    struct loop_program *p = loop_program_new(a);
    struct loop_size size = {N, "N"}, half = {N / 2, NULL};
    loop_add_dim(p, size);
    struct loop_buffer *x = loop_global(p, "x", LOOP_INPUT, &size, 1);
    struct loop_buffer *y = loop_global(p, "y", LOOP_OUTPUT, &size, 1);
    struct loop_buffer *s = loop_shared(p, "row", &half, 1);
    struct loop_buffer *r = loop_register(p, "kept", 2, 1);
    struct loop_builder b, inner;
    const struct loop_expr *grid = loop_binary(a, LOOP_DIV, loop_named(a, size), loop_int(a, 64));
    struct loop_kernel *k = loop_kernel_new(p, "reverse", grid, &b);
    k->text = "Reverse.";
    const struct loop_expr *t = loop_kernel_threads(p, k, 64);
    const struct loop_expr *i = loop_binary(
        a, LOOP_ADD, loop_binary(a, LOOP_MUL, loop_ref(a, k->block), loop_int(a, 64)), t);
    const struct loop_expr *other = loop_binary(a, LOOP_SUB, loop_int(a, 63), t);
    const struct loop_expr *zero = loop_int(a, 0);
    struct loop_for f = {"copy", zero, loop_int(a, 2), 1, true};
    const struct loop_expr *copy = loop_open_for(&b, &f, &inner);
    loop_store(&inner, r, copy, loop_load(a, x, i, 1, 1), false);
    loop_close(&b, &inner);

    loop_store(&b, s, fault == TWO_WRITERS ? loop_binary(a, LOOP_DIV, t, loop_int(a, 2)) : t,
               loop_load(a, r, zero, 1, 1), false);
    if (fault == DIVERGENT_BARRIER) {
        loop_open_if(&b, t, loop_int(a, 40), &inner);
        loop_barrier(&inner);
        loop_close(&b, &inner);
    } else if (fault != NO_BARRIER) {
        loop_barrier(&b);
    }
    const struct loop_expr *v = loop_let(&b, "v", loop_load(a, s, other, 1, 1));
    if (fault != NO_SECOND_BARRIER)
        loop_barrier(&b);
    loop_store(&b, s, t, v, false);
    loop_barrier(&b);
    v = loop_let(&b, "v", loop_load(a, s, other, 1, 1));
    loop_open_if(&b, t, fault == DIVERGENT_WARP ? loop_int(a, 40) : add(a, t, 1), &inner);
    const struct loop_expr *sum = loop_let(&inner, "sum", loop_unary(a, LOOP_WARP_SUM, v));
    loop_store(&inner, y, i, loop_binary(a, LOOP_ADD, sum, loop_load(a, r, loop_int(a, 1), 1, 1)),
               true);
    loop_close(&b, &inner);
    return p;
}

static float input(int i) {
    return (float)(i * i % 97);
}

static float expected(int i) {
    float sum = 0;
    for (int j = i / 32 * 32; j < i / 32 * 32 + 32; j++)
        sum += input(j);
    return sum + input(i);
}

static bool run(struct arena *a, const struct loop_program *p, float *y, struct error *err) {
    float *x = arena_array(a, float, N);
    for (int i = 0; i < N; i++)
        x[i] = input(i);
    void *data[8] = {x, y};
    return execute(p, data, err);
}

Test(threads, compute_and_meet_at_barriers) {
    struct arena a = {0};
    struct error err = {0};
    float y[N];
    struct loop_program *p = build(&a, NO_FAULT);
    cr_assert(pass_verify(p, &err), "%s", err.text);
    cr_assert(run(&a, p, y, &err), "%s", err.text);
    for (int i = 0; i < N; i++)
        cr_assert_float_eq(y[i], expected(i), 0);
    arena_reset(&a);
}

Test(threads, races_and_divergence_are_errors) {
    static const struct {
        enum fault fault;
        const char *want;
    } cases[] = {
        {NO_BARRIER, "row[63] is read by a thread before a barrier after another wrote it"},
        {NO_SECOND_BARRIER, "row[0] is written by a thread before a barrier after another read it"},
        {DIVERGENT_BARRIER, "thread 40 does not come to a barrier"},
        {DIVERGENT_WARP, "sum: only 8 threads of a warp take part"},
        {TWO_WRITERS, "row[0] is written by two threads"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a = {0};
        struct error err = {0};
        float y[N];
        cr_assert_not(run(&a, build(&a, cases[i].fault), y, &err));
        cr_assert(strstr(err.text, cases[i].want) != NULL, "case %zu: %s", i, err.text);
        arena_reset(&a);
    }
}

static const char *const text = "#include \"dev.h\"\n"
                                "\n"
                                "#ifndef N\n"
                                "#define N 128\n"
                                "#endif\n"
                                "\n"
                                "HONE_ASSERT(N == 128, \"lowered for N = 128\");\n"
                                "\n"
                                "#pragma hone launch reverse grid(N / 64) block(64) args(x, y)\n"
                                "\n"
                                "// Reverse.\n"
                                "HONE_KERNEL(64) reverse(const float *__restrict__ x, float "
                                "*__restrict__ y) {\n"
                                "    HONE_SHARED(row, 64);\n"
                                "    float kept[2];\n"
                                "    const int block = hone_block();\n"
                                "    const int thread = hone_thread();\n"
                                "    #pragma unroll\n"
                                "    for (int copy = 0; copy < 2; copy++) {\n"
                                "        kept[copy] = x[block * 64 + thread];\n"
                                "    }\n"
                                "    row[thread] = kept[0];\n"
                                "    hone_barrier();\n"
                                "    float v = row[63 - thread];\n"
                                "    hone_barrier();\n"
                                "    row[thread] = v;\n"
                                "    hone_barrier();\n"
                                "    float v_2 = row[63 - thread];\n"
                                "    float sum = hone_warp_sum(v_2);\n"
                                "    hone_stream1(&y[block * 64 + thread], sum + kept[1]);\n"
                                "}\n";

Test(threads, are_printed_as_cuda_that_computes_the_same) {
    struct arena a = {0};
    const char *printed = print_cuda(&a, build(&a, NO_FAULT));
    cr_assert_str_eq(printed, text);
    float x[N], *y;
    for (int i = 0; i < N; i++)
        x[i] = input(i);
    struct fibre_program program = {.n_texts = 1};
    program.texts[0] =
        (struct fibre_text){.source = printed,
                            .buffers = {{"x", N, x, DTYPE_F32}, {"y", N, NULL, DTYPE_F32}},
                            .n_buffers = 2};
    const char *fault;
    fibre_build(&a, "cc", &program);
    cr_assert(fibre_run(&a, &program, (struct fibre_run){.seed = 7}, &y, &fault), "%s", fault);
    for (int i = 0; i < N; i++)
        cr_assert_float_eq(y[i], expected(i), 0);
    fibre_remove(&program);
    arena_reset(&a);
}

Test(threads, indices_are_as_wide_as_they_need_to_be) {
    struct arena a = {0};
    struct loop_program *p = loop_program_new(&a);
    struct loop_size m = {100000, "M"}, n = {65536, "N"}, shape[] = {m, n};
    loop_add_dim(p, m);
    loop_add_dim(p, n);
    struct loop_buffer *y = loop_global(p, "y", LOOP_OUTPUT, shape, 2);
    struct loop_builder b;
    struct loop_kernel *k = loop_kernel_new(p, "k", loop_named(&a, m), &b);
    const struct loop_expr *t = loop_kernel_threads(p, k, 64);
    const struct loop_expr *row =
        loop_binary(&a, LOOP_MUL, loop_ref(&a, k->block), loop_named(&a, n));
    const struct loop_expr *at = loop_let(&b, "at", loop_binary(&a, LOOP_ADD, row, t));
    loop_store(&b, y, at, loop_real(&a, 1), false);
    const char *printed = print_cuda(&a, p);
    cr_assert(strstr(printed, "    long at = (long)block * N + thread;\n"
                              "    y[at] = 1.0f;\n") != NULL,
              "%s", printed);
    arena_reset(&a);
}

// Sums are printed without parentheses: two ints whose sum is none must not come to stand first.
Test(threads, a_sum_of_ints_before_a_wide_one_stays_apart) {
    struct arena a = {0};
    struct loop_program *p = loop_program_new(&a);
    struct loop_size shape[] = {{100000, NULL}, {65536 + 40000, NULL}};
    struct loop_buffer *y = loop_global(p, "y", LOOP_OUTPUT, shape, 2);
    struct loop_builder b;
    struct loop_kernel *k = loop_kernel_new(p, "k", loop_int(&a, 100000), &b);
    const struct loop_expr *t = loop_kernel_threads(p, k, 64), *block = loop_ref(&a, k->block);
    const struct loop_expr *part = loop_binary(&a, LOOP_MUL, block, loop_int(&a, 20000));
    const struct loop_expr *wide = loop_binary(&a, LOOP_MUL, block, loop_int(&a, 65536));
    const struct loop_expr *own = loop_binary(&a, LOOP_ADD, part, t);
    const struct loop_expr *at =
        loop_binary(&a, LOOP_ADD, own, loop_binary(&a, LOOP_ADD, part, wide));
    loop_store(&b, y, at, loop_real(&a, 1), false);
    const char *printed = print_cuda(&a, p);
    cr_assert(strstr(printed, "y[block * 20000 + thread + (block * 20000 + (long)block * 65536)]"),
              "%s", printed);
    arena_reset(&a);
}

Test(threads, large_shared_memory_is_asked_for_by_the_launch) {
    struct arena a = {0};
    struct loop_program *p = loop_program_new(&a);
    struct loop_size n = {20001, NULL}, one = {64, NULL};
    struct loop_buffer *y = loop_global(p, "y", LOOP_OUTPUT, &one, 1);
    struct loop_buffer *s = loop_shared(p, "s", &n, 1), *t = loop_shared(p, "t", &one, 1);
    struct loop_builder b;
    struct loop_kernel *k = loop_kernel_new(p, "k", loop_int(&a, 1), &b);
    const struct loop_expr *thread = loop_kernel_threads(p, k, 64);
    loop_store(&b, s, thread, loop_real(&a, 1), false);
    loop_store(&b, t, thread, loop_load(&a, s, thread, 1, 1), false);
    loop_store(&b, y, thread, loop_load(&a, t, thread, 1, 1), false);
    const char *printed = print_cuda(&a, p);
    cr_assert(strstr(printed, "block(64) shared(80272) args(y)") != NULL, "%s", printed);
    cr_assert(strstr(printed, "    HONE_DYNAMIC(s, 0, 20001);\n"
                              "    HONE_DYNAMIC(t, 20004, 64);\n") != NULL,
              "%s", printed);
    arena_reset(&a);
}

Test(threads, verify_names_the_broken_rule) {
    static const char *const want[] = {"shared arrays are for threads",
                                       "register index is not a constant",
                                       "inside another expression", "where there are no threads"};
    for (int i = 0; i < 4; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct loop_program *p = loop_program_new(&a);
        struct loop_size n = {64, NULL};
        struct loop_buffer *local = loop_local(p, "l", &n, 1), *r = loop_register(p, "r", 64, 1);
        struct loop_builder b;
        struct loop_kernel *k = loop_kernel_new(p, "k", loop_int(&a, 1), &b);
        const struct loop_expr *one = loop_real(&a, 1);
        const struct loop_expr *t = i < 3 ? loop_kernel_threads(p, k, 64) : loop_int(&a, 0);
        if (i == 0)
            loop_store(&b, local, t, one, false);
        if (i == 1)
            loop_store(&b, r, t, one, false);
        if (i == 2)
            loop_let(&b, "v", loop_binary(&a, LOOP_ADD, one, loop_unary(&a, LOOP_WARP_SUM, one)));
        if (i == 3)
            loop_barrier(&b);
        cr_assert_not(pass_verify(p, &err));
        cr_assert(strstr(err.text, want[i]) != NULL, "%s", err.text);
        arena_reset(&a);
    }
}
