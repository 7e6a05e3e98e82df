// Recurrences by blocks that stay for all steps: random loops in all types, random legal knobs and
// cards, executed with every access checked and as text by fibres; and what must not be missing.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "family/family.h"
#include "family/program.h"
#include "family/stages.h"
#include "loop/passes.h"
#include "text_mutants.h"

enum { LOOPS = 54, PACKED = 9, TEXTS = 16, TRIES = 60, TOLERANCE = 60 };

// What is computed in a loop: DIM, TYPE, ACT and ORDER are replaced, the last also by `reversed`.
static const char *const bodies[] = {
    // A vector, whose weights are the left factor.
    "in x : TYPE[T, H]DRAW\nin u : TYPE[H, H]DRAW\nin h0 : TYPE[H]DRAW\nout y : TYPE[T, H]\n"
    "for t in ORDER with h = h0:\n    g = u @ h[:, None]\n    h = ACT(x[t] + g[:, 0])\n    y[t] = "
    "h\n",
    // Rows, steps in the second place, and the last state.
    "in x : TYPE[B, T, H]DRAW\nin u : TYPE[H, H]DRAW\nout y : TYPE[B, T, H]\nout z : TYPE[B, H]\n"
    "for t in ORDER with h : TYPE[B, H] = 1:\n    h = ACT(x[:, t] + h @ u.T)\n    y[:, t] = h\nz = "
    "h\n",
    // A product of what comes in: within the loop where it has few terms, before it where many.
    "in x : TYPE[T, B, D]DRAW\nin w : TYPE[H, D]DRAW\nin u : TYPE[H, H]DRAW\nout y : TYPE[B, H, "
    "T]\n"
    "for t in ORDER with h : TYPE[B, H] = 0:\n    h = ACT(x[t] @ w.T + h @ u)\n    y[:, :, t] = "
    "h\n",
    // Gates of one product, two states.
    "in x : TYPE[B, T, 4 * H]DRAW\nin u : TYPE[4 * H, H]DRAW\nin c0 : TYPE[B, H]DRAW\n"
    "out y : TYPE[B, T, H]\nout cn : TYPE[B, H]\n"
    "for t in ORDER with h : TYPE[B, H] = 0, c = c0:\n    g = x[:, t] + h @ u.T\n"
    "    c = ACT(g[:, H:2 * H]) * c + ACT(g[:, :H]) * ACT(g[:, 2 * H:3 * H])\n"
    "    h = ACT(g[:, 3 * H:]) * ACT(c)\n    y[:, t] = h\ncn = c\n",
    // Two layers: the second needs what the first has in the same step.
    "in x : TYPE[T, B, H]DRAW\nin u : TYPE[H, H]DRAW\nin v : TYPE[H, D]DRAW\nin w : TYPE[D, "
    "D]DRAW\n"
    "out y : TYPE[T, B, D]\nout z : TYPE[B, H]\n"
    "for t in ORDER with h : TYPE[B, H] = 0, k : TYPE[B, D] = 0:\n"
    "    h = ACT(x[t] + h @ u)\n    k = ACT(h @ v + k @ w)\n    y[t] = k\nz = h\n",
    // A row's largest, which the row itself and a state of another shape need.
    "in x : TYPE[T, B, H]DRAW\nin u : TYPE[H, H]DRAW\nout y : TYPE[T, B, H]\nout s : TYPE[B]\n"
    "for t in ORDER with h : TYPE[B, H] = 0, k : TYPE[B] = 0:\n    p = ACT(x[t] + h @ u)\n"
    "    m = max(p, axis=-1)\n    h = p - m[:, None]\n    k = maximum(k, m)\n    y[t] = h\ns = k\n",
    // States that change places, slices that are computed on the way, an old state that is kept.
    "in x : TYPE[T, B, H]DRAW\nin u : TYPE[H, H]DRAW\nout y : TYPE[T, B, H]\nout z : TYPE[B, H]\n"
    "d = x * 2\n"
    "for t in ORDER with a : TYPE[B, H] = 1, b : TYPE[B, H] = 0:\n    y[t] = a\n    old = a\n"
    "    a = b\n    b = ACT(old @ u + d[t])\nz = b\n",
    // Weights of each group, and weights that are computed where they are read.
    "in x : TYPE[T, 2, B, H]DRAW\nin u : TYPE[2, H, H]DRAW\nin w : TYPE[H, H]DRAW\n"
    "out y : TYPE[T, 2, B, H]\n"
    "for t in ORDER with h : TYPE[2, B, H] = 0:\n    h = ACT(x[t] + h @ u + h @ (w * 2))\n"
    "    y[t] = h\n",
    // No product at all.
    "in x : TYPE[T, B, H]DRAW\nout y : TYPE[T, B, H]\n"
    "for t in ORDER with h : TYPE[B, H] = 0:\n    h = ACT(x[t] + h)\n    y[t] = h\n",
};

