// Hardware operations of the loop language: a small product by asynchronous copies, fragments and
// tensor cores, in the interpreter and as text on fibres; each wait, commit and barrier that is
// missing from it must show in both.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "fibre.h"
#include "loop/execute.h"
#include "loop/loop_build.h"
#include "loop/passes.h"
#include "loop/print_cuda.h"

// C[M, N] = A[M, K] * B, in slices of DEEP; a warp has 16 rows.
enum { M = 32, N = 16, K = 96, DEEP = 32, THREADS = 64, PIECES = DEEP / 8, STAGES = 2 };

enum fault {
    NO_FAULT,
    NO_COMMIT,
    NO_WAIT,
    NO_BARRIER,         // between landing and reading
    NO_SECOND_BARRIER,  // between reading and the next copy
    WAITS_FOR_LESS,
    HALF_A_WARP,
    MISALIGNED,
};

struct layout {
    bool is_bf16;
    bool b_is_deep;  // B is stored K x N, else N x K
};

struct build {
    struct arena *a;
    struct loop_program *p;
    struct layout layout;
    enum fault fault;
    struct loop_buffer *lhs, *rhs, *out, *lhs_tile, *rhs_tile, *left, *right, *sum;
    const struct loop_expr *thread;
};

static const struct loop_expr *num(const struct build *x, int64_t v) {
    return loop_int(x->a, v);
}

static const struct loop_expr *op(const struct build *x, enum loop_op o, const struct loop_expr *p,
                                  int64_t q) {
    return loop_binary(x->a, o, p, num(x, q));
}

static const struct loop_expr *add(const struct build *x, const struct loop_expr *p,
                                   const struct loop_expr *q) {
    return loop_binary(x->a, LOOP_ADD, p, q);
}

// Element (row, 8 * piece) of slot `slot` of a tile with `rows` rows of `pieces` pieces.
static const struct loop_expr *place(const struct build *x, const struct loop_expr *slot, int rows,
                                     int pieces, const struct loop_expr *row,
                                     const struct loop_expr *piece) {
    const struct loop_expr *first = add(x, op(x, LOOP_MUL, slot, rows), row);
    const struct loop_expr *at = loop_swizzle(x->a, row, piece, 16 * pieces);
    return add(x, op(x, LOOP_MUL, first, 8 * pieces), op(x, LOOP_MUL, at, 8));
}

// Start the copies of one slice: a thread has a piece of every 64.
static void copy_slice(const struct build *x, struct loop_builder *b, const struct loop_buffer *to,
                       const struct loop_buffer *from, int rows, int pieces,
                       const struct loop_expr *slot, const struct loop_expr *first, int64_t pitch) {
    struct loop_builder inner, some;
    struct loop_for f = {"i", num(x, 0), num(x, (rows * pieces + THREADS - 1) / THREADS), 1, true};
    const struct loop_expr *i = loop_open_for(b, &f, &inner);
    const struct loop_expr *item =
        loop_let(&inner, "item", add(x, op(x, LOOP_MUL, i, THREADS), x->thread));
    loop_open_if(&inner, item, num(x, rows * pieces), &some);
    const struct loop_expr *row = op(x, LOOP_DIV, item, pieces);
    const struct loop_expr *piece = op(x, LOOP_MOD, item, pieces);
    const struct loop_expr *at =
        add(x, first, add(x, op(x, LOOP_MUL, row, pitch), op(x, LOOP_MUL, piece, 8)));
    if (x->fault == MISALIGNED)
        at = op(x, LOOP_ADD, at, 4);
    loop_intrinsic(&some, INTRINSIC_COPY16,
                   (struct loop_operand[]){{to, place(x, slot, rows, pieces, row, piece)},
                                           {from, at},
                                           {NULL, num(x, x->fault == MISALIGNED ? 8 : 16)}});
    loop_close(&inner, &some);
    loop_close(b, &inner);
}

