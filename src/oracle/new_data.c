// Elements are made in small pieces that stay in the first cache: words, from them floats, from
// these what the type stores; a piece is then copied to its place, past the caches if asked for.
#include "oracle/new_data.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/parallel.h"
#include "base/uncached.h"
#include "hone_inputs.h"
#include "ir/inputs.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Elements of a piece, of one turn of a thread, and of a vector.
enum { PIECE = 1024, GRAIN = 1 << 16, LANES = 8 };

typedef uint32_t words8 __attribute__((vector_size(4 * LANES)));
typedef int32_t wholes8 __attribute__((vector_size(4 * LANES)));
typedef float floats8 __attribute__((vector_size(4 * LANES)));

// What elements are made of: words give numbers, these times `scale` plus `shift`.
struct draw {
    bool is_normal;
    float scale, shift, low, high;  // and within these
    enum dtype type;
    uint32_t key[2];
    bool bypasses_caches;
    void *out;
};

// ---- making a piece. Compiled twice: for any machine, and for those with wider vectors.

// What a table of straight lines needs of each: where it begins, and by how much it falls.
struct line {
    float begin, fall;
};

// Of the quantiles of hone_normal(), which has 32 to the octave.
enum { LINES = 864, FIRST_LINE = 32, STEP_BITS = 18 };
// One more for the words that become 2^31 when they are rounded to a float: the end of the last.
static struct line lines[LINES + 1];

static void make_lines(void) {
    for (int i = 0; i < LINES; i++) {
        float begin = (float)hone_normal_quantile(i), end = (float)hone_normal_quantile(i + 1);
        lines[i] = (struct line){begin, begin - end};
    }
    lines[LINES] = (struct line){(float)hone_normal_quantile(LINES), 0};
}

// As hone_normal() has it, but for the last bit: on the same grid, with the same tails. The octave
// and the step in it are the exponent and first bits of a float.
static inline __attribute__((always_inline)) void to_bits(const words8 *word, wholes8 *bits) {
    wholes8 tail = (wholes8)(*word & 0x7FFFFFFFu) | FIRST_LINE;
    floats8 wide = __builtin_convertvector(tail, floats8);
    memcpy(bits, &wide, sizeof *bits);
}

// Which line it is, and how far along it.
static inline __attribute__((always_inline)) void to_line(const wholes8 *bits, wholes8 *line,
                                                          floats8 *part) {
    *line = (*bits >> STEP_BITS) - ((127 + 4) << 5);
    *part = __builtin_convertvector(*bits & ((1 << STEP_BITS) - 1), floats8) * 0x1p-18F;
}

static inline __attribute__((always_inline)) void to_grid(const words8 *word, const floats8 *tail,
                                                          floats8 *out) {
    floats8 z = *tail * 0x1p-7F + 0.5F;
    floats8 v = __builtin_convertvector(__builtin_convertvector(z, wholes8), floats8) * 0x1p-21F;
    *out = (floats8)((words8)v | (*word & 0x80000000u));
}

// From one index to the next.
#define STEP 0x9E3779B1u
#define MIX(h, s1, m1, s2, m2) (h ^= h >> (s1), h *= (m1), h ^= h >> (s2), h *= (m2), h ^= h >> 16)

static inline __attribute__((always_inline)) void begin_words(const struct draw *d, uint32_t first,
                                                              words8 *at) {
    words8 index = {0, 1, 2, 3, 4, 5, 6, 7};
    *at = (index + first) * STEP + d->key[0];
}

// Twice mixed: to make a piece again takes longer than to read it. `at` goes on to the next ones.
static inline __attribute__((always_inline)) void to_words(const struct draw *d, words8 *at,
                                                           words8 *out) {
    words8 h = *at;
    *at += LANES * STEP;
    MIX(h, 16, 0x85EBCA6Bu, 13, 0xC2B2AE35u);
    h ^= d->key[1];
    MIX(h, 15, 0x2C1B3C6Du, 12, 0x297A2D39u);
    *out = h;
}

