// How texts of the language are mutated: half the time by bytes, as libFuzzer does it, half the
// time by words and lines, so that most of what comes out still parses and the checker is reached.
// Included by one file of a fuzzer. AFL++ brings its own mutators and none of libFuzzer's.
#pragma once

#ifndef __AFL_COMPILER
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lang/lang.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

struct piece {
    size_t at, len;
};

static uint32_t mutate_random(uint32_t *state, uint32_t below) {
    *state = *state * 1664525 + 1013904223;
    return below ? (*state >> 8) % below : 0;
}

static bool in_word(uint8_t c) {
    return isalnum(c) || c == '_';
}

// Some word of the text, or a character between words.
static struct piece some_word(const uint8_t *data, size_t size, uint32_t *r) {
    size_t at = mutate_random(r, (uint32_t)size), end = at + 1;
    if (in_word(data[at])) {
        while (at > 0 && in_word(data[at - 1]))
            at--;
        while (end < size && in_word(data[end]))
            end++;
    }
    return (struct piece){at, end - at};
}

static struct piece some_line(const uint8_t *data, size_t size, uint32_t *r) {
    size_t at = mutate_random(r, (uint32_t)size);
    while (at > 0 && data[at - 1] != '\n')
        at--;
    const uint8_t *end = memchr(data + at, '\n', size - at);
    return (struct piece){at, end ? (size_t)(end - data) - at + 1 : size - at};
}

static const char *known_word(uint32_t *r) {
    static const char *const words[] = {
        "problem ",   "dim ",        "in ",
        "param ",     "out ",        "kernel for ",
        " on cpu",    "stage ",      "precision ",
        "order any",  " where ",     "f64",
        "for ",       " with ",      "reversed(",
        "[:, t]",     "    ",        ":\n",
        "f32",        "f16",         "bf16",
        "f8e4m3",     "f8e5m2",      "i64",
        "i32",        "i8",          "u8",
        "i4",         "bool",        "normal",
        "uniform",    "integers",    "index",
        "sign",       "bernoulli",   "zipf",
        "sorted",     "permutation", "offsets",
        "triangular", "upper",       "symmetric",
        "diagonal",   "axis=",       "keepdims=",
        "true",       "false",       "inf",
        "None",       ".T",          "[:, None]",
        "[::-1]",     "stride=",     "padding=",
        "groups=",    "dilation=",   "\"ij,jk\"",
        "\"same\"",   "combine ",    "laws ",
        " as f16",    " as cpu",     " layout 1,0",
        "rowwise",    "reduce",      "gemm",
        "map",        "attention",   "tile 4x4x4",
        "vec 4",      "M",           "N",
        "-1",         "0",           "1",
        "2",          "3",           "7",
        "64",         "2147483648",  "9223372036854775807",
        "1e308",      "0.5",         "(",
        ")",          ", ",          " : ",
        " = ",        " ~ ",         " @ ",
        " ** ",       " // ",        " % ",
        " < ",        " != ",        "\n",
        "# c\n",
    };
    const char *const *names = lang_function_names();
    uint32_t n_names = 0, n_words = sizeof words / sizeof *words;
    while (names[n_names])
        n_names++;
    uint32_t i = mutate_random(r, n_names + n_words);
    return i < n_words ? words[i] : names[i - n_words];
}

// Puts `with` in the place of a piece; what does not fit is left as it was.
static size_t replace(uint8_t *data, size_t size, size_t room, struct piece p, const void *with,
                      size_t len) {
    if (size - p.len + len > room)
        return size;
    memmove(data + p.at + len, data + p.at + p.len, size - p.at - p.len);
    memcpy(data + p.at, with, len);
    return size - p.len + len;
}

static size_t mutate_words(uint8_t *data, size_t size, size_t room, uint32_t *r) {
    static uint8_t copy[1 << 16];
    struct piece from = some_word(data, size, r), to = some_word(data, size, r);
    const char *word = known_word(r);
    uint32_t kind = mutate_random(r, 7);
    if (kind >= 4) {
        from = some_line(data, size, r);
        to = some_line(data, size, r);
    }
    if (from.len > sizeof copy)
        return size;
    memcpy(copy, data + from.at, from.len);
    switch (kind) {
    case 0:
        return replace(data, size, room, to, word, strlen(word));
    case 1:
        return replace(data, size, room, (struct piece){to.at, 0}, word, strlen(word));
    case 2:
    case 4:
        return replace(data, size, room, to, copy, from.len);
    case 3:
    case 5:
        return replace(data, size, room, to, "", 0);
    default:
        return replace(data, size, room, (struct piece){to.at, 0}, copy, from.len);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
    uint32_t r = seed;
    if (size == 0 || mutate_random(&r, 2))
        return LLVMFuzzerMutate(data, size, room);
    for (uint32_t n = 1 + mutate_random(&r, 4); n > 0 && size > 0; n--)
        size = mutate_words(data, size, room, &r);
    return size ? size : LLVMFuzzerMutate(data, size, room);
}
#endif
