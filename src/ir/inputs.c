#include "ir/inputs.h"

#include <assert.h>
#include <math.h>

#include "base/parallel.h"
#include "hone_inputs.h"

enum { FILL_GRAIN = 1 << 16 };  // elements that a thread draws at a time

static const int32_t draw_of[DISTRIBUTION_COUNT] = {
    [DISTRIBUTION_NORMAL] = HONE_NORMAL,     [DISTRIBUTION_UNIFORM] = HONE_UNIFORM,
    [DISTRIBUTION_INTEGERS] = HONE_INTEGERS, [DISTRIBUTION_SIGN] = HONE_SIGN,
    [DISTRIBUTION_CONSTANT] = HONE_CONSTANT,
};

static struct hone_source source_of(const struct distribution *d) {
    struct hone_source s = {
        .kind = draw_of[d->kind], .a = (float)d->a, .b = (float)d->b, .step = 1};
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
static struct hone_source small_integers(const struct distribution *d) {
    struct hone_source s = source_of(d);
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
    s.kind = HONE_INTEGERS;
    s.lo = (int32_t)lo;
    s.hi = (int32_t)hi;
    s.step = (float)step;
    return s;
}

// All of one sign, away from zero, inside the declared range where there is one.
static struct hone_source shifted(const struct distribution *d) {
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

struct filling {
    struct hone_source source;
    float *out;
};

// Elements [begin, end); begin is a multiple of 4.
static void fill(void *ctx, int64_t begin, int64_t end) {
    const struct filling *f = ctx;
    for (int64_t i = begin; i < end; i += 4) {
        float four[4];
        hone_input4(&f->source, (uint64_t)i >> 2, four);
        for (int j = 0; j < 4 && i + j < end; j++)
            f->out[i + j] = four[j];
    }
}

const char *input_set_name(enum input_set set) {
    static const char *const names[] = {"declared", "integers", "wide", "shifted"};
    assert((unsigned)set < INPUT_SET_COUNT);
    return names[set];
}

struct hone_source inputs_source(const struct inputs_job *job) {
    const struct problem *p = job->problem;
    assert(job->input >= 0 && job->input < p->n_inputs);
    const struct distribution *d = &p->inputs[job->input].distribution;
    struct hone_source s = source_of(d);
    if (job->set == INPUT_SET_INTEGERS)
        s = small_integers(d);
    else if (job->set == INPUT_SET_SHIFTED)
        s = shifted(d);
    // Whole numbers and signs mean something: they are not stretched.
    bool can_stretch = d->kind == DISTRIBUTION_NORMAL || d->kind == DISTRIBUTION_UNIFORM;
    s.is_wide = job->set == INPUT_SET_WIDE && can_stretch;
    s.input = (uint32_t)job->input;
    s.seed = job->seed;
    return s;
}

float inputs_at(const struct inputs_job *job, int64_t index) {
    struct hone_source s = inputs_source(job);
    float four[4];
    hone_input4(&s, (uint64_t)index >> 2, four);
    return four[index & 3];
}

void inputs_fill_parallel(const struct inputs_job *job, float *out) {
    const struct problem *p = job->problem;
    struct filling f = {inputs_source(job), out};
    int64_t count = shape_count(&p->graph.nodes[p->inputs[job->input].node].shape);
    parallel_for(job->n_threads, count, FILL_GRAIN, fill, &f);
}

void inputs_fill_set(const struct problem *p, int input, enum input_set set, uint64_t seed,
                     float *out) {
    struct inputs_job job = {p, input, set, seed, 1};
    inputs_fill_parallel(&job, out);
}

void inputs_fill(const struct problem *p, int input, uint64_t seed, float *out) {
    inputs_fill_set(p, input, INPUT_SET_DECLARED, seed, out);
}
