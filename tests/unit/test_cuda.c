// Emitted CUDA, executed: random blocks of random problems on the fibre runtime against the
// reference, and texts without one of their barriers or guards, which must fail.
#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "family/plain.h"
#include "family/program.h"
#include "family/support.h"
#include "fibre.h"
#include "loop/execute.h"
#include "loop/passes.h"
#include "lowering.h"
#include "record/plan.h"

static const char *const archs[] = {"sm_90a", "sm_80", "sm_100a"};

// A text to run, and what it should compute.
struct subject {
    struct arena arena;
    struct problem *problem;
    struct candidate candidate;
    struct expectation expected;
    double limit;  // of the error, in spreads
};

// Largest error in units of the spread. An element that the reference happens to get without
// rounding is not exact in another order of summation: the unit is at least the mean spread.
static double error_of(const struct subject *s, float *const *outputs) {
    const struct interpret_result *r = &s->expected.result;
    double worst = 0;
    for (int o = 0; o < r->n_outputs; o++) {
        double mean = 0;
        for (int64_t i = 0; i < r->count[o]; i++)
            mean += r->spread[o][i] / (double)r->count[o];
        for (int64_t i = 0; i < r->count[o]; i++) {
            double want = r->value[o][i], unit = fmax(r->spread[o][i], mean);
            double error = fabs(outputs[o][i] - want) / (unit + fabs(want) * 0x1p-25 + 1e-30);
            worst = isnan(error) ? INFINITY : fmax(worst, error);
        }
    }
    return worst;
}

// Four times what the honest computation is off by, as a judge allows.
static void expect(struct subject *s, uint64_t seed) {
    expect_open(&s->expected, &s->arena, s->problem, seed);
    s->limit = 4 * fmax(4, error_of(s, s->expected.result.honest));
}

static void add_text(struct fibre_program *p, const struct subject *s) {
    const struct problem *q = s->problem;
    struct fibre_text *t = &p->texts[p->n_texts++];
    *t = (struct fibre_text){.source = s->candidate.source};
    for (int i = 0; i < q->n_inputs; i++) {
        const struct node *n = &q->graph.nodes[q->inputs[i].node];
        t->buffers[t->n_buffers++] =
            (struct fibre_buffer){n->name, shape_count(&n->shape), s->expected.inputs[i], n->dtype};
    }
    for (int i = 0; i < q->n_outputs; i++)
        t->buffers[t->n_buffers++] =
            (struct fibre_buffer){q->outputs[i].name, s->expected.result.count[i], NULL,
                                  q->graph.nodes[q->outputs[i].node].dtype};
}

// Run it; the error in spreads, or -1 and the fault.
static double run(struct subject *s, const struct fibre_program *p, struct fibre_run r,
                  const char **fault) {
    float *all, *outputs[OUTPUTS_MAX];
    if (!fibre_run(&s->arena, p, r, &all, fault))
        return -1;
    for (int i = 0; i < s->problem->n_outputs; i++) {
        outputs[i] = all;
        all += s->expected.result.count[i];
    }
    *fault = "";
    return error_of(s, outputs);
}

static bool is_right(struct subject *s, const struct fibre_program *p, struct fibre_run r,
                     const char **fault) {
    double error = run(s, p, r, fault);
    if (error >= 0 && error > s->limit)
        *fault = arena_printf(&s->arena, "error %g, at most %g", error, s->limit);
    return error >= 0 && error <= s->limit;
}

enum { BATCHES = 5, BATCH = 12 };

// As the text is printed, but as loops: every race between threads is an error there.
static void check_races(struct subject *s, const struct target *t, const struct kernel *k) {
    char message[1200] = "";
    struct loop_program *program = program_lower(&s->arena, s->problem, t, k);
    double error =
        expect_execute(&s->expected, &s->arena, s->problem, program, message, sizeof message);
    cr_assert(error >= 0, "%s\n%s", s->candidate.source, message);
}

