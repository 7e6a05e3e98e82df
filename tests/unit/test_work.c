// Least work and bounds worked by hand, one rule each.
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "model/bound.h"
#include "parsed.h"

// A GPU of round figures: 1 TB/s, 16 MiB of L2 and nothing else on the chip; f32 1, f64 2, TF32 6,
// f16 12, f8 24, i8 48 TFLOP/s.
static struct target round_gpu(void) {
    struct target t = {.name = "round",
                       .device = "Round",
                       .isa = "sm_90a",
                       .is_gpu = true,
                       .llc_bytes = 16 << 20,
                       .peak_bytes_per_s = 1e12,
                       .peak_per_s = {[PIPE_F32] = 1e12,
                                      [PIPE_F64] = 2e12,
                                      [PIPE_TF32] = 6e12,
                                      [PIPE_F16] = 12e12,
                                      [PIPE_F8] = 24e12,
                                      [PIPE_I8] = 48e12}};
    t.ceilings = (struct ceilings){.present = true,
                                   .launch_s = 1e-6,
                                   .f32_flops_per_s = 1e12,
                                   .f64_flops_per_s = 2e12,
                                   .tf32_flops_per_s = 6e12,
                                   .bf16_flops_per_s = 12e12,
                                   .f8_flops_per_s = 24e12,
                                   .i8_flops_per_s = 48e12,
                                   .functions_per_s = 1e11};
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        t.ceilings.traffic[i] =
            (struct ceiling_traffic){.read_fraction = 1 - i / 3., .bytes_per_s = 1e12};
    return t;
}

// Blocks of 1 KiB: 16x16 f32.
struct work_case {
    const char *name, *text;
    double read, least, written;  // bytes
    double contract;              // flops in contractions
};

#define X "in x : f32[16, 16]\n"
#define Y "out y : f32[16, 16]\n"

