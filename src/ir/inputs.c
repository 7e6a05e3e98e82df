#include "ir/inputs.h"

#include <assert.h>
#include <math.h>

#include "hone_rng.h"

enum { STREAM_VALUE, STREAM_SCALE };

// A distribution made ready for drawing: numbers in float, draws times a power of two.
struct source {
    enum distribution_kind kind;
    float a, b;
    int32_t lo, hi;
    float step;  // draws are multiplied by this power of two: exact
};

static float draw(const struct source *s, uint32_t word) {
    switch (s->kind) {
    case DISTRIBUTION_NORMAL:
        return hone_normal(word, s->a, s->b);
    case DISTRIBUTION_UNIFORM:
        return hone_uniform(word, s->a, s->b);
    case DISTRIBUTION_INTEGERS:
        return hone_integer(word, s->lo, s->hi) * s->step;
    case DISTRIBUTION_SIGN:
        return hone_sign(word);
    default:
        return s->a;
    }
}

static struct source source_of(const struct distribution *d) {
    struct source s = {.kind = d->kind, .a = (float)d->a, .b = (float)d->b, .step = 1};
    if (d->kind == DISTRIBUTION_INTEGERS) {
        s.lo = (int32_t)d->a;
        s.hi = (int32_t)d->b;
    }
    return s;
}

// The largest power of two that is not above x.
static double power_of_two(double x) {
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, exponent - 1);
}

// Few whole multiples of a power of two that lie where the declared draws lie: a problem
// that takes the logarithm of its input still gets positive ones.
static struct source small_integers(const struct distribution *d) {
    struct source s = source_of(d);
    bool is_spread = (d->kind == DISTRIBUTION_NORMAL && d->b > 0) ||
                     (d->kind == DISTRIBUTION_UNIFORM && d->b > d->a);
    if (!is_spread)
        return s;
    bool is_normal = d->kind == DISTRIBUTION_NORMAL;
    double step = power_of_two(is_normal ? d->b : (d->b - d->a) / 4);
    double lo = is_normal ? round(d->a / step) - 3 : ceil(d->a / step);
    double hi = is_normal ? lo + 6 : floor(d->b / step);
    if (fabs(lo) > 4096 || fabs(hi) > 4096)
        return s;  // far from zero for its width: no small integers there
    s.kind = DISTRIBUTION_INTEGERS;
    s.lo = (int32_t)lo;
    s.hi = (int32_t)hi;
    s.step = (float)step;
    return s;
}

// All of one sign, away from zero, inside the declared range where there is one.
static struct source shifted(const struct distribution *d) {
    struct distribution out = *d;
    double larger = fabs(d->a) > fabs(d->b) ? d->a : d->b;
    double half = d->kind == DISTRIBUTION_INTEGERS ? trunc(larger / 2) : larger / 2;
    if (d->kind == DISTRIBUTION_NORMAL) {
        out.a = d->a < 0 ? d->a - 4 * d->b : d->a + 4 * d->b;
        out.b = d->b / 2;
    } else if (d->kind == DISTRIBUTION_UNIFORM || d->kind == DISTRIBUTION_INTEGERS) {
        if (larger > 0)
            out.a = fmax(d->a, half);
        else
            out.b = fmin(d->b, half);
    }
    return source_of(&out);
}

static void fill(const struct source *s, int input, uint64_t seed, int64_t count, float *out) {
    uint32_t words[4];
    for (int64_t i = 0; i < count; i += 4) {
        hone_random4(seed, (uint32_t)input, STREAM_VALUE, (uint64_t)i >> 2, words);
        for (int j = 0; j < 4 && i + j < count; j++)
            out[i + j] = draw(s, words[j]);
    }
}

// Each element times 2^-6 .. 2^6.
static void widen(int input, uint64_t seed, int64_t count, float *out) {
    uint32_t words[4];
    for (int64_t i = 0; i < count; i += 4) {
        hone_random4(seed, (uint32_t)input, STREAM_SCALE, (uint64_t)i >> 2, words);
        for (int j = 0; j < 4 && i + j < count; j++)
            out[i + j] *= (float)(1 << (int)hone_integer(words[j], 0, 12)) / 64;
    }
}

const char *input_set_name(enum input_set set) {
    static const char *const names[] = {"declared", "integers", "wide", "shifted"};
    assert((unsigned)set < INPUT_SET_COUNT);
    return names[set];
}

void inputs_fill_set(const struct problem *p, int input, enum input_set set, uint64_t seed,
                     float *out) {
    assert(input >= 0 && input < p->n_inputs);
    const struct distribution *d = &p->inputs[input].distribution;
    struct source s = source_of(d);
    if (set == INPUT_SET_INTEGERS)
        s = small_integers(d);
    else if (set == INPUT_SET_SHIFTED)
        s = shifted(d);
    int64_t count = shape_count(&p->graph.nodes[p->inputs[input].node].shape);
    fill(&s, input, seed, count, out);
    // Whole numbers and signs mean something: they are not stretched.
    if (set == INPUT_SET_WIDE &&
        (d->kind == DISTRIBUTION_NORMAL || d->kind == DISTRIBUTION_UNIFORM))
        widen(input, seed, count, out);
}

void inputs_fill(const struct problem *p, int input, uint64_t seed, float *out) {
    inputs_fill_set(p, input, INPUT_SET_DECLARED, seed, out);
}
