#include "ir/inputs.h"

#include <assert.h>
#include <math.h>

#include "base/parallel.h"
#include "hone_rng.h"

enum { STREAM_VALUE, STREAM_SCALE };

enum { FILL_GRAIN = 1 << 16 };  // elements that a thread draws at a time

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

// What one input of one set is drawn from, and where it goes.
struct filling {
    struct source source;
    uint32_t input;
    uint64_t seed;
    bool is_wide;  // each element times 2^-6 .. 2^6
    enum dtype type;
    void *out;
};

static void put(const struct filling *f, int64_t i, float v) {
    if (f->type == DTYPE_F32)
        ((float *)f->out)[i] = v;
    else
        dtype_put(f->type, f->out, i, (double)v);
}

// Elements [begin, end); begin is a multiple of 4.
static void fill(void *ctx, int64_t begin, int64_t end) {
    const struct filling *f = ctx;
    uint32_t words[4], scales[4] = {0};
    for (int64_t i = begin; i < end; i += 4) {
        hone_random4(f->seed, f->input, STREAM_VALUE, (uint64_t)i >> 2, words);
        if (f->is_wide)
            hone_random4(f->seed, f->input, STREAM_SCALE, (uint64_t)i >> 2, scales);
        for (int j = 0; j < 4 && i + j < end; j++) {
            float v = draw(&f->source, words[j]);
            if (f->is_wide)
                v *= (float)(1 << (int)hone_integer(scales[j], 0, 12)) / 64;
            put(f, i + j, v);
        }
    }
}

const char *input_set_name(enum input_set set) {
    static const char *const names[] = {"declared", "integers", "wide", "shifted"};
    assert((unsigned)set < INPUT_SET_COUNT);
    return names[set];
}

void inputs_fill_parallel(const struct inputs_job *job, void *out) {
    const struct problem *p = job->problem;
    assert(job->input >= 0 && job->input < p->n_inputs);
    const struct distribution *d = &p->inputs[job->input].distribution;
    // Whole numbers and signs mean something: they are not stretched.
    bool can_stretch = d->kind == DISTRIBUTION_NORMAL || d->kind == DISTRIBUTION_UNIFORM;
    struct filling f = {.source = source_of(d),
                        .input = (uint32_t)job->input,
                        .seed = job->seed,
                        .is_wide = job->set == INPUT_SET_WIDE && can_stretch,
                        .type = p->graph.nodes[p->inputs[job->input].node].dtype,
                        .out = out};
    if (job->set == INPUT_SET_INTEGERS)
        f.source = small_integers(d);
    else if (job->set == INPUT_SET_SHIFTED)
        f.source = shifted(d);
    int64_t count = shape_count(&p->graph.nodes[p->inputs[job->input].node].shape);
    parallel_for(job->n_threads, count, FILL_GRAIN, fill, &f);
}

void inputs_fill_set(const struct problem *p, int input, enum input_set set, uint64_t seed,
                     void *out) {
    struct inputs_job job = {p, input, set, seed, 1};
    inputs_fill_parallel(&job, out);
}

void inputs_fill(const struct problem *p, int input, uint64_t seed, void *out) {
    inputs_fill_set(p, input, INPUT_SET_DECLARED, seed, out);
}