enum { BODIES = sizeof bodies / sizeof *bodies };

static const enum dtype types[] = {DTYPE_F32,  DTYPE_F64, DTYPE_F16,
                                   DTYPE_BF16, DTYPE_I32, DTYPE_I64};

// Bodies beyond the last: the same again in i4, two elements to a byte.
static const char *random_loop(struct arena *a, struct rng *r, int body) {
    static const int rows[] = {1, 2, 3, 5, 7}, columns[] = {1, 3, 8, 17, 33, 40};
    enum dtype type = types[rng_below(r, 6)];
    if (body >= BODIES)
        type = DTYPE_I4;
    bool is_float = dtype_is_float(type), is_back = rng_below(r, 3) == 0;
    struct str out = {0};
    str_printf(&out, "problem loop\ndim T = %d, B = %d, D = %d, H = %d\n", 1 + (int)rng_below(r, 4),
               rows[rng_below(r, 5)], columns[rng_below(r, 6)], columns[rng_below(r, 6)]);
    for (const char *p = bodies[body % BODIES]; *p; p++) {
        static const char *const words[] = {"TYPE", "DRAW", "ACT(", "ORDER"};
        const char *with[] = {dtype_name(type),
                              is_float ? " ~ normal(0, 0.5)" : " ~ integers(-2, 2)",
                              is_float ? "tanh(" : "sign(", is_back ? "reversed(T)" : "T"};
        int w = 0;
        while (w < 4 && strncmp(p, words[w], strlen(words[w])) != 0)
            w++;
        if (w == 4)
            str_printf(&out, "%c", *p);
        else
            str_puts(&out, with[w]);
        p += w < 4 ? strlen(words[w]) - 1 : 0;
    }
    return str_take(a, &out);
}

static void shuffle(struct rng *r, struct kernel_stage *s) {
    for (const struct knob *k = nest_persistent.knobs; k->name; k++)
        for (int part = 0; part < knob_parts(k); part++)
            stage_choose(k, s, part, (int)rng_below(r, (uint64_t)knob_choices(k, part)));
}

// The default block, its loops by this emitter with random knobs.
static struct kernel *make(struct arena *a, struct rng *r, const struct problem *p,
                           const struct target *t) {
    struct kernel k;
    struct error err = {0};
    int n_loops = 0;
    lower_default(a, p, t, &k);
    for (int i = 0; i < k.n_stages; i++) {
        const struct region *g = stages_region(a, p, &k, i);
        struct objection why;
        const struct form *f = family_form(family_find(k.stages[i]->family), g, &why);
        struct kernel_stage *s = kernel_own_stage(a, &k, i);
        if (strcmp(s->family, "nest") != 0 || !nest_persistent.accepts(f, t, &why))
            continue;
        n_loops++;
        s->n_knobs = 0;
        family_complete(&nest_persistent, f, t, s);
        struct kernel_stage first = *s;
        for (int n = 0; n < TRIES; n++) {
            *s = first;
            shuffle(r, s);
            if (stage_number(s, "blocks", 0) * stage_number(s, "threads", 0) <= 1024 &&
                emitter_is_legal(&nest_persistent, f, t, s, &why))
                break;
            *s = first;
        }
    }
    cr_assert_eq(n_loops, 1, "%s", p->text);
    cr_assert(lower_check(a, p, t, &k, &err), "%s%s%s", p->text, kernel_print(a, &k), err.text);
    return arena_copy(a, &k, sizeof k);
}

static struct target random_card(struct rng *r) {
    static const char *const archs[] = {"sm_90a", "sm_80", "sm_100a"};
    static const int sms[] = {1, 2, 5, 12};
    struct target t;
    target_of_arch(archs[rng_below(r, 3)], &t);
    t.sms = sms[rng_below(r, 4)];
    return t;
}