static void copy_both(const struct build *x, struct loop_builder *b,
                      const struct loop_expr *slice) {
    const struct loop_expr *slot = op(x, LOOP_MOD, slice, STAGES);
    const struct loop_expr *k = op(x, LOOP_MUL, slice, DEEP);
    struct loop_builder some;
    loop_open_if(b, slice, num(x, K / DEEP), &some);
    copy_slice(x, &some, x->lhs_tile, x->lhs, M, PIECES, slot, k, K);
    if (x->layout.b_is_deep)
        copy_slice(x, &some, x->rhs_tile, x->rhs, DEEP, N / 8, slot, op(x, LOOP_MUL, k, N), N);
    else
        copy_slice(x, &some, x->rhs_tile, x->rhs, N, PIECES, slot, k, K);
    loop_close(b, &some);
    if (x->fault != NO_COMMIT)
        loop_intrinsic(b, INTRINSIC_COMMIT, NULL);
}

static void multiply(const struct build *x, struct loop_builder *b, const struct loop_expr *slot) {
    struct loop_builder inner, by_column;
    const struct loop_expr *zero = num(x, 0), *lane = op(x, LOOP_MOD, x->thread, 32);
    struct loop_for steps = {"step", zero, num(x, DEEP / 16), 1, true};
    const struct loop_expr *step = loop_open_for(b, &steps, &inner);
    const struct loop_expr *two = op(x, LOOP_MUL, step, 2);
    const struct loop_expr *row = op(x, LOOP_MUL, op(x, LOOP_DIV, x->thread, 32), 16);
    row = add(x, row, op(x, LOOP_MOD, lane, 16));
    loop_intrinsic(
        &inner, INTRINSIC_LDMATRIX,
        (struct loop_operand[]){
            {x->left, zero},
            {x->lhs_tile, place(x, slot, M, PIECES, row, add(x, two, op(x, LOOP_DIV, lane, 16)))}});
    const struct loop_expr *odd = op(x, LOOP_MOD, op(x, LOOP_DIV, lane, 8), 2);
    const struct loop_expr *eighth = op(x, LOOP_MOD, lane, 8), *half = op(x, LOOP_DIV, lane, 16);
    const struct loop_expr *down = add(x, op(x, LOOP_MUL, half, 8), eighth);
    const struct loop_expr *deep = add(x, op(x, LOOP_MUL, odd, 8), eighth);
    const struct loop_expr *at =
        x->layout.b_is_deep
            ? place(x, slot, DEEP, N / 8, add(x, op(x, LOOP_MUL, step, 16), deep), half)
            : place(x, slot, N, PIECES, down, add(x, two, odd));
    loop_intrinsic(&inner, x->layout.b_is_deep ? INTRINSIC_LDMATRIX_TRANSPOSED : INTRINSIC_LDMATRIX,
                   (struct loop_operand[]){{x->right, zero}, {x->rhs_tile, at}});
    struct loop_for columns = {"j", zero, num(x, 2), 1, true};
    const struct loop_expr *j = op(x, LOOP_MUL, loop_open_for(&inner, &columns, &by_column), 2);
    loop_intrinsic(&by_column, x->layout.is_bf16 ? INTRINSIC_MMA_BF16 : INTRINSIC_MMA_F16,
                   (struct loop_operand[]){{x->sum, j}, {x->left, zero}, {x->right, j}});
    loop_close(&inner, &by_column);
    loop_close(b, &inner);
}

static void store_sums(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    struct loop_for f = {"i", num(x, 0), num(x, 4), 1, true};
    const struct loop_expr *i = loop_open_for(b, &f, &inner);
    const struct loop_expr *lane = op(x, LOOP_MOD, x->thread, 32);
    const struct loop_expr *row = op(x, LOOP_MUL, op(x, LOOP_DIV, x->thread, 32), 16);
    row = add(x, row, op(x, LOOP_DIV, lane, 4));
    row = add(x, row, op(x, LOOP_MUL, op(x, LOOP_MOD, i, 2), 8));
    const struct loop_expr *column = op(x, LOOP_MUL, op(x, LOOP_DIV, i, 2), 8);
    column = add(x, column, op(x, LOOP_MUL, op(x, LOOP_MOD, lane, 4), 2));
    loop_store(&inner, x->out, add(x, op(x, LOOP_MUL, row, N), column),
               loop_load(x->a, x->sum, i, 2, 1), false);
    loop_close(b, &inner);
}