static inline __attribute__((always_inline)) void make_uniform(const struct draw *d, uint32_t first,
                                                               float *out) {
    const floats8 low = d->low - (floats8){0}, high = d->high - (floats8){0};
    words8 at;
    begin_words(d, first, &at);
    for (int i = 0; i < PIECE; i += LANES) {
        words8 h;
        to_words(d, &at, &h);
        floats8 v = __builtin_convertvector((wholes8)(h >> 8), floats8) * 0x1p-24F;
        v = v * d->scale + d->shift;
        wholes8 under = v<low, over = v> high;
        v = (floats8)(((wholes8)v & ~under) | ((wholes8)low & under));
        v = (floats8)(((wholes8)v & ~over) | ((wholes8)high & over));
        memcpy(out + i, &v, sizeof v);
    }
}

static void make_normal(const struct draw *d, uint32_t first, float *out) {
    words8 at;
    begin_words(d, first, &at);
    for (int i = 0; i < PIECE; i += LANES) {
        words8 h;
        wholes8 bits, line;
        floats8 part, begin, fall;
        to_words(d, &at, &h);
        to_bits(&h, &bits);
        to_line(&bits, &line, &part);
        for (int k = 0; k < LANES; k++) {
            begin[k] = lines[line[k]].begin;
            fall[k] = lines[line[k]].fall;
        }
        floats8 tail = begin - fall * part, v;
        to_grid(&h, &tail, &v);
        v = v * d->scale + d->shift;
        memcpy(out + i, &v, sizeof v);
    }
}

#if defined(__x86_64__)
// The same, with the lines gathered: the machine has an instruction for that.
__attribute__((target("avx2"))) static void make_normal_avx2(const struct draw *d, uint32_t first,
                                                             float *out) {
    words8 at;
    begin_words(d, first, &at);
    for (int i = 0; i < PIECE; i += LANES) {
        words8 h;
        wholes8 bits, line;
        floats8 part;
        to_words(d, &at, &h);
        to_bits(&h, &bits);
        to_line(&bits, &line, &part);
        floats8 begin = (floats8)_mm256_i32gather_ps(&lines[0].begin, (__m256i)line, 8);
        floats8 fall = (floats8)_mm256_i32gather_ps(&lines[0].fall, (__m256i)line, 8);
        floats8 tail = begin - fall * part, v;
        to_grid(&h, &tail, &v);
        v = v * d->scale + d->shift;
        memcpy(out + i, &v, sizeof v);
    }
}
#endif

// Rounded to nearest, ties to even. No infinity and no NaN comes here.
static inline __attribute__((always_inline)) void to_bf16(const float *in, uint16_t *out) {
    for (int i = 0; i < PIECE; i++) {
        uint32_t u;
        memcpy(&u, in + i, sizeof u);
        out[i] = (uint16_t)((u + 0x7FFFu + (u >> 16 & 1)) >> 16);
    }
}

// Below 2^-14 the numbers of f16 are as far apart as floats around 0.5: adding that rounds.
static inline __attribute__((always_inline)) void to_f16(const float *in, uint16_t *out) {
    for (int i = 0; i < PIECE; i++) {
        uint32_t u;
        memcpy(&u, in + i, sizeof u);
        uint32_t sign = u >> 16 & 0x8000u, a = u & 0x7FFFFFFFu, small;
        float magnitude = fabsf(in[i]) + 0.5F;
        memcpy(&small, &magnitude, sizeof small);
        uint32_t large = (a + 0xFFFu + (a >> 13 & 1) - (112u << 23)) >> 13;
        uint32_t bits = a < 113u << 23 ? small - 0x3F000000u : large;
        out[i] = (uint16_t)(sign | (bits > 0x7BFFu ? 0x7BFFu : bits));
    }
}

typedef void make_fn(const struct draw *d, uint32_t first, float *out);

