// Emitted text of every operation and type computes what the loop language means by it: each case
// is a kernel of one program, which is executed (loop/execute.h), printed as C and compiled, and
// printed as CUDA and run on fibres. execute() itself is tested in test_loop_types.c.
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/rng.h"
#include "dev_headers.h"
#include "fibre.h"
#include "loop/execute.h"
#include "loop/loop_build.h"
#include "loop/passes.h"
#include "loop/print_c.h"
#include "loop/print_cuda.h"
#include "real_nvrtc.h"
#include "scratch.h"

enum { N = 512, ROOM = 240, CASES_MAX = 1200, TYPES = LOOP_INDEX };

struct test_case {
    const char *what;
    enum dtype to;
    int64_t first;  // element of the output
    int step;       // one result every so many
    bool is_loose;  // a function that is not rounded to the last bit
    double off;     // how far it may be off besides, of the result; 0: not at all
};

struct world {
    struct arena arena;
    struct loop_program *program;
    bool threads;
    struct loop_buffer *x[DTYPE_COUNT], *y[DTYPE_COUNT], *z[DTYPE_COUNT];
    int64_t used[DTYPE_COUNT];
    struct test_case cases[CASES_MAX];
    int n_cases;
    // The kernel that is being built.
    struct loop_builder b, inner;
    const struct loop_expr *i;
};

// The storage that keeps values of a type as they are.
static const enum dtype own[TYPES] = {[LOOP_F32] = DTYPE_F32,
                                      [LOOP_F64] = DTYPE_F64,
                                      [LOOP_I32] = DTYPE_I32,
                                      [LOOP_I64] = DTYPE_I64,
                                      [LOOP_MASK] = DTYPE_BOOL};

static void open_case(struct world *w, int lanes) {
    struct arena *a = &w->arena;
    int64_t per = lanes > 2 ? lanes : 2;
    const char *name = arena_printf(a, "case_%d", w->n_cases);
    int64_t grid = w->threads ? N / 32 / per : 1;
    struct loop_kernel *k = loop_kernel_new(w->program, name, loop_int(a, grid), &w->b);
    struct loop_for f = {"i", loop_int(a, 0), loop_int(a, w->threads ? per : N), lanes, false};
    const struct loop_expr *first = NULL;
    if (w->threads) {
        const struct loop_expr *thread = loop_kernel_threads(w->program, k, 32);
        first = loop_binary(a, LOOP_MUL, loop_ref(a, k->block), loop_int(a, 32));
        first = loop_binary(a, LOOP_ADD, first, thread);
        first = loop_binary(a, LOOP_MUL, first, loop_int(a, per));
    }
    w->i = loop_open_for(&w->b, &f, &w->inner);
    if (w->threads)
        w->i = loop_binary(a, LOOP_ADD, first, w->i);
}

static const struct loop_expr *load(struct world *w, const struct loop_buffer *from, int lanes) {
    return loop_load(&w->arena, from, w->i, lanes, 1);
}

// Store the result, one for each lane or one for all.
static void close_case(struct world *w, const struct loop_expr *e, enum dtype to, int step,
                       const char *what) {
    struct arena *a = &w->arena;
    cr_assert(w->used[to] < ROOM && w->n_cases < CASES_MAX, "%s", what);
    struct test_case *c = &w->cases[w->n_cases++];
    *c = (struct test_case){.what = what, .to = to, .first = w->used[to]++ * N, .step = step};
    const struct loop_expr *at = loop_binary(a, LOOP_ADD, loop_int(a, c->first), w->i);
    loop_store(&w->inner, w->z[to], at, e, false);
    loop_close(&w->b, &w->inner);
}

static bool is_loose(enum loop_op op) {
    bool exact = op == LOOP_SQRT || (op >= LOOP_FLOOR && op <= LOOP_TRUNC);
    return op >= LOOP_EXP && op <= LOOP_ATAN2 && !exact;
}

