// Comparing with what is expected: every element of f32, fast; the rest is in oracle_typed.c. And a
// comparison that failed in words.
#include "oracle/oracle_compare.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "ir/cut.h"
#include "oracle/describe_set.h"
#include "oracle/oracle_private.h"
#include "oracle/oracle_typed.h"

// Hot loops are compiled for what the machine has; the sanitizers do not stand the resolver.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(HONE_NO_CLONES)
#define ORACLE_HOT __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define ORACLE_HOT
#endif

enum { EVIDENCE_ELEMENTS = 4 };

// Sums over elements as they come.
struct tally {
    double sum, max;
    int64_t n_wrong, n_unwritten;
};

// Error of one element in units of the spread. Where nothing is rounded, only the exact
// value will do; where the truth is no number or beyond the type, only the same will. Where
// the honest computation overflows on its way (spread NAN) anything will. A result below the
// smallest normal number may be flushed to zero: fast exponentials do that, and nothing is
// lost that a float could show. One within a factor of four of the largest may be infinite: a
// hyperbolic sine is half of an exponential.
double oracle_error(float value, double truth, double spread) {
    float rounded = (float)truth;
    if (isnan(spread))
        return 0;
    // What f32 cannot hold is infinite in truth as in the candidate.
    if (value == rounded)
        return spread > 0 && isfinite(value) ? fabs((double)value - truth) / spread : 0;
    if (isnan(rounded))
        return isnan(value) ? 0 : INFINITY;
    if (value == 0 && fabsf(rounded) < FLT_MIN)
        return 0;
    if (isinf(value) && fabsf(rounded) > FLT_MAX / 4 && signbit(value) == signbit(rounded))
        return 0;
    if (isinf(rounded) || !(spread > 0))
        return INFINITY;
    double e = fabs((double)value - truth) / spread;
    return isnan(e) ? INFINITY : e;
}

double oracle_truth(const struct oracle_output *e, int64_t i) {
    return e->truth ? e->truth[i] : (double)e->high[i] + (double)e->low[i];
}

static void tally_one_by_one(const struct oracle_output *e, const float *values, uint32_t poison,
                             int64_t begin, int64_t end, struct tally *t) {
    for (int64_t i = begin; i < end; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        t->n_unwritten += bits == poison;
        double error = oracle_error(values[i], oracle_truth(e, i), e->spread[i]);
        t->sum += error * error;
        t->max = fmax(t->max, error);
        t->n_wrong += !(error <= e->stats.limit_max);
    }
}

// The same for WIDTH elements at a time where all are ordinary: finite, with a spread above zero,
// and no zero for something tiny. False when one is not; nothing was counted then.
enum { WIDTH = 8, STRETCH = 1024 };

typedef double wide __attribute__((vector_size(64)));
typedef long long wide_mask __attribute__((vector_size(64)));
typedef float narrow __attribute__((vector_size(32), aligned(4)));
typedef int narrow_mask __attribute__((vector_size(32)));

ORACLE_HOT static bool tally_ordinary(const struct oracle_output *e, const float *values,
                                      int64_t begin, int64_t end, struct tally *t) {
    wide sum = {0}, max = {0};
    wide_mask wrong = {0};
    narrow_mask odd = {0};
    const wide limit = (wide){0} + e->stats.limit_max;
    for (int64_t i = begin; i < end; i += WIDTH) {
        narrow value = *(const narrow *)&values[i], high = *(const narrow *)&e->high[i];
        narrow low = *(const narrow *)&e->low[i], spread = *(const narrow *)&e->spread[i];
        narrow_mask sign = (narrow_mask){0} + 0x7fffffff;
        narrow size = (narrow)((narrow_mask)high & sign), got = (narrow)((narrow_mask)value & sign);
        odd |= ~(spread > 0) | ~(size <= FLT_MAX) | ~(got <= FLT_MAX) |
               ((value == 0) & (size < FLT_MIN));
        wide truth = __builtin_convertvector(high, wide) + __builtin_convertvector(low, wide);
        wide error = __builtin_convertvector(value, wide) - truth;
        error = (wide)((wide_mask)error & ((wide_mask){0} + INT64_MAX));
        error /= __builtin_convertvector(spread, wide);
        sum += error * error;
        wide_mask larger = error > max;
        max = (wide)((larger & (wide_mask)error) | (~larger & (wide_mask)max));
        wrong -= ~(error <= limit);
    }
    for (int i = 0; i < WIDTH; i++)
        if (odd[i])
            return false;
    for (int i = 0; i < WIDTH; i++) {
        t->sum += sum[i];
        t->max = fmax(t->max, max[i]);
        t->n_wrong += wrong[i];
    }
    return true;
}

