// Work and bounds of loops, worked by hand: 16 steps of 16x16 blocks.
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "model/bound.h"
#include "parsed.h"

// 1 TB/s, 1 TFLOP/s, 1 GHz: an operation that waits for another takes 4 ns.
static struct target round_gpu(void) {
    struct target t = {.name = "round",
                       .device = "Round",
                       .isa = "sm_90a",
                       .is_gpu = true,
                       .llc_bytes = 16 << 20,
                       .top_clock_hz = 1e9,
                       .peak_bytes_per_s = 1e12,
                       .peak_per_s = {[PIPE_F32] = 1e12}};
    t.ceilings = (struct ceilings){.present = true,
                                   .launch_s = 1e-9,
                                   .f32_flops_per_s = 1e12,
                                   .f64_flops_per_s = NAN,
                                   .tf32_flops_per_s = NAN,
                                   .bf16_flops_per_s = NAN,
                                   .f8_flops_per_s = NAN,
                                   .i8_flops_per_s = NAN,
                                   .functions_per_s = 1e12};
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        t.ceilings.traffic[i] =
            (struct ceiling_traffic){.read_fraction = 1 - i / 3., .bytes_per_s = 1e12};
    return t;
}

#define HEAD "problem p\ndim T = 16, N = 16\nin x : f32[T, N, N]\n"
#define W "in w : f32[N, N]\n"
#define Y "out y : f32[T, N, N]\n"
#define LAST "out y : f32[N, N]\n"
#define FOR "for t in T with h : f32[N, N] = 0:\n    "
#define KEEP "\n    y[t] = h\n"
#define END "\ny = h\n"

enum { BLOCK = 4 * 256, PRODUCT = 2 * 16 * 16 * 16 };

struct steps_case {
    const char *name, *text;
    double read, least;   // bytes
    double flops, limit;  // in products: usual, and what the limit counts (before its own half)
    double chain;         // operations that wait for one another
};

static const struct steps_case cases[] = {
    // A product is 1 + 4 operations deep, a tanh 4.
    {"every step's part, the weight once", HEAD W Y FOR "h = tanh(x[t] + h @ w)" KEEP, 17 * BLOCK,
     17 * BLOCK, 16 * PRODUCT, 16 * PRODUCT, 16 * (5 + 1 + 4)},
    {"a last state needs all steps", HEAD W LAST FOR "h = tanh(x[t] + h @ w)" END, 17 * BLOCK,
     17 * BLOCK, 16 * PRODUCT, 16 * PRODUCT, 16 * (5 + 1 + 4)},
    {"unless a step forgets", HEAD LAST FOR "h = tanh(x[t])" END, 16 * BLOCK, 0, 0, 0, 0},
    {"what no state needs waits for nothing", HEAD W Y FOR "h = tanh(x[t] @ w)" KEEP, 17 * BLOCK,
     17 * BLOCK, 16 * PRODUCT, 16 * PRODUCT, 0},
    {"a linear state is done in pairs", HEAD Y FOR "h = 0.5 * h + x[t]" KEEP, 16 * BLOCK,
     16 * BLOCK, 0, 0, 2 * 4},
    {"with products it is not, but the limit could transform", HEAD W Y FOR "h = x[t] + h @ w" KEEP,
     17 * BLOCK, 17 * BLOCK, 16 * PRODUCT, 0, 16 * (5 + 1)},
    {"nor does it need what is seen of a linear state",
     HEAD W Y FOR "h = 0.5 * h + x[t]\n    y[t] = h @ w\n", 17 * BLOCK, 17 * BLOCK, 16 * PRODUCT, 0,
     2 * 4},
    {"of one that is not, it does", HEAD W Y FOR "h = tanh(h + x[t])\n    y[t] = h @ w\n",
     17 * BLOCK, 17 * BLOCK, 16 * PRODUCT, 16 * PRODUCT, 16 * (1 + 4)},
    {"a gate that carries the state on takes nothing away",
     HEAD W Y FOR "z = tanh(x[t] + h @ w)\n    h = z * h + z" KEEP, 17 * BLOCK, 17 * BLOCK,
     16 * PRODUCT, 16 * PRODUCT, 16 * (5 + 1 + 4 + 1 + 1)},
    {"what every step does alike is done once",
     HEAD W Y FOR "v = tanh(w @ w)\n    h = tanh(x[t] + h @ v)" KEEP, 17 * BLOCK, 17 * BLOCK,
     17 * PRODUCT, 17 * PRODUCT, 16 * (5 + 1 + 4)},
    {"of params alone, before the clock starts",
     HEAD "param w : f32[N, N]\n" Y FOR "v = tanh(w @ w)\n    h = tanh(x[t] + h @ v)" KEEP,
     17 * BLOCK, 17 * BLOCK, 16 * PRODUCT, 16 * PRODUCT, 16 * (5 + 1 + 4)},
    {"a state that nobody asks for is not computed",
     HEAD W Y "for t in T with h : f32[N, N] = 0, k : f32[N, N] = 0:\n    h = tanh(h + x[t])\n"
              "    k = tanh(k @ w)" KEEP,
     16 * BLOCK, 16 * BLOCK, 0, 0, 16 * (1 + 4)},
    {"two loops in a row wait for one another",
     HEAD Y FOR "h = tanh(h + x[t])\n    m[t] = h\n"
                "for t in T with k = h:\n"
                "    k = tanh(k + m[t])\n    y[t] = k\n",
     16 * BLOCK, 16 * BLOCK, 0, 0, 2 * 16 * (1 + 4)},
    {"unless it goes along with it",
     HEAD Y FOR "h = tanh(h + x[t])\n    m[t] = h\n"
                "for t in T with k : f32[N, N] = 0:\n"
                "    k = tanh(k + 2 * m[t])\n    y[t] = k\n",
     16 * BLOCK, 16 * BLOCK, 0, 0, 16 * (1 + 4)},
    {"two ways do not",
     HEAD Y FOR "h = tanh(h + x[t])\n    m[t] = h\n"
                "for t in reversed(T) with k : f32[N, N] = 0:\n"
                "    k = tanh(k + x[t])\n    n[t] = k\ny = m + n\n",
     16 * BLOCK, 16 * BLOCK, 0, 0, 16 * (1 + 4)},
};

