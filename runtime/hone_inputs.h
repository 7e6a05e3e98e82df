// One element of one input from (source, index): what a set of inputs is made of, the same bits in
// C and in CUDA. A distribution that is added here reaches every device by itself.
#ifndef HONE_INPUTS_H
#define HONE_INPUTS_H

#include "hone_rng.h"

enum {
    HONE_NORMAL,
    HONE_UNIFORM,
    HONE_INTEGERS,
    HONE_SIGN,
    HONE_DIGITS,  // 1 and 2, and `odds` / 2^32 of them odd numbers of as many bits as `top`
    HONE_CONSTANT,
    // From here on an element may depend on where it stands. `columns` is the last axis.
    HONE_BERNOULLI,     // 1 with probability `odds` / 2^32, else 0
    HONE_ZIPF,          // whole numbers below `hi`; octave by octave as `odds` says
    HONE_PERMUTATION,   // each row has every whole number below `columns` once
    HONE_SORTED,        // uniform in [a, b), no row ever falls
    HONE_SORTED_WHOLE,  // whole numbers lo .. hi, no row ever falls
    HONE_OFFSETS,       // as sorted, from 0 to `hi` inclusive: where the parts of a row begin
    HONE_DRAWS
};

// What tells the words apart that one input draws.
enum { HONE_STREAM_VALUE, HONE_STREAM_SCALE, HONE_STREAM_LOW, HONE_STREAM_PERMUTE };

// What a set makes of the draws, and what an input promises of its last two axes.
enum { HONE_AS_DRAWN, HONE_EQUAL, HONE_ALTERNATING, HONE_SPIKE, HONE_ENDS };
enum { HONE_FULL, HONE_UPPER, HONE_LOWER, HONE_DIAGONAL, HONE_SYMMETRIC };

// A distribution made ready for drawing: numbers in float, draws times a power of two.
struct hone_source {
    uint64_t seed;
    uint32_t input;
    int32_t kind;
    float a, b;
    int32_t lo, hi;
    float step;       // draws are multiplied by this power of two: exact
    int32_t is_wide;  // hone_magnitude()
    int32_t pattern, promise;
    float stands_out;        // spike: so many times as large as the others, a power of two
    uint64_t rows, columns;  // of the last two axes; 1 where there are none
    uint32_t odds[32];       // of 2^32: bernoulli [0]; zipf: that it lies below octave i + 1
    uint32_t top;            // digits: the leading bit of a long number
};

HONE_DEVICE static inline int64_t hone_whole(uint32_t word, int64_t lo, int64_t hi) {
    return lo + (int64_t)((word * (uint64_t)(hi - lo + 1)) >> 32);
}

// `lo` < 0: either sign; `hi` < 0: negative.
HONE_DEVICE static inline float hone_digits(const struct hone_source *s, uint32_t word) {
    uint32_t bits = word * 0x9E3779B1u;  // those above the odds say nothing of those below
    bits ^= bits >> 15;
    uint32_t top = s->top;
    uint32_t v = word < s->odds[0] ? top | (bits >> 4 & (top / 2 - 1)) | 1 : 1 + (bits >> 1 & 1);
    int is_negative = s->lo < 0 ? (int)(bits & 1) : s->hi < 0;
    return (is_negative ? -(float)v : (float)v) * s->step;
}

HONE_DEVICE static inline float hone_draw(const struct hone_source *s, uint32_t word) {
    switch (s->kind) {
    case HONE_NORMAL:
        return hone_normal(word, s->a, s->b) * s->step;
    case HONE_UNIFORM:
        return hone_uniform(word, s->a, s->b) * s->step;
    case HONE_INTEGERS:
        return hone_integer(word, s->lo, s->hi) * s->step;
    case HONE_SIGN:
        return hone_sign(word);
    case HONE_DIGITS:
        return hone_digits(s, word);
    default:
        return s->a * s->step;
    }
}

