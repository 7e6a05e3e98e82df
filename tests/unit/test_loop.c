#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "family/program.h"
#include "loop/execute.h"
#include "loop/loop_build.h"
#include "loop/passes.h"
#include "loop/print_c.h"
#include "loop/range.h"
#include "lowering.h"

// One kernel over a grid, an input x and an output y of `count` elements.
struct fixture {
    struct arena arena;
    struct loop_program *program;
    struct loop_buffer *x, *y;
    struct loop_kernel *kernel;
    struct loop_builder b;
};

static void setup(struct fixture *f, int64_t count, int64_t grid) {
    *f = (struct fixture){0};
    struct loop_size size = {count, "N"};
    f->program = loop_program_new(&f->arena);
    loop_add_dim(f->program, size);
    f->x = loop_global(f->program, "x", LOOP_INPUT, &size, 1);
    f->y = loop_global(f->program, "y", LOOP_OUTPUT, &size, 1);
    f->kernel = loop_kernel_new(f->program, "k", loop_int(&f->arena, grid), &f->b);
}

static bool run(struct fixture *f, struct error *err) {
    float x[256] = {0}, y[256] = {0};
    void *data[8] = {x, y};
    return execute(f->program, data, err);
}

static const struct loop_expr *num(struct fixture *f, int64_t v) {
    return loop_int(&f->arena, v);
}

Test(loop, indices_are_simplified_by_their_ranges) {
    struct fixture f;
    setup(&f, 64, 16);
    struct arena *a = &f.arena;
    const struct loop_expr *block = loop_ref(a, f.kernel->block),
                           *n = loop_named(a, (struct loop_size){64, "N"});
    const struct loop_expr *end =
        loop_binary(a, LOOP_ADD, loop_binary(a, LOOP_MUL, block, num(&f, 4)), num(&f, 4));
    // 16 blocks of 4 end at N: the minimum is known. 5 each may pass it.
    cr_assert(loop_binary(a, LOOP_MIN, n, end) == end);
    const struct loop_expr *more = loop_binary(a, LOOP_MUL, block, num(&f, 5));
    cr_assert(loop_binary(a, LOOP_MIN, n, more)->op == LOOP_MIN);
    // N / 16 * 16 is N; N / 24 * 24 is not.
    const struct loop_expr *whole =
        loop_binary(a, LOOP_MUL, loop_binary(a, LOOP_DIV, n, num(&f, 16)), num(&f, 16));
    cr_assert(whole == n);
    int64_t v;
    cr_assert(range_difference(end, loop_binary(a, LOOP_MUL, block, num(&f, 4)), &v) && v == 4);
    cr_assert(!range_difference(end, block, &v));
    cr_assert(range_at_most(block, num(&f, 15)) && !range_at_most(block, num(&f, 14)));
    arena_reset(a);
}

Test(loop, loops_that_run_once_or_never_disappear) {
    struct fixture f;
    setup(&f, 64, 4);
    struct arena *a = &f.arena;
    const struct loop_expr *block = loop_ref(a, f.kernel->block);
    struct loop_builder inner;
    struct loop_for once = {"i", block, loop_binary(a, LOOP_ADD, block, num(&f, 1)), 1, false};
    cr_assert(loop_open_for(&f.b, &once, &inner) == block);
    loop_store(&inner, f.y, block, loop_real(a, 1), false);
    loop_close(&f.b, &inner);
    struct loop_for never = {"i", num(&f, 8), num(&f, 8), 1, false};
    loop_store(&inner, f.y, loop_open_for(&f.b, &never, &inner), loop_real(a, 2), false);
    loop_close(&f.b, &inner);
    const struct loop_stmt *s = f.kernel->body.first;
    cr_assert(s->kind == LOOP_STORE && !s->next);
    arena_reset(a);
}

