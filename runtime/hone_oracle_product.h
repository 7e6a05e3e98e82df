// Products of matrices: as in ir/interpret_matmul.c. Both sides are packed first, k by k, so that
// whatever strides they have, a thread reads four rows or columns at once and multiplies them in
// registers: the rate is that of float64 arithmetic and not of memory. A sum is cut into runs of
// ORACLE_RUN terms; oracle_join makes one of these.
#ifndef HONE_ORACLE_PRODUCT_H
#define HONE_ORACLE_PRODUCT_H

#include "hone_oracle_reading.h"

enum { ORACLE_SIDE = 4 };

// Of two floats, whose product is exact in double: a sum of products is the same however it is
// fused. Squares of products are fused on a GPU alone.
#ifdef __CUDACC__
#define ORACLE_FMA(a, b, c) fma(a, b, c)
#define ORACLE_ADD_SQUARE(sum, a, b, a2, b2) fma(a2, b2, sum)
#define ORACLE_INEXACT_PRODUCT(a, b, product) (fmaf(a, b, -(product)) != 0)
#else
#define ORACLE_FMA(a, b, c) ((a) * (b) + (c))
#define ORACLE_ADD_SQUARE(sum, a, b, a2, b2) ((sum) + (a) * (b) * ((a) * (b)))
#define ORACLE_INEXACT_PRODUCT(a, b, product) ((double)(a) * (double)(b) != (double)(product))
#endif

// ---- packing

// A factor as the declared precision multiplies it: as in ir/interpret_precision.c.
JUDGE_FN struct oracle_point oracle_narrow(int precision, struct oracle_point x) {
    double carried = x.variance;
    if (precision == ORACLE_TF32) {  // 11 digits, no end to the exponent
        x.honest = stored_round_at(x.honest, 11, -1022);
        if (carried > 0 || stored_round_at(x.value, 11, -1022) != x.value)
            x.variance += x.value * x.value * 2.384185791015625e-07 / 3;
    } else if (precision != ORACLE_AS_STORED) {
        x.honest = stored_round(precision, x.honest);
        x.variance += stored_rounding(precision, x.value, carried);
    }
    return x;
}

// Under tap `t` of position `row`; ~0: outside.
JUDGE_FN u64 oracle_under(const struct oracle_pack *p, u64 plane, u64 row, u64 t) {
    const struct oracle_span *s = p->spans;
    u64 at[3] = {row / s[2].n / s[1].n, row / s[2].n % s[1].n, row % s[2].n};
    u64 tap[3] = {t / s[2].n_taps / s[1].n_taps, t / s[2].n_taps % s[1].n_taps, t % s[2].n_taps};
    for (int i = 0; i < 3; i++) {
        u64 y = at[i] * s[i].advance + s[i].offset + tap[i] * s[i].offset_step;
        if (y >= s[i].size)
            return ~0ull;
        plane = plane * s[i].size + y;
    }
    return plane;
}

JUDGE_FN u64 oracle_weight(const struct oracle_pack *p, u64 group, u64 row, u64 channel, u64 t) {
    const struct oracle_span *s = p->spans;
    u64 tap[3] = {t / s[2].n_taps / s[1].n_taps, t / s[2].n_taps % s[1].n_taps, t % s[2].n_taps};
    u64 at = p->is_transposed ? (group * p->channels + channel) * p->m + row
                              : (group * p->m + row) * p->channels + channel;
    for (int i = 0; i < 3; i++)
        at = at * s[i].window + s[i].tap + tap[i] * s[i].tap_step;
    return at;
}

// The number of an element in the argument; ~0: it is a zero.
JUDGE_FN u64 oracle_packed(const struct oracle_pack *p, u64 batch, u64 k, u64 row) {
    u64 n_taps = p->spans[0].n_taps * p->spans[1].n_taps * p->spans[2].n_taps;
    if (p->kind == ORACLE_STRIDED)
        return p->at + oracle_place(&p->from.axes, batch) + row * p->row_step + k * p->k_step;
    u64 at = p->kind == ORACLE_WEIGHTS
                 ? oracle_weight(p, batch, row, k / n_taps, k % n_taps)
                 : oracle_under(p, batch * p->channels + k / n_taps, row, k % n_taps);
    return at == ~0ull ? at : oracle_place(&p->from.axes, at);
}