// A bijection of [0, columns) for each row: four rounds of a Feistel network on the next even
// number of bits, walked until it comes back into range.
HONE_DEVICE static inline uint64_t hone_permuted(const struct hone_source *s, uint64_t index) {
    uint64_t row = index / s->columns, x = index % s->columns;
    int half = 1;
    while (half < 16 && (uint64_t)1 << (2 * half) < s->columns)
        half++;
    uint32_t mask = (1u << half) - 1;
    do {
        uint32_t left = (uint32_t)(x >> half), right = (uint32_t)x & mask;
        for (int round = 0; round < 4; round++) {
            uint32_t words[4];
            hone_random4(s->seed, s->input, HONE_STREAM_PERMUTE,
                         row << 20 | (uint64_t)round << 16 | right, words);
            uint32_t next = left ^ (words[0] & mask);
            left = right;
            right = next;
        }
        x = (uint64_t)left << half | right;
    } while (x >= s->columns);
    return x;
}

// Octave i holds [2^i - 1, 2^(i + 1) - 1), and inside it all are alike.
HONE_DEVICE static inline uint64_t hone_zipf(const struct hone_source *s, uint32_t word,
                                             uint32_t within) {
    uint64_t size = (uint64_t)(uint32_t)s->hi;
    int octave = 0;
    while (((uint64_t)2 << octave) - 1 < size && word >= s->odds[octave])
        octave++;
    uint64_t first = ((uint64_t)1 << octave) - 1, end = 2 * first + 1;
    if (end > size)
        end = size;
    return first + ((within * (end - first)) >> 32);
}

// (i + u) / n of [0, range): every element has its own stretch, so a row never falls.
HONE_DEVICE static inline uint64_t hone_stratum(uint64_t i, uint64_t n, uint64_t range,
                                                uint32_t word) {
    uint64_t whole = i * range, rest = whole % n;
    return whole / n + (rest + (((uint64_t)word * range) >> 32)) / n;
}

HONE_DEVICE static inline double hone_placed(const struct hone_source *s, uint64_t index,
                                             uint32_t word) {
    uint64_t i = index % s->columns, n = s->columns;
    switch (s->kind) {
    case HONE_BERNOULLI:
        return word < s->odds[0] || s->odds[0] == 0xFFFFFFFFu ? 1 : 0;
    case HONE_ZIPF:
        return (double)hone_zipf(s, word, hone_random(s->seed, s->input, HONE_STREAM_SCALE, index));
    case HONE_PERMUTATION:
        return (double)hone_permuted(s, index);
    case HONE_SORTED:
        return hone_affine((float)hone_stratum(i, n, 1u << 24, word) * (1.0f / 16777216.0f),
                           s->b - s->a, s->a);
    case HONE_SORTED_WHOLE:
        return (double)(s->lo +
                        (int64_t)hone_stratum(i, n, (uint64_t)((int64_t)s->hi - s->lo + 1), word));
    default: {  // half of it evenly, half of it ever wider: some parts small, some large
        uint64_t t = i == 0       ? 0
                     : i + 1 == n ? (uint64_t)1 << 31
                                  : hone_stratum(i - 1, n - 2, (uint64_t)1 << 31, word);
        t = (t + ((t * t) >> 31)) >> 1;
        for (int power = 2; s->pattern == HONE_ENDS && power <= 16; power *= 2)
            t = (t * t) >> 31;
        return (double)(((uint64_t)(uint32_t)s->hi * t) >> 31);
    }
    }
}

// Which element's draw stands at `index`; or none: 0 stands there.
HONE_DEVICE static inline int hone_promised(const struct hone_source *s, uint64_t *index) {
    uint64_t column = *index % s->columns, row = *index / s->columns % s->rows;
    if (s->promise == HONE_UPPER)
        return row <= column;
    if (s->promise == HONE_LOWER)
        return row >= column;
    if (s->promise == HONE_DIAGONAL)
        return row == column;
    if (s->promise == HONE_SYMMETRIC && row > column) {
        uint64_t base = *index - row * s->columns - column;
        *index = base + column * s->columns + row;
    }
    return 1;
}

