// Data that exist for one call, and looks at what was made of them.
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "oracle/new_data.h"
#include "oracle/spot_check.h"
#include "parsed.h"

enum { COUNT = 70001 };  // more than a piece, and no whole number of pieces

static void fill(const struct problem *p, int input, uint64_t seed, void *out) {
    // Threads and the way past the caches change nothing.
    struct new_data d = {p, input, seed, 1 + (int)(seed % 3), seed % 2};
    new_data_fill(&d, out);
}

static const char reals[] = "problem p\ndim N = 70001\nin x : f32[N] ~ normal(1, 2)\n"
                            "in y : f32[N] ~ uniform(2, 3)\nin h : f16[N] ~ normal\n"
                            "in b : bf16[N] ~ uniform(-1, 1)\nin k : i32[N] ~ integers(-3, 3)\n"
                            "in t : f16[N] ~ normal(0, 0.00001)\nout z : f32[N]\n"
                            "z = x + y + f32(h) + f32(b) + f32(k) + f32(t)\n";

struct moments {
    double mean, deviation, least, most;
};

static struct moments measure(enum dtype t, const void *values) {
    double sum = 0, squares = 0;
    struct moments m = {.least = INFINITY, .most = -INFINITY};
    for (int i = 0; i < COUNT; i++) {
        double v = dtype_get(t, values, i);
        sum += v;
        squares += v * v;
        m.least = fmin(m.least, v);
        m.most = fmax(m.most, v);
    }
    m.mean = sum / COUNT;
    m.deviation = sqrt(squares / COUNT - m.mean * m.mean);
    return m;
}

Test(new_data, is_drawn_from_the_declared_distribution) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, reals);
    double *values = arena_array(&a, double, COUNT + 8);
    static const double mean[] = {1, 2.5, 0, 0, 0, 0};
    static const double deviation[] = {2, 0.28868, 1, 0.57735, 2, 0.00001};
    for (int i = 0; i < 6; i++) {
        enum dtype t = p->graph.nodes[p->inputs[i].node].dtype;
        fill(p, i, 5, values);
        struct moments m = measure(t, values);
        cr_expect(fabs(m.mean - mean[i]) < 0.02 * deviation[i], "input %d: mean %g", i, m.mean);
        cr_expect(fabs(m.deviation / deviation[i] - 1) < 0.02, "input %d: deviation %g", i,
                  m.deviation);
        cr_expect(i != 1 || (m.least >= 2 && m.most < 3));
        cr_expect(i != 3 || (m.least >= -1 && m.most <= 1));
        cr_expect(i != 4 || (m.least == -3 && m.most == 3));
    }
    arena_reset(&a);
}

// By what values there are nobody tells them from the declared set: the same grid, the same tails.
Test(new_data, has_the_grid_and_the_tails_of_declared_data) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, "problem p\ndim N = 2000000\nin x : f32[N] ~ normal\n"
                                         "out z : f32[N]\nz = x\n");
    enum { MANY = 2000000, TAILS = 6 };
    float *values = arena_array(&a, float, MANY);
    static const double beyond[TAILS] = {1, 0.317311, 0.0455003, 0.0026998, 6.3342e-5, 5.733e-7};
    int n_beyond[TAILS] = {0}, n_off = 0;
    fill(p, 0, 4, values);
    for (int i = 0; i < MANY; i++) {
        float v = values[i];
        n_off += v * 0x1p21F != nearbyintf(v * 0x1p21F);
        for (int t = 0; t < TAILS; t++)
            n_beyond[t] += fabsf(v) >= (float)t;
    }
    cr_expect_eq(n_off, 0);
    for (int t = 0; t < TAILS; t++) {
        double want = beyond[t] * MANY, four = 4 * sqrt(want) + 3;
        cr_expect(fabs(n_beyond[t] - want) <= four, "%d beyond %d, not about %g", n_beyond[t], t,
                  want);
    }
    arena_reset(&a);
}