static const struct work_case work_cases[] = {
    {"every input and output once", X Y "y = x + x * 2", 1024, 1024, 1024, 0},
    {"intermediates are free", X Y "t = exp(x)\ny = t + 1", 1024, 1024, 1024, 0},
    {"types as stored", "in x : f16[16, 16]\nout y : i8[16, 16]\ny = i8(x)", 512, 512, 256, 0},
    {"i4 is packed", "in x : i4[16, 16] ~ integers(-8, 7)\n" Y "y = x * 0.5", 128, 128, 1024, 0},
    {"a broadcast is read once", "in x : f32[16]\n" Y "y = broadcast_to(x, (16, 16))", 64, 64, 1024,
     0},
    {"outside a slice nothing counts", X "out y : f32[4, 16]\ny = x[0:4] + 1", 256, 256, 256, 0},
    {"slices apart add up", X "out y : f32[8, 16]\ny = x[0:8] * x[8:16]", 1024, 1024, 512, 0},
    {"every second row twice over", X "out y : f32[8, 16]\ny = x[::2] * x[1::2]", 1024, 1024, 512,
     0},
    {"slices that meet may be the same", X "out y : f32[8, 16]\ny = x[0:8] * x[4:12]", 1024, 512,
     512, 0},
    {"a mask of positions halves", X Y "y = tril(x)", 1024 * 136 / 256, 532, 1024, 0},
    {"a mask of data may be false", X "in m : f32[16, 16]\n" Y "y = where(m > 0, x, 0)", 2048, 1024,
     1024, 0},
    {"a reduction reads its group", X "out y : f32[16]\ny = sum(x, axis=1)", 1024, 1024, 64, 0},
    {"one row's reduction", X "out y : f32[1]\ny = sum(x, axis=1)[3:4]", 64, 64, 4, 0},
    {"a matmul", X "in w : f32[16, 16]\n" Y "y = x @ w", 2048, 2048, 1024, 8192},
    {"rows of a matmul", X "in w : f32[16, 16]\nout y : f32[4, 16]\ny = (x @ w)[0:4]", 2048, 512,
     256, 2048},
    {"half a matmul under a mask", X "in w : f32[16, 16]\n" Y "y = tril(x @ w)", 2048, 1152, 1024,
     2 * 16 * 136},
    {"a matmul with what a mask made zero", X "in w : f32[16, 16]\n" Y "y = tril(x) @ w",
     1024 * 136 / 256 + 1024, 532 + 1024, 1024, 2 * 16 * 136},
    {"both products under a causal softmax",
     X "in k : f32[16, 16]\nin v : f32[16, 16]\n" Y "y = causal_attention(x, k, v)", 3072, 2176,
     1024, 2 * 2 * 16 * 136},
    {"a mask of data says nothing of a softmax's zeros",
     X "in v : f32[16, 16]\nin m : bool[16, 16]\n" Y "y = softmax(where(m, x, -1e30)) @ v", 2304,
     1280, 1024, 8192},
    {"small is not zero",
     X "in w : f32[16, 16]\n" Y
       "c = arange(16)[:, None] >= arange(16)[None, :]\ny = softmax(where(c, x, -3)) @ w",
     1024 * 136 / 256 + 1024, 532 + 1024, 1024, 8192},
    {"a sum over columns goes onto the right operand",
     X "in w : f32[16, 16]\nout y : f32[16]\ny = sum((x @ w) * 2 - 1, axis=1)", 2048, 2048, 64,
     8192 / 16},
    {"one over rows onto the left",
     X "in w : f32[16, 16]\nout y : f32[16]\ny = mean(x @ w, axis=0)", 2048, 2048, 64, 8192 / 16},
    {"one over both onto both", X "in w : f32[16, 16]\nout y : f32\ny = sum(x @ w)", 2048, 2048, 4,
     8192 / 256},
    {"not one of what is not linear",
     X "in w : f32[16, 16]\nout y : f32[16]\ny = sum(abs(x @ w), axis=1)", 2048, 2048, 64, 8192},
    {"nor a maximum", X "in w : f32[16, 16]\nout y : f32[16]\ny = max(x @ w, axis=1)", 2048, 2048,
     64, 8192},
    {"nor of what is asked for itself",
     X "in w : f32[16, 16]\nout y : f32[16]\nout z : f32[16, 16]\nz = x @ w\ny = sum(z, axis=1)",
     2048, 2048, 1088, 8192},
    {"nor over batches",
     "in x : f32[2, 16, 16]\nin w : f32[2, 16, 16]\n" Y "y = sum(x @ w, axis=0)", 4096, 4096, 1024,
     2 * 8192},
    {"products in a row count as written",
     X "in w : f32[16, 16]\nin v : f32[16, 1]\nout y : f32[16, 1]\ny = (x @ w) @ v", 2112, 2112, 64,
     8192 + 512},
    {"a convolution",
     "in x : f32[1, 2, 8]\nin w : f32[4, 2, 3]\nout y : f32[1, 4, 8]\n"
     "y = conv1d(x, w, padding=1)",
     160, 160, 128, 2 * 4 * 8 * 6},
    {"strides skip",
     "in x : f32[1, 2, 8]\nin w : f32[4, 2, 1]\nout y : f32[1, 4, 4]\n"
     "y = conv1d(x, w, stride=2)",
     64, 64, 64, 2 * 4 * 4 * 2},
    {"a pool that skips",
     "in x : f32[1, 1, 9]\nout y : f32[1, 1, 3]\n"
     "y = max_pool1d(x, 2, stride=3)",
     24, 24, 12, 0},
    {"rows that the indices name", "in i : i32[16] ~ integers(3, 3)\n" X Y "y = embedding(x, i)",
     128, 128, 1024, 0},
    {"one element of each row, and what all rows need for it",
     X "in i : i64[16] ~ integers(2, 2)\nout y : f32\ny = cross_entropy(x, i)", 1152, 1152, 4, 0},
    {"groups of rows",
     "in x : f16[8, 4]\nin o : i64[4] ~ integers(0, 0)\nin w : f16[3, 4, 4]\nout y : f32[8, 4]\n"
     "y = ragged_matmul(x, w, o)",
     32, 32, 128, 0},
    {"params alone are prepared",
     X "param w : f32[16, 16]\nparam v : f32[16, 16]\n" Y "y = x + w @ v", 2048, 2048, 1024, 0},
    {"a param's own bytes when it is smaller", X "param w : f32[16]\n" Y "y = x * exp(w)", 1088,
     1088, 1024, 0},
};