// One element of each row; never its first, from which a shifted variance takes all differences.
HONE_DEVICE static inline int hone_stands_out(const struct hone_source *s, uint64_t index) {
    uint64_t row = index / s->columns, others = s->columns > 1 ? s->columns - 1 : 1;
    uint32_t word = hone_random(s->seed, s->input, HONE_STREAM_SCALE, row);
    return index % s->columns == s->columns - 1 - word % others;
}

// Of mixed magnitudes: times 2^-6 to 2^6, but the first element of a row or column, for the same
// reason, not times more than 1.
HONE_DEVICE static inline float hone_magnitude(const struct hone_source *s, uint64_t index,
                                               uint32_t word) {
    int exponent = (int)hone_integer(word, 0, 12);
    int is_first = (s->columns > 1 && index % s->columns == 0) ||
                   (s->rows > 1 && index / s->columns % s->rows == 0);
    return (float)(1 << (is_first && exponent > 6 ? 6 : exponent)) / 64;
}

// Half of all places are the first or the last one.
HONE_DEVICE static inline int hone_is_end(const struct hone_source *s, uint64_t index,
                                          double *end) {
    uint32_t word = hone_random(s->seed, s->input, HONE_STREAM_SCALE, ~index);
    *end = word >> 31 ? s->hi - (s->kind == HONE_ZIPF) : s->lo;
    return word >> 30 & 1;
}

// Who includes this may have it compiled once, rather than wherever it is called.
#ifndef HONE_INPUT_FN
#define HONE_INPUT_FN HONE_DEVICE static inline
#endif

// One element. A source of normal or uniform draws for f64 asks for `fine` ones.
HONE_INPUT_FN double hone_input(const struct hone_source *s, uint64_t index, int fine) {
    uint64_t at = index;
    if (s->promise != HONE_FULL && !hone_promised(s, &at))
        return 0;
    if (s->pattern == HONE_EQUAL)
        at = 0;
    uint32_t word = hone_random(s->seed, s->input, HONE_STREAM_VALUE, at);
    double end;
    if (s->pattern == HONE_ENDS && s->kind != HONE_OFFSETS && hone_is_end(s, at, &end))
        return end;
    if (s->kind > HONE_CONSTANT)
        return hone_placed(s, at, word);
    if (s->kind == HONE_INTEGERS && s->step == 1.0f)
        return (double)hone_whole(word, s->lo, s->hi);
    float v = hone_draw(s, word);
    if (s->is_wide) {
        uint32_t scale = hone_random(s->seed, s->input, HONE_STREAM_SCALE, at);
        v *= hone_magnitude(s, at, scale);
    }
    if (s->pattern == HONE_ALTERNATING)
        v = (v < 0) == (int)(index & 1) ? v : -v;
    if (s->pattern == HONE_SPIKE && !hone_stands_out(s, index))
        v *= 1.0f / s->stands_out;
    if (!fine || s->kind > HONE_UNIFORM)
        return (double)v;
    // 24 more bits below those of a float.
    uint32_t low = hone_random(s->seed, s->input, HONE_STREAM_LOW, at) >> 8;
    double more = (double)v * ((double)low * (1.0 / 281474976710656.0));
    return (double)v + more;
}

// Elements 4 * block to 4 * block + 3, of f32.
HONE_DEVICE static inline void hone_input4(const struct hone_source *s, uint64_t block,
                                           float out[4]) {
    uint32_t words[4], scales[4];
    if (s->kind > HONE_CONSTANT || s->pattern != HONE_AS_DRAWN || s->promise != HONE_FULL) {
        for (int i = 0; i < 4; i++)
            out[i] = (float)hone_input(s, 4 * block + (uint64_t)i, 0);
        return;
    }
    hone_random4(s->seed, s->input, HONE_STREAM_VALUE, block, words);
    for (int i = 0; i < 4; i++)
        out[i] = hone_draw(s, words[i]);
    if (!s->is_wide)
        return;
    hone_random4(s->seed, s->input, HONE_STREAM_SCALE, block, scales);
    for (int i = 0; i < 4; i++)
        out[i] *= hone_magnitude(s, 4 * block + (uint64_t)i, scales[i]);
}

#endif