static void add_operation(struct world *w, enum loop_op op, enum loop_dtype t, int lanes) {
    struct arena *a = &w->arena;
    open_case(w, lanes);
    const struct loop_expr *x = load(w, w->x[own[t]], lanes), *y = load(w, w->y[own[t]], lanes);
    const struct loop_expr *e;
    if (op == LOOP_SELECT)
        e = loop_ternary(a, op, t == LOOP_MASK ? x : loop_binary(a, LOOP_LE, x, y), y, x);
    else
        e = loop_ops[op].arity == 1 ? loop_unary(a, op, x) : loop_binary(a, op, x, y);
    close_case(w, e, own[e->dtype], 1,
               arena_printf(a, "%s of type %d, %d lanes", loop_ops[op].text, t, lanes));
    w->cases[w->n_cases - 1].is_loose = is_loose(op);
}

static void add_operations(struct world *w, int lanes) {
    for (int op = LOOP_ADD; op <= LOOP_ATAN2; op++)
        for (int t = 0; t < TYPES; t++) {
            bool has_lanes = t == LOOP_F32 || t == LOOP_MASK;
            if (op != LOOP_FMA && loop_ops[op].takes >> t & 1 && (lanes == 1 || has_lanes))
                add_operation(w, (enum loop_op)op, (enum loop_dtype)t, lanes);
        }
}

static void add_conversions(struct world *w) {
    struct arena *a = &w->arena;
    for (int from = 0; from < TYPES; from++)
        for (int to = 0; to < TYPES; to++) {
            open_case(w, 1);
            const struct loop_expr *x = load(w, w->x[own[from]], 1);
            close_case(w, loop_cast(a, x, (enum loop_dtype)to), own[to], 1,
                       arena_printf(a, "cast of type %d to %d", from, to));
        }
    for (int from = 0; from < TYPES; from++)
        for (int to = 0; to < DTYPE_COUNT; to++) {
            open_case(w, 1);
            const struct loop_expr *x = load(w, w->x[own[from]], 1);
            close_case(w, loop_round_to(a, x, (enum dtype)to), (enum dtype)to, 1,
                       arena_printf(a, "type %d as %s", from, dtype_name((enum dtype)to)));
        }
    for (int to = 0; to < TYPES; to++) {
        open_case(w, 1);
        close_case(w, loop_cast(a, w->i, (enum loop_dtype)to), own[to], 1,
                   arena_printf(a, "an index as type %d", to));
    }
    for (int wide = 0; wide < 2; wide++) {
        open_case(w, 1);
        const struct loop_expr *x = load(w, w->x[wide ? DTYPE_I64 : DTYPE_I32], 1);
        const struct loop_expr *at = loop_to_index(a, x, wide ? -(1LL << 40) : 3, 100);
        close_case(w, loop_cast(a, at, LOOP_I64), DTYPE_I64, 1, "a number as an index");
    }
    open_case(w, 1);
    const struct loop_expr *half = loop_int(a, N / 2);
    close_case(w, loop_binary(a, LOOP_LT, w->i, half), DTYPE_BOOL, 1, "indices compared");
}

static void add_memory(struct world *w, int lanes) {
    struct arena *a = &w->arena;
    static const enum dtype vectors[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_BOOL};
    for (int t = 0; t < DTYPE_COUNT && lanes == 1; t++) {
        open_case(w, 1);
        close_case(w, load(w, w->x[t], 1), (enum dtype)t, 1, dtype_name((enum dtype)t));
    }
    for (size_t v = 0; v < 4 && lanes > 1; v++)
        for (int stride = 1; stride < 4; stride += 2) {
            enum dtype t = vectors[v];
            open_case(w, lanes);
            const struct loop_expr *e = loop_load(a, w->x[t], w->i, lanes, stride);
            close_case(w, e, t, 1,
                       arena_printf(a, "%s, %d lanes, stride %d", dtype_name(t), lanes, stride));
        }
}

