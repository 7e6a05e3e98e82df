// The truth on a GPU: the readings of ir/interpret*.c (value, variance, honest) element by element,
// driven by the tables of hone_oracle.h, so that nothing is compiled for a problem. Plain C without
// barriers or shared memory, as judge.cu: tests run it on a CPU, where it agrees with the
// interpreter to the bit. On a GPU the functions of the mathematical library may differ in the last
// bit of float64, and sums of variances may be fused; the order of honest sums is the same.
//
// Each class of operations has a header of its own. Every thread takes the elements (results, blocks of a sum, pieces of a product) first(),
// first() + stride(), ...
#ifdef __CUDACC__
#define HONE_INPUT_FN static __device__ __noinline__
// Threads look at other places of the table at a time, which takes as many turns in a cache as
// there are lines, and in shared memory two or three. oracle_fill, which alone draws, copies it.
#define HONE_QUANTILES 865
static __shared__ int oracle_quantiles[HONE_QUANTILES];
#define HONE_QUANTILE(i) oracle_quantiles[i]
#endif
#include "hone_inputs.h"
#include "hone_oracle_choice.h"
#include "hone_oracle_elementwise.h"
#include "hone_oracle_line.h"
#include "hone_oracle_move.h"
#include "hone_oracle_product.h"
#include "hone_oracle_reduce.h"

// ---- inputs

ORACLE_RARE void oracle_draw(const struct hone_source *s, u64 i, void *out, int type) {
    stored_put(type, out, i, stored_drawn(type, hone_input(s, i, type == STORED_F64)));
}

// As inputs_fill() of ir/inputs.c. A thread has four elements, so that none shares a byte.
JUDGE_KERNEL oracle_fill(struct hone_source s, u64 n, void *out, int type) {
#ifdef __CUDACC__
    for (int i = (int)threadIdx.x; i < HONE_QUANTILES; i += (int)blockDim.x)
        oracle_quantiles[i] = hone_normal_quantile(i);
    __syncthreads();
#endif
    int is_whole = type == STORED_F32 && (u64)out % 16 == 0;
    for (u64 i = first(); i < (n + 3) / 4; i += stride()) {
        float four[4];
        if (type == STORED_F32)
            hone_input4(&s, i, four);
        if (is_whole && 4 * i + 3 < n) {
            float4 v = {four[0], four[1], four[2], four[3]};
            ((float4 *)out)[i] = v;
            continue;
        }
        for (int k = 0; k < 4; k++)
            if (4 * i + k < n) {
                if (type == STORED_F32)
                    ((float *)out)[4 * i + k] = four[k];
                else
                    oracle_draw(&s, 4 * i + k, out, type);
            }
    }
}

// Stored elements as kernels read them: in float, or in double where the type is wide.
JUDGE_KERNEL oracle_widen(const void *from, int type, u64 n, void *to) {
    int is_wide = stored_is_wide(type);
    for (u64 i = first(); i < n; i += stride()) {
        double v = stored_get(type, from, i);
        if (is_wide)
            ((double *)to)[i] = v;
        else
            ((float *)to)[i] = (float)v;
    }
}

// The reverse, of honest results. Four elements each, as above.
JUDGE_KERNEL oracle_keep(struct oracle_array from, u64 n, void *to) {
    for (u64 i = first(); i < (n + 3) / 4; i += stride())
        for (int k = 0; k < 4; k++)
            if (4 * i + k < n)
                stored_put(from.type, to, 4 * i + k, oracle_honest(&from, 4 * i + k));
}

// ---- arrays made from others: as in oracle/derived.c

// Rows of `length` units of so many bytes: the i-th of `to` is number rows[i] of `from`.
JUDGE_KERNEL oracle_rows(const void *from, void *to, const u64 *rows, u64 n, u64 length,
                         u64 unit) {
    for (u64 i = first(); i < n * length; i += stride()) {
        u64 at = rows[i / length] * length + i % length;
        if (unit == 8)
            ((u64 *)to)[i] = ((const u64 *)from)[at];
        else if (unit == 4)
            ((unsigned *)to)[i] = ((const unsigned *)from)[at];
        else if (unit == 2)
            ((unsigned short *)to)[i] = ((const unsigned short *)from)[at];
        else
            ((unsigned char *)to)[i] = ((const unsigned char *)from)[at];
    }
}

