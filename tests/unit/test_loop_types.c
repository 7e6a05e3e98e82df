// Types of the loop language: what a program of one of them computes, and what pass_verify says to
// one that mixes them.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "loop/execute.h"
#include "loop/loop_build.h"
#include "loop/passes.h"
#include "loop/range.h"

enum { N = 8 };

// y[i] = f(x[i]) for all i, one block.
struct scene {
    struct arena arena;
    struct loop_program *program;
    struct loop_buffer *x, *y;
    struct loop_kernel *kernel;
    struct loop_builder b, inner;
    const struct loop_expr *i, *value;
};

static void open_scene(struct scene *s, enum dtype from, enum dtype to) {
    *s = (struct scene){0};
    struct loop_size size = {N, "N"};
    s->program = loop_program_new(&s->arena);
    s->x = loop_global_of(s->program, "x", LOOP_INPUT, from, &size, 1);
    s->y = loop_global_of(s->program, "y", LOOP_OUTPUT, to, &size, 1);
    s->kernel = loop_kernel_new(s->program, "k", loop_int(&s->arena, 1), &s->b);
    struct loop_for f = {"i", loop_int(&s->arena, 0), loop_int(&s->arena, N), 1, false};
    s->i = loop_open_for(&s->b, &f, &s->inner);
    s->value = loop_load(&s->arena, s->x, s->i, 1, 1);
}

static void close_scene(struct scene *s, const struct loop_expr *value) {
    loop_store(&s->inner, s->y, s->i, value, false);
    loop_close(&s->b, &s->inner);
    struct error err = {0};
    cr_assert(pass_verify(s->program, &err), "%s", err.text);
}

static void run_scene(struct scene *s, const void *x, void *y) {
    struct error err = {0};
    void *data[] = {(void *)x, y, NULL, NULL};
    cr_assert(execute(s->program, data, &err), "%s", err.text);
    arena_reset(&s->arena);
}

Test(loop_types, conversions_are_those_of_the_storage_types) {
    static const double values[N] = {0, -0.75, 1.0 / 3, -300.5, 448.1, 70000, INFINITY, NAN};
    for (int from = 0; from < DTYPE_COUNT; from++)
        for (int to = 0; to < DTYPE_COUNT; to++) {
            struct scene s;
            char x[8 * N] = {0}, y[8 * N] = {0};
            for (int i = 0; i < N; i++)
                dtype_put((enum dtype)from, x, i, values[i]);
            open_scene(&s, (enum dtype)from, (enum dtype)to);
            const struct loop_expr *v = loop_round_to(&s.arena, s.value, (enum dtype)to);
            cr_assert_eq(v->dtype, loop_arithmetic((enum dtype)to));
            close_scene(&s, v);
            run_scene(&s, x, y);
            for (int i = 0; i < N; i++) {
                double was = dtype_get((enum dtype)from, x, i);
                double want = dtype_convert((enum dtype)from, (enum dtype)to, was);
                double got = dtype_get((enum dtype)to, y, i);
                // The end of i64 is no double.
                cr_expect(got == want || (got != got && want != want) || fabs(want) > 0x1p53,
                          "%s %g to %s: %g, not %g", dtype_name((enum dtype)from), was,
                          dtype_name((enum dtype)to), got, want);
            }
        }
}