static struct problem *problem_of(struct arena *a, const char *text) {
    return parsed(a, arena_printf(a, "problem p\n%s\n", text));
}

Test(work, is_what_was_worked_out_by_hand) {
    struct arena a = {0};
    struct target t = round_gpu();
    for (size_t i = 0; i < sizeof work_cases / sizeof work_cases[0]; i++) {
        const struct work_case *c = &work_cases[i];
        struct work w;
        work_count(problem_of(&a, c->text), &t, &w);
        cr_expect(fabs(w.bytes_read - c->read) < 1, "%s: reads %g, not %g", c->name, w.bytes_read,
                  c->read);
        cr_expect(fabs(w.bytes_least - c->least) < 3, "%s: at least %g, not %g", c->name,
                  w.bytes_least, c->least);
        cr_expect(eq(dbl, w.bytes_written, c->written), "%s: writes %g", c->name, w.bytes_written);
        cr_expect(fabs(w.contract_flops - c->contract) < 1, "%s: %g flops, not %g", c->name,
                  w.contract_flops, c->contract);
    }
    arena_reset(&a);
}

Test(work, depends_on_data_only_where_indices_do) {
    struct arena a = {0};
    struct target t = round_gpu();
    struct work w;
    work_count(problem_of(&a, X Y "y = x + 1"), &t, &w);
    cr_assert(not(w.depends_on_data));
    work_count(problem_of(&a, "in i : i32[16] ~ integers(0, 15)\n" X Y "y = embedding(x, i)"), &t,
               &w);
    cr_assert(w.depends_on_data);
    work_count(problem_of(&a, X "out y : f32[16, 2]\ny = topk(x, 2)"), &t, &w);
    cr_assert(w.depends_on_data);
    arena_reset(&a);
}

// A promise on the first input; 16x16 times 16x16 is 4096 multiply-adds.
Test(work, promises_take_bytes_and_products_away) {
    static const struct {
        enum promise left, right;
        bool transposed;
        double bytes, products;
    } cases[] = {
        {PROMISE_NONE, PROMISE_NONE, false, 2048, 4096},
        {PROMISE_LOWER, PROMISE_NONE, false, 136 * 4 + 1024, 136 * 16},
        {PROMISE_UPPER, PROMISE_NONE, true, 136 * 4 + 1024, 136 * 16},
        {PROMISE_DIAGONAL, PROMISE_NONE, false, 64 + 1024, 256},
        {PROMISE_SYMMETRIC, PROMISE_NONE, false, 2048, 4096},
        // Lower times lower: the sum of (16 - k)(k + 1).
        {PROMISE_LOWER, PROMISE_LOWER, false, 136 * 8, 816},
        // Upper times lower: the sum of (k + 1)^2.
        {PROMISE_UPPER, PROMISE_LOWER, false, 136 * 8, 1496},
    };
    struct arena a = {0};
    struct target t = round_gpu();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct problem *p =
            problem_of(&a, cases[i].transposed ? X "in w : f32[16, 16]\n" Y "y = x.T @ w"
                                               : X "in w : f32[16, 16]\n" Y "y = x @ w");
        p->inputs[0].promise = cases[i].left;
        p->inputs[1].promise = cases[i].right;
        struct work w;
        work_count(p, &t, &w);
        cr_expect(eq(dbl, w.bytes_read, cases[i].bytes), "%zu: %g bytes", i, w.bytes_read);
        cr_expect(fabs(w.contract_flops - 2 * cases[i].products) < 1e-6, "%zu: %g flops", i,
                  w.contract_flops);
    }
    arena_reset(&a);
}

// ---- which pipe a contraction is charged to

