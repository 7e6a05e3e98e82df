// The speed of light, and why a limit is below it.
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <glob.h>
#include <math.h>

#include "base/file.h"
#include "model/bound.h"
#include "model/sheet.h"
#include "parsed.h"

static struct target card(const char *name) {
    struct target t;
    cr_assert(target_of_card(name, &t));
    return t;
}

// As if calibrated: so much of the data sheet's peaks.
static void measure(struct target *t, double share) {
    struct sheet s;
    cr_assert(sheet_of(t, &s));
    t->ceilings = (struct ceilings){.present = true,
                                    .launch_s = 2e-6,
                                    .f32_flops_per_s = share * s.per_s[PIPE_F32],
                                    .f64_flops_per_s = share * s.per_s[PIPE_F64],
                                    .tf32_flops_per_s = share * s.per_s[PIPE_TF32],
                                    .bf16_flops_per_s = share * s.per_s[PIPE_F16],
                                    .f8_flops_per_s = share * s.per_s[PIPE_F8],
                                    .i8_flops_per_s = share * s.per_s[PIPE_I8],
                                    .functions_per_s = share * s.per_s[PIPE_F32] / 8};
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        t->ceilings.traffic[i] = (struct ceiling_traffic){.read_fraction = 1 - i / 3.,
                                                          .bytes_per_s = share * s.bytes_per_s};
}

static const char product_8192[] =
    "problem p\ndim N = 8192\nin a : bf16[N, N]\nin b : bf16[N, N]\nout c : bf16[N, N]\n"
    "c = a @ b\n";

Test(light, is_the_figure_that_people_know) {
    struct arena a = {0};
    struct target t = card("h200");
    struct bound b;
    bound_compute(parsed(&a, product_8192), &t, &b);
    cr_assert(epsilon_eq(dbl, b.light_s, 1.11e-3, 2e-6));
    cr_assert(epsilon_eq(dbl, b.light_memory_s, 3 * 2 * 8192. * 8192 / 4.8e12, 1e-9));
    cr_assert(epsilon_eq(dbl, b.limit_s, b.light_s / 2, 1e-9));
    const char *words = bound_explain(&a, parsed(&a, product_8192), &b, &t);
    cr_assert(strstr(words, "speed of light 1.11 ms: compute-bound") != NULL, "%s", words);
    cr_assert(strstr(words, "1.1 TFLOP of f16/bf16 products at 990 TFLOP/s: 1.11 ms") != NULL);
    cr_assert(strstr(words, "403 MB at 4.8 TB/s: 83.9 µs") != NULL, "%s", words);
    arena_reset(&a);
}

Test(light, f64_has_a_rate_in_products_and_one_outside) {
    struct arena a = {0};
    struct target t = card("h200");
    struct bound b;
    bound_compute(parsed(&a, "problem p\nin a : f64[64, 64]\nin b : f64[64, 64]\n"
                             "out c : f64[64, 64]\nc = a @ b + 1\n"),
                  &t, &b);
    cr_assert(eq(dbl, b.light.pipe[PIPE_F64].per_s, 67e12));
    cr_assert(eq(dbl, b.light.rest.per_s, 34e12));
    cr_assert(eq(dbl, b.light.rest.ops, 64 * 64));
    arena_reset(&a);
}

Test(light, of_a_card_that_is_here_is_by_its_data_sheet) {
    struct arena a = {0};
    struct target t = card("h200");
    struct bound by_name, by_driver;
    bound_compute(parsed(&a, product_8192), &t, &by_name);
    t.name = "cuda:0";
    t.device = "NVIDIA H200";
    t.source = NULL;
    target_set_peaks(&t, 9, 0);
    bound_compute(parsed(&a, product_8192), &t, &by_driver);
    cr_assert(eq(dbl, by_driver.light_s, by_name.light_s));
    // At its own top clock it does more, so the limit is lower.
    cr_assert(lt(dbl, by_driver.limit_s, by_name.limit_s));
    t.device = "Fake 9000";
    bound_compute(parsed(&a, product_8192), &t, &by_driver);
    cr_assert(epsilon_eq(dbl, by_driver.light_s, by_driver.limit_s * 2, 1e-9));
    arena_reset(&a);
}

