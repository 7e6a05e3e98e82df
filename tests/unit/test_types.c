#include "ir/types.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "hone_elements.h"

static double bits_value(enum dtype t, uint32_t bits) {
    uint8_t data[4] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16)};
    return dtype_get(t, data, 0);
}

static uint32_t value_bits(enum dtype t, double v) {
    uint8_t data[8] = {0};
    dtype_put(t, data, 0, v);
    return data[0] | (uint32_t)data[1] << 8;
}

// Sign, exponent and fraction by the book, with no trick.
static double by_the_book(uint32_t bits, int exponent_bits, int fraction_bits, bool has_infinity) {
    uint32_t fraction = bits & ((1u << fraction_bits) - 1);
    int exponent = (int)(bits >> fraction_bits & ((1u << exponent_bits) - 1));
    int bias = (1 << (exponent_bits - 1)) - 1, last = (1 << exponent_bits) - 1;
    double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
    if (has_infinity && exponent == last)
        return fraction ? NAN : sign * INFINITY;
    if (!has_infinity && exponent == last && fraction == (1u << fraction_bits) - 1)
        return NAN;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp((1u << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

static void check_all(enum dtype t, int exponent_bits, int fraction_bits, bool has_infinity) {
    uint32_t n = 1u << (1 + exponent_bits + fraction_bits);
    for (uint32_t bits = 0; bits < n; bits++) {
        double want = by_the_book(bits, exponent_bits, fraction_bits, has_infinity);
        double got = bits_value(t, bits);
        if (isnan(want)) {
            cr_assert(isnan(got), "%s %x", dtype_name(t), bits);
            cr_assert(isnan(bits_value(t, value_bits(t, got))));
            continue;
        }
        cr_assert(got == want && signbit(got) == signbit(want), "%s %x: %g, not %g", dtype_name(t),
                  bits, got, want);
        cr_assert_eq(value_bits(t, want), bits, "%s %x", dtype_name(t), bits);
        cr_assert_eq(dtype_round(t, want), want);
        // Between two neighbours: nearer ones win, and in the middle the even one.
        uint32_t magnitude = bits & (n / 2 - 1);
        if (bits >= n / 2 || magnitude + 1 >= n / 2 || !isfinite(bits_value(t, bits + 1)))
            continue;
        double next = bits_value(t, bits + 1), middle = (want + next) / 2;
        cr_assert_eq(value_bits(t, middle), bits + (bits & 1), "%s %x", dtype_name(t), bits);
        cr_assert_eq(value_bits(t, nextafter(middle, -INFINITY)), bits);
        cr_assert_eq(value_bits(t, nextafter(middle, INFINITY)), bits + 1);
        cr_assert_eq(value_bits(t, -middle), (bits + (bits & 1)) | n / 2);
    }
}

Test(types, every_f16_and_bf16_and_f8_by_the_book) {
    check_all(DTYPE_F16, 5, 10, true);
    check_all(DTYPE_BF16, 8, 7, true);
    check_all(DTYPE_F8E5M2, 5, 2, true);
    check_all(DTYPE_F8E4M3, 4, 3, false);
}

Test(types, digits_are_rounded_as_by_the_library) {
    static const double values[] = {0.0, 1, 1.0 / 3, 4095.5, 4096.5, 4097.5, 6.1e-39, 1e38, 1e-300};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (int digits = 8; digits <= 24; digits++) {
            double v = values[i];
            int quantum = v == 0 ? 0 : ilogb(v) - digits + 1;
            double want = ldexp(rint(ldexp(v, -quantum)), quantum);
            cr_assert_eq(dtype_round_digits(digits, v), want, "%g to %d digits", v, digits);
            cr_assert_eq(dtype_round_digits(digits, -v), -want, "%g to %d digits", -v, digits);
        }
    cr_assert(signbit(dtype_round_digits(11, -0.0)) != 0);
    cr_assert_eq(dtype_round_digits(11, -INFINITY), -INFINITY);
    cr_assert(isnan(dtype_round_digits(11, NAN)));
}

Test(types, what_is_too_large) {
    static const struct {
        enum dtype type;
        double value;
        uint32_t bits;
    } cases[] = {
        {DTYPE_F16, 65519.99, 0x7bff},
        {DTYPE_F16, 65520, 0x7c00},
        {DTYPE_F16, -1e9, 0xfc00},
        {DTYPE_F16, INFINITY, 0x7c00},
        {DTYPE_F16, 0x1p-25, 0},
        {DTYPE_F16, 0x1.8p-25, 1},
        {DTYPE_BF16, 3.4e38, 0x7f80},
        {DTYPE_BF16, 3.38953e38, 0x7f7f},
        {DTYPE_F8E4M3, 448, 0x7e},
        {DTYPE_F8E4M3, 464, 0x7e},
        {DTYPE_F8E4M3, 464.0001, 0x7f},
        {DTYPE_F8E4M3, -1000, 0xff},
        {DTYPE_F8E4M3, INFINITY, 0x7f},
        {DTYPE_F8E4M3, 0x1p-10, 0},
        {DTYPE_F8E4M3, 0x1.1p-10, 1},
        {DTYPE_F8E4M3, 0x1p-9, 1},
        {DTYPE_F8E5M2, 57344, 0x7b},
        {DTYPE_F8E5M2, 61439, 0x7b},
        {DTYPE_F8E5M2, 61440, 0x7c},
        {DTYPE_F8E5M2, -INFINITY, 0xfc},
        {DTYPE_F8E5M2, 0x1p-17, 0},
        {DTYPE_F8E5M2, 0x1.8p-17, 1},
        {DTYPE_I8, 127.9, 127},
        {DTYPE_I8, 200, 127},
        {DTYPE_I8, -200, 0x80},
        {DTYPE_I8, -1.9, 0xff},
        {DTYPE_I8, NAN, 0},
        {DTYPE_U8, -3, 0},
        {DTYPE_U8, 300, 255},
        {DTYPE_BOOL, 0.5, 1},
        {DTYPE_BOOL, 0, 0},
        {DTYPE_F16, -0.0, 0x8000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_eq(value_bits(cases[i].type, cases[i].value), cases[i].bits, "%s(%g): %x",
                     dtype_name(cases[i].type), cases[i].value,
                     value_bits(cases[i].type, cases[i].value));
}

Test(types, i4_is_packed_low_nibble_first) {
    uint8_t data[3] = {0xff, 0xff, 0xff};
    cr_assert_eq(dtype_size(DTYPE_I4, 5), 3);
    for (int i = 0; i < 5; i++)
        dtype_put(DTYPE_I4, data, i, (double[]){-8, 7, 0, -1, 3}[i]);
    cr_assert(data[0] == 0x78 && data[1] == 0xf0 && (data[2] & 15) == 3 && data[2] >> 4 == 15);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(dtype_get(DTYPE_I4, data, i), ((double[]){-8, 7, 0, -1, 3}[i]));
    double run[3];
    dtype_get_run(DTYPE_I4, data, 1, 3, run);
    cr_assert(run[0] == 7 && run[1] == 0 && run[2] == -1);
}

Test(types, wide_integers_stop_at_their_ends) {
    int64_t wide[1];
    dtype_put(DTYPE_I64, wide, 0, 1e300);
    cr_assert_eq(wide[0], INT64_MAX);
    dtype_put(DTYPE_I64, wide, 0, -1e300);
    cr_assert_eq(wide[0], INT64_MIN);
    dtype_put(DTYPE_I64, wide, 0, -9007199254740993.0);
    cr_assert_eq(wide[0], -9007199254740992);
    cr_assert_eq(dtype_round(DTYPE_I32, 3e9), 2147483647);
    cr_assert_eq(dtype_whole(NAN), 0);
}

Test(types, integers_wrap_among_themselves_and_stop_from_floats) {
    cr_assert_eq(dtype_convert(DTYPE_I32, DTYPE_I8, 130), -126);
    cr_assert_eq(dtype_convert(DTYPE_I32, DTYPE_U8, -1), 255);
    cr_assert_eq(dtype_convert(DTYPE_I64, DTYPE_I32, 4294967297.0), 1);
    cr_assert_eq(dtype_convert(DTYPE_I32, DTYPE_I4, 9), -7);
    cr_assert_eq(dtype_convert(DTYPE_F32, DTYPE_I8, 130), 127);
    cr_assert_eq(dtype_convert(DTYPE_I32, DTYPE_F16, 2049), 2048);
    cr_assert_eq(dtype_round_digits(11, 1 + 0x1p-11), 1);
    cr_assert_eq(dtype_round_digits(11, 1 + 0x1.8p-11), 1 + 0x1p-10);
}

Test(types, promotion) {
    static const struct {
        enum dtype a, b, result;
    } cases[] = {
        {DTYPE_F16, DTYPE_F16, DTYPE_F32},     {DTYPE_F16, DTYPE_BF16, DTYPE_F32},
        {DTYPE_F64, DTYPE_F16, DTYPE_F64},     {DTYPE_I64, DTYPE_F32, DTYPE_F32},
        {DTYPE_I8, DTYPE_U8, DTYPE_I32},       {DTYPE_I4, DTYPE_I64, DTYPE_I64},
        {DTYPE_I64, DTYPE_F64, DTYPE_F64},     {DTYPE_BOOL, DTYPE_I8, DTYPE_I32},
        {DTYPE_F8E4M3, DTYPE_BOOL, DTYPE_F32}, {DTYPE_BOOL, DTYPE_BOOL, DTYPE_BOOL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(dtype_promote(cases[i].a, cases[i].b), cases[i].result, "%zu", i);
        cr_assert_eq(dtype_promote(cases[i].b, cases[i].a), cases[i].result, "%zu", i);
    }
    enum dtype t;
    cr_assert(dtype_find("f8e5m2", &t) && t == DTYPE_F8E5M2);
    cr_assert_not(dtype_find("tf32", &t));
}

// What exported programs convert with.
Test(types, runtime_header_agrees) {
    static const double values[] = {0,       -0.0, 1,    -1.5,  0.1,   -3.3,         447,  464,
                                    465,     1e9,  -1e9, 65519, 65520, 1e300,        1e-9, 6e-8,
                                    0x1p-25, 7.5,  -8.5, 127.9, 255.5, 2147483648.0, -129, 3e-5};
    for (int t = 0; t < DTYPE_COUNT; t++) {
        for (size_t i = 0; i < sizeof values / sizeof values[0] + 3; i++) {
            const double odd[] = {NAN, INFINITY, -INFINITY};
            double v = i < 3 ? odd[i] : values[i - 3];
            uint8_t ours[8] = {0}, theirs[8] = {0};
            dtype_put((enum dtype)t, ours, 1 % (64 / dtype_infos[t].bits), v);
            hone_put(t, theirs, 1 % (64 / dtype_infos[t].bits), v);
            cr_expect_eq(memcmp(ours, theirs, 8), 0, "%s %g", dtype_name((enum dtype)t), v);
        }
        int n = dtype_infos[t].bits < 32 && t != DTYPE_BOOL ? 1 << dtype_infos[t].bits : 0;
        for (int64_t bits = 0; bits < n; bits++) {
            double ours = dtype_get((enum dtype)t, &bits, 0), theirs = hone_get(t, &bits, 0);
            cr_expect(ours == theirs || (isnan(ours) && isnan(theirs)), "%s %x: %g, not %g",
                      dtype_name((enum dtype)t), (unsigned)bits, theirs, ours);
        }
        if (t >= DTYPE_F16 && t <= DTYPE_F8E5M2)
            cr_expect_eq(hone_drawn(t, 1e300), dtype_max((enum dtype)t));
    }
}

Test(types, words_are_recognised_in_every_type) {
    uint32_t words[4] = {0x7fc12345, 0x7fc12345, 0x7fc12345, 0x7fc12345};
    for (int t = 0; t < DTYPE_COUNT; t++) {
        int n = 128 / dtype_infos[t].bits;
        for (int i = 0; i < n; i++) {
            uint8_t bytes[16];
            memcpy(bytes, words, sizeof bytes);
            cr_expect(dtype_holds_word((enum dtype)t, bytes, i, words[0]));
            bytes[i * dtype_infos[t].bits / 8] ^= t == DTYPE_I4 && i % 2 ? 0x10 : 1;
            for (int k = 0; k < n; k++)
                cr_expect_eq(dtype_holds_word((enum dtype)t, bytes, k, words[0]), k != i);
        }
    }
}