Test(realise, takes_the_fastest_pipe_that_the_precision_admits) {
    static const struct {
        const char *x, *w, *y;
        struct precision precision;
        enum pipe pipe;
        int products;
    } cases[] = {
        {"f32", "f32", "f32", {0}, PIPE_F16, 3},
        {"f32", "f32", "f32", {.is_exact = true}, PIPE_F32, 1},
        {"f32", "f32", "f32", {.operand = PRECISION_TF32}, PIPE_TF32, 1},
        {"f32", "f32", "f32", {PRECISION_TYPE, DTYPE_F16, false, false}, PIPE_F16, 1},
        {"f32", "f16", "f32", {0}, PIPE_F16, 2},
        {"f16", "f16", "f32", {0}, PIPE_F16, 1},
        {"bf16", "bf16", "f32", {0}, PIPE_F16, 1},
        {"f16", "bf16", "f32", {0}, PIPE_TF32, 1},
        {"f8e4m3", "f8e5m2", "f32", {0}, PIPE_F8, 1},
        {"f8e4m3", "f16", "f32", {0}, PIPE_F16, 1},
        {"f8e4m3", "bf16", "f32", {0}, PIPE_F16, 1},
        {"i8", "i8", "i32", {0}, PIPE_I8, 1},
        {"i4", "u8", "i32", {0}, PIPE_I8, 1},
        {"f16", "i8", "f32", {0}, PIPE_F16, 1},
        {"i32", "i32", "i32", {0}, PIPE_F32, 1},
        {"f64", "f64", "f64", {0}, PIPE_F64, 1},
        {"f64", "f32", "f64", {0}, PIPE_F64, 1},
    };
    struct arena a = {0};
    struct target t = round_gpu();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct problem *p =
            problem_of(&a, arena_printf(&a,
                                        "in x : %s[16, 16] ~ integers(0, 3)\nin w : %s[16, 16] ~ "
                                        "integers(0, 3)\nout y : %s[16, 16]\ny = x @ w.T",
                                        cases[i].x, cases[i].w, cases[i].y));
        p->precision = cases[i].precision;
        struct bound b;
        bound_compute(p, &t, &b);
        cr_expect(b.reach_way.pipe == cases[i].pipe && b.reach_way.products == cases[i].products,
                  "%s @ %s: %d x %s", cases[i].x, cases[i].w, b.reach_way.products,
                  pipe_name(b.reach_way.pipe));
    }
    arena_reset(&a);
}

Test(realise, sees_through_scales_and_stops_at_computed_operands) {
    struct arena a = {0};
    struct target t = round_gpu();
    struct bound b;
    bound_compute(problem_of(&a, "in x : f16[16, 16]\nin q : i8[16, 16] ~ integers(-8, 7)\n"
                                 "in s : f32[16]\n" Y "y = x @ (q * s[:, None]).T"),
                  &t, &b);
    cr_assert(eq(int, b.reach_way.pipe, PIPE_F16), "quantised weights");
    bound_compute(problem_of(&a, "in x : f16[16, 16]\nin w : f16[16, 16]\n" Y "y = gelu(x) @ w"),
                  &t, &b);
    cr_assert(eq(int, b.reach_way.products, 2), "gelu(x) is an f32");
    bound_compute(
        problem_of(&a, "in x : f16[16, 16]\nin w : f16[16, 16]\n" Y "t : f16 = gelu(x)\ny = t @ w"),
        &t, &b);
    cr_assert(eq(int, b.reach_way.products, 1), "typed, it is narrow");
    t.ceilings.bf16_flops_per_s = 5e12;
    bound_compute(problem_of(&a, X "in w : f32[16, 16]\n" Y "y = x @ w"), &t, &b);
    cr_assert(eq(int, b.reach_way.pipe, PIPE_TF32), "three f16 products would be slower");
    t.ceilings.bf16_flops_per_s = t.ceilings.tf32_flops_per_s = 2e12;
    bound_compute(problem_of(&a, X "in w : f32[16, 16]\n" Y "y = x @ w"), &t, &b);
    cr_assert(eq(int, b.reach_way.pipe, PIPE_F32), "three products would be slower");
    arena_reset(&a);
}

// ---- bounds