// The plan in the text is one that the runner can read.
static void check_plan(struct subject *s, const struct target *t) {
    const struct problem *q = s->problem;
    struct plan_buffer buffers[INPUTS_MAX + OUTPUTS_MAX];
    const char *names[DIMS_MAX];
    int64_t sizes[DIMS_MAX];
    struct plan_context context = {.dim_names = names,
                                   .dim_sizes = sizes,
                                   .n_dims = q->graph.n_dims,
                                   .buffers = buffers,
                                   .n_buffers = q->n_inputs + q->n_outputs,
                                   .is_gpu = true,
                                   .n_sms = t->sms,
                                   .shared_per_block = t->shared_per_block};
    for (int i = 0; i < q->n_inputs; i++) {
        const struct node *n = &q->graph.nodes[q->inputs[i].node];
        buffers[i] = (struct plan_buffer){
            .name = n->name, .role = BUFFER_INPUT, .size_bytes = 4 * shape_count(&n->shape)};
    }
    for (int i = 0; i < q->n_outputs; i++)
        buffers[q->n_inputs + i] =
            (struct plan_buffer){.name = q->outputs[i].name,
                                 .role = BUFFER_OUTPUT,
                                 .size_bytes = 4 * s->expected.result.count[i]};
    for (int i = 0; i < q->graph.n_dims; i++) {
        names[i] = q->graph.dims[i].name;
        sizes[i] = q->graph.dims[i].size;
    }
    struct error err = {0};
    struct plan *plan = arena_new(&s->arena, struct plan);
    cr_assert(plan_parse(&s->arena, s->candidate.source, &context, plan, &err), "%s\n%s", err.text,
              s->candidate.source);
    for (int i = 0; i < plan->n_steps; i++)
        cr_assert(plan->steps[i].shape.block[0] >= 32);
}

static void make_random(struct subject *s, struct rng *r, int i) {
    struct target t;
    struct error err = {0};
    *s = (struct subject){0};
    target_of_arch(archs[i % 3], &t);
    s->problem = problem_from(&s->arena, random_problem(&s->arena, r));
    expect(s, (uint64_t)i);
    if (i % 6 == 5) {
        lower_plain(&s->arena, s->problem, &t, &s->candidate);
        check_plan(s, &t);
        return;
    }
    struct kernel *k = random_kernel(&s->arena, r, s->problem, &t, (int)rng_below(r, 5));
    cr_assert(lower_kernel(&s->arena, s->problem, &t, k, &s->candidate, &err), "%s", err.text);
    check_plan(s, &t);
    check_races(s, &t, k);
}

Test(cuda_text, random_blocks_of_random_problems_compute_the_problem) {
    struct rng r;
    rng_init(&r, 20261116);
    for (int b = 0; b < BATCHES; b++) {
        struct arena a = {0};
        struct subject *s = arena_array(&a, struct subject, BATCH);
        struct fibre_program *p = arena_new(&a, struct fibre_program);
        for (int i = 0; i < BATCH; i++) {
            make_random(&s[i], &r, b * BATCH + i);
            add_text(p, &s[i]);
        }
        fibre_build(&a, b % 2 ? "clang" : "gcc", p);
        for (int i = 0; i < BATCH; i++)
            // Buffers end at a page for even seeds and begin at one for odd ones.
            for (uint64_t seed = 0; seed < 2; seed++) {
                const char *fault;
                cr_assert(is_right(&s[i], p, (struct fibre_run){i, seed, 0}, &fault), "%s%s\n%s",
                          s[i].problem->text, s[i].candidate.source, fault);
            }
        for (int i = 0; i < BATCH; i++) {
            expect_close(&s[i].expected);
            arena_reset(&s[i].arena);
        }
        fibre_remove(p);
        arena_reset(&a);
    }
}

