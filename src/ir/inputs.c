// Distributions become sources of runtime/hone_inputs.h; sets (integers, wide, one sign) change
// their parameters. Computed inputs are interpreted from their hidden draws.
#include "ir/inputs.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "hone_inputs.h"
#include "hone_storage.h"
#include "ir/interpret.h"
#include "ir/reading.h"
#include "ir/relations.h"
#include "ir/work.h"

enum { FILL_GRAIN = 1 << 16 };  // elements that a thread draws at a time

static const int32_t draw_of[DISTRIBUTION_COUNT] = {
    [DISTRIBUTION_NORMAL] = HONE_NORMAL,
    [DISTRIBUTION_UNIFORM] = HONE_UNIFORM,
    [DISTRIBUTION_INTEGERS] = HONE_INTEGERS,
    [DISTRIBUTION_SIGN] = HONE_SIGN,
    [DISTRIBUTION_INDEX] = HONE_INTEGERS,
    [DISTRIBUTION_BERNOULLI] = HONE_BERNOULLI,
    [DISTRIBUTION_ZIPF] = HONE_ZIPF,
    [DISTRIBUTION_SORTED] = HONE_SORTED,
    [DISTRIBUTION_PERMUTATION] = HONE_PERMUTATION,
    [DISTRIBUTION_OFFSETS] = HONE_OFFSETS,
    [DISTRIBUTION_CONSTANT] = HONE_CONSTANT,
};

static const int32_t promise_of[PROMISE_COUNT] = {
    [PROMISE_NONE] = HONE_FULL,           [PROMISE_UPPER] = HONE_UPPER,
    [PROMISE_LOWER] = HONE_LOWER,         [PROMISE_DIAGONAL] = HONE_DIAGONAL,
    [PROMISE_SYMMETRIC] = HONE_SYMMETRIC,
};

// 2^x for x from -64 to 64 by operations that are the same on every machine: 2^(x/256) by its
// series, squared eight times.
static double power_of_two_to(double x) {
    double y = x * 0.69314718055994531 / 256, term = 1, sum = 1;
    for (int i = 1; i < 16; i++) {
        term = term * y / i;
        sum += term;
    }
    for (int i = 0; i < 8; i++)
        sum *= sum;
    return sum;
}

// An octave [2^i - 1, 2^(i+1) - 1) weighs as many as it has, each like its middle.
static void set_zipf_odds(struct hone_source *s, double a, double size) {
    double weights[32] = {0}, total = 0, below = 0;
    for (int i = 0; i < 32 && ldexp(1, i) - 1 < size; i++) {
        double count = fmin(ldexp(1, i), size - (ldexp(1, i) - 1));
        weights[i] = count * power_of_two_to(-a * i) / (i ? power_of_two_to(a / 2) : 1);
        total += weights[i];
    }
    for (int i = 0; i < 32; i++) {
        below += weights[i];
        s->odds[i] = (uint32_t)fmin(below / total * 0x1p32, 0xFFFFFFFFu);
    }
}

