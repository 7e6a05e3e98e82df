// Types in the interpreter: what the honest reading rounds, what the truth does not, and what
// one unit of error becomes.
#include <criterion/criterion.h>
#include <math.h>

#include "ir/interpret.h"
#include "parsed.h"

// One output of a problem over the inputs x and z.
static struct interpret_result run(struct arena *a, const char *text, const void *x,
                                   const void *z) {
    const struct problem *p = parsed(a, text);
    struct interpret_data data = {.inputs = {x, z}};
    struct interpret_result r;
    interpret(p, &data, &r);
    return r;
}

Test(interpret_typed, a_typed_value_rounds_the_honest_reading_alone) {
    struct arena a = {0};
    float x[2] = {1 + 0x1p-12f, 3};
    struct interpret_result r =
        run(&a, "problem p\nin x : f32[2]\nout y : f32[2]\nt : f16 = x\ny = t * 2\n", x, NULL);
    cr_assert_eq(r.value[0][0], 2 * (1 + 0x1p-12));
    cr_assert_eq(r.honest[0][0], 2.0f);
    // One rounding to f16: u |v| / sqrt 3 with u = 2^-11.
    cr_assert_float_eq(r.spread[0][0], 2 * 0x1p-11 / sqrt(3), 1e-6);
    cr_assert_eq(r.spread[0][1], 0);  // f16 holds 3
    interpret_reset(&r);
    arena_reset(&a);
}

Test(interpret_typed, an_output_is_stored_as_declared) {
    struct arena a = {0};
    float x[3] = {1e6f, 0x1.002p0f, -65519};
    struct interpret_result r =
        run(&a, "problem p\nin x : f32[3]\nout y : f16[3]\ny = x * 1\n", x, NULL);
    cr_assert(isinf(r.honest[0][0]) && r.honest[0][1] == 1 && r.honest[0][2] == -65504);
    cr_assert_eq(r.value[0][2], -65519);
    interpret_reset(&r);
    arena_reset(&a);
}