// Kernels with every kind of barrier and guard that the families emit, in sizes where each of them
// is needed: a clamp beyond which other rows of the same buffer lie is not missed. Without stages:
// plain.
static const struct {
    const char *problem, *stages;
} kernels[] = {
    // Its `where` is the smaller of two values, and no guard.
    {"problem map\ndim M = 30, N = 7\nin x : f32[M, N] ~ normal\nin b : f32[N] ~ normal\n"
     "out y : f32[M, N]\ny = exp(x) * where(x < b, x, b)\n",
     "stage y : map  block 64  vec 1  items 1\n"},
    {"problem items\ndim M = 30, N = 12\nin x : f32[M, N] ~ normal\nin b : f32[N] ~ normal\n"
     "out y : f32[M, N]\ny = exp(x) * b\n",
     "stage y : map  block 64  vec 4  items 4  store stream\n"},
    {"problem registers\ndim M = 6, N = 300\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = softmax(x)\n",
     "stage y : rowwise  threads 64  rows 2  vec 4  keep register\n"},
    {"problem warps\ndim M = 5, N = 50\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = softmax(x)\n",
     "stage y : rowwise  threads 32  rows 4  vec 2  keep register  divide reciprocal\n"},
    {"problem shared\ndim M = 3, N = 300\nin x : f32[M, N] ~ normal\nin w : f32[N] ~ normal\n"
     "out y : f32[M, N]\nout m : f32[M]\nm = max(x, axis=1)\ny = x * rsqrt(mean(x * x, axis=1, "
     "keepdims=true)) * w + m[:, None]\n",
     "stage y, m : rowwise  threads 128  rows 1  vec 1  keep shared\n"},
    {"problem again\ndim M = 3, N = 300\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "d = x - mean(x, axis=1, keepdims=true)\n"
     "y = d * rsqrt(mean(d * d, axis=1, keepdims=true) + 1)\n",
     "stage y : rowwise  threads 256  rows 1  vec 2  keep reread\n"},
    {"problem wide\ndim M = 2, N = 33000\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = x - mean(x, axis=1, keepdims=true)\n",
     "stage y : rowwise  threads 32  rows 1  vec 1  keep reread\n"},
    {"problem along\ndim M = 7, N = 5000\nin x : f32[M, N] ~ normal\nout y : f32[M]\n"
     "y = sum(x, axis=1)\n",
     "stage y : reduce  threads 64  results 1  vec 4  split 4\n"},
    {"problem all\ndim M = 50, N = 70\nin x : f32[M, N] ~ normal\nout y : f32[]\n"
     "y = max(x)\n",
     "stage y : reduce  threads 32  results 2  vec 2  split 2\n"},
    {"problem across\ndim M = 301, N = 42\nin x : f32[M, N] ~ normal\nout y : f32[N]\n"
     "y = sum(x, axis=0)\n",
     "stage y : reduce  threads 4  results 16  vec 2  split 8\n"},
    {"problem halves\ndim M = 4501, N = 3\nin x : f32[M, N] ~ normal\nout y : f32[N]\n"
     "y = sum(x, axis=0)\n",
     "stage y : reduce  threads 1  results 32  vec 1  split 2\n"},
    {"problem alone\ndim M = 30, N = 43\nin x : f32[M, N] ~ normal\nout y : f32[N]\n"
     "y = tanh(sum(x, axis=0))\n",
     "stage y : reduce  threads 1  results 32  vec 1\n"},
    {"problem single\ndim M = 70, N = 50, K = 37\nin a : f32[M, K] ~ normal\n"
     "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
     "stage c : gemm  tile 32x32x8  micro 4x4  stages 1  vec 1\n"},
    {"problem twice\ndim M = 4, N = 52, K = 20\nin a : f32[K, M] ~ normal\n"
     "in b : f32[N, K] ~ normal\nin d : f32[N] ~ normal\nout c : f32[M, N]\n"
     "c = relu(a.T @ b.T + d)\n",
     "stage c : gemm  tile 64x64x8  micro 4x4  stages 2  vec 2\n"},
    {"problem slices\ndim M = 16, N = 32, K = 2080\nin a : f32[M, K] ~ normal\n"
     "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
     "stage c : gemm  tile 16x32x16  micro 2x4  stages 1  vec 4\n"},
    {"problem ragged\ndim M = 16, N = 32, K = 2084\nin a : f32[M, K] ~ normal\n"
     "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
     "stage c : gemm  tile 16x32x16  micro 2x4  stages 2  vec 4\n"},
    {"problem chunks\ndim M = 16, N = 32, K = 4104\nin a : f32[M, K] ~ normal\n"
     "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
     "stage c : gemm  tile 16x32x16  micro 2x4  stages 2  vec 4\n"},
    {"problem dots\ndim M = 3, N = 5, K = 3004\nin a : f32[M, K] ~ normal\n"
     "in b : f32[N, K] ~ normal\nin d : f32[N] ~ normal\nout c : f32[M, N]\nc = relu(a @ b.T + "
     "d)\n",
     "stage c : gemm as dot  threads 32  results 2  vec 4  split 2\n"},
    {"problem plain\ndim M = 5, N = 1500\nin x : f32[M, N] ~ normal\nout y : f32[M]\n"
     "y = sum(x, axis=1)\n",
     NULL},
};

