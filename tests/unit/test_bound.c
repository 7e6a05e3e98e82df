#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "model/bound.h"

// A macro: to clang a constant is no initializer.
#define SQUARE                                             \
    {                                                      \
        .rank = 2, .size = {1024, 1024}, .dim = { -1, -1 } \
    }

// y = exp(x): 4 MiB in, 4 MiB out, one operation per element.
static struct node exp_nodes[] = {
    {.op = OP_INPUT, .shape = SQUARE, .name = "x"},
    {.op = OP_EXP, .shape = SQUARE, .n_args = 1, .arg = {0}, .name = "y"},
};
static const struct problem exp_problem = {
    .name = "exp",
    .graph = {.nodes = exp_nodes, .n_nodes = 2},
    .inputs = {{.node = 0}},
    .n_inputs = 1,
    .outputs = {{"y", 1}},
    .n_outputs = 1,
};

static struct node gemm_nodes[] = {
    {.op = OP_INPUT, .shape = SQUARE, .name = "a"},
    {.op = OP_INPUT, .shape = SQUARE, .name = "b"},
    {.op = OP_MATMUL, .shape = SQUARE, .n_args = 2, .arg = {0, 1}, .name = "c"},
};
static const struct problem gemm_problem = {
    .name = "gemm",
    .graph = {.nodes = gemm_nodes, .n_nodes = 3},
    .inputs = {{.node = 0}, {.node = 1}},
    .n_inputs = 2,
    .outputs = {{"c", 2}},
    .n_outputs = 1,
};

static struct target test_target(void) {
    return (struct target){
        .name = "cpu",
        .n_threads = 2,
        .vector_bytes = 64,
        .llc_bytes = 32 << 20,
        .top_clock_hz = 4e9,
        .peak_bytes_per_s = 1e12,
        .peak_per_s = {[PIPE_F32] = 1e12, [PIPE_F64] = 5e11},
        .ceilings = {.present = true,
                     .launch_s = 1e-5,
                     .traffic = {{.read_fraction = 1, .bytes_per_s = 40e9},
                                 {.read_fraction = 2. / 3, .bytes_per_s = 30e9},
                                 {.read_fraction = 0.5, .bytes_per_s = 20e9},
                                 {.read_fraction = 0, .bytes_per_s = 10e9}},
                     .f32_flops_per_s = 100e9,
                     .f64_flops_per_s = 50e9,
                     .tf32_flops_per_s = NAN},
    };
}

Test(bound, counts_every_input_and_output_once) {
    struct work w;
    struct target t = test_target();
    work_count(&gemm_problem, &t, &w);
    cr_assert(eq(dbl, w.bytes_read, 2 * 4.0 * (1 << 20)));
    cr_assert(eq(dbl, w.bytes_written, 4.0 * (1 << 20)));
    cr_assert(eq(dbl, w.flops, 2.0 * (1 << 30)));
    cr_assert(eq(dbl, w.contract_flops, 2.0 * (1 << 30)));
}

Test(bound, is_memory_bound_for_elementwise_work) {
    struct target t = test_target();
    struct bound b;
    bound_compute(&exp_problem, &t, &b);
    cr_assert(eq(int, b.side, BOUND_MEMORY));
    cr_assert(epsilon_eq(dbl, b.reach_s, 1e-5 + 8.0 * (1 << 20) / 20e9, 1e-12));
}

Test(bound, is_compute_bound_for_a_large_contraction) {
    struct target t = test_target();
    struct bound b;
    bound_compute(&gemm_problem, &t, &b);
    cr_assert(eq(int, b.side, BOUND_COMPUTE));
    cr_assert(epsilon_eq(dbl, b.reach_s, 1e-5 + 2.0 * (1 << 30) / 100e9, 1e-12));
}

Test(bound, charges_a_contraction_to_the_fastest_honest_way) {
    struct target t = test_target();
    t.ceilings.tf32_flops_per_s = 600e9;
    struct bound b;
    bound_compute(&gemm_problem, &t, &b);
    cr_assert(epsilon_eq(dbl, b.reach_compute_s, 2.0 * (1 << 30) / 200e9, 1e-12));
}