static void make_buffers(struct build *x) {
    enum dtype t = x->layout.is_bf16 ? DTYPE_BF16 : DTYPE_F16;
    struct loop_size a[] = {{M, NULL}, {K, NULL}}, c[] = {{M, NULL}, {N, NULL}};
    struct loop_size b[] = {{N * K, NULL}};
    struct loop_size left = {STAGES * M * DEEP, NULL}, right = {STAGES * N * DEEP, NULL};
    x->lhs = loop_global_of(x->p, "a", LOOP_INPUT, t, a, 2);
    x->rhs = loop_global_of(x->p, "b", LOOP_INPUT, t, b, 1);
    x->out = loop_global(x->p, "c", LOOP_OUTPUT, c, 2);
    x->lhs_tile = loop_shared_of(x->p, "lhs_tile", t, &left, 1);
    x->rhs_tile = loop_shared_of(x->p, "rhs_tile", t, &right, 1);
    x->left = loop_register_of(x->p, "lhs", 4, 1, LOOP_I32);
    x->right = loop_register_of(x->p, "rhs", 4, 1, LOOP_I32);
    x->sum = loop_register(x->p, "sum", 4, 2);
}

static struct loop_program *build(struct arena *a, struct layout layout, enum fault fault) {
    struct build x = {.a = a, .p = loop_program_new(a), .layout = layout, .fault = fault};
    struct loop_builder b, inner, half;
    make_buffers(&x);
    struct loop_kernel *k = loop_kernel_new(x.p, "product", num(&x, 1), &b);
    x.thread = loop_kernel_threads(x.p, k, THREADS);
    struct loop_for clear = {"i", num(&x, 0), num(&x, 4), 1, true};
    const struct loop_expr *i = loop_open_for(&b, &clear, &inner);
    loop_store(&inner, x.sum, i, loop_real(a, 0), false);
    loop_close(&b, &inner);
    copy_both(&x, &b, num(&x, 0));
    struct loop_for f = {"slice", num(&x, 0), num(&x, K / DEEP), 1, false};
    const struct loop_expr *slice = loop_open_for(&b, &f, &inner);
    copy_both(&x, &inner, op(&x, LOOP_ADD, slice, 1));
    if (fault != NO_WAIT)
        loop_intrinsic(&inner, INTRINSIC_WAIT,
                       (struct loop_operand[]){{NULL, num(&x, fault == WAITS_FOR_LESS ? 2 : 1)}});
    if (fault != NO_BARRIER)
        loop_barrier(&inner);
    if (fault == HALF_A_WARP) {
        loop_open_if(&inner, x.thread, num(&x, 40), &half);
        multiply(&x, &half, op(&x, LOOP_MOD, slice, STAGES));
        loop_close(&inner, &half);
    } else {
        multiply(&x, &inner, op(&x, LOOP_MOD, slice, STAGES));
    }
    if (fault != NO_SECOND_BARRIER)
        loop_barrier(&inner);
    loop_close(&b, &inner);
    store_sums(&x, &b);
    return x.p;
}

// Whole numbers that every type holds, so that products are exact.
static int left_at(int i, int k) {
    return (i * 7 + k * 3) % 11 - 5;
}

static int right_at(int k, int j) {
    return (k * 5 + j * 13) % 9 - 4;
}

static float expected(int i, int j) {
    int sum = 0;
    for (int k = 0; k < K; k++)
        sum += left_at(i, k) * right_at(k, j);
    return (float)sum;
}

static void fill(struct layout l, uint16_t *a, uint16_t *b) {
    enum dtype t = l.is_bf16 ? DTYPE_BF16 : DTYPE_F16;
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < M; i++)
            dtype_put(t, a, i * K + k, left_at(i, k));
        for (int j = 0; j < N; j++)
            dtype_put(t, b, l.b_is_deep ? k * N + j : j * K + k, right_at(k, j));
    }
}

static bool is_right(const float *c) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            if (c[i * N + j] != expected(i, j))
                return false;
    return true;
}

static bool run(struct layout l, enum fault fault, float *c, struct error *err) {
    struct arena a = {0};
    uint16_t lhs[M * K], rhs[K * N];
    struct loop_program *p = build(&a, l, fault);
    cr_assert(pass_verify(p, err), "%s", err->text);
    fill(l, lhs, rhs);
    void *data[16] = {lhs, rhs, c};
    bool ok = execute(p, data, err);
    arena_reset(&a);
    return ok;
}

static const struct layout layouts[] = {{false, false}, {false, true}, {true, false}, {true, true}};