static struct bound bound_of(struct arena *a, const char *text) {
    struct target t = round_gpu();
    struct bound b;
    bound_compute(problem_of(a, text), &t, &b);
    return b;
}

#define BIG "in x : f32[4096, 4096]\nout y : f32[4096, 4096]\n"

Test(bound, limit_takes_what_fits_the_last_level_off_the_outputs) {
    struct arena a = {0};
    struct bound b = bound_of(&a, BIG "y = x + 1");
    cr_assert(epsilon_eq(dbl, b.limit_s, (64. + 48) * (1 << 20) / 1e12, 1e-12));
    cr_assert(epsilon_eq(dbl, b.reach_s, 1e-6 + 128. * (1 << 20) / 1e12, 1e-12));
    arena_reset(&a);
}

Test(bound, functions_and_vector_work_enter_reach_alone) {
    struct arena a = {0};
    struct bound b = bound_of(&a, BIG "y = exp(x) * 3 + 1");
    cr_assert(eq(dbl, b.limit_compute_s, 0));
    cr_assert(eq(dbl, b.work.function_ops, 4096. * 4096));
    cr_assert(eq(dbl, b.work.vector_ops, 4096. * 4096), "a multiplication and an addition are one");
    cr_assert(epsilon_eq(dbl, b.reach_pipe_s[PIPE_FUNCTION], 4096. * 4096 / 1e11, 1e-12));
    cr_assert(epsilon_eq(dbl, b.reach_pipe_s[PIPE_F32], 2 * 4096. * 4096 / 1e12, 1e-12));
    cr_assert(eq(dbl, b.reach_compute_s, b.reach_pipe_s[PIPE_FUNCTION]), "pipes side by side");
    cr_assert(eq(int, bound_pipe(&b), PIPE_FUNCTION));
    arena_reset(&a);
}

Test(bound, pipes_of_a_cpu_are_one) {
    struct arena a = {0};
    struct target t = round_gpu();
    struct bound b;
    t.is_gpu = false;
    bound_compute(problem_of(&a, BIG "y = exp(x) + 1"), &t, &b);
    cr_assert(epsilon_eq(dbl, b.reach_compute_s,
                         b.reach_pipe_s[PIPE_FUNCTION] + b.reach_pipe_s[PIPE_F32], 1e-12));
    arena_reset(&a);
}

Test(bound, limit_counts_half_the_products) {
    struct arena a = {0};
    struct bound b = bound_of(&a, "in x : f16[1024, 1024]\nin w : f16[1024, 1024]\n"
                                  "out y : f16[1024, 1024]\ny = x @ w");
    cr_assert(epsilon_eq(dbl, b.limit_compute_s, (double)(1 << 30) / 12e12, 1e-12));
    cr_assert(epsilon_eq(dbl, b.reach_compute_s, 2. * (1 << 30) / 12e12, 1e-12));
    arena_reset(&a);
}

// In which order products in a row are done, and whether before or after a sum, is the kernel's
// affair.
Test(bound, limit_counts_no_product_that_algebra_may_move) {
    static const struct {
        const char *text;
        bool counts;
    } cases[] = {
        {X "in w : f32[16, 16]\nin v : f32[16, 16]\n" Y "y = (x @ w) @ v", false},
        {X "in w : f32[16, 16]\nin v : f32[16, 16]\n" Y "y = ((x @ w) * 2 + x).T @ v", false},
        {X "in w : f32[16, 16]\nin v : f32[16, 16]\n" Y "y = exp(x @ w) @ v", true},
        {X "in w : f32[16, 16]\nin v : f32[16]\nout y : f32[16]\ny = sum((x @ w) * v, axis=1)",
         false},
        {X "in w : f32[16, 16]\nout y : f32[16]\nt = x @ w\ny = sum(t * t, axis=1)", true},
        {"in x : f32[1, 2, 8]\nin w : f32[4, 2, 3]\nout y : f32[1, 4]\n"
         "y = mean(conv1d(x, w), axis=2)",
         false},
        {X "in w : f32[16, 16]\n" Y "y = x @ w", true},
    };
    struct arena a = {0};
    struct target t = round_gpu();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bound b;
        bound_compute(problem_of(&a, cases[i].text), &t, &b);
        bool counts = b.limit_compute_s > 0;
        cr_expect(counts == cases[i].counts, "%s", cases[i].text);
        cr_expect(b.reach_compute_s > 0, "%s", cases[i].text);
    }
    arena_reset(&a);
}