// What only vectors have.
static void add_vectors(struct world *w, int lanes) {
    struct arena *a = &w->arena;
    for (int i = 0; i < (w->threads ? 14 : 11); i++) {
        // On a CPU sums and products before a lane have an order of their own (test_math.c).
        if (!w->threads && (i == 7 || i == 8))
            continue;
        open_case(w, lanes);
        const struct loop_expr *x = load(w, w->x[DTYPE_F32], lanes);
        const struct loop_expr *m = loop_binary(a, LOOP_LT, x, load(w, w->y[DTYPE_F32], lanes));
        // Of numbers up to 1 or so: 4e-6 of a result of about 8.
        const struct loop_expr *gelu = loop_unary(a, LOOP_GELU_QUICK, loop_unary(a, LOOP_TANH, x));
        gelu = loop_binary(a, LOOP_ADD, gelu, loop_broadcast(a, loop_real(a, 8), lanes));
        const struct loop_expr *one = loop_broadcast(a, loop_real(a, 1), lanes);
        const struct loop_expr *large = loop_binary(a, LOOP_ADD, loop_unary(a, LOOP_ABS, x), one);
        const struct loop_expr *e[] = {loop_cast(a, m, LOOP_F32),
                                       loop_cast(a, x, LOOP_MASK),
                                       loop_round_to(a, x, DTYPE_F16),
                                       loop_round_to(a, x, DTYPE_BF16),
                                       loop_unary(a, LOOP_LANES_ANY, m),
                                       loop_unary(a, LOOP_LANES_ALL, m),
                                       loop_broadcast(a, loop_truth(a, true), lanes),
                                       loop_unary(a, LOOP_LANES_BEFORE_SUM, x),
                                       loop_unary(a, LOOP_LANES_BEFORE_PROD, x),
                                       loop_unary(a, LOOP_LANES_REVERSED, x),
                                       loop_unary(a, LOOP_EXP_QUICK, x),
                                       loop_unary(a, LOOP_ERF_QUICK, x),
                                       loop_unary(a, LOOP_INVERSE_QUICK, large),
                                       gelu};
        close_case(w, e[i], own[e[i]->dtype], e[i]->lanes == 1 ? lanes : 1,
                   arena_printf(a, "vectors %d, %d lanes", i, lanes));
        w->cases[w->n_cases - 1].is_loose = i >= 10;
        w->cases[w->n_cases - 1].off =
            i == 11 || (i == 10 && !w->threads) ? 4e-6 : 0;  // as dev.h and hone_math.h say
    }
}

// Runs of two vectors in turns: what a CPU transposes registers by. And what it scans them by.
static void add_runs(struct world *w, int lanes) {
    struct arena *a = &w->arena;
    for (int run = 1; run < lanes && !w->threads; run *= 2)
        for (int odd = 0; odd < 2; odd++) {
            open_case(w, lanes);
            const struct loop_expr *x = load(w, w->x[DTYPE_F32], lanes);
            const struct loop_expr *y = load(w, w->y[DTYPE_F32], lanes);
            close_case(
                w, loop_interleave(a, odd ? LOOP_LANES_ODD : LOOP_LANES_EVEN, x, y, run), DTYPE_F32,
                1, arena_printf(a, "%s runs of %d, %d lanes", odd ? "odd" : "even", run, lanes));
        }
    for (int by = 1; by < lanes && !w->threads; by *= 2) {
        open_case(w, lanes);
        const struct loop_expr *x = load(w, w->x[DTYPE_F32], lanes);
        const struct loop_expr *y = load(w, w->y[DTYPE_F32], lanes);
        close_case(w, loop_interleave(a, LOOP_LANES_SLID, x, y, by), DTYPE_F32, 1,
                   arena_printf(a, "slid by %d, %d lanes", by, lanes));
    }
}

// Every accumulator keeps what it has in a register of its type.
static void add_registers(struct world *w) {
    struct arena *a = &w->arena;
    for (int t = 0; t < TYPES; t++) {
        open_case(w, 1);
        struct loop_buffer *r =
            loop_register_of(w->program, arena_printf(a, "r%d", t), 2, 1, (enum loop_dtype)t);
        for (int i = 0; i < 2; i++)
            loop_store(&w->inner, r, loop_int(a, i), load(w, i ? w->x[own[t]] : w->y[own[t]], 1),
                       false);
        const struct loop_expr *sum = loop_load(a, r, loop_int(a, 0), 1, 1);
        sum = loop_binary(a, t == LOOP_MASK ? LOOP_OR : LOOP_ADD, sum,
                          loop_load(a, r, loop_int(a, 1), 1, 1));
        loop_store(&w->inner, r, loop_int(a, 0), sum, false);
        close_case(w, loop_load(a, r, loop_int(a, 0), 1, 1), own[t], 1,
                   arena_printf(a, "registers of type %d", t));
    }
}

