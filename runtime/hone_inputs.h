// One element of one input from (source, index): what a set of inputs is made of, the same bits in
// C and in CUDA. A distribution that is added here reaches every device by itself.
#ifndef HONE_INPUTS_H
#define HONE_INPUTS_H

#include "hone_rng.h"

enum { HONE_NORMAL, HONE_UNIFORM, HONE_INTEGERS, HONE_SIGN, HONE_CONSTANT, HONE_DRAWS };

// What tells the words apart that one input draws.
enum { HONE_STREAM_VALUE, HONE_STREAM_SCALE };

// A distribution made ready for drawing: numbers in float, draws times a power of two.
struct hone_source {
    uint64_t seed;
    uint32_t input;
    int32_t kind;
    float a, b;
    int32_t lo, hi;
    float step;       // draws of integers are multiplied by this power of two: exact
    int32_t is_wide;  // each element times 2^-6 .. 2^6
};

HONE_DEVICE static inline float hone_draw(const struct hone_source *s, uint32_t word) {
    switch (s->kind) {
    case HONE_NORMAL:
        return hone_normal(word, s->a, s->b);
    case HONE_UNIFORM:
        return hone_uniform(word, s->a, s->b);
    case HONE_INTEGERS:
        return hone_integer(word, s->lo, s->hi) * s->step;
    case HONE_SIGN:
        return hone_sign(word);
    default:
        return s->a;
    }
}

// Elements 4 * block to 4 * block + 3.
HONE_DEVICE static inline void hone_input4(const struct hone_source *s, uint64_t block,
                                           float out[4]) {
    uint32_t words[4], scales[4];
    hone_random4(s->seed, s->input, HONE_STREAM_VALUE, block, words);
    for (int i = 0; i < 4; i++)
        out[i] = hone_draw(s, words[i]);
    if (!s->is_wide)
        return;
    hone_random4(s->seed, s->input, HONE_STREAM_SCALE, block, scales);
    for (int i = 0; i < 4; i++)
        out[i] *= (float)(1 << (int)hone_integer(scales[i], 0, 12)) / 64;
}

#endif