Test(new_data, differs_from_seed_to_seed_and_from_input_to_input_in_nearly_every_element) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, "problem p\ndim N = 70001\nin x : f32[N] ~ normal\n"
                                         "in y : f32[N] ~ normal\nout z : f32[N]\nz = x + y\n");
    float *one = arena_array(&a, float, COUNT), *other = arena_array(&a, float, COUNT);
    for (uint64_t seed = 1; seed < 20; seed++)
        for (int input = 0; input < 2; input++) {
            int n_equal = 0;
            double product = 0;
            fill(p, 0, 0, one);
            fill(p, input, seed, other);
            for (int i = 0; i < COUNT; i++) {
                n_equal += one[i] == other[i];
                product += (double)one[i] * (double)other[i];
            }
            cr_expect_lt(n_equal, 20, "%d equal", n_equal);
            cr_expect_lt(fabs(product) / COUNT, 0.02, "seed %d", (int)seed);
        }
    // By the same seed it is the same, however it is written.
    struct new_data d = {p, 0, 3, 1, false};
    new_data_fill(&d, one);
    d.n_threads = 4;
    d.bypasses_caches = true;
    new_data_fill(&d, other);
    cr_expect_eq(memcmp(one, other, sizeof(float) * COUNT), 0);
    arena_reset(&a);
}

// The same draws rounded to a narrower type: as dtype_round() has it.
Test(new_data, is_rounded_once_to_its_type) {
    struct arena a = {0};
    static const char text[] = "problem p\ndim N = 70001\nin x : %s[N] ~ normal(0, %s)\n"
                               "out z : %s[N]\nz = x\n";
    static const char *const deviations[] = {"1", "0.00003", "9000"};
    for (int t = 0; t < 2; t++)
        for (int k = 0; k < 3; k++) {
            const char *type = t ? "bf16" : "f16";
            const struct problem *wide =
                parsed(&a, arena_printf(&a, text, "f32", deviations[k], "f32"));
            const struct problem *narrow =
                parsed(&a, arena_printf(&a, text, type, deviations[k], type));
            float *floats = arena_array(&a, float, COUNT);
            uint16_t *halves = arena_array(&a, uint16_t, COUNT);
            enum dtype d = t ? DTYPE_BF16 : DTYPE_F16;
            fill(wide, 0, 9, floats);
            fill(narrow, 0, 9, halves);
            for (int i = 0; i < COUNT; i++) {
                double want = dtype_round(d, (double)floats[i]);
                // What f16 cannot hold stops at its end.
                want = isfinite(want) ? want : copysign(dtype_max(d), want);
                cr_assert_eq(dtype_get(d, halves, i), want, "%s: %.9g became %.9g, not %.9g", type,
                             (double)floats[i], dtype_get(d, halves, i), want);
            }
        }
    arena_reset(&a);
}

// ---- looks

struct looked {
    struct arena arena;
    const struct problem *problem;
    struct oracle oracle;
    float *inputs[2], *out;
    struct rng rng;
    double own_rms[1];
};

static void fetch(void *ctx, bool is_output, int number, const struct box *b, void *out) {
    const struct looked *l = ctx;
    const struct problem *p = l->problem;
    node_id id = is_output ? p->outputs[number].node : p->inputs[number].node;
    box_gather(b, &p->graph.nodes[id].shape, DTYPE_F32, is_output ? l->out : l->inputs[number],
               out);
}

enum { M = 24, N = 20, K = 3000 };

static void open_looked(struct looked *l, const char *text) {
    *l = (struct looked){0};
    l->problem = parsed(&l->arena, text);
    oracle_init(&l->oracle, l->problem, 1);
    oracle_compute(&l->oracle, 1U << SET_DECLARED, 1);
    rng_init(&l->rng, 3);
    for (int i = 0; i < l->problem->n_inputs; i++) {
        const struct node *n = &l->problem->graph.nodes[l->problem->inputs[i].node];
        l->inputs[i] = arena_array(&l->arena, float, shape_count(&n->shape));
        fill(l->problem, i, 77, l->inputs[i]);
    }
    const struct node *n = &l->problem->graph.nodes[l->problem->outputs[0].node];
    l->out = arena_array(&l->arena, float, shape_count(&n->shape));
}

static void open_product(struct looked *l) {
    open_looked(l, "problem gemm\ndim M = 24, N = 20, K = 3000\nin a : f32[K, M] ~ normal\n"
                   "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a.T @ b\n");
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < K; k++)
                l->out[i * N + j] += l->inputs[0][k * M + i] * l->inputs[1][k * N + j];
}

static void close_looked(struct looked *l) {
    oracle_reset(&l->oracle);
    arena_reset(&l->arena);
}