// An array of the block's or the thread's own in each storage type; the reverse of what was
// written.
static void add_arrays(struct world *w) {
    struct arena *a = &w->arena;
    for (int t = 0; t < DTYPE_COUNT; t++) {
        struct loop_size size = {w->threads ? 64 : N, NULL};
        const char *name = arena_printf(a, "array_%d", t);
        struct loop_buffer *s = w->threads
                                    ? loop_shared_of(w->program, name, (enum dtype)t, &size, 1)
                                    : loop_local_of(w->program, name, (enum dtype)t, &size, 1);
        open_case(w, 1);
        const struct loop_expr *at = loop_binary(a, LOOP_MOD, w->i, loop_int(a, size.value));
        loop_store(&w->inner, s, at, load(w, w->x[t], 1), false);
        close_case(w, loop_load(a, s, at, 1, 1), (enum dtype)t, 1, name);
    }
}

static void add_warps(struct world *w) {
    struct arena *a = &w->arena;
    for (int op = LOOP_WARP_SUM; op <= LOOP_WARP_LAST; op++)
        for (int t = 0; t < TYPES; t++) {
            if (!(loop_ops[op].takes >> t & 1))
                continue;
            open_case(w, 1);
            // In a narrow range: sums in another order would differ.
            const struct loop_expr *x = load(w, w->x[t == LOOP_MASK ? DTYPE_BOOL : DTYPE_I8], 1);
            x = loop_let(&w->inner, "x", loop_cast(a, x, (enum loop_dtype)t));
            close_case(w, loop_let(&w->inner, "all", loop_unary(a, (enum loop_op)op, x)), own[t], 1,
                       arena_printf(a, "%s of type %d", loop_ops[op].text, t));
            w->cases[w->n_cases - 1].is_loose = true;
        }
}

static void make_world(struct world *w, bool threads, bool libm) {
    *w = (struct world){.threads = threads};
    w->program = loop_program_new(&w->arena);
    w->program->libm = libm;
    struct loop_size in = {N + 64, NULL}, out = {(int64_t)N * ROOM, NULL};
    for (int t = 0; t < DTYPE_COUNT; t++) {
        const char *name = dtype_name((enum dtype)t);
        for (int i = 0; i < 2; i++)
            *(i ? &w->y[t] : &w->x[t]) =
                loop_global_of(w->program, arena_printf(&w->arena, "%c_%s", i ? 'y' : 'x', name),
                               LOOP_INPUT, (enum dtype)t, &in, 1);
    }
    for (int t = 0; t < DTYPE_COUNT; t++)
        w->z[t] =
            loop_global_of(w->program, arena_printf(&w->arena, "z_%s", dtype_name((enum dtype)t)),
                           LOOP_OUTPUT, (enum dtype)t, &out, 1);
    static const int widths[2][3] = {{4, 8, 16}, {2, 4, 8}};
    add_operations(w, 1);
    add_conversions(w);
    add_memory(w, 1);
    add_registers(w);
    add_arrays(w);
    for (int i = 0; i < 3 && !libm; i++) {
        add_operations(w, widths[threads][i]);
        add_memory(w, widths[threads][i]);
        add_vectors(w, widths[threads][i]);
        add_runs(w, widths[threads][i]);
    }
    if (threads)
        add_warps(w);
    struct error err = {0};
    pass_unroll(w->program);
    cr_assert(pass_verify(w->program, &err), "%s", err.text);
}

// Bits at random, and numbers of every size; whole numbers are often small.
static void fill(struct rng *r, enum dtype t, char *data, int64_t count) {
    static const double special[] = {0,       -0.0,         1,     -1,     INFINITY, -INFINITY,
                                     NAN,     0.5,          65519, 65520,  464,      0x1p-25,
                                     0x1p-24, 2147483648.0, 1e300, -1e300, 0x1p63};
    for (int64_t i = 0; i < count; i++) {
        double unit = (double)rng_below(r, 1 << 30) / (1 << 29) - 1;
        uint64_t bits = rng_below(r, 1ull << 62) << 2 ^ rng_below(r, 1 << 20);
        int kind = (int)rng_below(r, 4);
        if (t == DTYPE_BOOL)
            data[i] = (char)(bits >> 40 & 1);
        else if (kind == 0 && t != DTYPE_I4)
            memcpy(data + dtype_size(t, i), &bits, (size_t)dtype_size(t, 1));
        else if (kind == 1)
            dtype_put(t, data, i, special[rng_below(r, sizeof special / sizeof *special)]);
        else
            dtype_put(t, data, i, unit * (kind == 2 ? 8 : 70));
    }
}