Test(interpret_typed, a_declared_precision_rounds_factors) {
    struct arena a = {0};
    float x[2] = {1 + 0x1p-11f, 1 + 0x1.8p-11f}, z[2] = {1, 1};
    static const struct {
        const char *precision;
        float honest;
    } cases[] = {{"f32", 2 + 0x1.4p-10f},
                 {"f32 exact", 2 + 0x1.4p-10f},
                 {"tf32", 2 + 0x1p-10f},  // a tie goes to even, the other one up
                 {"f16 accumulate f32", 2 + 0x1p-10f},
                 {"bf16 accumulate f32", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text =
            arena_printf(&a,
                         "problem p\nprecision %s\nin x : f32[1, 2]\nin z : f32[2, 1]\n"
                         "out y : f32[1, 1]\ny = x @ z\n",
                         cases[i].precision);
        struct interpret_result r = run(&a, text, x, z);
        cr_assert_eq(r.value[0][0], 2 + 0x1.4p-10, "%s", cases[i].precision);
        cr_assert_eq(r.honest[0][0], cases[i].honest, "%s: %a", cases[i].precision,
                     (double)r.honest[0][0]);
        cr_assert_eq(r.spread[0][0] > 1e-5, i > 1, "%s", cases[i].precision);
        interpret_reset(&r);
    }
    arena_reset(&a);
}

// Sums of 14 digits err by 2^10 times as much, and are exact as long as 14 digits hold them.
Test(interpret_typed, sums_may_be_declared_shorter) {
    struct arena a = {0};
    unsigned char x[3] = {0x3c, 0x7e, 0x31}, z[3] = {0x38, 0x38, 0x38};  // 1.5, 448, 0.5625
    double spread[2];
    for (int i = 0; i < 2; i++) {
        const char *text = arena_printf(&a,
                                        "problem p\nprecision f8e4m3 accumulate %s\n"
                                        "in x : f8e4m3[1, 3]\nin z : f8e4m3[3, 1]\n"
                                        "out y : f32[1, 1]\ny = x @ z\n",
                                        i ? "f22" : "f32");
        for (x[2] = 0x31; x[2] >= 0x01; x[2] = x[2] == 0x31 ? 0x01 : 0) {
            struct interpret_result r = run(&a, text, x, z);
            if (x[2] == 0x31)
                cr_assert_eq(r.spread[0][0], 0);  // 450.0625 has 13 digits
            else
                spread[i] = r.spread[0][0];  // with 2^-9 it has 19
            interpret_reset(&r);
        }
    }
    cr_assert_eq(spread[0], 0);
    cr_assert(spread[1] > 1e-3 && spread[1] < 0.1, "%g", spread[1]);
    arena_reset(&a);
}

Test(interpret_typed, integers_wrap_and_divide_like_python) {
    struct arena a = {0};
    int32_t x[4] = {2147483647, -7, 65536, 5}, z[4] = {1, 2, 65536, 0};
    struct interpret_result r =
        run(&a,
            "problem p\nin x : i32[4]\nin z : i32[4]\nout a : i32[4]\nout b : i32[4]\n"
            "out c : i32[4]\nout d : i32[4]\na = x + z\nb = x // z\nc = x % z\nd = x * z\n",
            x, z);
    static const double want[4][4] = {{-2147483648.0, -5, 131072, 5},
                                      {2147483647, -4, 1, 0},
                                      {0, 1, 0, 0},
                                      {2147483647, -14, 0, 0}};
    for (int o = 0; o < 4; o++)
        for (int i = 0; i < 4; i++) {
            cr_assert_eq(r.value[o][i], want[o][i], "%d %d: %g", o, i, r.value[o][i]);
            cr_assert_eq(r.wide[o][i], want[o][i]);
            cr_assert_eq(r.spread[o][i], 0);
        }
    cr_assert_null(r.honest[0]);
    interpret_reset(&r);
    arena_reset(&a);
}

Test(interpret_typed, f64_is_computed_in_f64) {
    struct arena a = {0};
    double x[2] = {1 + 0x1p-40, 3};
    struct interpret_result r =
        run(&a, "problem p\nin x : f64[2]\nout y : f64[2]\ny = x * 0.1 + 1\n", x, NULL);
    cr_assert_eq(r.value[0][0], x[0] * 0.1 + 1);
    cr_assert_eq(r.wide[0][0], r.value[0][0]);
    cr_assert(r.spread[0][0] > 0 && r.spread[0][0] < 1e-15);
    interpret_reset(&r);
    arena_reset(&a);
}

Test(interpret_typed, positions_take_the_first_and_nan_wins) {
    struct arena a = {0};
    float x[8] = {1, 3, 3, 2, 5, NAN, 7, NAN};
    struct interpret_result r = run(
        &a,
        "problem p\nin x : f32[2, 4]\nout a : i64[2]\nout b : i64[2]\nout c : i64\nout d : f32[2]\n"
        "a = argmax(x, axis=1)\nb = argmin(x, axis=1)\nc = argmax(x)\nd = max(x, axis=1)\n",
        x, NULL);
    cr_assert(r.value[0][0] == 1 && r.value[0][1] == 1 && r.wide[0][1] == 1);
    cr_assert(r.value[1][0] == 0 && r.value[1][1] == 1);
    cr_assert(r.value[2][0] == 5 && isnan(r.value[3][1]));
    cr_assert_eq(r.spread[0][0], 0);  // inputs are exact: a tie is a tie
    interpret_reset(&r);
    arena_reset(&a);
}

Test(interpret_typed, what_stands_near_a_jump_is_uncertain) {
    struct arena a = {0};
    float x[3] = {0.1f, 0.7f, 2}, z[3] = {10, 10, 0.6f};
    struct interpret_result r = run(
        &a,
        "problem p\nin x : f32[3]\nin z : f32[3]\nout a : f32[3]\nout b : f32[3]\nout c : i32[3]\n"
        "out d : bool[3]\nt = x * z\na = floor(t)\nb = where(t > 1, 5, 2)\nc = i32(t)\n"
        "d = t >= 1\n",
        x, z);
    // 0.1f times 10 is 1 but for a rounding: the floor may be 0, the comparison either.
    cr_assert(r.spread[0][0] == 1 && r.spread[0][2] == 0);
    cr_assert(r.spread[1][0] == 3 && r.spread[1][1] == 0);
    cr_assert(r.spread[2][0] == 1 && r.spread[2][2] == 0);
    cr_assert(r.spread[3][0] == 1 && r.spread[3][1] == 0);
    interpret_reset(&r);
    arena_reset(&a);
}

Test(interpret_typed, packed_and_narrow_inputs_are_read_as_stored) {
    struct arena a = {0};
    uint8_t i4[3] = {0x21, 0xf8, 0x07}, f8[5] = {0x38, 0x40, 0xb8, 0x7e, 0x01};
    struct interpret_result r =
        run(&a,
            "problem p\nin x : i4[5]\nin z : f8e4m3[5]\nout y : f32[5]\nout s : i32\n"
            "y = x * z\ns = sum(x)\n",
            i4, f8);
    static const double want[5] = {1, 4, 8, -448, 7 * 0x1p-9};
    for (int i = 0; i < 5; i++)
        cr_assert_eq(r.value[0][i], want[i], "%d: %g", i, r.value[0][i]);
    cr_assert_eq(r.wide[1][0], 1 + 2 - 8 - 1 + 7);
    interpret_reset(&r);
    arena_reset(&a);
}
