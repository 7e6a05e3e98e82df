// Launches that may begin before the one before them has ended: the interpreter and fibres find
// what such a launch touches too early.
#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "fibre.h"
#include "loop/execute.h"
#include "loop/loop_build.h"
#include "loop/passes.h"
#include "loop/print_cuda.h"

enum { N = 128, THREADS = 32 };

enum fault {
    NO_FAULT,
    NO_WAIT,        // reads what the launch before writes
    WAITS_LATE,     // after it has read
    WAITS_IN_PART,  // only half of the threads do
    WRITES_EARLY,   // what the launch before reads
    IDLE,           // touches nothing, and does not wait: what comes after relies on that
};

struct built {
    struct arena *a;
    struct loop_program *p;
    struct loop_buffer *x, *r, *s, *y;
    enum fault fault;
};

static struct loop_kernel *open_kernel(struct built *t, const char *name, struct loop_builder *b,
                                       const struct loop_expr **at) {
    struct loop_kernel *k = loop_kernel_new(t->p, name, loop_int(t->a, N / THREADS), b);
    const struct loop_expr *thread = loop_kernel_threads(t->p, k, THREADS);
    const struct loop_expr *first =
        loop_binary(t->a, LOOP_MUL, loop_ref(t->a, k->block), loop_int(t->a, THREADS));
    *at = loop_binary(t->a, LOOP_ADD, first, thread);
    return k;
}

// s = 2 x + r, where r is zero.
static void first(struct built *t) {
    struct loop_builder b;
    const struct loop_expr *at;
    open_kernel(t, "first", &b, &at);
    loop_intrinsic(&b, INTRINSIC_LAUNCH_NEXT, NULL);
    const struct loop_expr *twice =
        loop_binary(t->a, LOOP_MUL, loop_load(t->a, t->x, at, 1, 1), loop_real(t->a, 2));
    loop_store(&b, t->s, at, loop_binary(t->a, LOOP_ADD, twice, loop_load(t->a, t->r, at, 1, 1)),
               false);
}

// Does nothing but wait, and begins early itself: who waits for it waits for the first.
static void between(struct built *t) {
    struct loop_builder b;
    const struct loop_expr *at;
    open_kernel(t, "between", &b, &at)->is_programmatic = true;
    loop_intrinsic(&b, INTRINSIC_LAUNCH_NEXT, NULL);
    if (t->fault != IDLE)
        loop_intrinsic(&b, INTRINSIC_LAUNCH_WAIT, NULL);
}

static void wait_here(struct built *t, struct loop_builder *b, struct loop_kernel *k) {
    struct loop_builder some;
    if (t->fault == NO_WAIT)
        return;
    if (t->fault != WAITS_IN_PART) {
        loop_intrinsic(b, INTRINSIC_LAUNCH_WAIT, NULL);
        return;
    }
    loop_open_if(b, loop_ref(t->a, k->thread), loop_int(t->a, THREADS / 2), &some);
    loop_intrinsic(&some, INTRINSIC_LAUNCH_WAIT, NULL);
    loop_close(b, &some);
}

// y = the s of another block; r = 1.
static void second(struct built *t) {
    struct loop_builder b;
    const struct loop_expr *at;
    struct loop_kernel *k = open_kernel(t, "second", &b, &at);
    k->is_programmatic = true;
    const struct loop_expr *other = loop_binary(t->a, LOOP_SUB, loop_int(t->a, N - 1), at);
    const struct loop_expr *value = loop_load(t->a, t->s, other, 1, 1), *one = loop_real(t->a, 1);
    if (t->fault == WAITS_LATE)
        value = loop_let(&b, "early", value);
    if (t->fault == WRITES_EARLY)
        loop_store(&b, t->r, at, one, false);
    wait_here(t, &b, k);
    loop_store(&b, t->y, at, value, false);
    if (t->fault != WRITES_EARLY)
        loop_store(&b, t->r, at, one, false);
}