Test(bound, is_launch_bound_when_starting_costs_more_than_the_work) {
    struct target t = test_target();
    t.ceilings.launch_s = 1;
    struct bound b;
    bound_compute(&exp_problem, &t, &b);
    cr_assert(eq(int, b.side, BOUND_LAUNCH));
}

Test(bound, limit_is_below_reach_and_never_counts_elementwise_flops) {
    struct target t = test_target();
    struct bound b;
    bound_compute(&exp_problem, &t, &b);
    cr_assert(lt(dbl, b.limit_s, b.reach_s));
    cr_assert(eq(dbl, b.limit_compute_s, 0));
    // Outputs that fit the last-level cache may still be in it: only the input counts.
    cr_assert(epsilon_eq(dbl, b.limit_memory_s, 4.0 * (1 << 20) / 1e12, 1e-15));
}

Test(bound, without_ceilings_has_a_limit_and_no_reach) {
    struct target t = test_target();
    t.ceilings.present = false;
    struct bound b;
    bound_compute(&gemm_problem, &t, &b);
    cr_assert(isnan(b.reach_s));
    cr_assert(gt(dbl, b.limit_s, 0));
    struct arena a = {0};
    cr_assert(strstr(bound_explain(&a, &gemm_problem, &b, &t),
                     "not known until the ceilings are measured") != NULL);
    arena_reset(&a);
}

Test(bound, survives_its_json_form) {
    struct target t = test_target();
    struct bound b, back;
    struct error err = {0};
    for (int present = 0; present < 2; present++) {
        t.ceilings.present = present;
        bound_compute(&gemm_problem, &t, &b);
        json_t *json = bound_to_json(&b);
        cr_assert(bound_from_json(json, &back, &err));
        json_decref(json);
        // What it says in words is made of all of it.
        struct arena a = {0};
        cr_assert_str_eq(bound_explain(&a, &gemm_problem, &back, &t),
                         bound_explain(&a, &gemm_problem, &b, &t));
        arena_reset(&a);
        cr_assert(eq(dbl, back.limit_s, b.limit_s));
        cr_assert(isnan(back.reach_s) == isnan(b.reach_s));
        cr_assert(eq(int, back.side, b.side));
    }
    json_t *wrong = json_pack("{s:s}", "schema", "hone.bound/1");
    cr_assert(not(bound_from_json(wrong, &back, &err)));
    cr_assert(eq(int, err.kind, ERROR_PARSE));
    json_decref(wrong);
}

Test(ceilings, interpolate_in_time_per_byte) {
    struct target t = test_target();
    cr_assert(eq(dbl, ceilings_bandwidth(&t.ceilings, 1), 40e9));
    cr_assert(epsilon_eq(dbl, ceilings_bandwidth(&t.ceilings, 0.5), 20e9, 1));
    cr_assert(eq(dbl, ceilings_bandwidth(&t.ceilings, 0), 10e9));
    // A quarter reads: half way between write only and copy.
    cr_assert(
        epsilon_eq(dbl, ceilings_bandwidth(&t.ceilings, 0.25), 1 / (0.5 / 20e9 + 0.5 / 10e9), 1));
}

// 1 MiB as fast as caches are, 4 MiB partly; beyond that the line.
static void measure_points(struct ceilings *c, int mix) {
    c->traffic[mix].point[0] = (struct ceiling_point){1 << 20, 2e-5};
    c->traffic[mix].point[1] = (struct ceiling_point){4 << 20, 1.5e-4};
    c->traffic[mix].point[2] = (struct ceiling_point){16 << 20, 1e-2};
}