struct data {
    void *buffer[3 * DTYPE_COUNT];
};

static void make_data(struct world *w, struct data *d) {
    struct rng r;
    rng_init(&r, 11);
    for (int i = 0; i < w->program->n_buffers && i < 3 * DTYPE_COUNT; i++) {
        const struct loop_buffer *b = w->program->buffers[i];
        d->buffer[i] = arena_array(&w->arena, char, dtype_size(b->dtype, b->count));
        if (b->role == LOOP_INPUT)
            fill(&r, b->dtype, d->buffer[i], b->count);
    }
}

static bool is_same(const struct test_case *c, double got, double want) {
    if (got == want || (isnan(got) && isnan(want)))
        return true;
    double unit = c->to == DTYPE_F64 ? 1e-14 : 1e-6;
    return c->is_loose &&
           fabs(got - want) <= fabs(want) * (unit + c->off) + (unit > 1e-9 ? 1e-44 : 1e-322);
}

static void compare(struct world *w, const struct data *want, const struct data *got,
                    const char *where) {
    for (int k = 0; k < w->n_cases; k++) {
        const struct test_case *c = &w->cases[k];
        const void *a = want->buffer[w->z[c->to]->id], *b = got->buffer[w->z[c->to]->id];
        for (int64_t i = c->first; i < c->first + N; i += c->step) {
            double x = dtype_get(c->to, a, i), y = dtype_get(c->to, b, i);
            bool same = is_same(c, y, x);
            if (c->to == DTYPE_I64)
                same = ((const int64_t *)a)[i] == ((const int64_t *)b)[i];
            cr_assert(same, "%s: %s: element %lld is %.17g, not %.17g", where, c->what,
                      (long long)(i - c->first), y, x);
        }
    }
}

static void run(struct world *w, struct data *want) {
    struct error err = {0};
    make_data(w, want);
    void **data = arena_array(&w->arena, void *, w->program->n_buffers);
    memcpy(data, want->buffer, sizeof want->buffer);
    cr_assert(execute(w->program, data, &err), "%s", err.text);
}

// The buffers that a launch of the printed plan hands over, by their names.
static int find_arguments(struct world *w, const char *text, const char *kernel,
                          const struct data *d, void **args) {
    const char *line = strstr(text, arena_printf(&w->arena, "launch %s grid", kernel));
    cr_assert_not_null(line, "%s", kernel);
    const char *names = strstr(line, "args(") + 5;
    int n = 0;
    while (*names != ')') {
        size_t len = strcspn(names, ",)");
        for (int i = 0; i < 3 * DTYPE_COUNT; i++)
            if (strncmp(w->program->buffers[i]->name, names, len) == 0 &&
                strlen(w->program->buffers[i]->name) == len)
                args[n++] = d->buffer[i];
        names += len;
        names += strspn(names, ", ");
    }
    return n;
}

static void *compile_c(struct arena *a, const char *dir, const char *cc, const char *machine) {
    struct error err = {0};
    const char *object = arena_printf(a, "%s/%s%s.so", dir, cc, machine);
    const char *const argv[] = {file_find_program(a, cc),
                                "-std=gnu17",
                                "-O1",
                                machine,
                                "-fno-math-errno",
                                "-fno-trapping-math",
                                "-fPIC",
                                "-ffp-contract=off",
                                "-w",
                                "-shared",
                                "-Iruntime",
                                "-o",
                                object,
                                arena_printf(a, "%s/text.c", dir),
                                "-lm",
                                NULL};
    struct process_spec spec = {.argv = argv, .keep_environment = true};
    struct process_result r;
    cr_assert(process_run(a, &spec, &r, &err), "%s", err.text);
    cr_assert(r.exit_status == 0, "%.4000s", r.err);
    void *handle = dlopen(object, RTLD_NOW);
    cr_assert_not_null(handle, "%s", dlerror());
    return handle;
}