static struct loop_program *build(struct arena *a, enum fault fault) {
    struct built t = {.a = a, .p = loop_program_new(a), .fault = fault};
    struct loop_size size = {N, NULL};
    t.x = loop_global_of(t.p, "x", LOOP_INPUT, DTYPE_F32, &size, 1);
    t.y = loop_global_of(t.p, "y", LOOP_OUTPUT, DTYPE_F32, &size, 1);
    t.r = loop_global_of(t.p, "r", LOOP_SCRATCH, DTYPE_F32, &size, 1);
    t.r->is_zeroed = true;
    t.s = loop_global_of(t.p, "s", LOOP_SCRATCH, DTYPE_F32, &size, 1);
    first(&t);
    between(&t);
    second(&t);
    return t.p;
}

static void fill(float *x) {
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
}

static bool is_right(const float *y) {
    for (int i = 0; i < N; i++)
        if (!(y[i] == 2 * (float)(N - 1 - i)))
            return false;
    return true;
}

Test(programmatic, the_interpreter_finds_what_is_touched_too_early) {
    static const char *const wants[] = {
        [NO_WAIT] = "s[127] is touched by a thread that has not waited for the launch before",
        [WAITS_LATE] = "s[127] is touched by a thread that has not waited for the launch before",
        [WAITS_IN_PART] = "is touched by a thread that has not waited for the launch before",
        [WRITES_EARLY] = "r[0] is touched by a thread that has not waited for the launch before",
        [IDLE] = "between: thread 0 ends without waiting for the launch before",
    };
    struct arena a = {0};
    for (enum fault fault = NO_FAULT; fault <= IDLE; fault++) {
        struct error err = {0};
        float x[N], y[N] = {0};
        fill(x);
        struct loop_program *p = build(&a, fault);
        cr_assert(pass_verify(p, &err), "%s", err.text);
        bool ok = execute(p, (void *[]){x, y, NULL, NULL}, &err);
        cr_expect_eq(ok, fault == NO_FAULT, "fault %d: %s", (int)fault, err.text);
        if (ok)
            cr_expect(is_right(y));
        else
            cr_expect(strstr(err.text, wants[fault]), "fault %d: %s", (int)fault, err.text);
    }
    arena_reset(&a);
}

Test(programmatic, fibres_begin_it_as_early_as_can_be, .timeout = 120) {
    struct arena a = {0};
    struct fibre_program p = {0};
    float x[N];
    fill(x);
    for (enum fault fault = NO_FAULT; fault <= IDLE; fault++)
        p.texts[p.n_texts++] =
            (struct fibre_text){.source = print_cuda(&a, build(&a, fault)),
                                .buffers = {{"x", N, x, DTYPE_F32}, {"y", N, NULL, DTYPE_F32}},
                                .n_buffers = 2};
    fibre_build(&a, "cc", &p);
    for (int t = 0; t < p.n_texts; t++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            float *y;
            const char *fault = "";
            bool ok = fibre_run(&a, &p, (struct fibre_run){t, seed, 0}, &y, &fault) && is_right(y);
            cr_expect_eq(ok, t == NO_FAULT, "fault %d, seed %d: %s\n%s", t, (int)seed, fault,
                         p.texts[t].source);
        }
    fibre_remove(&p);
    arena_reset(&a);
}

Test(programmatic, there_is_a_launch_to_overlap) {
    struct arena a = {0};
    struct error err = {0};
    struct loop_program *p = build(&a, NO_FAULT);
    p->kernels[0]->is_programmatic = true;
    cr_assert_not(pass_verify(p, &err));
    cr_expect(strstr(err.text, "first: begins early, and there is no launch"), "%s", err.text);
    p = build(&a, NO_FAULT);
    p->kernels[2]->is_programmatic = false;
    cr_assert_not(pass_verify(p, &err));
    cr_expect(strstr(err.text, "hone_launch_wait: where the launch before has ended"), "%s",
              err.text);
    arena_reset(&a);
}

// What the launch before writes is read by a pointer that the compiler knows nothing of before the
// wait: neither __restrict__, nor the parameter itself.
Test(programmatic, pointers_are_renewed_behind_the_wait) {
    struct arena a = {0};
    const char *text = print_cuda(&a, build(&a, NO_FAULT));
    cr_expect(strstr(text, "#pragma hone launch second grid(4) block(32) programmatic args("), "%s",
              text);
    cr_expect(strstr(text, "const float *s)"), "%s", text);
    cr_expect(strstr(text, "hone_launch_wait();\n    hone_renew(s);\n"), "%s", text);
    arena_reset(&a);
}