Test(ceilings, few_bytes_take_what_they_were_seen_to_take) {
    struct target t = test_target();
    struct ceilings *c = &t.ceilings;
    cr_assert(epsilon_eq(dbl, ceilings_seconds(c, 1, 1 << 20), 1e-5 + (1 << 20) / 40e9, 1e-12),
              "nothing small was measured: the line");
    measure_points(c, 0);
    cr_assert(eq(dbl, ceilings_seconds(c, 1, 0), 1e-5), "a launch");
    cr_assert(epsilon_eq(dbl, ceilings_seconds(c, 1, 1 << 19), 1.5e-5, 1e-12), "half way");
    cr_assert(epsilon_eq(dbl, ceilings_seconds(c, 1, 1 << 20), 2e-5, 1e-12));
    cr_assert(epsilon_eq(dbl, ceilings_seconds(c, 1, 4 << 20), 1e-5 + (4 << 20) / 40e9, 1e-12),
              "the line is lower there");
    cr_assert(epsilon_eq(dbl, ceilings_seconds(c, 1, 32 << 20), 1e-5 + (32 << 20) / 40e9, 1e-12));
    // A fixed cost that large sizes gave says nothing about small ones.
    c->traffic[0].fixed_s = 1e-4;
    cr_assert(epsilon_eq(dbl, ceilings_seconds(c, 1, 1 << 20), 2e-5, 1e-12));
    cr_assert(epsilon_eq(dbl, ceilings_seconds(c, 1, 32 << 20), 1e-4 + (32 << 20) / 40e9, 1e-12));
    // Between two mixes: between their times.
    double other = ceilings_seconds(c, 2. / 3, 1 << 20);
    cr_assert(
        epsilon_eq(dbl, ceilings_seconds(c, 5. / 6, 1 << 20), 0.5 * 2e-5 + 0.5 * other, 1e-12));
}

// On a device that nothing else uses a line through large sizes does not reach below the small
// ones.
Test(ceilings, points_that_hold_count_above_the_line_too) {
    struct target t = test_target();
    struct ceilings *c = &t.ceilings, lower;
    measure_points(c, 0);
    c->is_steady = true;
    cr_expect(epsilon_eq(dbl, ceilings_seconds(c, 1, 1 << 19), 1.5e-5, 1e-12));
    cr_expect(epsilon_eq(dbl, ceilings_seconds(c, 1, 4 << 20), 1.5e-4, 1e-12));
    cr_expect(epsilon_eq(dbl, ceilings_seconds(c, 1, 32 << 20), 1e-5 + (32 << 20) / 40e9, 1e-12));
    // One that may have been disturbed takes this away again.
    lower = *c;
    lower.is_steady = false;
    ceilings_raise(c, &lower);
    cr_expect(epsilon_eq(dbl, ceilings_seconds(c, 1, 4 << 20), 1e-5 + (4 << 20) / 40e9, 1e-12));
}

// Beyond the points a cache holds no more for longer; a point above the line says nothing.
Test(ceilings, what_the_last_size_saved_stays_saved) {
    struct target t = test_target();
    struct ceilings *c = &t.ceilings;
    double line = 1e-5 + (64 << 20) / 40e9, saved = 1e-4;
    c->traffic[0].point[0] = (struct ceiling_point){32 << 20, line};
    c->traffic[0].point[1] = (struct ceiling_point){64 << 20, line - saved};
    cr_expect(epsilon_eq(dbl, ceilings_seconds(c, 1, 64 << 20), line - saved, 1e-12));
    cr_expect(epsilon_eq(dbl, ceilings_seconds(c, 1, 128 << 20), 1e-5 + (128 << 20) / 40e9 - saved,
                         1e-12));
    c->traffic[0].point[1].seconds = 2 * line;
    cr_expect(epsilon_eq(dbl, ceilings_seconds(c, 1, 128 << 20), 1e-5 + (128 << 20) / 40e9, 1e-12));
}

Test(bound, of_few_bytes_is_no_more_than_such_calls_take) {
    struct target t = test_target();
    struct bound b;
    for (int i = 0; i < TRAFFIC_MIXES; i++) {
        t.ceilings.traffic[i].fixed_s = 1;
        t.ceilings.traffic[i].point[0] = (struct ceiling_point){8 << 20, 3e-5};
    }
    bound_compute(&exp_problem, &t, &b);
    cr_assert(epsilon_eq(dbl, b.reach_fixed_s, 1e-5, 1e-12));
    cr_assert(epsilon_eq(dbl, b.reach_memory_s, 2e-5, 1e-12));
    // One operation per element at 50 G/s takes as long; it hides behind the launch no more.
    cr_assert(epsilon_eq(dbl, b.reach_s, 1e-5 + fmax(2e-5, b.reach_compute_s), 1e-12));
}