Test(loop_types, whole_numbers_wrap_and_round_down) {
    static const int64_t x[N] = {INT64_MIN, INT64_MAX, -7, 7, 1LL << 53 | 1, -1, 0, 40};
    static const struct {
        enum loop_op op;
        int64_t by, want[N];
    } cases[] = {
        {LOOP_ADD, 1, {INT64_MIN + 1, INT64_MIN, -6, 8, (1LL << 53) + 2, 0, 1, 41}},
        {LOOP_SUB, 1, {INT64_MAX, INT64_MAX - 1, -8, 6, 1LL << 53, -2, -1, 39}},
        {LOOP_MUL, 2, {0, -2, -14, 14, (1LL << 54) + 2, -2, 0, 80}},
        {LOOP_FLOORDIV, 2, {INT64_MIN / 2, INT64_MAX / 2, -4, 3, 1LL << 52, -1, 0, 20}},
        {LOOP_FLOORDIV, -1, {INT64_MIN, -INT64_MAX, 7, -7, -(1LL << 53 | 1), 1, 0, -40}},
        {LOOP_FLOORDIV, 0, {0}},
        {LOOP_MOD, 4, {0, 3, 1, 3, 1, 3, 0, 0}},
        {LOOP_MOD, -4, {0, -1, -3, -1, -3, -1, 0, 0}},
        {LOOP_MOD, 0, {0}},
        {LOOP_SHL, 1, {0, -2, -14, 14, (1LL << 54) + 2, -2, 0, 80}},
        {LOOP_SHL, 63, {0}},
        {LOOP_SHR, 1, {INT64_MIN / 2, INT64_MAX / 2, -4, 3, 1LL << 52, -1, 0, 20}},
        {LOOP_SHR, 63, {-1, 0, -1, 0, 0, -1, 0, 0}},
        {LOOP_SHR, -1, {-1, 0, -1, 0, 0, -1, 0, 0}},
        {LOOP_AND, 5, {0, 5, 1, 5, 1, 5, 0, 0}},
        {LOOP_XOR, -1, {INT64_MAX, INT64_MIN, 6, -8, -(1LL << 53) - 2, 0, -1, -41}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct scene s;
        int64_t y[N];
        open_scene(&s, DTYPE_I64, DTYPE_I64);
        close_scene(&s, loop_binary(&s.arena, cases[c].op, s.value,
                                    loop_whole(&s.arena, LOOP_I64, cases[c].by)));
        run_scene(&s, x, y);
        for (int i = 0; i < N; i++)
            cr_expect_eq(y[i], cases[c].want[i], "%s %lld, %lld: %lld", loop_ops[cases[c].op].text,
                         (long long)x[i], (long long)cases[c].by, (long long)y[i]);
    }
    struct scene s;
    int32_t narrow[N] = {INT32_MIN, INT32_MAX, 1, -1, 0, 5, 6, 7}, y[N];
    open_scene(&s, DTYPE_I32, DTYPE_I32);
    close_scene(&s, loop_unary(&s.arena, LOOP_ABS,
                               loop_binary(&s.arena, LOOP_ADD, s.value,
                                           loop_whole(&s.arena, LOOP_I32, 1))));
    run_scene(&s, narrow, y);
    cr_expect_eq(y[0], INT32_MAX);
    cr_expect_eq(y[1], INT32_MIN);
    cr_expect_eq(y[3], 0);
}

Test(loop_types, an_index_from_memory_has_its_range) {
    struct scene s;
    int64_t x[N] = {INT64_MIN, -1, 0, 3, 7, 8, 1000, INT64_MAX}, y[N];
    open_scene(&s, DTYPE_I64, DTYPE_I64);
    const struct loop_expr *at = loop_to_index(&s.arena, loop_let(&s.inner, "v", s.value), 0, 7);
    cr_assert(range_of(at).low == 0 && range_of(at).high == 7);
    // Twice the same is the same, so that the difference is known.
    int64_t d;
    const struct loop_expr *more = loop_binary(&s.arena, LOOP_ADD, at, loop_int(&s.arena, 3));
    cr_assert(range_difference(more, at, &d) && d == 3);
    cr_assert(loop_binary(&s.arena, LOOP_MIN, at, loop_int(&s.arena, 7)) == at);
    cr_assert(loop_binary(&s.arena, LOOP_LT, at, loop_int(&s.arena, 8))->integer == 1);
    cr_assert(loop_binary(&s.arena, LOOP_LT, at, loop_int(&s.arena, 7))->op == LOOP_LT);
    close_scene(&s, loop_cast(&s.arena, at, LOOP_I64));
    run_scene(&s, x, y);
    for (int i = 0; i < N; i++)
        cr_expect_eq(y[i], x[i] < 0 ? 0 : x[i] > 7 ? 7 : x[i]);
}

Test(loop_types, a_scalar_select_looks_at_one_operand) {
    struct scene s;
    float x[N] = {0, 1, 2, 3, 4, 5, 6, 7}, y[N];
    open_scene(&s, DTYPE_F32, DTYPE_F32);
    const struct loop_expr *next = loop_binary(&s.arena, LOOP_ADD, s.i, loop_int(&s.arena, 1));
    const struct loop_expr *inside = loop_binary(&s.arena, LOOP_LT, next, loop_int(&s.arena, N));
    close_scene(&s, loop_ternary(&s.arena, LOOP_SELECT, inside,
                                 loop_load(&s.arena, s.x, next, 1, 1), loop_real(&s.arena, -1)));
    run_scene(&s, x, y);
    for (int i = 0; i < N; i++)
        cr_expect_eq(y[i], i + 1 < N ? x[i + 1] : -1);
}

// Two threads, or two blocks, that write one byte of i4 each.
Test(loop_types, halves_of_a_byte_belong_together) {
    for (int bad = 0; bad < 3; bad++) {
        struct arena a = {0};
        struct error err = {0};
        struct loop_size size = {64, NULL};
        struct loop_program *p = loop_program_new(&a);
        struct loop_buffer *y = loop_global_of(p, "y", LOOP_OUTPUT, DTYPE_I4, &size, 1);
        struct loop_builder b;
        struct loop_kernel *k = loop_kernel_new(p, "k", loop_int(&a, bad == 2 ? 64 : 1), &b);
        const struct loop_expr *at = loop_ref(&a, k->block);
        if (bad < 2)
            at = loop_kernel_threads(p, k, bad == 0 ? 32 : 64);
        if (bad == 0) {
            at = loop_binary(&a, LOOP_MUL, at, loop_int(&a, 2));
            loop_store(&b, y, loop_binary(&a, LOOP_ADD, at, loop_int(&a, 1)),
                       loop_whole(&a, LOOP_I32, -3), false);
        }
        loop_store(&b, y, at, loop_whole(&a, LOOP_I32, 23), false);
        unsigned char bytes[32] = {0};
        void *data[] = {bytes};
        cr_assert_eq(execute(p, data, &err), bad == 0, "%s", err.text);
        if (bad)
            cr_assert(strstr(err.text,
                             bad == 1 ? "is written by two threads" : "is written by two blocks"),
                      "%s", err.text);
        else
            cr_assert_eq(bytes[7], 0xd7);
        arena_reset(&a);
    }
}

// What is wrong with a program, and what pass_verify says.
static const struct loop_expr *wrong(struct scene *s, int which) {
    struct arena *a = &s->arena;
    const struct loop_expr *v = s->value, *six = loop_real(a, 6);
    struct loop_expr *e = (struct loop_expr *)loop_binary(a, LOOP_ADD, v, six);
    struct loop_size size = {64, NULL};
    struct loop_buffer *wide = loop_global_of(s->program, "w", LOOP_SCRATCH, DTYPE_F64, &size, 1);
    struct loop_buffer *f8 = loop_global_of(s->program, "f", LOOP_SCRATCH, DTYPE_F8E4M3, &size, 1);
    switch (which) {
    case 0:
        e->arg[1] = loop_whole(a, LOOP_I32, 1);
        return e;
    case 1:
        e->op = LOOP_AND;
        return e;
    case 2:
        e->op = LOOP_LT;
        return e;
    case 3:
        e = (struct loop_expr *)loop_ternary(a, LOOP_SELECT, loop_binary(a, LOOP_LT, v, six), v,
                                             six);
        e->arg[0] = v;
        return e;
    case 4:
        return loop_cast(a, loop_load(a, wide, s->i, 4, 1), LOOP_F32);
    case 5:
        return loop_load(a, f8, s->i, 4, 1);
    case 6:
        return loop_load(a, s->x, s->i, 2, 1);
    case 7:
        e = (struct loop_expr *)loop_round_to(a, v, DTYPE_F16);
        e->storage = DTYPE_I8;
        return e;
    case 8:
        return loop_round_to(a, loop_load(a, s->x, s->i, 4, 1), DTYPE_F8E5M2);
    case 9:
        e = (struct loop_expr *)loop_cast(a, loop_cast(a, v, LOOP_F64), LOOP_F32);
        e->dtype = LOOP_INDEX;
        return e;
    case 10:
        e = (struct loop_expr *)loop_load(a, s->x, s->i, 1, 1);
        e->arg[0] = loop_whole(a, LOOP_I64, 0);
        return e;
    case 11:
        e = (struct loop_expr *)loop_load(a, s->x, s->i, 1, 1);
        e->buffer = wide;
        return e;
    case 12:
        return loop_interleave(a, LOOP_LANES_ODD, loop_broadcast(a, v, 4),
                               loop_broadcast(a, six, 4), 4);
    case 13:
        return loop_interleave(a, LOOP_LANES_SLID, loop_broadcast(a, v, 4),
                               loop_broadcast(a, six, 4), 4);
    default: {
        struct loop_buffer *r = loop_register(s->program, "r", 2, 1);
        const struct loop_expr *at = loop_to_index(a, loop_cast(a, v, LOOP_I32), 0, 1);
        return loop_load(a, r, at, 1, 1);
    }
    }
}

Test(loop_types, what_mixes_types_is_refused) {
    static const char *const words[] = {"+: operands of a type that it does not take",
                                        "&: operands of a type that it does not take",
                                        "<: a result of another type",
                                        "select: operands of a type that it does not take",
                                        "a number of lanes that its type does not have",
                                        "f: several lanes of a type that has none",
                                        "a number of lanes that its type does not have",
                                        "round: a result of another type",
                                        "round: a result of another type",
                                        "cast: a result of another type",
                                        "x: addressed by something else than an index",
                                        "w: accessed in another type than its own",
                                        "lanes_odd: runs that do not come in pairs",
                                        "lanes_slid: by no lane, or by all of them",
                                        "r: register index is not a constant"};
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++) {
        struct scene s;
        struct error err = {0};
        open_scene(&s, DTYPE_F32, DTYPE_F32);
        const struct loop_expr *e = wrong(&s, i);
        struct loop_expr *stored = (struct loop_expr *)loop_real(&s.arena, 0);
        loop_store(&s.inner, s.y, s.i, stored, false);
        s.inner.stmt->body.first->value = e;
        loop_close(&s.b, &s.inner);
        cr_expect(!pass_verify(s.program, &err) && strstr(err.text, words[i]), "%d: %s", i,
                  err.text);
        arena_reset(&s.arena);
    }
    // A store of another type than the buffer's.
    struct scene s;
    struct error err = {0};
    open_scene(&s, DTYPE_F32, DTYPE_I64);
    loop_store(&s.inner, s.y, s.i, loop_cast(&s.arena, s.value, LOOP_I64), false);
    s.inner.stmt->body.first->value = s.value;
    loop_close(&s.b, &s.inner);
    cr_expect(!pass_verify(s.program, &err) &&
                  strstr(err.text, "y: accessed in another type than its own"),
              "%s", err.text);
    arena_reset(&s.arena);
}