Test(light, of_a_cpu_follows_from_its_clock_or_is_absent) {
    struct arena a = {0};
    struct target t = {.name = "cpu",
                       .n_threads = 4,
                       .vector_bytes = 32,
                       .llc_bytes = 1 << 20,
                       .top_clock_hz = 3e9,
                       .top_clock_known = true,
                       .peak_bytes_per_s = 4 * 3e9 * 128,
                       .peak_per_s = {[PIPE_F32] = 4 * 3e9 * 64, [PIPE_F64] = 4 * 3e9 * 32}};
    static const char text[] = "problem p\nin a : f32[512, 512]\nin b : f32[512, 512]\n"
                               "out c : f32[512, 512]\nc = a @ b\n";
    struct bound b, back;
    struct error err = {0};
    bound_compute(parsed(&a, text), &t, &b);
    cr_assert(epsilon_eq(dbl, b.light_s, 2 * pow(512, 3) / (4 * 3e9 * 32), 1e-9));
    t.top_clock_known = false;
    bound_compute(parsed(&a, text), &t, &b);
    cr_assert(isnan(b.light_s));
    cr_assert(bound_limit_why(&a, &b) != NULL, "told without a data sheet too");
    const char *words = bound_explain(&a, parsed(&a, text), &b, &t);
    cr_assert(strstr(words, "speed of light: not known; this machine hides its clock") != NULL);
    words = bound_line(&a, &b);
    cr_assert(strstr(words, "speed of light not known, reach not known, limit") != NULL);
    json_t *json = bound_to_json(&b);
    cr_assert(eq(int, json_typeof(json_object_get(json, "speed_of_light")), JSON_NULL));
    cr_assert(bound_from_json(json, &back, &err));
    cr_assert(isnan(back.light_s));
    json_decref(json);
    arena_reset(&a);
}

// ---- reasons

static const struct reason_case {
    const char *text;
    enum limit_cause products, bytes;
    const char *why;
} reason_cases[] = {
    {"in a : f16[4096, 4096]\nin b : f16[4096, 4096]\nout c : f16[4096, 4096]\nc = a @ b",
     CAUSE_FAST, CAUSE_NONE, "fast products (Strassen's kind) could do half the multiplications"},
    {"in a : f16[4096, 4096]\nin b : f16[4096, 4096]\nout c : f16[4096]\nt = a @ b\n"
     "c = sum(t, axis=1)",
     CAUSE_ALGEBRA, CAUSE_NONE, "algebra could leave out the product 't'"},
    {"in x : f16[16, 256, 64, 64]\nin w : f16[256, 256, 3, 3]\nout y : f16[16, 256, 64, 64]\n"
     "y = conv2d(x, w, padding=1)",
     CAUSE_TRANSFORM, CAUSE_CACHE,
     "a transform (Winograd, FFT) could do 'y.f32' in 1/9 of the products, and outputs could still "
     "lie in the last-level cache"},
    // Pooling leaves the last row and column of the convolution out.
    {"in x : f32[128, 16, 65, 65]\nin w : f32[64, 16, 3, 3]\nout y : f32[128, 64, 31, 31]\n"
     "t = conv2d(x, w)\ny = max_pool2d(t, 2)",
     CAUSE_TRANSFORM, CAUSE_PART,
     "a transform (Winograd, FFT) could do 't' in 1/9 of the products, and the part of 't' that is "
     "needed could need little itself"},
    {"in x : f32[4096, 4096]\nin m : bool[4096, 4096]\nout y : f32[4096, 4096]\n"
     "y = where(m, x, 0)",
     CAUSE_NONE, CAUSE_MASK, "the mask of 'y' depends on data and could leave all out"},
    {"in x : f32[32768, 1024]\nin i : i32[32768] ~ permutation\nout y : f32[32768, 1024]\n"
     "j = minimum(i, 100)\ny = take(x, j)",
     CAUSE_NONE, CAUSE_INDICES, "the indices of 'y' could all be the same"},
    {"in x : f32[1024, 1024]\nout y : f32[1024, 1024]\ny = exp(x)", CAUSE_NONE, CAUSE_CACHE,
     "outputs could still lie in the last-level cache"},
    {"in x : f32[8192, 8192]\nout y : f32[1]\ny = sum(x)[None]", CAUSE_NONE, CAUSE_NONE, NULL},
};