Test(loop, an_access_out_of_bounds_is_an_error) {
    for (int bad = 0; bad < 4; bad++) {
        struct fixture f;
        struct error err = {0};
        setup(&f, 64, 1);
        struct arena *a = &f.arena;
        struct loop_builder inner;
        // Eight lanes at 64 - 8 are the last that fit.
        int64_t end = bad == 1 ? 65 : 57;
        struct loop_for loop = {"i", num(&f, 0), num(&f, end), 8, false};
        const struct loop_expr *i = loop_open_for(&f.b, &loop, &inner);
        if (bad == 2)
            i = loop_binary(a, LOOP_SUB, i, num(&f, 1));
        const struct loop_expr *x = loop_load(a, f.x, i, 8, bad == 3 ? 2 : 1);
        loop_store(&inner, f.y, loop_ref(a, inner.stmt->var), loop_let(&inner, "v", x), false);
        loop_close(&f.b, &inner);
        cr_assert(run(&f, &err) == (bad == 0), "%d %s", bad, err.text);
        cr_assert(bad == 0 || strstr(err.text, "x["), "%s", err.text);
        arena_reset(a);
    }
}

Test(loop, blocks_must_not_meet) {
    static const char *const words[] = {NULL,
                                        "is written by two blocks",
                                        "is read while another block writes it",
                                        "is read before it is written",
                                        "is an input and cannot be written",
                                        "is streamed to but not aligned"};
    for (int bad = 0; bad < 6; bad++) {
        struct fixture f;
        struct error err = {0};
        setup(&f, 64, 4);
        struct arena *a = &f.arena;
        const struct loop_expr *block = loop_ref(a, f.kernel->block), *one = loop_real(a, 1);
        const struct loop_expr *at = loop_binary(a, LOOP_MUL, block, num(&f, 4));
        if (bad == 3)
            loop_store(&f.b, f.y, num(&f, 63), loop_load(a, f.y, at, 1, 1), false);
        if (bad == 4)
            loop_store(&f.b, f.x, at, one, false);
        if (bad == 5)
            at = loop_binary(a, LOOP_ADD, at, num(&f, 2));
        loop_store(&f.b, f.y, bad == 1 ? num(&f, 0) : at, loop_broadcast(a, one, 4), bad == 5);
        if (bad == 2)
            loop_store(&f.b, f.y, loop_binary(a, LOOP_ADD, block, num(&f, 40)),
                       loop_load(a, f.y, num(&f, 0), 1, 1), false);
        cr_assert(run(&f, &err) == (bad == 0), "%d %s", bad, err.text);
        cr_assert(bad == 0 || strstr(err.text, words[bad]), "%s: %s", words[bad], err.text);
        arena_reset(a);
    }
}

Test(loop, registers_need_constant_indices) {
    struct fixture f;
    struct error err = {0};
    setup(&f, 64, 1);
    struct arena *a = &f.arena;
    struct loop_buffer *r = loop_register(f.program, "sum", 4, 8);
    struct loop_builder inner;
    struct loop_for loop = {"i", num(&f, 0), num(&f, 4), 1, true};
    const struct loop_expr *i = loop_open_for(&f.b, &loop, &inner);
    loop_store(&inner, r, i, loop_real(a, 3), false);
    loop_store(&inner, f.y, loop_binary(a, LOOP_MUL, i, num(&f, 8)), loop_load(a, r, i, 8, 1),
               false);
    loop_close(&f.b, &inner);
    cr_assert(!pass_verify(f.program, &err));
    cr_assert(strstr(err.text, "unrolling"), "%s", err.text);
    pass_unroll(f.program);
    cr_assert(pass_verify(f.program, &err), "%s", err.text);
    cr_assert(run(&f, &err), "%s", err.text);
    arena_reset(a);
}

Test(loop, names_never_capture_one_another) {
    struct fixture f;
    setup(&f, 64, 1);
    struct arena *a = &f.arena;
    struct loop_builder inner;
    // Two lets of one name, the outer used behind the inner; a let called like a buffer;
    // a register whose elements are called like a let.
    loop_register(f.program, "t", 2, 1);
    const struct loop_expr *outer = loop_let(&f.b, "t_1", loop_load(a, f.x, num(&f, 0), 1, 1));
    struct loop_for loop = {"x", num(&f, 0), num(&f, 8), 1, false};
    const struct loop_expr *i = loop_open_for(&f.b, &loop, &inner);
    const struct loop_expr *v = loop_let(&inner, "t_1", loop_load(a, f.x, i, 1, 1));
    loop_store(&inner, f.y, i, loop_binary(a, LOOP_SUB, v, outer), false);
    loop_close(&f.b, &inner);
    const char *text = print_c(a, f.program);
    cr_assert(strstr(text, "float t_1_v = x[0];"), "%s", text);
    cr_assert(strstr(text, "for (long x_v = 0; x_v < 8; x_v++)"), "%s", text);
    cr_assert(strstr(text, "float t_1_v_2 = x[x_v];") || strstr(text, "float t_1_2 = x[x_v];"),
              "%s", text);
    cr_assert(strstr(text, " - t_1_v;"), "%s", text);
    arena_reset(a);
}