static struct hone_source source_of(const struct distribution *d, bool is_whole) {
    struct hone_source s = {
        .kind = draw_of[d->kind], .a = (float)d->a, .b = (float)d->b, .step = 1};
    switch (d->kind) {
    case DISTRIBUTION_INTEGERS:
    case DISTRIBUTION_SORTED:
        s.lo = (int32_t)d->a;
        s.hi = (int32_t)d->b;
        if (d->kind == DISTRIBUTION_SORTED && is_whole)
            s.kind = HONE_SORTED_WHOLE;
        break;
    case DISTRIBUTION_INDEX:
        s.hi = (int32_t)(d->a - 1);
        break;
    case DISTRIBUTION_OFFSETS:
        s.hi = (int32_t)d->a;
        break;
    case DISTRIBUTION_BERNOULLI:
        s.odds[0] = d->a >= 1 ? 0xFFFFFFFFu : (uint32_t)(d->a * 0x1p32);
        break;
    case DISTRIBUTION_ZIPF:
        s.hi = (int32_t)d->b;
        set_zipf_odds(&s, d->a, d->b);
        break;
    default:
        break;
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
static void small_integers(const struct distribution *d, struct hone_source *s) {
    bool is_spread = (d->kind == DISTRIBUTION_NORMAL && d->b > 0) ||
                     (d->kind == DISTRIBUTION_UNIFORM && d->b > d->a);
    if (!is_spread)
        return;
    bool is_normal = d->kind == DISTRIBUTION_NORMAL;
    double step = power_of_two(is_normal ? d->b : (d->b - d->a) / 4);
    double lo = is_normal ? round(d->a / step) - 3 : ceil(d->a / step);
    double hi = is_normal ? lo + 6 : floor(d->b / step);
    if (fabs(lo) > 4096 || fabs(hi) > 4096)
        return;  // far from zero for its width: no small integers there
    s->kind = HONE_INTEGERS;
    s->lo = (int32_t)lo;
    s->hi = (int32_t)hi;
    s->step = (float)step;
}

// Long numbers have 19 digits where the type has room for them between its smallest normal number
// and `top`, and as many as it has room for elsewhere: tensor cores align products by the exponents
// of their factors, and that of a subnormal factor is too large for it, so that they lose digits of
// sums that are exact in f32. None where these are too few to tell anything.
static int digits_below(double top, enum dtype type) {
    enum { DIGITS = 19, DIGITS_MIN = 6 };
    int bits = dtype_infos[type].exponent,
        room = bits ? ilogb(top) - (2 - (1 << (bits - 1))) : DIGITS;
    return room >= DIGITS ? DIGITS : room >= DIGITS_MIN ? room : 0;
}

// Where zero is among the declared draws: multiples of a power of two so small that long numbers
// end where these end. Not for problems with means of inputs, which are not exact whatever the
// data, and where a long number in the first place is too much for a shifted variance. A sum has
// some four long numbers of each input, and two of them seldom meet in a product.
static bool digits(const struct problem *p, const struct distribution *d, enum dtype type,
                   struct hone_source *s) {
    bool is_normal = d->kind == DISTRIBUTION_NORMAL;
    bool is_uniform = d->kind == DISTRIBUTION_UNIFORM && d->b > d->a;
    double lo = is_normal ? d->a - 2 * d->b : d->a, hi = is_normal ? d->a + 2 * d->b : d->b;
    if (!(is_normal && d->b > 0) && !is_uniform)
        return false;
    if (lo > 0 || hi < 0 || work_has_plain_mean(&p->graph))
        return false;
    double top = lo < 0 && hi > 0 ? fmin(-lo, hi) : fmax(-lo, hi);
    int n = digits_below(top, type);
    if (!n)
        return false;
    double odds = 4.0 / (double)relations_longest_sum(p);
    s->kind = HONE_DIGITS;
    s->top = 1U << (n - 1);
    s->lo = lo < 0 && hi > 0 ? -1 : 0;
    s->hi = hi > 0 ? 1 : -1;
    s->step = (float)ldexp(power_of_two(top), -n);
    s->odds[0] = (uint32_t)(fmin(odds, 0.125) * 0x1p32);
    return true;
}

// Where the mean is taken from the data they lie at 4096 deviations or more: then the rounding of
// one square to f32 is as large as the variance, so that the mean of the squares less the square of
// the mean loses it at any length and in any order of sums. Around a power of two: a long chain
// cannot hold what lies beyond that, and errs by chance only where as much is lost as gained.
// Draws of a range stay in it, and their variance shall not vanish against what a norm adds to it.
// False: no such place in the declared range.
static bool shift_far(const struct distribution *d, struct distribution *out) {
    static const double deviations = 4096, width = 1.0 / 256;
    if (d->kind == DISTRIBUTION_NORMAL && d->b > 0 && fabs(d->a) < deviations / 4 * d->b) {
        out->b = d->b / 2;
        out->a = copysign(exp2(ceil(log2(fabs(d->a) + deviations * out->b))), d->a);
        return true;
    }
    double larger = fabs(d->a) > fabs(d->b) ? d->a : d->b;
    if (d->kind != DISTRIBUTION_UNIFORM || !(d->a < d->b))
        return false;
    double place = copysign(power_of_two(fabs(larger) / (1 + width)), larger);
    out->a = place - fabs(place) * width;
    out->b = place + fabs(place) * width;
    return out->a >= d->a && out->b <= d->b;
}

// All of one sign, away from zero, inside the declared range where there is one.
static struct hone_source shifted(const struct distribution *d, bool is_far) {
    struct distribution out = *d;
    if (is_far && shift_far(d, &out))
        return source_of(&out, false);
    out = *d;
    double larger = fabs(d->a) > fabs(d->b) ? d->a : d->b;
    double half = d->kind == DISTRIBUTION_INTEGERS ? trunc(larger / 2) : larger / 2;
    if (d->kind == DISTRIBUTION_NORMAL) {
        out.a = d->a < 0 ? d->a - 16 * d->b : d->a + 16 * d->b;
        out.b = d->b / 2;
    } else if (d->kind == DISTRIBUTION_UNIFORM || d->kind == DISTRIBUTION_INTEGERS) {
        if (larger > 0)
            out.a = fmax(d->a, half);
        else
            out.b = fmin(d->b, half);
    }
    return source_of(&out, false);
}

const char *input_set_name(enum input_set set) {
    static const char *const names[] = {"declared", "integers", "digits", "wide",        "shifted",
                                        "equal",    "huge",     "tiny",   "alternating", "spike"};
    assert((unsigned)set < INPUT_SET_COUNT);
    return names[set];
}

// Whole numbers, signs and places mean something: they are not stretched. But any place may be
// named, any number of times, and parts of a row may be as long as they like.
static void apply_set(const struct inputs_job *job, enum dtype type, struct hone_source *s) {
    const struct distribution *d = &job->problem->inputs[job->input].distribution;
    if (job->set == INPUT_SET_WIDE &&
        (d->kind == DISTRIBUTION_INDEX || d->kind == DISTRIBUTION_ZIPF ||
         d->kind == DISTRIBUTION_OFFSETS))
        s->pattern = HONE_ENDS;
    if (d->kind != DISTRIBUTION_NORMAL && d->kind != DISTRIBUTION_UNIFORM)
        return;
    bool weighs_one = job->set == INPUT_SET_DIGITS && work_has_plain_mean(&job->problem->graph);
    bool has_both_signs = d->kind == DISTRIBUTION_NORMAL || (d->a < 0 && d->b > 0);
    int exponent = dtype_infos[type].exponent > 5 ? 20 : 5;
    s->is_wide = job->set == INPUT_SET_WIDE;
    if (job->set == INPUT_SET_EQUAL)
        s->pattern = HONE_EQUAL;
    else if (job->set == INPUT_SET_SPIKE || weighs_one)
        s->pattern = HONE_SPIKE;
    else if (job->set == INPUT_SET_ALTERNATING && has_both_signs)
        s->pattern = HONE_ALTERNATING;
    else if (job->set == INPUT_SET_HUGE || job->set == INPUT_SET_TINY)
        s->step = (float)ldexp(1, job->set == INPUT_SET_HUGE ? exponent : -exponent);
}

// How far: as much as all others of its row together, where the type has room for that.
static float stands_out(enum dtype type, uint64_t columns) {
    bool has_room = dtype_infos[type].exponent > 5;
    return (float)(has_room && columns > 4096 ? power_of_two((double)columns) : 4096);
}

static const struct node *input_node(const struct inputs_job *job) {
    const struct problem *p = job->problem;
    assert(job->input >= 0 && job->input < p->n_inputs);
    return &p->graph.nodes[p->inputs[job->input].node];
}

struct hone_source inputs_source(const struct inputs_job *job) {
    const struct node *n = input_node(job);
    const struct problem_input *in = &job->problem->inputs[job->input];
    assert(!in->maker);
    struct hone_source s = source_of(&in->distribution, dtype_is_integer(n->dtype));
    bool has_digits =
        job->set == INPUT_SET_DIGITS && digits(job->problem, &in->distribution, n->dtype, &s);
    if (job->set == INPUT_SET_INTEGERS ||
        (job->set == INPUT_SET_DIGITS && !has_digits && !work_has_plain_mean(&job->problem->graph)))
        small_integers(&in->distribution, &s);
    else if (job->set == INPUT_SET_SHIFTED && in->distribution.kind < DISTRIBUTION_INDEX)
        s = shifted(&in->distribution, dtype_infos[n->dtype].bits >= 32 &&
                                           work_is_centred(&job->problem->graph, in->node));
    apply_set(job, n->dtype, &s);
    int rank = n->shape.rank;
    s.columns = rank > 0 ? (uint64_t)n->shape.size[rank - 1] : 1;
    s.stands_out = stands_out(n->dtype, s.columns);
    s.rows = rank > 1 ? (uint64_t)n->shape.size[rank - 2] : 1;
    s.promise = promise_of[in->promise];
    s.input = (uint32_t)job->input;
    s.seed = job->seed;
    return s;
}

double inputs_at(const struct inputs_job *job, int64_t index) {
    struct hone_source s = inputs_source(job);
    enum dtype t = input_node(job)->dtype;
    return stored_drawn((int)t, hone_input(&s, (uint64_t)index, t == DTYPE_F64));
}

struct filling {
    struct hone_source source;
    enum dtype type;
    void *out;
};

// Elements [begin, end); begin is a multiple of 4.
static void fill(void *ctx, int64_t begin, int64_t end) {
    const struct filling *f = ctx;
    float *out = f->out;
    for (int64_t i = begin; i < end; i += 4) {
        float four[4];
        hone_input4(&f->source, (uint64_t)i >> 2, four);
        for (int j = 0; j < 4 && i + j < end; j++)
            out[i + j] = four[j];
    }
}

static void fill_typed(void *ctx, int64_t begin, int64_t end) {
    const struct filling *f = ctx;
    for (int64_t i = begin; i < end; i++)
        dtype_put(
            f->type, f->out, i,
            stored_drawn((int)f->type, hone_input(&f->source, (uint64_t)i, f->type == DTYPE_F64)));
}

// Four to a call of the generator where that gives the bits of one at a time: such draws are
// floats, and so are the whole numbers that these types may be drawn from. What depends on its
// place goes one at a time.
static bool goes_by_four(const struct hone_source *s) {
    return s->kind <= HONE_CONSTANT;
}

// Compiled for each type of 16 bits: with the type a constant the conversion is a few instructions.
static inline void fill_16(const struct filling *f, int type, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += 4) {
        float four[4];
        hone_input4(&f->source, (uint64_t)i >> 2, four);
        for (int j = 0; j < 4 && i + j < end; j++)
            stored_put(type, f->out, (uint64_t)(i + j), stored_drawn(type, (double)four[j]));
    }
}

__attribute__((flatten)) static void fill_f16(void *ctx, int64_t begin, int64_t end) {
    fill_16(ctx, STORED_F16, begin, end);
}

__attribute__((flatten)) static void fill_bf16(void *ctx, int64_t begin, int64_t end) {
    fill_16(ctx, STORED_BF16, begin, end);
}

static parallel_fn fill_of(const struct filling *f) {
    if (f->type == DTYPE_F32)
        return fill;
    if (f->type == DTYPE_F16 && goes_by_four(&f->source))
        return fill_f16;
    return f->type == DTYPE_BF16 && goes_by_four(&f->source) ? fill_bf16 : fill_typed;
}

struct inputs_job inputs_hidden(const struct inputs_job *job, int i) {
    struct inputs_job draw = *job;
    draw.problem = job->problem->inputs[job->input].maker;
    draw.input = i;
    draw.seed += UINT64_C(0x9E3779B97F4A7C15) * (uint64_t)(job->input + 1);
    return draw;
}

// An input that is computed from hidden draws: those of its own problem, under a seed of its own.
static void fill_made(const struct inputs_job *job, const struct problem *maker, void *out) {
    struct interpret_data data = {0};
    struct interpret_result result;
    void *hidden[INPUTS_MAX];
    for (int i = 0; i < maker->n_inputs; i++) {
        struct inputs_job draw = inputs_hidden(job, i);
        const struct node *n = input_node(&draw);
        hidden[i] = reading_alloc(dtype_size(n->dtype, shape_count(&n->shape)), 1);
        inputs_fill_parallel(&draw, hidden[i]);
        data.inputs[i] = hidden[i];
    }
    interpret_parallel(maker, &data, job->n_threads, &result);
    if (job->fault && !job->fault[0])
        memcpy(job->fault, result.fault, sizeof result.fault);
    enum dtype type = input_node(job)->dtype;
    for (int64_t i = 0; i < result.count[0]; i++)
        dtype_put(type, out, i, result.wide[0] ? result.wide[0][i] : (double)result.honest[0][i]);
    interpret_reset(&result);
    for (int i = 0; i < maker->n_inputs; i++)
        free(hidden[i]);
}

void inputs_fill_parallel(const struct inputs_job *job, void *out) {
    const struct node *n = input_node(job);
    const struct problem *maker = job->problem->inputs[job->input].maker;
    if (maker) {
        fill_made(job, maker, out);
        return;
    }
    struct filling f = {inputs_source(job), n->dtype, out};
    parallel_for(job->n_threads, shape_count(&n->shape), FILL_GRAIN, fill_of(&f), &f);
}

void inputs_fill_set(const struct problem *p, int input, enum input_set set, uint64_t seed,
                     void *out) {
    struct inputs_job job = {
        .problem = p, .input = input, .set = set, .seed = seed, .n_threads = 1};
    inputs_fill_parallel(&job, out);
}

void inputs_fill(const struct problem *p, int input, uint64_t seed, void *out) {
    inputs_fill_set(p, input, INPUT_SET_DECLARED, seed, out);
}