Test(bound, limit_of_a_convolution_leaves_room_for_transforms) {
    struct arena a = {0};
    struct bound b = bound_of(&a, "in x : f16[4, 64, 32, 32]\nin w : f16[64, 64, 3, 3]\n"
                                  "out y : f16[4, 64, 32, 32]\ny = conv2d(x, w, padding=1)");
    double flops = 2. * 4 * 64 * 32 * 32 * 64 * 9;
    cr_assert(epsilon_eq(dbl, b.reach_compute_s, flops / 12e12, 1e-12));
    cr_assert(epsilon_eq(dbl, b.limit_compute_s, flops / 9 / 2 / 12e12, 1e-12));
    arena_reset(&a);
}

Test(bound, a_group_beyond_the_chip_is_read_again_in_reach) {
    struct arena a = {0};
    // One row of 32 MiB, on a chip that keeps 16 MiB.
    struct bound b =
        bound_of(&a, "in x : f32[2, 8388608]\nout y : f32[2, 8388608]\ny = softmax(x)");
    cr_assert(eq(dbl, b.work.bytes_again, 64. * (1 << 20)), "%g", b.work.bytes_again);
    cr_assert(epsilon_eq(dbl, b.reach_memory_s, 192. * (1 << 20) / 1e12, 1e-12));
    cr_assert(epsilon_eq(dbl, b.limit_memory_s, (64. + 48) * (1 << 20) / 1e12, 1e-12));
    b = bound_of(&a, BIG "y = softmax(x)");
    cr_assert(eq(dbl, b.work.bytes_again, 0), "rows of 16 KiB stay");
    b = bound_of(&a, "in x : f32[2, 8388608]\nout y : f32[2]\ny = sum(x, axis=1)");
    cr_assert(eq(dbl, b.work.bytes_again, 0), "never met again");
    b = bound_of(&a, "in x : f32[2, 8388608]\nin z : f32[2, 8388608]\nout y : f32[2, 8388608]\n"
                     "y = z - max(x, axis=1)[:, None]");
    cr_assert(eq(dbl, b.work.bytes_again, 0), "another value meets it");
    arena_reset(&a);
}

Test(bound, old_documents_are_still_read) {
    struct error err = {0};
    struct bound b;
    static const char text[] =
        "{\"schema\": \"hone.bound/1\", \"work\": {\"bytes_read\": 1, \"bytes_written\": 2, "
        "\"flops\": "
        "3, \"contract_flops\": 0}, \"limit\": {\"seconds\": 1, \"memory_s\": 1, \"compute_s\": "
        "0}, "
        "\"reach\": {\"seconds\": 4, \"fixed_s\": 1, \"memory_s\": 3, \"compute_s\": 1}, \"side\": "
        "\"memory\"}";
    json_t *json = json_loads(text, 0, NULL);
    cr_assert(bound_from_json(json, &b, &err), "%s", err.text);
    cr_assert(eq(dbl, b.reach_s, 4));
    cr_assert(eq(dbl, b.work.bytes_again, 0));
    json_decref(json);
}

// ---- properties

static void check_file(const char *path, const struct target *t) {
    struct arena a = {0};
    struct error err = {0};
    size_t len;
    char *text = file_read(&a, path, 1 << 20, &len, &err);
    cr_assert(text != NULL, "%s", err.text);
    struct lang_file file = parsed_file(&a, text);
    for (int i = 0; i < file.n_problems; i++) {
        struct bound b;
        bound_compute(file.problems[i], t, &b);
        cr_expect(b.limit_s > 0 && b.limit_s <= b.reach_s && isfinite(b.reach_s),
                  "%s: %s: limit %g, reach %g", path, file.problems[i]->name, b.limit_s, b.reach_s);
        cr_expect(b.work.bytes_least <= b.work.bytes_read * (1 + 1e-9), "%s: %s", path,
                  file.problems[i]->name);
        cr_expect(strlen(bound_explain(&a, file.problems[i], &b, t)) > 0);
        json_t *json = bound_to_json(&b);
        cr_expect(json != NULL);
        json_decref(json);
    }
    arena_reset(&a);
}