// What can be missing from a text without a difference.
static const struct {
    const char *problem, *what;
} same[] = {
    // Every slice but the first is zeros beyond K, so more of them only take time.
    {"ragged", "K of K < chunk + 2048 ? K : chunk + 2048"},
};
enum { SAME = sizeof same / sizeof *same };

enum { KERNELS = sizeof kernels / sizeof *kernels, SEEDS = 6 };

static struct kernel *make_kernel(struct subject *s, const struct target *t, int i) {
    struct error err = {0};
    const char *text = arena_printf(&s->arena, "%skernel for %s on %s\n%s", kernels[i].problem,
                                    s->problem->name, t->name, kernels[i].stages);
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    struct lang_file file;
    const char *diagnostics = "";
    cr_assert(lang_parse(&s->arena, &source, &file, &diagnostics, &err), "%s", diagnostics);
    return file.kernels[0];
}

static void make_subject(struct subject *s, int i) {
    struct target t;
    struct error err = {0};
    *s = (struct subject){0};
    target_of_arch("sm_90a", &t);
    s->problem = problem_from(&s->arena, kernels[i].problem);
    expect(s, (uint64_t)i);
    if (!kernels[i].stages)
        lower_plain(&s->arena, s->problem, &t, &s->candidate);
    else
        cr_assert(
            lower_kernel(&s->arena, s->problem, &t, make_kernel(s, &t, i), &s->candidate, &err),
            "%s", err.text);
}

// The loops that the text was printed from.
static struct loop_program *loops_of(struct subject *s, int i) {
    struct target t;
    struct error err = {0};
    target_of_arch("sm_90a", &t);
    struct loop_program *p;
    if (!kernels[i].stages) {
        p = plain_program(&s->arena, s->problem, &t);
    } else {
        struct kernel *k = make_kernel(s, &t, i);
        cr_assert(lower_check(&s->arena, s->problem, &t, k, &err), "%s", err.text);
        p = program_lower(&s->arena, s->problem, &t, k);
    }
    pass_prune(p);
    return p;
}

static void count_expr(const struct loop_expr *e, int *n) {
    if (!e)
        return;
    bool chooses = e->op == LOOP_MIN || e->op == LOOP_MAX || e->op == LOOP_SELECT;
    n[FIBRE_MINIMUM] += e->dtype == LOOP_INDEX && chooses ? 2 : 0;
    for (int i = 0; i < loop_ops[e->op].arity; i++)
        count_expr(e->arg[i], n);
}

static void count_block(const struct loop_block *b, int *n) {
    for (const struct loop_stmt *s = b->first; s; s = s->next) {
        const struct loop_expr *all[] = {s->begin, s->end, s->low, s->high, s->value, s->index};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            count_expr(all[i], n);
        n[FIBRE_GUARD] += s->kind == LOOP_IF;
        n[FIBRE_BARRIER] += s->kind == LOOP_BARRIER;
        count_block(&s->body, n);
    }
}