Test(work_steps, is_what_was_worked_out_by_hand) {
    struct target t = round_gpu();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct steps_case *c = &cases[i];
        struct arena a = {0};
        struct bound b;
        bound_compute(parsed(&a, c->text), &t, &b);
        cr_expect(eq(dbl, b.work.bytes_read, c->read), "%s: reads %g", c->name, b.work.bytes_read);
        cr_expect(eq(dbl, b.work.bytes_least, c->least), "%s: at least %g", c->name,
                  b.work.bytes_least);
        cr_expect(eq(dbl, b.work.contract_flops, c->flops), "%s: %g products", c->name,
                  b.work.contract_flops / PRODUCT);
        cr_expect(epsilon_eq(dbl, b.limit_compute_s, c->limit / 2 / 1e12, 1e-15),
                  "%s: the limit has %g products", c->name, b.limit_compute_s * 2 * 1e12 / PRODUCT);
        cr_expect(eq(dbl, b.work.chain_ops, c->chain), "%s: a chain of %g", c->name,
                  b.work.chain_ops);
        cr_expect(le(dbl, b.limit_s, b.reach_s), "%s", c->name);
        arena_reset(&a);
    }
}

Test(work_steps, a_chain_can_be_what_binds) {
    struct arena a = {0};
    struct target t = round_gpu();
    struct bound b, again;
    struct error err = {0};
    const struct problem *p = parsed(&a, HEAD W Y FOR "h = tanh(x[t] + h @ w)" KEEP);
    bound_compute(p, &t, &b);
    cr_assert(eq(int, b.side, BOUND_CHAIN));
    cr_assert(epsilon_eq(dbl, b.reach_s, 1e-9 + 160 * 4e-9, 1e-15));
    const char *words = bound_explain(&a, p, &b, &t);
    cr_assert(strstr(words, "chain-bound") != NULL, "%s", words);
    cr_assert(strstr(words, "160 operations that wait for one another") != NULL, "%s", words);
    json_t *json = bound_to_json(&b);
    cr_assert(bound_from_json(json, &again, &err), "%s", err.text);
    cr_assert(eq(dbl, again.work.chain_ops, 160));
    cr_assert(eq(int, again.side, BOUND_CHAIN));
    json_decref(json);
    // Wide steps take longer than waiting for them.
    t.ceilings.f32_flops_per_s = 1e9;
    bound_compute(p, &t, &b);
    cr_assert(eq(int, b.side, BOUND_COMPUTE));
    arena_reset(&a);
}