// Zeros beyond the last row. Under a weight that is not finite padding is open (leave_open() of
// ir/interpret_window.c), which the host knows.
JUDGE_KERNEL oracle_pack(struct oracle_pack p) {
    for (u64 i = first(); i < p.to.batches * p.k * p.to.rows; i += stride()) {
        u64 row = i % p.to.rows, k = i / p.to.rows % p.k, at = ~0ull;
        struct oracle_point x = {0, 0, 0};
        if (row < p.rows)
            at = oracle_packed(&p, i / p.to.rows / p.k, k, row);
        if (at != ~0ull)
            x = oracle_narrow(p.precision, oracle_read(&p.from.array, at));
        if (p.kind == ORACLE_WEIGHTS && !(x.value - x.value == 0))
            *(int *)p.fault = 1;
        if (p.to.value) {
            ((double *)p.to.value)[i] = x.value;
            ((double *)p.to.variance)[i] = x.variance;
        }
        ((float *)p.to.honest)[i] = (float)x.honest;
    }
}

JUDGE_FN double oracle_factor_value(const struct oracle_factor *f, u64 i) {
    return f->value ? ((const double *)f->value)[i] : (double)((const float *)f->honest)[i];
}

// Where k = 0 of a row is.
JUDGE_FN u64 oracle_factor_at(const struct oracle_factor *f, u64 batch, u64 k, u64 n_k, u64 row) {
    return (batch % f->batches * n_k + k) * f->rows + row;
}

// ---- the bits of a row or column in one run: [run][batch][row]
//
// The lowest of both sides say what no product is below, so whether a sum can be exact; with the
// highest, whether f32 holds every product.

JUDGE_FN struct oracle_bits oracle_bits_of(const struct oracle_factor *f, u64 at, u64 n) {
    struct oracle_bits bits = {ORACLE_NO_BIT, ORACLE_ALL_BITS};
    for (u64 k = 0; k < n; k++) {
        double v = oracle_factor_value(f, at + k * f->rows);
        int low = oracle_low_bit(v), high = (int)(ORACLE_HIGH(v) >> 20 & 0x7ff) - 1023;
        bits.low = low < bits.low ? low : bits.low;
        bits.high = high > bits.high ? high : bits.high;
    }
    return bits;
}

JUDGE_KERNEL oracle_bits(struct oracle_factor f, u64 batch, u64 k) {
    u64 n_runs = (k + ORACLE_RUN - 1) / ORACLE_RUN;
    for (u64 i = first(); i < n_runs * batch * f.rows; i += stride()) {
        u64 start = i / f.rows / batch * ORACLE_RUN;
        u64 at = oracle_factor_at(&f, i / f.rows % batch, start, k, i % f.rows);
        ((struct oracle_bits *)f.bits)[i] =
            oracle_bits_of(&f, at, oracle_least(k - start, ORACLE_RUN));
    }
}

// ---- sums of one run

// One thread has SIDE x SIDE results.
struct oracle_piece {
    u64 row, column, batch, run;  // of the first
    u64 left, right;              // where these are at the first k of the run
    int n;                        // terms
    double value[ORACLE_SIDE][ORACLE_SIDE], squares[ORACLE_SIDE][ORACLE_SIDE];
    double products[ORACLE_SIDE][ORACLE_SIDE];  // squares of those that are rounded
    double fourth[ORACLE_SIDE][ORACLE_SIDE];    // of inputs sizes, else carried variance
    float honest[ORACLE_SIDE][ORACLE_SIDE];
};

#define ORACLE_EACH _Pragma("unroll") for (int i = 0; i < ORACLE_SIDE; i++)
#define ORACLE_EACH_PAIR \
    ORACLE_EACH          \
    _Pragma("unroll") for (int j = 0; j < ORACLE_SIDE; j++)

// -0 is what changes nothing when something is added to it.
JUDGE_FN void oracle_clear(struct oracle_piece *t) {
    ORACLE_EACH_PAIR {
        t->value[i][j] = -0.0;
        t->squares[i][j] = t->products[i][j] = t->fourth[i][j] = 0;
        t->honest[i][j] = -0.0f;
    }
}

// As in ir/interpret_matmul.c: which bits the other factor may not have for the product of parts to
// be the product, and whether it has.
JUDGE_FN u64 oracle_double_bits(double v) {
    return (u64)ORACLE_HIGH(v) << 32 | ORACLE_LOW(v);
}

JUDGE_FN u64 oracle_parts_refuse(int by_parts, double v) {
    u64 bits = oracle_double_bits(v), beyond_part = 0x3ffffffffffull, beyond_parts = 0x7fffffffull;
    return !by_parts             ? 0
           : bits & beyond_parts ? ~0ull
           : bits & beyond_part  ? beyond_part
                                 : beyond_parts;
}