// Were all found in the text that there are in the loops, and nothing else?
static void check_mutants(struct subject *s, const struct fibre_text *t, int i) {
    int there[FIBRE_KINDS] = {0}, found[FIBRE_KINDS] = {0};
    struct loop_program *p = loops_of(s, i);
    for (int k = 0; k < p->n_kernels; k++)
        count_block(&p->kernels[k]->body, there);
    for (int m = 0; m < t->n_mutants; m++)
        found[t->mutants[m].kind]++;
    for (int kind = 0; kind < FIBRE_KINDS; kind++)
        cr_assert_eq(found[kind], there[kind], "kind %d: %d of %d\n%s", kind, found[kind],
                     there[kind], t->source);
}

// Take guard number `*n` (in the order of the text) out of the loops.
static bool take_out(struct loop_block *b, int *n) {
    struct loop_stmt **at = &b->first;
    for (struct loop_stmt *s = b->first; s; at = &s->next, s = s->next) {
        if (s->kind == LOOP_IF && --*n == 0) {
            s->body.last->next = s->next;
            *at = s->body.first;
            b->last = s->next ? b->last : s->body.last;
            return true;
        }
        if (take_out(&s->body, n))
            return true;
    }
    return false;
}

// Does the interpreter of loops object when guard number `n` of the text is missing?
static bool races_without(struct subject *s, int i, int n) {
    char message[1200] = "";
    struct loop_program *p = loops_of(s, i);
    bool found = false;
    for (int j = 0; j < p->n_kernels && !found; j++)
        found = take_out(&p->kernels[j]->body, &n);
    cr_assert(found);
    double error = expect_execute(&s->expected, &s->arena, s->problem, p, message, sizeof message);
    return error < 0 && strstr(message, "is written by two threads");
}

// Which of the text's guards mutant `m` leaves out, from 1; 0: it is no guard.
static int guard_number(const struct fibre_text *t, int m) {
    int n = 0;
    for (int i = 0; i < m; i++)
        n += t->mutants[i].kind == FIBRE_GUARD;
    return t->mutants[m - 1].kind == FIBRE_GUARD ? n : 0;
}

static bool fails_for_some_seed(struct subject *s, const struct fibre_program *p, int text,
                                int mutant) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const char *fault;
        if (!is_right(s, p, (struct fibre_run){text, seed, mutant}, &fault))
            return true;
    }
    return false;
}

static bool makes_no_difference(const struct problem *p, const struct fibre_mutant *m) {
    for (int i = 0; i < SAME; i++)
        if (strcmp(same[i].problem, p->name) == 0 && strcmp(same[i].what, m->what) == 0)
            return true;
    return false;
}

struct tally {
    int all[FIBRE_KINDS], killed[FIBRE_KINDS];
    int races, same;
};

// A guard by which one thread of many stores what all of them know is not missed by the
// result, which is stored many times then; it is missed by the interpreter of loops, which
// lets no two threads write the same place.
static void try_mutant(struct subject *s, const struct fibre_program *p, struct fibre_run r,
                       struct tally *tally) {
    const struct fibre_text *t = &p->texts[r.text];
    const struct fibre_mutant *m = &t->mutants[r.mutant - 1];
    int guard = guard_number(t, r.mutant);
    bool fails = fails_for_some_seed(s, p, r.text, r.mutant);
    if (makes_no_difference(s->problem, m)) {
        cr_expect(!fails, "it makes a difference: %s\n%s", m->what, t->source);
        tally->same++;
        return;
    }
    tally->all[m->kind]++;
    if (!fails && guard > 0 && races_without(s, r.text, guard)) {
        tally->races++;
        fails = true;
    }
    tally->killed[m->kind] += fails;
    cr_expect(fails, "survives without `%s`:\n%s", m->what, t->source);
}