static struct spot_result look(struct looked *l, double call_s) {
    struct spot_result r;
    spot_check(&l->arena, &l->oracle, &(struct spot_source){fetch, l},
               &(struct spot_call){call_s, false, l->own_rms}, &l->rng, &r);
    return r;
}

Test(spot_check, accepts_what_is_right_and_finds_what_is_not) {
    struct looked l;
    open_product(&l);
    struct spot_result r = look(&l, 1);
    cr_expect_eq(r.output, -1, "%s", r.elements);
    cr_expect_eq(r.n_checked, M * N, "all of it, where it is cheap");
    l.out[7 * N + 3] *= 1.01F;
    r = look(&l, 1);
    cr_expect_eq(r.output, 0);
    cr_expect_eq(r.comparison.n_wrong, 1);
    cr_expect(strstr(r.elements, "c[7, 3] is "), "%s", r.elements);
    close_looked(&l);
}

Test(spot_check, looks_at_other_elements_each_time) {
    struct looked l;
    open_product(&l);
    l.out[7 * N + 3] *= 1.01F;
    int n_found = 0, n_calls = 0;
    // One element of a product, or a few.
    for (; n_calls < 10000 && n_found < 5; n_calls++) {
        struct spot_result r = look(&l, 0);
        cr_assert(r.n_checked > 0 && r.n_checked < N);
        n_found += r.output == 0;
    }
    cr_expect_eq(n_found, 5);
    cr_expect_gt(n_calls, 50);
    close_looked(&l);
}

Test(spot_check, what_is_dear_is_looked_at_by_chance) {
    enum { COUNT_DEAR = 1 << 18 };
    struct looked l;
    open_looked(&l, "problem p\ndim N = 262144\nin x : f32[N] ~ normal\nout y : f32\n"
                    "y = sum(x * x)\n");
    double sum = 0;
    for (int i = 0; i < COUNT_DEAR; i++)
        sum += (double)l.inputs[0][i] * (double)l.inputs[0][i];
    l.out[0] = (float)(1.05 * sum);
    int n_looks = 0;
    for (int i = 0; i < 500; i++) {
        struct spot_result r = look(&l, 0);
        n_looks += r.n_checked > 0;
        cr_expect_eq(r.output, r.n_checked ? 0 : -1);
    }
    // Four times the budget over three operations for each element.
    cr_expect(n_looks > 5 && n_looks < 60, "%d of 500", n_looks);
    struct spot_result r;
    spot_check(&l.arena, &l.oracle, &(struct spot_source){fetch, &l},
               &(struct spot_call){0, true, l.own_rms}, &l.rng, &r);
    cr_expect_eq(r.output, 0, "where it must, it looks");
    // The same calls are looked at by who computes all of it elsewhere.
    int n_dear = 0;
    for (int i = 0; i < 500; i++) {
        enum spot_cost cost = spot_cost(&l.oracle, &(struct spot_call){0}, &l.rng);
        cr_expect_neq(cost, SPOT_CHEAP);
        n_dear += cost == SPOT_DEAR;
    }
    cr_expect(n_dear > 5 && n_dear < 60, "%d of 500", n_dear);
    cr_expect_eq(spot_cost(&l.oracle, &(struct spot_call){.must_look = true}, &l.rng), SPOT_DEAR);
    cr_expect_eq(spot_cost(&l.oracle, &(struct spot_call){.call_s = 1}, &l.rng), SPOT_CHEAP);
    close_looked(&l);
}

