// Products as dot products along K: strips of rows that share what is read of the right factor, and
// rows that begin anywhere, moved in whole vectors. Random sizes, types and knobs.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "family/family.h"
#include "family/program.h"
#include "family/stages.h"
#include "loop/passes.h"
#include "text_mutants.h"

enum { PRODUCTS = 90, TRIES = 200, TOLERANCE = 60 };

static const char *random_product(struct arena *a, struct rng *r) {
    static const int terms[] = {128, 129, 130, 131, 257, 1027, 2050, 5003, 9000};
    static const char *const types[] = {"f32", "f16", "bf16", "f64"};
    static const char *const ends[] = {"a @ b", "relu(a @ b) + 1", "relu(a) @ b", "a @ (b * 2)"};
    const char *type = types[rng_below(r, 4)];
    int batch = (int)rng_below(r, 3), columns = 1 + (int)rng_below(r, 3) / 2 * 2;
    const char *lead = batch ? arena_printf(a, "%d, ", batch + 1) : "";
    int m = 1 + (int)rng_below(r, 21), k = terms[rng_below(r, 9)];
    return arena_printf(a,
                        "problem p\nin a : %s[%s%d, %d] ~ normal\nin b : %s[%s%d, %d] ~ normal\n"
                        "out c : %s[%s%d, %d]\nc = %s\n",
                        type, lead, m, k, type, lead, k, columns, type, lead, m, columns,
                        ends[rng_below(r, 4)]);
}

static struct kernel *make(struct arena *a, struct rng *r, const struct problem *p,
                           const struct target *t) {
    struct kernel *k = arena_new(a, struct kernel);
    struct objection why;
    *k = (struct kernel){.problem = p->name, .target = target_kernel_name(t)};
    struct kernel_stage *s = kernel_add_stage(a, k, 0);
    *s = (struct kernel_stage){.values = {"c"}, .n_values = 1, .family = "gemm", .emitter = "dot"};
    const struct form *f = family_form(family_find("gemm"), stages_region(a, p, k, 0), &why);
    if (!f)
        return NULL;
    family_complete(&gemm_dot, f, t, s);
    struct kernel_stage first = *s;
    for (int n = 0; n < TRIES; n++) {
        for (const struct knob *knob = gemm_dot.knobs; knob->name; knob++)
            stage_choose(knob, s, 0, (int)rng_below(r, (uint64_t)knob_choices(knob, 0)));
        if (emitter_is_legal(&gemm_dot, f, t, s, &why))
            return k;
    }
    *s = first;
    return k;
}

Test(dot, random_products_by_strips_and_peeled_rows) {
    struct rng r;
    rng_init(&r, 11);
    int strips = 0, peeled = 0;
    for (int i = 0; i < PRODUCTS; i++) {
        struct arena a = {0};
        struct error err = {0};
        char message[1200] = "";
        struct target t;
        target_of_arch(i % 2 ? "sm_80" : "sm_90a", &t);
        struct problem *p = problem_from(&a, random_product(&a, &r));
        struct kernel *k = make(&a, &r, p, &t);
        if (!k) {
            arena_reset(&a);
            continue;
        }
        struct loop_program *program = program_lower(&a, p, &t, k);
        pass_unroll(program);
        pass_prune(program);
        cr_assert(pass_verify(program, &err), "%s%s%s", p->text, kernel_print(&a, k), err.text);
        struct expectation e;
        expect_open(&e, &a, p, (uint64_t)i);
        double error = expect_execute(&e, &a, p, program, message, sizeof message);
        cr_expect(error >= 0 && error < TOLERANCE, "%s%serror %g %s", p->text, kernel_print(&a, k),
                  error, message);
        const struct shape *s = &p->graph.nodes[p->inputs[0].node].shape;
        strips += stage_number(k->stages[0], "rows", 0) > 1;
        peeled += s->size[s->rank - 1] % stage_number(k->stages[0], "vec", 0) != 0;
        expect_close(&e);
        arena_reset(&a);
    }
    cr_expect(strips > PRODUCTS / 6 && peeled > PRODUCTS / 9, "%d in strips, %d peeled", strips,
              peeled);
}

// Sizes in which the last strip, the last block and both ends of rows matter.
static const struct mutant_kernel kernels[] = {
    {"problem strips\nin a : f32[2, 7, 520]\nin b : f32[2, 520, 1]\nout y : f32[2, 7, 1]\n"
     "y = a @ b\n",
     "stage y : gemm as dot  threads 64  results 1  vec 4  split 2  rows 4\n"},
    {"problem peeled\nin a : f32[9, 1037]\nin b : f32[1037, 1]\nout y : f32[9, 1]\ny = a @ b\n",
     "stage y : gemm as dot  threads 64  results 1  vec 4  split 2  rows 2\n"},
    {"problem single\nin a : f16[6, 1029]\nin b : f16[1029, 1]\nout y : f16[6, 1]\ny = a @ b\n",
     "stage y : gemm as dot  threads 32  results 4  vec 4  split 1  rows 1\n"},
};

Test(dot, fails_without_any_one_guard_or_barrier) {
    static const struct mutant_set set = {.kernels = kernels,
                                          .n_kernels = sizeof kernels / sizeof *kernels};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_GUARD], 8);
    cr_assert_gt(tally.all[FIBRE_MINIMUM], 5);
}

Test(dot, long_products_of_few_results_begin_with_it) {
    static const struct {
        const char *sizes, *stage;
    } cases[] = {
        {"a : f32[2048, 1048576]\nin b : f32[1048576, 1]\nout c : f32[2048, 1]",
         "stage c : gemm as dot  threads 512  results 1  vec 4  split 32  rows 4\n"},
        {"a : f32[2048, 1048575]\nin b : f32[1048575, 1]\nout c : f32[2048, 1]",
         "stage c : gemm as dot  threads 512  results 1  vec 4  split 16  rows 4\n"},
        {"a : bf16[2048, 1048575]\nin b : bf16[1048575, 1]\nout c : bf16[2048, 1]",
         "stage c : gemm as dot  threads 512  results 1  vec 4  split 16  rows 4\n"},
        {"a : f32[3, 100000]\nin b : f32[100000, 1]\nout c : f32[3, 1]",
         "stage c : gemm as dot  threads 512  results 1  vec 4  split 4  rows 1\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct target t;
        struct kernel k;
        target_of_arch("sm_90a", &t);
        struct problem *p =
            problem_from(&a, arena_printf(&a, "problem p\nin %s\nc = a @ b\n", cases[i].sizes));
        lower_default(&a, p, &t, &k);
        const char *text = kernel_print(&a, &k);
        cr_expect(strstr(text, cases[i].stage), "%s", text);
        arena_reset(&a);
    }
}