Test(intrinsics, multiply_matrices_in_every_layout) {
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct error err = {0};
        float c[M * N];
        cr_assert(run(layouts[i], NO_FAULT, c, &err), "%s", err.text);
        cr_assert(is_right(c), "layout %zu", i);
    }
}

Test(intrinsics, the_interpreter_finds_what_is_missing) {
    static const struct {
        enum fault fault;
        const char *want;
    } cases[] = {
        {NO_COMMIT, "is read while a copy to it is under way"},
        {NO_WAIT, "is read while a copy to it is under way"},
        {WAITS_FOR_LESS, "is read while a copy to it is under way"},
        {NO_BARRIER, "is read by a thread before a barrier after another wrote it"},
        {NO_SECOND_BARRIER, "is written by a thread before a barrier after another read it"},
        {HALF_A_WARP, "hone_ldmatrix: only 8 threads of a warp take part"},
        {MISALIGNED, "is not aligned for this operation"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        float c[M * N];
        cr_assert_not(run(layouts[0], cases[i].fault, c, &err), "case %zu", i);
        cr_assert(strstr(err.text, cases[i].want), "case %zu: %s", i, err.text);
    }
}

static void add_text(struct arena *a, struct fibre_program *p, struct layout l) {
    enum dtype t = l.is_bf16 ? DTYPE_BF16 : DTYPE_F16;
    uint16_t *lhs = arena_array(a, uint16_t, M * K), *rhs = arena_array(a, uint16_t, K * N);
    fill(l, lhs, rhs);
    p->texts[p->n_texts++] = (struct fibre_text){
        .source = print_cuda(a, build(a, l, NO_FAULT)),
        .buffers = {{"a", M * K, lhs, t}, {"b", K * N, rhs, t}, {"c", M * N, NULL, DTYPE_F32}},
        .n_buffers = 3};
}

static bool runs_right(struct arena *a, const struct fibre_program *p, struct fibre_run r) {
    float *c;
    const char *fault;
    return fibre_run(a, p, r, &c, &fault) && is_right(c);
}

Test(intrinsics, fibres_compute_the_same_and_miss_what_is_missing, .timeout = 300) {
    struct arena a = {0};
    struct fibre_program p = {0};
    int n_order = 0;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        add_text(&a, &p, layouts[i]);
    fibre_build(&a, "cc", &p);
    for (int t = 0; t < p.n_texts; t++)
        for (uint64_t seed = 0; seed < 4; seed++)
            cr_assert(runs_right(&a, &p, (struct fibre_run){t, seed, 0}), "%s", p.texts[t].source);
    for (int m = 1; m <= p.texts[0].n_mutants; m++) {
        bool survives = true;
        if (p.texts[0].mutants[m - 1].kind != FIBRE_BARRIER)
            continue;
        n_order++;
        for (uint64_t seed = 0; seed < 6 && survives; seed++)
            survives = runs_right(&a, &p, (struct fibre_run){0, seed, m});
        cr_assert_not(survives, "without number %d, %s: %s", m, p.texts[0].mutants[m - 1].what,
                      p.texts[0].source);
    }
    cr_assert_eq(n_order, 5);  // two commits, a wait, two barriers
    fibre_remove(&p);
    arena_reset(&a);
}

Test(intrinsics, verify_knows_what_a_row_asks_for) {
    struct arena a = {0};
    struct error err = {0};
    struct loop_builder b;
    struct loop_program *p = loop_program_new(&a);
    struct loop_buffer *words = loop_register_of(p, "words", 4, 1, LOOP_I32);
    struct loop_kernel *k = loop_kernel_new(p, "one", loop_int(&a, 1), &b);
    loop_kernel_threads(p, k, 32);
    loop_intrinsic(&b, INTRINSIC_MMA_F16,
                   (struct loop_operand[]){{words, loop_int(&a, 0)},
                                           {words, loop_int(&a, 0)},
                                           {words, loop_int(&a, 0)}});
    cr_assert_not(pass_verify(p, &err));
    cr_assert(strstr(err.text, "words: a register array of another type or lanes"), "%s", err.text);
    k->body = (struct loop_block){0};
    loop_intrinsic(&b, INTRINSIC_WAIT, (struct loop_operand[]){{NULL, loop_int(&a, 99)}});
    cr_assert_not(pass_verify(p, &err));
    cr_assert(strstr(err.text, "hone_async_wait: a number out of its range"), "%s", err.text);
    arena_reset(&a);
}

// One thread of each of `group` blocks arrives at the barrier of block `at`, which thread 0 made.
static struct loop_program *arrivals(struct arena *a, int group, int64_t at, bool meets,
                                     bool ends_together) {
    struct loop_builder b, one;
    struct loop_program *p = loop_program_new(a);
    struct loop_size size = {1, NULL};
    struct loop_buffer *full = loop_shared_of(p, "full", DTYPE_I64, &size, 1);
    struct loop_kernel *k = loop_kernel_new(p, "one", loop_int(a, group), &b);
    const struct loop_expr *thread = loop_kernel_threads(p, k, 32), *zero = loop_int(a, 0);
    k->blocks_per_group = group > 1 ? group : 0;
    k->is_cluster = group > 1;
    loop_open_if(&b, thread, loop_int(a, 1), &one);
    loop_intrinsic(&one, INTRINSIC_MBARRIER_INIT,
                   (struct loop_operand[]){{full, zero}, {NULL, loop_int(a, 2)}});
    loop_close(&b, &one);
    if (meets)
        loop_group_barrier(&b, NULL, NULL);
    else
        loop_barrier(&b);
    loop_open_if(&b, thread, loop_int(a, 1), &one);
    loop_intrinsic(&one, INTRINSIC_MBARRIER_ARRIVE_AT,
                   (struct loop_operand[]){{full, zero}, {NULL, loop_int(a, at)}});
    loop_close(&b, &one);
    if (ends_together)
        loop_group_barrier(&b, NULL, NULL);
    return p;
}

Test(intrinsics, blocks_touch_each_other_in_clusters_that_meet_before_and_after) {
    struct arena a = {0};
    struct error err = {0};
    cr_assert_not(pass_verify(arrivals(&a, 1, 0, false, false), &err));
    cr_expect(strstr(err.text, "where blocks are no cluster"), "%s", err.text);
    cr_assert_not(pass_verify(arrivals(&a, 2, 1, true, false), &err));
    cr_expect(strstr(err.text, "one: blocks touch each other's memory, and end apart"), "%s",
              err.text);
    void *data[4] = {NULL};
    struct loop_program *p = arrivals(&a, 2, 1, true, true);
    cr_assert(pass_verify(p, &err), "%s", err.text);
    cr_expect(execute(p, data, &err), "%s", err.text);
    cr_expect_not(execute(arrivals(&a, 2, 1, false, true), data, &err));
    cr_expect(strstr(err.text, "before the blocks met after another made it"), "%s", err.text);
    cr_expect_not(execute(arrivals(&a, 2, 2, true, true), data, &err));
    cr_expect(strstr(err.text, "a block that its cluster does not have"), "%s", err.text);
    arena_reset(&a);
}

// tf32: what is rounded and split is what the parts add up to.
Test(intrinsics, tf32_is_rounded_to_nearest_and_split_in_two) {
    struct arena a = {0};
    struct error err = {0};
    struct loop_builder b;
    struct loop_program *p = loop_program_new(&a);
    const struct loop_expr *zero = loop_int(&a, 0);
    struct loop_size n = {96, NULL};
    struct loop_buffer *x = loop_global_of(p, "x", LOOP_INPUT, DTYPE_I32, &n, 1);
    struct loop_buffer *y = loop_global_of(p, "y", LOOP_OUTPUT, DTYPE_I32, &n, 1);
    struct loop_buffer *w = loop_register_of(p, "w", 3, 1, LOOP_I32);
    struct loop_kernel *k = loop_kernel_new(p, "split", loop_int(&a, 1), &b);
    const struct loop_expr *t = loop_kernel_threads(p, k, 32);
    loop_store(&b, w, loop_int(&a, 2), loop_load(&a, x, t, 1, 1), false);
    loop_intrinsic(&b, INTRINSIC_SPLIT_TF32,
                   (struct loop_operand[]){{w, zero}, {w, loop_int(&a, 1)}, {w, loop_int(&a, 2)}});
    loop_intrinsic(&b, INTRINSIC_ROUND_TF32, (struct loop_operand[]){{w, loop_int(&a, 2)}});
    for (int i = 0; i < 3; i++)
        loop_store(&b, y, loop_binary(&a, LOOP_ADD, t, loop_int(&a, 32 * i)),
                   loop_load(&a, w, loop_int(&a, i), 1, 1), false);
    cr_assert(pass_verify(p, &err), "%s", err.text);
    float in[96], out[96];
    for (int i = 0; i < 96; i++)
        in[i] = (i % 2 ? -1.0f : 1.0f) * (1.0f + (float)i / 3.0f);
    void *data[8] = {in, out};
    cr_assert(execute(p, data, &err), "%s", err.text);
    for (int i = 0; i < 32; i++) {
        uint32_t high;
        memcpy(&high, &out[i], 4);
        cr_assert_eq(high & 0x1fffu, 0);
        uint32_t low;
        memcpy(&low, &out[32 + i], 4);
        low &= ~0x1fffu;  // as a product sees it
        memcpy(&out[32 + i], &low, 4);
        float size = in[i] < 0 ? -in[i] : in[i];
        cr_assert_float_eq(out[i], in[i], size * 0x1p-11);
        cr_assert_float_eq(out[i] + out[32 + i], in[i], size * 0x1p-21);
        cr_assert_float_eq(out[64 + i], in[i], size * 0x1p-11);
    }
    arena_reset(&a);
}

// Parts that are joined again are the word, whatever it was; the high one is tf32.
Test(intrinsics, parts_of_tf32_add_up_to_the_word) {
    struct arena a = {0};
    struct error err = {0};
    struct loop_builder b;
    struct loop_program *p = loop_program_new(&a);
    const struct loop_expr *zero = loop_int(&a, 0), *one = loop_int(&a, 1);
    struct loop_size n = {32, NULL};
    struct loop_buffer *x = loop_global_of(p, "x", LOOP_INPUT, DTYPE_I32, &n, 1);
    struct loop_buffer *y = loop_global_of(p, "y", LOOP_OUTPUT, DTYPE_F32, &n, 1);
    struct loop_buffer *high = loop_global_of(p, "high", LOOP_OUTPUT, DTYPE_I32, &n, 1);
    struct loop_buffer *w = loop_register_of(p, "w", 3, 1, LOOP_I32);
    struct loop_buffer *v = loop_register(p, "v", 1, 1);
    struct loop_kernel *k = loop_kernel_new(p, "split", loop_int(&a, 1), &b);
    const struct loop_expr *t = loop_kernel_threads(p, k, 32);
    loop_store(&b, w, loop_int(&a, 2), loop_load(&a, x, t, 1, 1), false);
    loop_intrinsic(&b, INTRINSIC_PART_TF32,
                   (struct loop_operand[]){{w, zero}, {w, one}, {w, loop_int(&a, 2)}});
    loop_intrinsic(&b, INTRINSIC_JOIN_TF32,
                   (struct loop_operand[]){{v, zero}, {w, zero}, {w, one}});
    loop_store(&b, y, t, loop_load(&a, v, zero, 1, 1), false);
    loop_store(&b, high, t, loop_load(&a, w, zero, 1, 1), false);
    cr_assert(pass_verify(p, &err), "%s", err.text);
    static const uint32_t words[] = {0x7f800000, 0xff800000, 0x7fffffff, 0x7f800001,
                                     0x7f7fffff, 0xff7fffff, 0,          0x80000000,
                                     0x00000001, 0x3f800fff, 0x3f801001, 0x3effffff};
    uint32_t in[32], parts[32];
    float out[32];
    for (int i = 0; i < 32; i++)
        in[i] = words[i % 12];
    void *data[8] = {in, out, parts};
    cr_assert(execute(p, data, &err), "%s", err.text);
    for (int i = 0; i < 32; i++) {
        float want;
        memcpy(&want, &in[i], 4);
        cr_expect(want == out[i] || (want != want && out[i] != out[i]), "%08x: %g", in[i],
                  (double)out[i]);
        cr_expect_eq(parts[i] & 0x1fffu, 0);
    }
    arena_reset(&a);
}

enum taking { TAKES, READS_WHAT_IS_TAKEN_FROM, WRITES_WHAT_IS_TAKEN_FROM, TAKES_FROM_NOTHING };

// Two blocks of 32: each thread takes two numbers and writes its own there.
static struct loop_program *build_taking(struct arena *a, enum taking how) {
    struct loop_program *p = loop_program_new(a);
    struct loop_size room = {128, NULL}, one = {1, NULL};
    struct loop_builder b;
    struct loop_buffer *out = loop_global_of(p, "out", LOOP_OUTPUT, DTYPE_F32, &room, 1);
    struct loop_buffer *counter = loop_global_of(p, "n", LOOP_SCRATCH, DTYPE_I32, &one, 1);
    struct loop_buffer *to = loop_register_of(p, "to", 1, 1, LOOP_I32);
    struct loop_buffer *more = loop_register_of(p, "more", 1, 1, LOOP_I32);
    struct loop_kernel *k = loop_kernel_new(p, "take", loop_int(a, 2), &b);
    const struct loop_expr *zero = loop_int(a, 0), *thread = loop_kernel_threads(p, k, 32);
    counter->is_zeroed = how != TAKES_FROM_NOTHING;
    loop_store(&b, more, zero, loop_whole(a, LOOP_I32, 2), false);
    loop_intrinsic(&b, INTRINSIC_TAKE,
                   (struct loop_operand[]){{to, zero}, {counter, zero}, {more, zero}});
    const struct loop_expr *had = loop_load(a, to, zero, 1, 1);
    if (how == READS_WHAT_IS_TAKEN_FROM)
        had = loop_load(a, counter, zero, 1, 1);
    if (how == WRITES_WHAT_IS_TAKEN_FROM)
        loop_store(&b, counter, zero, had, false);
    const struct loop_expr *at = loop_let(&b, "at", loop_to_index(a, had, 0, 126));
    const struct loop_expr *own = loop_binary(a, LOOP_MUL, loop_ref(a, k->block), loop_int(a, 32));
    own = loop_cast(a, loop_binary(a, LOOP_ADD, own, thread), LOOP_F32);
    for (int i = 0; i < 2; i++)
        loop_store(&b, out, loop_binary(a, LOOP_ADD, at, loop_int(a, i)), own, false);
    return p;
}

// Every thread has two neighbours of its own.
static bool has_taken(const float *c) {
    int seen[64] = {0};
    for (int i = 0; i < 128; i += 2) {
        if (c[i] != c[i + 1] || !(c[i] >= 0 && c[i] < 64))
            return false;
        seen[(int)c[i]]++;
    }
    for (int i = 0; i < 64; i++)
        if (seen[i] != 1)
            return false;
    return true;
}

Test(intrinsics, numbers_are_taken_once) {
    static const char *const want[] = {
        [READS_WHAT_IS_TAKEN_FROM] = "n[0] is read while others take from it",
        [WRITES_WHAT_IS_TAKEN_FROM] = "n[0] is written while others take from it",
        [TAKES_FROM_NOTHING] = "n[0] is taken from, and was not written by an earlier launch",
    };
    for (int how = TAKES; how <= TAKES_FROM_NOTHING; how++) {
        struct arena a = {0};
        struct error err = {0};
        float c[128];
        void *data[8] = {c};
        struct loop_program *p = build_taking(&a, (enum taking)how);
        cr_assert(pass_verify(p, &err), "%s", err.text);
        cr_assert_eq(execute(p, data, &err), how == TAKES, "%s", err.text);
        cr_assert(how == TAKES ? has_taken(c) : strstr(err.text, want[how]) != NULL, "%s",
                  err.text);
        arena_reset(&a);
    }
}

Test(intrinsics, fibres_take_numbers_in_any_order, .timeout = 60) {
    struct arena a = {0};
    struct fibre_program p = {0};
    p.texts[p.n_texts++] = (struct fibre_text){.source = print_cuda(&a, build_taking(&a, TAKES)),
                                               .buffers = {{"out", 128, NULL, DTYPE_F32}},
                                               .n_buffers = 1};
    fibre_build(&a, "cc", &p);
    for (uint64_t seed = 0; seed < 6; seed++) {
        float *c;
        const char *fault;
        cr_assert(fibre_run(&a, &p, (struct fibre_run){0, seed, 0}, &c, &fault), "%s", fault);
        cr_assert(has_taken(c));
    }
    fibre_remove(&p);
    arena_reset(&a);
}