static inline __attribute__((always_inline)) void make_piece(const struct draw *d, int64_t at,
                                                             make_fn *normal, void *out) {
    float narrowed[PIECE], *floats = d->type == DTYPE_F32 ? out : narrowed;
    // The upper half of the index goes into the key.
    struct draw here = *d;
    here.key[0] ^= (uint32_t)(at >> 32) * 0x85EBCA77u;
    if (d->is_normal)
        normal(&here, (uint32_t)at, floats);
    else
        make_uniform(&here, (uint32_t)at, floats);
    if (d->type == DTYPE_F16)
        to_f16(floats, out);
    else if (d->type == DTYPE_BF16)
        to_bf16(floats, out);
}

static void make_anywhere(const struct draw *d, int64_t at, void *out) {
    make_piece(d, at, make_normal, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void make_avx2(const struct draw *d, int64_t at, void *out) {
    make_piece(d, at, make_normal_avx2, out);
}
#endif

static void make(const struct draw *d, int64_t at, void *out) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        make_avx2(d, at, out);
        return;
    }
#endif
    make_anywhere(d, at, out);
}

// ---- putting it in its place

static void put(const struct draw *d, char *to, const char *from, int64_t bytes) {
    if (d->bypasses_caches)
        copy_past_caches(to, from, (size_t)bytes);
    else
        memcpy(to, from, (size_t)bytes);
}

static void fill(void *ctx, int64_t begin, int64_t end) {
    const struct draw *d = ctx;
    _Alignas(64) char piece[PIECE * sizeof(float)];
    for (int64_t at = begin; at < end; at += PIECE) {
        int64_t n = end - at < PIECE ? end - at : PIECE;
        make(d, at, piece);
        put(d, (char *)d->out + dtype_size(d->type, at), piece, dtype_size(d->type, n));
    }
}

// What was written by ordinary stores leaves the caches again.
static void flush(const struct new_data *d, const void *out) {
#if defined(__x86_64__)
    const struct node *n = &d->problem->graph.nodes[d->problem->inputs[d->input].node];
    int64_t bytes = dtype_size(n->dtype, shape_count(&n->shape));
    for (int64_t at = 0; d->bypasses_caches && at < bytes; at += 64)
        __builtin_ia32_clflush((const char *)out + at);
#else
    (void)d;
    (void)out;
#endif
}

static bool is_quick(const struct problem_input *in, enum dtype type) {
    bool is_real = in->distribution.kind == DISTRIBUTION_NORMAL ||
                   in->distribution.kind == DISTRIBUTION_UNIFORM;
    return is_real && !in->maker && in->promise == PROMISE_NONE &&
           (type == DTYPE_F32 || type == DTYPE_F16 || type == DTYPE_BF16);
}

static struct draw draw_of(const struct new_data *d, void *out) {
    const struct problem_input *in = &d->problem->inputs[d->input];
    float a = (float)in->distribution.a, b = (float)in->distribution.b;
    struct draw draw = {.is_normal = in->distribution.kind == DISTRIBUTION_NORMAL,
                        .type = d->problem->graph.nodes[in->node].dtype,
                        .bypasses_caches = d->bypasses_caches,
                        .out = out};
    // One way: who works out the key from the data still does not know the seed, nor what will be
    // drawn after it.
    uint32_t words[4];
    hone_random4(d->seed, (uint32_t)d->input, HONE_STREAM_VALUE, 0, words);
    memcpy(draw.key, words, sizeof draw.key);
    draw.scale = draw.is_normal ? b : b - a;
    draw.shift = a;
    draw.low = draw.is_normal ? -INFINITY : a;
    draw.high = draw.is_normal ? INFINITY : nextafterf(b, a);
    return draw;
}

void new_data_fill(const struct new_data *d, void *out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_lines);
    const struct problem *p = d->problem;
    const struct node *n = &p->graph.nodes[p->inputs[d->input].node];
    if (is_quick(&p->inputs[d->input], n->dtype)) {
        struct draw draw = draw_of(d, out);
        parallel_for(d->n_threads, shape_count(&n->shape), GRAIN, fill, &draw);
        return;
    }
    struct inputs_job job = {.problem = p,
                             .input = d->input,
                             .set = INPUT_SET_DECLARED,
                             .seed = d->seed,
                             .n_threads = d->n_threads};
    inputs_fill_parallel(&job, out);
    flush(d, out);
}