Test(cuda_text, fails_without_any_one_barrier_or_guard) {
    struct arena a = {0};
    struct subject *s = arena_array(&a, struct subject, KERNELS);
    struct fibre_program *p = arena_new(&a, struct fibre_program);
    struct tally tally = {0};
    int all = 0, killed = 0;
    for (int i = 0; i < KERNELS; i++) {
        make_subject(&s[i], i);
        add_text(p, &s[i]);
    }
    cr_assert_not_null(strstr(s[0].candidate.source, "? x_v : b_v)"));
    // Clang makes NaN of registers that are read before they are written.
    fibre_build(&a, "clang", p);
    for (int i = 0; i < KERNELS; i++) {
        const char *fault;
        check_mutants(&s[i], &p->texts[i], i);
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            cr_assert(is_right(&s[i], p, (struct fibre_run){i, seed, 0}, &fault), "%s\n%s",
                      s[i].candidate.source, fault);
        for (int m = 1; m <= p->texts[i].n_mutants; m++)
            try_mutant(&s[i], p, (struct fibre_run){.text = i, .mutant = m}, &tally);
        expect_close(&s[i].expected);
        arena_reset(&s[i].arena);
    }
    for (int kind = 0; kind < FIBRE_KINDS; kind++) {
        all += tally.all[kind];
        killed += tally.killed[kind];
        cr_assert_gt(tally.all[kind], 15);
    }
    fprintf(
        stderr,
        "mutants: %d of %d killed (%d of %d barriers, %d of %d guards, %d of %d sides of minima), "
        "%d of them by the check for races; %d more that only takes time\n",
        killed, all, tally.killed[FIBRE_BARRIER], tally.all[FIBRE_BARRIER],
        tally.killed[FIBRE_GUARD], tally.all[FIBRE_GUARD], tally.killed[FIBRE_MINIMUM],
        tally.all[FIBRE_MINIMUM], tally.races, tally.same);
    cr_assert_eq(killed, all);
    cr_assert_eq(tally.same, SAME);
    fibre_remove(p);
    arena_reset(&a);
}

static void check_file(const char *path) {
    struct arena a = {0};
    struct error err = {0};
    struct lang_source source = {.file = path};
    struct lang_file file;
    const char *diagnostics = "";
    source.text = file_read(&a, path, 1 << 20, &source.len, &err);
    cr_assert(source.text && lang_parse(&a, &source, &file, &diagnostics, &err), "%s", err.text);
    for (int i = 0; i < file.n_problems; i++) {
        struct problem *p = file.problems[i];
        struct target t;
        struct kernel k;
        char message[1200] = "";
        int64_t elements = 0;
        if (!support_problem(p, &err))
            continue;
        target_of_arch(archs[i % 3], &t);
        lower_default(&a, p, &t, &k);
        struct loop_program *programs[] = {program_lower(&a, p, &t, &k), plain_program(&a, p, &t)};
        for (node_id n = 0; n < p->graph.n_nodes; n++)
            elements += shape_count(&p->graph.nodes[n].shape);
        for (int j = 0; j < 2; j++) {
            cr_assert(pass_verify(programs[j], &err), "%s: %s", path, err.text);
            // What is large is lowered too, but not run.
            if (elements > 20000)
                continue;
            struct expectation e;
            expect_open(&e, &a, p, 1);
            cr_assert_geq(expect_execute(&e, &a, p, programs[j], message, sizeof message), 0,
                          "%s: %s", path, message);
            expect_close(&e);
        }
    }
    arena_reset(&a);
}

Test(cuda_text, exists_for_every_accepted_problem) {
    static const char *const directories[] = {"tests/lang/accept", "problems"};
    int n_files = 0;
    for (int i = 0; i < 2; i++) {
        DIR *dir = opendir(directories[i]);
        cr_assert_not_null(dir);
        for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
            struct arena a = {0};
            if (strstr(e->d_name, ".hone")) {
                check_file(arena_printf(&a, "%s/%s", directories[i], e->d_name));
                n_files++;
            }
            arena_reset(&a);
        }
        closedir(dir);
    }
    cr_assert_geq(n_files, 8);
}