Test(bound, limit_is_never_above_reach) {
    static const char *const patterns[] = {"problems/*.hone", "tests/lang/accept/*.hone"};
    struct target gpu = round_gpu(), cpu = round_gpu();
    cpu.is_gpu = false;
    cpu.n_threads = 2;
    cpu.l2_bytes = 1 << 20;
    int n = 0;
    for (int i = 0; i < 2; i++) {
        struct arena a = {0};
        char line[512];
        FILE *list = popen(arena_printf(&a, "ls %s", patterns[i]), "r");
        cr_assert(list != NULL);
        for (; fgets(line, sizeof line, list); n++) {
            line[strcspn(line, "\n")] = '\0';
            check_file(line, &gpu);
            check_file(line, &cpu);
        }
        pclose(list);
        arena_reset(&a);
    }
    cr_assert(gt(int, n, 10));
}

Test(bound, reach_grows_with_every_dim) {
    static const char *const texts[] = {
        "in x : f32[M, N]\nout y : f32[M, N]\ny = softmax(x)",
        "in x : f16[M, K]\nin w : f16[N, K]\nout y : f16[M, N]\ny = gelu(x @ w.T)",
        "in x : f32[M, N]\nout y : f32[M]\ny = sum(x * x, axis=1)",
        ("in x : f32[M, K, N]\nin w : f32[K, K, 3]\nout y : f32[M, K, N]\n"
         "y = conv1d(x, w, padding=1)"),
        "in x : f32[M, N]\nout y : f32[M, N]\ny = cumsum(tril(x), axis=1)",
    };
    struct arena a = {0};
    struct target t = round_gpu();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int grown = 0; grown < 3; grown++) {
            double before = 0;
            for (int64_t size = 8; size <= 4096; size *= 2) {
                int64_t dims[3] = {64, 64, 64};
                dims[grown] = size;
                struct problem *p =
                    parsed(&a, arena_printf(&a, "problem p\ndim M = %lld, N = %lld, K = %lld\n%s\n",
                                            (long long)dims[0], (long long)dims[1],
                                            (long long)dims[2], texts[i]));
                struct bound b;
                bound_compute(p, &t, &b);
                cr_expect(b.reach_s >= before, "%zu: dim %d = %lld", i, grown, (long long)size);
                before = b.reach_s;
            }
        }
    arena_reset(&a);
}

// ---- words

Test(bound, a_picture_fits_eighty_columns) {
    static const char *const texts[] = {
        BIG "y = x + 1", BIG "y = exp(x)",
        "in x : f16[4096, 4096]\nin w : f16[4096, 4096]\nout y : f16[4096, 4096]\ny = x @ w",
        "in x : f32[1, 1]\nout y : f32[1, 1]\ny = x + 1"};
    struct arena a = {0};
    struct target measured = round_gpu(), card;
    cr_assert(target_of_card("h200", &card));
    const struct target *targets[] = {&measured, &card};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int k = 0; k < 2; k++) {
            struct bound b;
            bound_compute(problem_of(&a, texts[i]), targets[k], &b);
            const char *picture = bound_roofline(&a, &b, targets[k], 80);
            int column = 0, stars = 0;
            for (const char *c = picture; *c; c++) {
                cr_assert(strchr("\n", *c) || (*c >= ' ' && *c <= '~'), "ASCII");
                column = *c == '\n' ? 0 : column + 1;
                stars += *c == '*';
                cr_assert(le(int, column, 80), "%s", picture);
            }
            cr_assert(eq(int, stars, 2), "the mark and its legend: %s", picture);
        }
    arena_reset(&a);
}
