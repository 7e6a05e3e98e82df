// Reductions in every type that accumulators have: along a sweep of a CPU's kernel and over a team
// of a GPU's threads, against a plain loop.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/fold.h"
#include "family/gpu.h"
#include "loop/execute.h"
#include "loop/loop_build.h"
#include "loop/passes.h"

enum { LONG = 40000, SHORT = 100, TYPES = LOOP_INDEX };

static const enum op ops[] = {OP_RSUM, OP_RPROD, OP_RMIN, OP_RMAX, OP_ANY, OP_ALL};

static bool is_of(enum op op, int t) {
    bool logic = op == OP_ANY || op == OP_ALL;
    return logic == (t == LOOP_MASK);
}

// The row: whole numbers from which sums and products are exact in every type.
static double element(enum op op, int64_t j, int which) {
    switch (op) {
    case OP_RPROD:
        return j % 17 == 3 && j < 60 ? -2 : 1;
    case OP_ANY:
        return which == 1 && j == SHORT - 3;
    case OP_ALL:
        return which == 0 || j != SHORT - 3;
    default:
        return (double)((j * 7919) % 23) - 9;
    }
}

static double expected(enum op op, int64_t count, int which) {
    double r = element(op, 0, which);
    for (int64_t j = 1; j < count; j++) {
        double x = element(op, j, which);
        switch (op) {
        case OP_RSUM:
            r += x;
            break;
        case OP_RPROD:
            r *= x;
            break;
        case OP_RMIN:
        case OP_ALL:
            r = fmin(r, x);
            break;
        default:
            r = fmax(r, x);
        }
    }
    return r;
}

// One row of one type and its result.
struct row {
    struct arena arena;
    struct loop_program *program;
    struct loop_buffer *x, *y;
    struct lowering l;
    struct region region;
    struct problem problem;
    struct node node;
    enum op op;
    int64_t count;
    struct fold fold;
    struct sweep sweep;
    struct gpu_walk walk;
    struct gpu_fold gpu;
};

static void open_row(struct row *r, enum op op, int t, int64_t count) {
    *r = (struct row){.op = op, .count = count};
    struct loop_size size = {count, NULL}, one = {1, NULL};
    enum dtype storage = fold_storage((enum loop_dtype)t);
    r->program = loop_program_new(&r->arena);
    r->x = loop_global_of(r->program, "x", LOOP_INPUT, storage, &size, 1);
    r->y = loop_global_of(r->program, "y", LOOP_OUTPUT, storage, &one, 1);
    r->node = (struct node){.op = op, .dtype = storage, .name = "r"};
    r->problem.graph.nodes = &r->node;
    r->problem.graph.n_nodes = 1;
    r->region = (struct region){.problem = &r->problem, .graph = &r->problem.graph};
    r->l = (struct lowering){.arena = &r->arena, .program = r->program, .region = &r->region};
}

static void check_row(struct row *r) {
    struct error err = {0};
    pass_unroll(r->program);
    cr_assert(pass_verify(r->program, &err), "%s", err.text);
    int64_t bytes = dtype_size(r->x->dtype, r->count);
    char *x = arena_array(&r->arena, char, bytes), y[8];
    for (int which = 0; which < 2; which++) {
        for (int64_t j = 0; j < r->count; j++)
            dtype_put(r->x->dtype, x, j, element(r->op, j, which));
        void **data = arena_array(&r->arena, void *, r->program->n_buffers);
        data[0] = x;
        data[1] = y;
        cr_assert(execute(r->program, data, &err), "%s", err.text);
        double got = dtype_get(r->y->dtype, y, 0), want = expected(r->op, r->count, which);
        cr_expect(got == want, "%s in %s: %g, not %g", op_infos[r->op].name,
                  dtype_name(r->x->dtype), got, want);
    }
    arena_reset(&r->arena);
}

static void add(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct row *r = ctx;
    fold_add(&r->fold, s, loop_load(&r->arena, r->x, s->index[0], s->lanes, 1), copy);
}

static void sweep(void *ctx, struct scope *s, const struct sweep *w) {
    sweep_build(s, w, add, ctx);
}

static void check_fold(enum op op, int t, int64_t count, int lanes, int unroll) {
    struct row r;
    open_row(&r, op, t, count);
    struct arena *a = &r.arena;
    struct loop_builder b;
    loop_kernel_new(r.program, "k", loop_int(a, 1), &b);
    struct scope s = {.lowering = &r.l, .builder = &b, .lane_group = -1, .lanes = 1};
    r.sweep = (struct sweep){.name = "j", .begin = loop_int(a, 0), .end = loop_int(a, count)};
    r.sweep.multiple = 1;
    r.sweep.lanes = lanes;
    r.sweep.unroll = unroll;
    fold_init(&r.fold, &r.l, 0, &r.sweep);
    folds_build(&(struct folds){&r.fold, 1}, &s, &r.sweep, sweep, &r);
    loop_store(&b, r.y, loop_int(a, 0), r.fold.result, false);
    check_row(&r);
}

Test(fold, accumulates_in_every_type) {
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int t = 0; t < TYPES; t++) {
            if (!is_of(ops[i], t))
                continue;
            check_fold(ops[i], t, SHORT, 1, 4);
            if (t == LOOP_F32 || t == LOOP_MASK)
                check_fold(ops[i], t, SHORT, 8, 4);
            check_fold(ops[i], t, ops[i] == OP_RSUM ? LONG : SHORT, 1, 1);
        }
}

static void add_gpu(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                    const struct loop_expr *item) {
    struct row *r = ctx;
    (void)item;
    gpu_fold_add(&r->gpu, b, loop_load(&r->arena, r->x, j, r->walk.vec, 1));
}

static void check_gpu(enum op op, int t, int64_t count, int threads, int vec) {
    struct row r;
    open_row(&r, op, t, count);
    struct arena *a = &r.arena;
    struct loop_builder b, first;
    struct gpu_kernel k = gpu_open_kernel(&r.l, "k", loop_int(a, 1), threads, &b);
    struct gpu_team team = gpu_make_team(a, k.thread, threads, 1);
    r.walk = (struct gpu_walk){.l = &r.l, .team = &team, .vec = vec, .length = count};
    r.walk.begin = loop_int(a, 0);
    r.walk.end = loop_int(a, count);
    r.walk.folds = &r.gpu;
    r.walk.n_folds = 1;
    gpu_fold_init(&r.gpu, &r.walk, &r.node);
    gpu_walk_build(&r.walk, &b, add_gpu, &r);
    loop_open_if(&b, team.lane, loop_int(a, 1), &first);
    loop_store(&first, r.y, loop_int(a, 0), r.gpu.result, false);
    loop_close(&b, &first);
    check_row(&r);
}

Test(fold, threads_accumulate_in_every_type) {
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int t = 0; t < TYPES; t++) {
            if (!is_of(ops[i], t))
                continue;
            check_gpu(ops[i], t, SHORT, 32, 1);
            check_gpu(ops[i], t, SHORT, 256, 1);
            if (t == LOOP_F32 || t == LOOP_MASK)
                check_gpu(ops[i], t, SHORT, 64, 4);
            if (ops[i] == OP_RSUM)
                check_gpu(ops[i], t, LONG, 32, 1);
        }
}