Test(loop, what_nobody_reads_is_pruned) {
    struct fixture f;
    setup(&f, 64, 1);
    struct arena *a = &f.arena;
    struct loop_buffer *r = loop_register(f.program, "r", 1, 1);
    const struct loop_expr *v = loop_let(&f.b, "v", loop_load(a, f.x, num(&f, 0), 1, 1));
    loop_store(&f.b, r, num(&f, 0), v, false);
    loop_store(&f.b, f.y, num(&f, 0), loop_real(a, 1), false);
    pass_prune(f.program);
    const struct loop_stmt *s = f.kernel->body.first;
    cr_assert(s->kind == LOOP_STORE && s->buffer == f.y && !s->next);
    arena_reset(a);
}

// Every loop of a block, in order.
static int collect(struct loop_block *b, struct loop_stmt **out, int n) {
    for (struct loop_stmt *s = b->first; s; s = s->next) {
        if (s->kind == LOOP_FOR)
            out[n++] = s;
        n = collect(&s->body, out, n);
    }
    return n;
}

// Let one loop after the other run one step too far, or begin one step late: each time the
// program must break a rule or compute something else.
Test(loop, a_wrong_bound_is_always_noticed) {
    static const char *const blocks[] = {
        "kernel for p on cpu\nstage y : rowwise vec 4 rows 2 keep local overlap rows",
        "kernel for p on cpu\nstage y : rowwise vec 8 rows 4 unroll 2",
        "kernel for p on cpu\nstage t : gemm tile 16x16x32 micro 2x8 pack none vec 4\nstage y : "
        "rowwise",
        NULL};
    for (int b = 0; blocks[b]; b++)
        for (int which = 0, n = 1; which < 2 * n; which++) {
            struct arena a = {0};
            bool product = strstr(blocks[b], "gemm") != NULL;
            const char *text =
                product
                    ? "problem p\ndim M = 9, N = 16, K = 64\nin x : f32[M, K] ~ normal\nin w : "
                      "f32[K, N] ~ normal\n"
                      "out y : f32[M, N]\nt = x @ w\ny = t / (1 + sum(t * t, axis=1, "
                      "keepdims=true))\n"
                    : "problem p\ndim M = 9, N = 21\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
                      "y = exp(x) / sum(exp(x), axis=1, keepdims=true)\n";
            struct problem *p = problem_from(&a, text);
            struct target t = test_target(64);
            struct lang_source source = {.file = "k", .text = blocks[b], .len = strlen(blocks[b])};
            struct lang_file file;
            const char *diagnostics;
            struct error err;
            cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", diagnostics);
            cr_assert(lower_check(&a, p, &t, file.kernels[0], &err), "%s", err.text);
            struct loop_program *program = program_lower(&a, p, &t, file.kernels[0]);
            struct loop_stmt *loops[128];
            n = 0;
            for (int k = 0; k < program->n_kernels; k++)
                n = collect(&program->kernels[k]->body, loops, n);
            struct loop_stmt *s = loops[which / 2];
            const struct loop_expr *step = loop_int(&a, s->step);
            if (which % 2)
                s->begin = loop_binary(&a, LOOP_ADD, s->begin, step);
            else
                s->end = loop_binary(&a, LOOP_ADD, s->end, step);
            char message[512] = "";
            struct expectation e;
            expect_open(&e, &a, p, 3);
            double error = expect_execute(&e, &a, p, program, message, sizeof message);
            cr_assert(error < 0 || error > 60, "block %d: loop %s, %s: error %g", b, s->var->name,
                      which % 2 ? "late" : "too far", error);
            expect_close(&e);
            arena_reset(&a);
        }
}