// There are few such looks, so that no honest result is far out among them.
Test(spot_check, a_dear_look_allows_no_more_than_a_set_does) {
    enum { COUNT_DEAR = 1 << 18 };
    struct looked l;
    open_looked(&l, "problem p\ndim N = 262144\nin x : f32[N] ~ normal\nout y : f32\n"
                    "y = sum(x * x)\n");
    const struct oracle_output *declared = &l.oracle.sets[SET_DECLARED].outputs[0];
    double sum = 0, limit = declared->stats.limit_rms * (double)declared->spread[0];
    for (int i = 0; i < COUNT_DEAR; i++)
        sum += (double)l.inputs[0][i] * (double)l.inputs[0][i];
    const struct {
        double limits, call_s;
        int output;
    } rows[] = {{0.9, 0, -1}, {1.2, 0, 0}, {-1.2, 0, 0}, {1.2, 1, -1}, {15, 1, -1}, {17, 1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct spot_result r;
        l.out[0] = (float)(sum + rows[i].limits * limit);
        spot_check(&l.arena, &l.oracle, &(struct spot_source){fetch, &l},
                   &(struct spot_call){rows[i].call_s, true, l.own_rms}, &l.rng, &r);
        cr_expect_eq(r.output, rows[i].output, "%g times the limit, a call of %g s", rows[i].limits,
                     rows[i].call_s);
    }
    close_looked(&l);
}

Test(spot_check, looks_at_several_rows_where_it_cannot_look_at_all) {
    struct looked l;
    open_product(&l);
    for (int i = 0; i < N; i++)
        l.out[7 * N + i] *= 1.01F;
    int n_found = 0;
    for (int i = 0; i < 400; i++)
        n_found += look(&l, 2e-3).output == 0;
    // One of 24 rows, eight looks: in 400 * (1 - (23 / 24)^8) calls; by one look it would be 17.
    cr_expect(n_found > 80 && n_found < 160, "found in %d of 400 calls", n_found);
    close_looked(&l);
}

Test(spot_check, looks_at_whole_lines_where_elements_share_their_work) {
    struct looked l;
    open_looked(&l, "problem p\ndim M = 400, N = 20\nin x : f32[M, N] ~ normal\n"
                    "out y : f32[M, N]\ny = softmax(x)\n");
    for (int i = 0; i < 400; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++)
            sum += exp((double)l.inputs[0][i * N + j]);
        for (int j = 0; j < N; j++)
            l.out[i * N + j] = (float)(exp((double)l.inputs[0][i * N + j]) / sum);
    }
    for (int i = 0; i < 20; i++) {
        struct spot_result r = look(&l, 0);
        cr_expect(r.n_checked >= 8 * N && r.n_checked < 400 * N && r.n_checked % N == 0,
                  "%d elements", (int)r.n_checked);
    }
    close_looked(&l);
}

Test(spot_check, says_what_is_rougher_in_the_mean_than_declared_data_may_be) {
    struct looked l;
    open_product(&l);
    l.own_rms[0] = 1;
    cr_expect(!look(&l, 1).is_rough);
    // Factors of 12 bits: every element is within its limit.
    memset(l.out, 0, sizeof(float) * M * N);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < K; k++) {
                float x = l.inputs[0][k * M + i];
                l.out[i * N + j] += (x + 4096 * x - 4096 * x) * l.inputs[1][k * N + j];
            }
    struct spot_result r = look(&l, 1);
    cr_expect_eq(r.output, -1, "%s", r.elements);
    cr_expect(r.is_rough);
    close_looked(&l);
}

// Of results of 16 bits a few that are off by a unit are all of the mean.
Test(spot_check, grants_narrow_results_a_few_that_are_a_unit_off) {
    static const char text[] = "problem p\ndim M = 64, N = 64, K = 32\nin a : bf16[M, K]\n"
                               "in b : bf16[K, N]\nout c : %s[M, N]\nc = a @ b\n";
    for (int narrow = 0; narrow < 2; narrow++) {
        struct arena a = {0};
        struct oracle o = {.problem = parsed(&a, arena_printf(&a, text, narrow ? "bf16" : "f32"))};
        o.sets[SET_DECLARED].outputs[0].stats.limit_rms = 64;
        cr_expect_eq(spot_is_rough(&o, &(struct spot_mean){0, 2.5, 64, 0.004}), !narrow);
        cr_expect(spot_is_rough(&o, &(struct spot_mean){0, 20, 64, 0.004}));
        cr_expect(!spot_is_rough(&o, &(struct spot_mean){0, 0.5, 64, 0.004}));
        arena_reset(&a);
    }
}

Test(spot_check, says_what_is_rougher_than_the_candidate_was_where_it_was_verified) {
    struct looked l;
    open_product(&l);
    // Within what anybody may err by, but not who is more precise elsewhere.
    for (int i = 0; i < M * N; i++)
        l.out[i] *= 1 + 0x1p-18F;
    l.own_rms[0] = 1;
    cr_expect(!look(&l, 1).is_rough);
    l.own_rms[0] = 0.01;
    cr_expect(look(&l, 1).is_rough);
    close_looked(&l);
}