bool oracle_compare(const struct oracle_output *e, const void *data, uint32_t poison,
                    struct comparison *c) {
    const float *values = data;
    if (e->type != DTYPE_F32)
        return oracle_typed_compare(e, data, poison, c);
    *c = (struct comparison){.stats = e->stats};
    struct tally t = {0};
    for (int64_t i = 0; i < e->count; i += STRETCH) {
        int64_t end = i + STRETCH < e->count ? i + STRETCH : e->count;
        // The poison is not a number, so what was not written is never ordinary.
        bool done = (end - i) % WIDTH == 0 && tally_ordinary(e, values, i, end, &t);
        if (!done)
            tally_one_by_one(e, values, poison, i, end, &t);
    }
    c->n_wrong = t.n_wrong;
    c->n_unwritten = t.n_unwritten;
    c->stats.rms = e->count ? sqrt(t.sum / (double)e->count) : 0;
    c->stats.max = t.max;
    c->is_ok = c->stats.rms <= e->stats.limit_rms && t.max <= e->stats.limit_max && !t.n_unwritten;
    return c->is_ok;
}

// A NaN's sign means nothing.
static double unsigned_nan(double x) {
    return isnan(x) ? (double)NAN : x;
}

// "y[3, 17] is 0.5, expected 0.25"
static void describe(struct str *out, const struct oracle *o, int output, int64_t index,
                     double value, double truth) {
    const struct problem *p = o->problem;
    const struct node *n = &p->graph.nodes[p->outputs[output].node];
    const struct shape *s = &n->shape;
    int64_t at[RANK_MAX] = {0}, rest = index;
    for (int axis = s->rank - 1; axis >= 0; axis--) {
        at[axis] = rest % s->size[axis];
        rest /= s->size[axis];
    }
    str_printf(out, "%s", p->outputs[output].name);
    for (int axis = 0; axis < s->rank; axis++)
        str_printf(out, "%s%lld%s", axis ? ", " : "[", (long long)at[axis],
                   axis == s->rank - 1 ? "]" : "");
    int digits = dtype_is_wide(n->dtype) ? 17 : 9;
    str_printf(out, " is %.*g, expected %.*g", digits, unsigned_nan(value), digits,
               unsigned_nan(truth));
}

static double error_at(const struct oracle_output *e, const void *values, int64_t i) {
    return e->type == DTYPE_F32
               ? oracle_error(((const float *)values)[i], oracle_truth(e, i), e->spread[i])
               : oracle_typed_error(e, values, i);
}

// A truth value of another byte than 0 and 1 is shown as it is.
static double shown(const struct oracle_output *e, const void *values, int64_t i) {
    return e->type == DTYPE_BOOL ? ((const uint8_t *)values)[i] : dtype_get(e->type, values, i);
}

void oracle_list(struct str *out, const struct oracle *o, const struct oracle_listing *l) {
    const struct oracle_output *e = l->expected;
    const struct shape *s = &o->problem->graph.nodes[o->problem->outputs[l->output].node].shape;
    int64_t length = l->rows ? shape_count(s) / s->size[0] : 1;
    int n = 0;
    for (int64_t i = 0; i < e->count && n < EVIDENCE_ELEMENTS; i++) {
        if (error_at(e, l->values, i) <= l->above)
            continue;
        int64_t at = l->rows  ? l->rows[i / length] * length + i % length
                     : l->box ? box_place(l->box, s, i)
                              : i;
        str_puts(out, "\n  ");
        describe(out, o, l->output, at, shown(e, l->values, i), oracle_truth(e, i));
        n++;
    }
}

// What was computed in, for words.
static const char *precision_name(enum dtype t) {
    return t == DTYPE_F64 ? "f64" : t == DTYPE_F32 ? "f32" : "f32 rounded once";
}

const char *oracle_evidence(struct arena *a, const struct oracle *o, enum oracle_set set,
                            int output, const void *values, const struct comparison *c) {
    const struct oracle_output *e = &o->sets[set].outputs[output];
    const char *name = o->problem->outputs[output].name;
    struct str out = {0};
    if (c->n_unwritten == e->count)
        str_printf(&out, "no element of %s was written", name);
    else if (c->n_unwritten)
        str_printf(&out, "%lld of %lld elements of %s were not written", (long long)c->n_unwritten,
                   (long long)e->count, name);
    else if (c->n_wrong)
        str_printf(&out, "%lld of %lld elements of %s are wrong", (long long)c->n_wrong,
                   (long long)e->count, name);
    else
        str_printf(&out, "%s is less precise than %s honestly gives", name,
                   precision_name(e->type));
    str_printf(&out, "\n  inputs: %s", oracle_set_name(set));
    str_printf(&out, " (%s)", describe_set(a, o, set));
    // The first ones beyond the limit, or those that are far above the mean error.
    oracle_list(
        &out, o,
        &(struct oracle_listing){.expected = e,
                                 .values = values,
                                 .output = output,
                                 .above = c->n_wrong ? c->stats.limit_max : 0.99 * c->stats.max});
    if (!c->n_unwritten && dtype_is_float(e->type))
        str_printf(&out,
                   "\n  error in units of honest rounding: rms %.3g (allowed %.3g), worst %.3g "
                   "(allowed %.3g)",
                   c->stats.rms, c->stats.limit_rms, c->stats.max, c->stats.limit_max);
    return str_take(a, &out);
}