// By a power of two, so exact but at the ends of the type. May be done in place.
JUDGE_KERNEL oracle_scale(const float *from, float *to, float factor, u64 n) {
    for (u64 i = first(); i < n; i += stride())
        to[i] = ORACLE_MUL(from[i], factor);
}

// Where derived_is_edge() nothing is claimed.
JUDGE_KERNEL oracle_edges(const float *high, float *spread, u64 n) {
    for (u64 i = first(); i < n; i += stride())
        if (!isfinite(high[i]) || (high[i] != 0 && fabsf(high[i]) < 1e-30f))
            spread[i] = ORACLE_NAN;
}

// ---- what is expected: as in oracle/oracle.c, and of other types than f32 in oracle/oracle_typed.c

// One element of f32, and the honest computation's error.
JUDGE_FN double oracle_put_float(const struct oracle_put *o, u64 at, struct oracle_point x) {
    float h = (float)x.value, l = isfinite(h) ? (float)(x.value - (double)h) : 0;
    double deviation = isfinite(x.value) ? sqrt(x.variance) : 0;
    float s = (float)(deviation > 0 && deviation < 1.401298464324817e-45 ? 1.401298464324817e-45
                                                                         : deviation);
    if (isinf(s))
        s = ORACLE_NAN;
    double error = judge_error((float)x.honest, (double)h + (double)l, s);
    if (!isfinite(error) || (o->allows_overflow && !isfinite(h)))
        s = ORACLE_NAN;
    ((float *)o->high)[at] = h;
    ((float *)o->low)[at] = l;
    ((float *)o->spread)[at] = s;
    return error;
}

JUDGE_FN double oracle_put_typed(const struct oracle_put *o, u64 at, struct oracle_point x) {
    int t = o->from.type;
    double unit = stored_unit(t, x.value, isfinite(x.value) ? sqrt(x.variance) : 0);
    if (o->allows_overflow && stored_is_float(t) && !isfinite(stored_round(t, x.value)))
        unit = STORED_NAN;
    double error = stored_error(t, x.honest, x.value, unit);
    ((double *)o->high)[at] = x.value;
    ((double *)o->spread)[at] = isfinite(error) ? unit : STORED_NAN;
    return error;
}

JUDGE_KERNEL oracle_put(struct oracle_put o, struct judge_part *parts) {
    struct judge_part part = {0, 0, 0, 0, 0, 0};
    for (u64 i = first(); i < o.n; i += stride()) {
        struct oracle_point x = oracle_read(&o.from, i);
        double error = o.from.type == STORED_F32 ? oracle_put_float(&o, o.at + i, x)
                                                 : oracle_put_typed(&o, o.at + i, x);
        if (!isfinite(error))
            continue;
        part.sum += error * error;
        part.max = error > part.max ? error : part.max;
    }
    judge_leave(parts, part);
}

JUDGE_FN double oracle_truth(int type, u64 high, u64 low, u64 i) {
    return type == STORED_F32
               ? (double)((const float *)high)[i] + (double)((const float *)low)[i]
               : ((const double *)high)[i];
}

JUDGE_KERNEL oracle_mean(int type, u64 high, u64 low, u64 n, struct judge_part *parts) {
    struct judge_part part = {0, 0, 0, 0, 0, 0};
    for (u64 i = first(); i < n; i += stride())
        part.sum += oracle_truth(type, high, low, i);
    judge_leave(parts, part);
}

// The same of stored elements.
JUDGE_KERNEL oracle_sum(const void *data, int type, u64 n, struct judge_part *parts) {
    struct judge_part part = {0, 0, 0, 0, 0, 0};
    for (u64 i = first(); i < n; i += stride())
        part.sum += stored_get(type, data, i);
    judge_leave(parts, part);
}

JUDGE_KERNEL oracle_guess(struct oracle_guess g, struct judge_part *parts) {
    struct judge_part part = {0, 0, 0, 0, 0, 0};
    for (u64 i = first(); i < g.n; i += stride()) {
        double value = g.constant, truth = oracle_truth(g.type, g.high, g.low, i), error;
        if (g.data)
            value = stored_get(g.data_type, (const void *)g.data, i % g.count);
        value = stored_round(g.type, value);
        error = g.type == STORED_F32
                    ? judge_error((float)value, truth, (double)((const float *)g.spread)[i])
                    : stored_error(g.type, value, truth, ((const double *)g.spread)[i]);
        part.sum += error * error;
        part.max = error > part.max ? error : part.max;
    }
    judge_leave(parts, part);
}