#define ORACLE_APART(v, refused) ((oracle_double_bits(v) & (refused)) != 0)

// How products of inputs are summed. ORDINARY: each is rounded, or may be. SHORT: none is. For both
// sizes are not added up. SIZED: as SHORT, with sizes. CAREFUL: nothing is known.
enum { ORACLE_CAREFUL, ORACLE_ORDINARY, ORACLE_SHORT, ORACLE_SIZED };

// One term of each sum. `way` is a constant, so that each has code of its own.
JUDGE_FN void oracle_multiply_input(struct oracle_piece *t, float4 l, float4 r, int way,
                                    int by_parts) {
    float a[ORACLE_SIDE] = {l.x, l.y, l.z, l.w}, b[ORACLE_SIDE] = {r.x, r.y, r.z, r.w};
    double A[ORACLE_SIDE], B[ORACLE_SIDE], A2[ORACLE_SIDE], B2[ORACLE_SIDE];
    u64 refused[ORACLE_SIDE];
    ORACLE_EACH {
        A[i] = (double)a[i];
        B[i] = (double)b[i];
        A2[i] = A[i] * A[i];
        B2[i] = B[i] * B[i];
        refused[i] = oracle_parts_refuse(by_parts, A[i]);
    }
    ORACLE_EACH_PAIR {
        float honest = ORACLE_MUL(a[i], b[j]);
        double product = A[i] * B[j];
        t->honest[i][j] = ORACLE_PLUS(t->honest[i][j], honest);
        t->value[i][j] = ORACLE_FMA(A[i], B[j], t->value[i][j]);
        if (way == ORACLE_CAREFUL || way == ORACLE_SIZED) {
            t->squares[i][j] += product * product;
            t->fourth[i][j] += fabs(product);
            if (way == ORACLE_CAREFUL &&
                (oracle_inexact(product) || ORACLE_APART(B[j], refused[i])))
                t->products[i][j] += product * product;
            continue;
        }
        t->squares[i][j] = ORACLE_ADD_SQUARE(t->squares[i][j], A[i], B[j], A2[i], B2[j]);
        if (way == ORACLE_ORDINARY &&
            (ORACLE_INEXACT_PRODUCT(a[i], b[j], honest) || ORACLE_APART(B[j], refused[i])))
            t->products[i][j] = ORACLE_ADD_SQUARE(t->products[i][j], A[i], B[j], A2[i], B2[j]);
    }
}

// Some terms are read before they are multiplied, or every one would wait for memory; as many as
// registers hold.
#define ORACLE_TERMS (way == ORACLE_CAREFUL ? 2 : 4)
JUDGE_FN void oracle_multiply_inputs(const struct oracle_product *p, struct oracle_piece *t,
                                     int way) {
    const float *left = (const float *)p->left.honest + t->left;
    const float *right = (const float *)p->right.honest + t->right;
    int k = 0;
#pragma unroll 1
    for (; k + ORACLE_TERMS <= t->n; k += ORACLE_TERMS) {
        float4 l[4], r[4];
#pragma unroll
        for (int i = 0; i < ORACLE_TERMS; i++) {
            l[i] = *(const float4 *)(left + i * p->left.rows);
            r[i] = *(const float4 *)(right + i * p->right.rows);
        }
#pragma unroll
        for (int i = 0; i < ORACLE_TERMS; i++)
            oracle_multiply_input(t, l[i], r[i], way, p->by_parts);
        left += ORACLE_TERMS * p->left.rows;
        right += ORACLE_TERMS * p->right.rows;
    }
#pragma unroll 1
    for (; k < t->n; k++, left += p->left.rows, right += p->right.rows)
        oracle_multiply_input(t, *(const float4 *)left, *(const float4 *)right, way, p->by_parts);
}

JUDGE_FN void oracle_take4(const struct oracle_factor *f, u64 at,
                           struct oracle_point x[ORACLE_SIDE]) {
    float4 h = *(const float4 *)((const float *)f->honest + at);
    float honest[ORACLE_SIDE] = {h.x, h.y, h.z, h.w};
    ORACLE_EACH {
        x[i].value = ((const double *)f->value)[at + i];
        x[i].variance = ((const double *)f->variance)[at + i];
        x[i].honest = (double)honest[i];
    }
}