Test(persistent, random_loops_are_what_the_interpreter_computes) {
    struct rng r;
    rng_init(&r, 20261118);
    int kept = 0, met = 0;
    for (int i = 0; i < LOOPS + PACKED; i++) {
        struct arena a = {0};
        struct error err = {0};
        char message[1200] = "";
        int body = i < LOOPS ? i % BODIES : BODIES + i % BODIES;
        struct problem *p = problem_from(&a, random_loop(&a, &r, body));
        struct target t = random_card(&r);
        struct kernel *k = make(&a, &r, p, &t);
        struct loop_program *program = program_lower(&a, p, &t, k);
        pass_unroll(program);
        pass_prune(program);
        cr_assert(pass_verify(program, &err), "%s%s%s", p->text, kernel_print(&a, k), err.text);
        struct expectation e;
        expect_open(&e, &a, p, (uint64_t)i);
        double error = expect_execute(&e, &a, p, program, message, sizeof message);
        cr_expect(error >= 0 && error < TOLERANCE, "%s%serror %g %s", p->text, kernel_print(&a, k),
                  error, message);
        const char *text = kernel_print(&a, k);
        kept += strstr(text, "keep register") || strstr(text, "keep shared");
        met += strstr(text, "blocks 1 ") == NULL;
        expect_close(&e);
        arena_reset(&a);
    }
    cr_expect(kept > LOOPS / 4 && met > LOOPS / 3, "%d keep weights, %d meet", kept, met);
}

// The text of a random loop: buffers end at a page for even seeds and begin at one for odd ones.
static void make_text(struct text_subject *s, struct rng *r, int i) {
    struct target t = random_card(r);
    struct error err = {0};
    *s = (struct text_subject){0};
    s->problem = problem_from(&s->arena, random_loop(&s->arena, r, i % BODIES));
    text_expect(s, (uint64_t)i);
    cr_assert(lower_kernel(&s->arena, s->problem, &t, make(&s->arena, r, s->problem, &t),
                           &s->candidate, &err),
              "%s", err.text);
}

Test(persistent, texts_of_random_loops_run_by_fibres) {
    struct rng r;
    struct arena a = {0};
    struct text_subject *s = arena_array(&a, struct text_subject, TEXTS);
    struct fibre_program *p = arena_new(&a, struct fibre_program);
    rng_init(&r, 41);
    for (int i = 0; i < TEXTS; i++) {
        make_text(&s[i], &r, i);
        text_add(p, &s[i]);
    }
    fibre_build(&a, "gcc", p);
    for (int i = 0; i < TEXTS; i++) {
        for (uint64_t seed = 0; seed < 2; seed++) {
            const char *fault = "";
            cr_expect(text_is_right(&s[i], p, (struct fibre_run){i, seed, 0}, &fault), "%s%s%s",
                      s[i].problem->text, s[i].candidate.source, fault);
        }
        text_close(&s[i]);
    }
    fibre_remove(p);
    arena_reset(&a);
}

// Sizes in which every meeting, guard and clamp is needed.
static const struct mutant_kernel kernels[] = {
    {"problem gates\nin x : f32[6, 4, 66]\nin u : f32[33, 66]\nout y : f32[6, 4, 33]\n"
     "for t in 4 with h : f32[6, 33] = 1:\n    g = x[:, t] + h @ u\n"
     "    h = tanh(g[:, :33]) * g[:, 33:]\n    y[:, t] = h\n",
     "stage y : nest as persistent  blocks 4  threads 64  rows 3  unroll 1  keep register\n"},
    {"problem layers\nin x : f32[3, 7, 20]\nin u : f32[20, 20]\nin v : f32[20, 10]\n"
     "out y : f32[3, 7, 10]\nout z : f32[7, 20]\n"
     "for t in 3 with h : f32[7, 20] = 1, k : f32[7, 10] = 1:\n    h = tanh(x[t] + h @ u)\n"
     "    k = tanh(h @ v + k)\n    y[t] = k\nz = h\n",
     "stage y, z : nest as persistent  blocks 2  threads 64  rows 4  unroll 2  keep shared\n"},
    {"problem taken\nin x : f32[3, 2, 40]\nin u : f32[40, 40]\nout y : f32[3, 2, 40]\n"
     "d = x * 2\nfor t in 3 with h : f32[2, 40] = 1:\n    h = tanh(d[t] + h @ u)\n    y[t] = h\n",
     "stage y : nest as persistent  blocks 1  threads 64  rows 2  unroll 1  keep reread\n"},
};

Test(persistent, fails_without_any_one_meeting_or_guard) {
    static const struct mutant_set set = {.kernels = kernels,
                                          .n_kernels = sizeof kernels / sizeof *kernels};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 5);
    cr_assert_gt(tally.all[FIBRE_GUARD], 5);
}