// On a busy machine small calls slip in between what disturbs large ones.
Test(ceilings, many_bytes_move_at_least_as_fast_as_few) {
    struct target t = test_target();
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        for (int k = 0; k < 3; k++)
            t.ceilings.traffic[i].point[k] =
                (struct ceiling_point){1e6 * (k + 1), 2.5e-5 * (k + 1)};
    t.ceilings.traffic[0].point[0].seconds = 1;
    ceilings_settle(&t.ceilings, 3e6);
    cr_assert(epsilon_eq(dbl, t.ceilings.traffic[0].point[0].seconds, 5e-5, 1e-12),
              "fewer bytes take no longer");
    cr_assert(eq(dbl, t.ceilings.traffic[0].bytes_per_s, 40e9));
    cr_assert(epsilon_eq(dbl, t.ceilings.traffic[3].bytes_per_s, 40e9, 1), "10e9 by large calls");
    // What caches helped with says nothing about many bytes.
    t.ceilings.traffic[3].bytes_per_s = 10e9;
    ceilings_settle(&t.ceilings, 4e6);
    cr_assert(eq(dbl, t.ceilings.traffic[3].bytes_per_s, 10e9));
}

// Whatever two measurements say, together they say no more time for anything.
Test(ceilings, no_raise_makes_anything_slower) {
    static const double factors[] = {0.5, 1, 2};
    for (int k = 0; k < 4 * 81; k++) {
        struct target t = test_target(), fresh = test_target();
        t.ceilings.is_steady = k / 81 % 2;
        fresh.ceilings.is_steady = k / 162;
        double rate = factors[k % 3], fixed = factors[k / 3 % 3], launch = factors[k / 9 % 3],
               small = factors[k / 27 % 3];
        for (int i = 0; i < TRAFFIC_MIXES; i++) {
            struct ceiling_traffic *mine = &t.ceilings.traffic[i],
                                   *other = &fresh.ceilings.traffic[i];
            measure_points(&t.ceilings, i);
            measure_points(&fresh.ceilings, i);
            mine->fixed_s = 2e-5;
            other->bytes_per_s *= rate;
            other->fixed_s = 2e-5 * fixed;
            for (int s = 0; s < 3; s++)
                other->point[s].seconds *= small;
        }
        fresh.ceilings.launch_s *= launch;
        struct ceilings raised = t.ceilings;
        ceilings_raise(&raised, &fresh.ceilings);
        for (double mix = 0; mix <= 1; mix += 0.125)
            for (double bytes = 1000; bytes < 1e9; bytes *= 3) {
                double after = ceilings_seconds(&raised, mix, bytes) * (1 - 1e-12);
                cr_assert(le(dbl, after, ceilings_seconds(&t.ceilings, mix, bytes)));
                cr_assert(le(dbl, after, ceilings_seconds(&fresh.ceilings, mix, bytes)));
            }
    }
}

Test(ceilings, only_rise) {
    struct target t = test_target(), fresh = test_target();
    fresh.ceilings.traffic[0].bytes_per_s = 50e9;
    fresh.ceilings.traffic[2].bytes_per_s = 5e9;
    fresh.ceilings.f32_flops_per_s = 50e9;
    fresh.ceilings.tf32_flops_per_s = 7;
    fresh.ceilings.launch_s = 2e-6;
    ceilings_raise(&t.ceilings, &fresh.ceilings);
    cr_assert(eq(dbl, t.ceilings.traffic[0].bytes_per_s, 50e9));
    cr_assert(eq(dbl, t.ceilings.traffic[2].bytes_per_s, 20e9));
    cr_assert(eq(dbl, t.ceilings.f32_flops_per_s, 100e9));
    cr_assert(eq(dbl, t.ceilings.tf32_flops_per_s, 7), "absent before");
    cr_assert(eq(dbl, t.ceilings.launch_s, 2e-6));
}