static bool same_text(const char *x, const char *y) {
    return x && y ? strcmp(x, y) == 0 : !x && !y;
}

Test(light, a_limit_below_it_says_why) {
    struct arena a = {0};
    struct target t = card("h200");
    for (size_t i = 0; i < sizeof reason_cases / sizeof *reason_cases; i++) {
        const struct reason_case *c = &reason_cases[i];
        struct bound b, back;
        struct error err = {0};
        bound_compute(parsed(&a, arena_printf(&a, "problem p\n%s\n", c->text)), &t, &b);
        const char *why = bound_limit_why(&a, &b);
        cr_expect(b.reason[REASON_PRODUCTS].cause == c->products, "%zu: %s", i, why);
        cr_expect(b.reason[REASON_BYTES].cause == c->bytes, "%zu: %s", i, why);
        cr_expect(same_text(why, c->why), "%zu: %s", i, why);
        json_t *json = bound_to_json(&b);
        cr_expect(bound_from_json(json, &back, &err));
        json_decref(json);
        const char *again = bound_limit_why(&a, &back);
        cr_expect(same_text(why, again), "%zu", i);
        cr_expect(eq(dbl, back.light_s, b.light_s));
        cr_expect(eq(dbl, load_pipe_s(&back.light, load_longest(&back.light)),
                     load_pipe_s(&b.light, load_longest(&b.light))));
    }
    arena_reset(&a);
}

Test(light, a_reach_below_it_says_why) {
    struct arena a = {0};
    struct target t = card("h200");
    measure(&t, 0.8);
    struct bound b;
    bound_compute(parsed(&a, "problem p\nin a : f16[4096, 4096]\nin b : f16[4096, 4096]\n"
                             "out c : f16[4096]\nc = sum(a @ b, axis=1)\n"),
                  &t, &b);
    cr_assert(lt(dbl, b.reach_s, b.light_s));
    cr_assert_str_eq(bound_reach_why(&b), "a sum over a product counts as a product of sums");
    bound_compute(parsed(&a, product_8192), &t, &b);
    cr_assert(bound_reach_why(&b) == NULL);
    measure(&t, 1.1);
    bound_compute(parsed(&a, product_8192), &t, &b);
    cr_assert_str_eq(bound_reach_why(&b), "the measured rate is above the data sheet's");
    arena_reset(&a);
}

// On a CPU all arithmetic is the same units' work: 1e8 FLOP at 1e11/s, 5e6 functions at 1e9/s.
Test(light, reach_of_a_cpu_names_every_part_of_its_arithmetic) {
    struct arena a = {0};
    struct target t = {.name = "cpu", .n_threads = 2, .vector_bytes = 64, .peak_bytes_per_s = 1e12};
    t.peak_per_s[PIPE_F32] = 1e12;
    t.ceilings = (struct ceilings){.present = true,
                                   .launch_s = 1e-6,
                                   .f32_flops_per_s = 1e11,
                                   .functions_per_s = 1e9,
                                   .tf32_flops_per_s = NAN};
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        t.ceilings.traffic[i] =
            (struct ceiling_traffic){.read_fraction = 1 - i / 3., .bytes_per_s = 1e12};
    struct problem *p = parsed(&a, "problem p\nin x : f32[1000, 10]\nin w : f32[10, 5000]\n"
                                   "out y : f32[1000, 5000]\ny = exp(x @ w)\n");
    struct bound b;
    bound_compute(p, &t, &b);
    const char *words = bound_explain(&a, p, &b, &t);
    cr_assert(strstr(words,
                     "100 MFLOP by f32 multiply-adds at the measured 100 GFLOP/s (1 ms),\n  "
                     "5 M functions such as exp at the measured 1 G/s (5 ms) take 6 ms") != NULL,
              "%s", words);
    arena_reset(&a);
}