// Where a factor has a variance, that of the products is their fourth sum.
JUDGE_FN void oracle_multiply_any(const struct oracle_product *p, struct oracle_piece *t) {
    struct oracle_point a[ORACLE_SIDE], b[ORACLE_SIDE];
    for (int k = 0; k < t->n; k++) {
        oracle_take4(&p->left, t->left + k * p->left.rows, a);
        oracle_take4(&p->right, t->right + k * p->right.rows, b);
        ORACLE_EACH_PAIR {
            double product = a[i].value * b[j].value, square = product * product;
            u64 refused = oracle_parts_refuse(p->by_parts, a[i].value);
            t->value[i][j] += product;
            t->squares[i][j] += square;
            if (oracle_inexact(product) || ORACLE_APART(b[j].value, refused))
                t->products[i][j] += square;
            t->honest[i][j] =
                ORACLE_PLUS(t->honest[i][j], ORACLE_MUL((float)a[i].honest, (float)b[j].honest));
            t->fourth[i][j] +=
                b[j].value * b[j].value * a[i].variance + b[j].variance * (a[i].value * a[i].value);
        }
    }
}

// Sizes of the products of one result, in the order of the sum.
JUDGE_FN double oracle_sizes(const struct oracle_product *p, u64 left, u64 right, int n) {
    double size = 0;
    for (int k = 0; k < n; k++)
        size += fabs(oracle_factor_value(&p->left, left + k * p->left.rows) *
                     oracle_factor_value(&p->right, right + k * p->right.rows));
    return size;
}

// Which sum it is, and where its factors are.
struct oracle_sum_at {
    u64 matrix, row, column, left, right;
    int n;
};

JUDGE_FN struct oracle_bits oracle_bits_at(const struct oracle_product *p,
                                           const struct oracle_factor *f,
                                           const struct oracle_piece *t, u64 row) {
    return ((const struct oracle_bits *)f->bits)[(t->run * p->batch + t->batch) * f->rows + row];
}

// One sum to its place among the partial results. Sizes matter where nothing is rounded, and they
// are at least the root of the sum of squares: where that is beyond what sums are exact for, more
// need not be known. Not inlined sixteen times.
ORACLE_RARE void oracle_end_sum(const struct oracle_product *p, struct oracle_sum_at at,
                                struct oracle_partial s, int has_sizes) {
    if (at.row >= p->m || at.column >= p->n)
        return;
    int low_left =
        ((const struct oracle_bits *)p->left.bits)[at.matrix * p->left.rows + at.row].low;
    int low_right =
        ((const struct oracle_bits *)p->right.bits)[at.matrix * p->right.rows + at.column].low;
    int is_zero = low_left == ORACLE_NO_BIT || low_right == ORACLE_NO_BIT;
    s.low = is_zero ? ORACLE_NO_BIT : low_left + low_right;
    if (!p->is_exact)
        s.variance += s.size;
    if (!has_sizes) {
        double most = is_zero ? 0 : ldexp(1.0, 24 + s.low);
        s.size = s.variance > 0 || is_zero ? 0
                 : s.squares > most * most ? JUDGE_INFINITY
                                           : oracle_sizes(p, at.left, at.right, at.n);
    }
    ((struct oracle_partial *)p->partials)[(at.matrix * p->m + at.row) * p->n + at.column] = s;
}

JUDGE_FN int oracle_way(const struct oracle_product *p, const struct oracle_piece *t) {
    int low = ORACLE_NO_BIT, high = ORACLE_ALL_BITS, apart = -ORACLE_NO_BIT;
    ORACLE_EACH_PAIR {
        struct oracle_bits l = oracle_bits_at(p, &p->left, t, t->row + i);
        struct oracle_bits r = oracle_bits_at(p, &p->right, t, t->column + j);
        int lows = l.low + r.low, highs = l.high + r.high;
        low = lows < low ? lows : low;
        high = highs > high ? highs : high;
        apart = lows - highs > apart ? lows - highs : apart;
    }
    // Beyond these f32 does not hold the products, or what rounding takes off them; and numbers
    // with so few bits that a sum may well be exact are added up with their sizes.
    if (low < -149 || high > 125 || (apart > -26 && !p->is_short))
        return ORACLE_CAREFUL;
    return apart > -26 ? ORACLE_SIZED : p->is_short ? ORACLE_SHORT : ORACLE_ORDINARY;
}