static void call(void *function, void **a, int n) {
    cr_assert(n == 2 || n == 3 || n == 1);
    if (n == 1)
        ((void (*)(long, void *))function)(0, a[0]);
    else if (n == 2)
        ((void (*)(long, void *, void *))function)(0, a[0], a[1]);
    else
        ((void (*)(long, void *, void *, void *))function)(0, a[0], a[1], a[2]);
}

static void check_c(const char *cc, const char *machine, bool libm) {
    struct world *w = malloc(sizeof *w);
    struct data want, got;
    struct error err = {0};
    make_world(w, false, libm);
    run(w, &want);
    make_data(w, &got);
    const char *text = print_c(&w->arena, w->program);
    const char *dir = scratch_make(&w->arena);
    cr_assert(file_write(arena_printf(&w->arena, "%s/text.c", dir), text, strlen(text), &err), "%s",
              err.text);
    void *handle = compile_c(&w->arena, dir, cc, machine);
    for (int i = 0; i < w->program->n_kernels; i++) {
        void *args[8];
        const char *name = w->program->kernels[i]->name;
        call(dlsym(handle, name), args, find_arguments(w, text, name, &got, args));
    }
    compare(w, &want, &got, arena_printf(&w->arena, "%s %s", cc, machine));
    scratch_remove(dir);
    arena_reset(&w->arena);
    free(w);
}

Test(typed_text, c_computes_what_is_meant) {
    check_c("gcc", "-march=native", false);
}

Test(typed_text, c_needs_no_instructions_for_halves) {
    check_c("gcc", "-march=x86-64", false);
}

Test(typed_text, plain_c_calls_the_library) {
    check_c("gcc", "-march=native", true);
}

Test(typed_text, c_is_the_same_for_clang) {
    check_c("clang", "-march=native", false);
}

Test(typed_text, cuda_computes_what_is_meant) {
    struct world *w = malloc(sizeof *w);
    struct data want, got = {{0}};
    make_world(w, true, false);
    run(w, &want);
    struct fibre_program *p = arena_new(&w->arena, struct fibre_program);
    p->n_texts = 1;
    p->texts[0].source = print_cuda(&w->arena, w->program);
    for (int i = 0; i < 3 * DTYPE_COUNT; i++) {
        const struct loop_buffer *b = w->program->buffers[i];
        p->texts[0].buffers[p->texts[0].n_buffers++] = (struct fibre_buffer){
            b->name, b->count, b->role == LOOP_INPUT ? want.buffer[i] : NULL, b->dtype};
    }
    fibre_build(&w->arena, "gcc", p);
    float *outputs;
    const char *fault;
    cr_assert(fibre_run(&w->arena, p, (struct fibre_run){0, 1, 0}, &outputs, &fault), "%s", fault);
    char *bytes = (char *)outputs;
    for (int t = 0; t < DTYPE_COUNT; t++) {
        got.buffer[w->z[t]->id] = bytes;
        bytes += dtype_size((enum dtype)t, w->z[t]->count);
    }
    compare(w, &want, &got, "fibres");
    fibre_remove(p);
    arena_reset(&w->arena);
    free(w);
}

Test(typed_text, nvrtc_compiles_it) {
    struct nvrtc n;
    real_nvrtc_open(&n);
    struct world *w = malloc(sizeof *w);
    struct error err = {0};
    make_world(w, true, false);
    const struct dev_headers headers = dev_headers();
    const char *options[3] = {"--diag-suppress=161"};
    struct nvrtc_job job = {.source = print_cuda(&w->arena, w->program),
                            .name = "typed",
                            .arch = "sm_80",
                            .header_names = headers.names,
                            .header_texts = headers.texts,
                            .n_headers = headers.n,
                            .options = options,
                            .n_options = 1 + real_nvrtc_quick(&n, options + 1)};
    struct nvrtc_result r;
    cr_assert(nvrtc_compile(&w->arena, &n, &job, &r, &err), "%s", err.text);
    cr_assert(r.compiled && !strstr(r.log, "warning"), "%.4000s", r.log);
    arena_reset(&w->arena);
    free(w);
    nvrtc_close(&n);
}