// An attention multiplies its first operands as they are and its second as two numbers each.
Test(light, roofline_has_the_mean_of_different_products) {
    struct arena a = {0};
    struct target t = card("h200");
    struct problem *p = parsed(&a, "problem p\nin q : bf16[512, 64]\nin k : bf16[512, 64]\n"
                                   "in v : bf16[512, 64]\nout y : bf16[512, 64]\n"
                                   "y = softmax(q @ k.T) @ v\n");
    struct bound b;
    bound_compute(p, &t, &b);
    const char *picture = bound_roofline(&a, &b, &t, 80);
    cr_assert(strstr(picture, "f16/bf16 products / 1.5 ") != NULL, "%s", picture);
    cr_assert(strstr(picture, "660 TFLOP/s") != NULL, "%s", picture);
    arena_reset(&a);
}

// ---- every problem on every card

static void check_parts(const struct bound *b, const char *where) {
    double memory = b->light.bytes / b->light.bytes_per_s;
    double compute = load_pipe_s(&b->light, load_longest(&b->light));
    cr_expect(fabs(b->light_s - fmax(memory, compute)) <= 1e-9 * b->light_s, "%s", where);
    memory = b->limit.bytes / b->limit.bytes_per_s;
    compute = load_pipe_s(&b->limit, load_longest(&b->limit));
    cr_expect(fabs(b->limit_s - fmax(memory, compute)) <= 1e-9 * b->limit_s, "%s", where);
    // What the limit leaves out and what it counts are what the speed of light counts.
    enum pipe longest = load_longest(&b->limit);
    double bytes = b->limit.bytes, flops = b->limit.pipe[longest].flops;
    for (enum limit_cause c = 0; c < CAUSE_COUNT; c++) {
        bytes += b->left_out[REASON_BYTES][c];
        flops += b->left_out[REASON_PRODUCTS][c];
    }
    cr_expect(fabs(bytes - b->light.bytes) <= 1e-9 * bytes, "%s: %g of %g bytes", where, bytes,
              b->light.bytes);
    cr_expect(fabs(flops - b->light.pipe[longest].flops) <= 1e-9 * flops, "%s: %g of %g flops",
              where, flops, b->light.pipe[longest].flops);
}

static void check_problem(struct arena *a, const struct problem *p, const char *card_name) {
    struct target t = card(card_name);
    measure(&t, 0.8);
    const char *where = arena_printf(a, "%s on %s", p->name, card_name);
    struct bound b;
    bound_compute(p, &t, &b);
    cr_expect(b.light_s > 0 && isfinite(b.light_s), "%s", where);
    cr_expect(b.limit_s <= b.light_s * (1 + 1e-9), "%s: limit %g, light %g", where, b.limit_s,
              b.light_s);
    cr_expect(b.limit_s >= 0.98 * b.light_s || bound_limit_why(a, &b), "%s: limit %g, light %g",
              where, b.limit_s, b.light_s);
    cr_expect(b.light_s <= b.reach_s || bound_reach_why(&b), "%s: light %g, reach %g", where,
              b.light_s, b.reach_s);
    check_parts(&b, where);
}

Test(light, holds_for_every_problem_on_every_card) {
    static const char *const patterns[] = {"problems/*.hone", "tests/lang/accept/*.hone"};
    int n = 0;
    for (int i = 0; i < 2; i++) {
        glob_t files;
        cr_assert(glob(patterns[i], 0, NULL, &files) == 0);
        for (size_t k = 0; k < files.gl_pathc; k++) {
            struct arena a = {0};
            struct error err = {0};
            size_t len;
            char *text = file_read(&a, files.gl_pathv[k], 1 << 20, &len, &err);
            cr_assert(text != NULL, "%s", err.text);
            struct lang_file file = parsed_file(&a, text);
            for (int j = 0; j < file.n_problems; j++)
                for (int c = 0; card_names[c]; c++, n++)
                    check_problem(&a, file.problems[j], card_names[c]);
            arena_reset(&a);
        }
        globfree(&files);
    }
    cr_assert(ge(int, n, 31 * 14));
}