JUDGE_FN void oracle_one_run(const struct oracle_product *p, struct oracle_piece *t) {
    int way = p->is_exact ? oracle_way(p, t) : -1;
    oracle_clear(t);
    if (way == ORACLE_SHORT)
        oracle_multiply_inputs(p, t, ORACLE_SHORT);
    else if (way == ORACLE_ORDINARY)
        oracle_multiply_inputs(p, t, ORACLE_ORDINARY);
    else if (way == ORACLE_SIZED)
        oracle_multiply_inputs(p, t, ORACLE_SIZED);
    else if (way == ORACLE_CAREFUL)
        oracle_multiply_inputs(p, t, ORACLE_CAREFUL);
    else
        oracle_multiply_any(p, t);
    ORACLE_EACH_PAIR {
        struct oracle_sum_at at = {t->run * p->batch + t->batch,
                                   t->row + i,
                                   t->column + j,
                                   t->left + i,
                                   t->right + j,
                                   t->n};
        struct oracle_partial s = {t->value[i][j],  t->products[i][j] * ORACLE_ROUND,
                                   t->fourth[i][j], t->squares[i][j],
                                   t->honest[i][j], 0};
        oracle_end_sum(p, at, s, way == ORACLE_CAREFUL || way == ORACLE_SIZED);
    }
}

// Every run of every result. A group of threads has a tile of pieces, as many rows of them as there
// are, up to 16; beyond the edge the last ones are computed again, and not written.
JUDGE_KERNEL oracle_matmul(struct oracle_product p) {
    u64 tall = p.left.rows / ORACLE_SIDE, wide = p.right.rows / ORACLE_SIDE, height = 16;
    while (height > 1 && height / 2 >= tall)
        height /= 2;
    u64 width = ORACLE_GROUP / height;
    u64 down = (tall + height - 1) / height, across = (wide + width - 1) / width;
    u64 n_runs = (p.k + ORACLE_RUN - 1) / ORACLE_RUN, tiles = p.batch * across * down;
    for (u64 t = first(); t < tiles * n_runs * ORACLE_GROUP; t += stride()) {
        u64 tile = t / ORACLE_GROUP % tiles, within = t % ORACLE_GROUP;
        struct oracle_piece piece;
        u64 row = tile / across % down * height + within / width;
        u64 column = tile % across * width + within % width;
        if (row >= tall || column >= wide)
            continue;
        piece.run = t / ORACLE_GROUP / tiles;
        piece.batch = tile / (across * down);
        piece.row = row * ORACLE_SIDE;
        piece.column = column * ORACLE_SIDE;
        u64 start = piece.run * ORACLE_RUN;
        piece.n = (int)oracle_least(p.k - start, ORACLE_RUN);
        piece.left = oracle_factor_at(&p.left, piece.batch, start, p.k, piece.row);
        piece.right = oracle_factor_at(&p.right, piece.batch, start, p.k, piece.column);
        oracle_one_run(&p, &piece);
    }
}

ORACLE_RARE void oracle_end_whole(const struct oracle_product *p, const struct oracle_array *out,
                                  struct oracle_sum_at at, u64 sum) {
    double v = (double)stored_wrap(out->type, (int64_t)sum);
    struct oracle_point x = {v, 0, v};
    if (at.row < p->m && at.column < p->n)
        oracle_write(out, (at.matrix * p->m + at.row) * p->n + at.column, x);
}

// Of inputs that are whole numbers f32 holds: sums wrap around, wherever they do.
JUDGE_KERNEL oracle_matmul_whole(struct oracle_product p, struct oracle_array out) {
    u64 tall = p.left.rows / ORACLE_SIDE, wide = p.right.rows / ORACLE_SIDE;
    for (u64 t = first(); t < p.batch * tall * wide; t += stride()) {
        u64 column = t % wide * ORACLE_SIDE, row = t / wide % tall * ORACLE_SIDE;
        u64 batch = t / wide / tall;
        const float *left =
            (const float *)p.left.honest + oracle_factor_at(&p.left, batch, 0, p.k, row);
        const float *right =
            (const float *)p.right.honest + oracle_factor_at(&p.right, batch, 0, p.k, column);
        u64 sums[ORACLE_SIDE][ORACLE_SIDE] = {{0}};
        for (u64 k = 0; k < p.k; k++, left += p.left.rows, right += p.right.rows) {
            float4 l = *(const float4 *)left, r = *(const float4 *)right;
            int a[ORACLE_SIDE] = {(int)l.x, (int)l.y, (int)l.z, (int)l.w};
            int b[ORACLE_SIDE] = {(int)r.x, (int)r.y, (int)r.z, (int)r.w};
            ORACLE_EACH_PAIR sums[i][j] += (u64)((int64_t)a[i] * b[j]);
        }
        ORACLE_EACH_PAIR {
            struct oracle_sum_at at = {batch, row + i, column + j, 0, 0, 0};
            oracle_end_whole(&p, &out, at, sums[i][j]);
        }
    }
}

#endif
