#!/bin/sh
# Somebody's own kernels for problems of every storage type and for operations that hone makes no
# kernel of: right ones are ok, wrong ones are wrong, and the skeleton that scaffold writes is too.
. "$(dirname "$0")/lib.sh"

# problem NAME: standard input is a problem. kernel NAME: standard input is C.
problem() { cat >"$1.hone"; }
kernel() { cat >"$1.c"; }
ok() { expect_match 0 "^$2.c: ok" "$HONE" eval "$1.hone" "$2.c" --verify; }
wrong() { expect_match 1 "^$2.c: wrong" "$HONE" eval "$1.hone" "$2.c" --verify; }
# but PATTERN FROM TO: a kernel like FROM, changed by sed.
but() { sed "$1" "$2.c" >"$3.c" && ! cmp -s "$2.c" "$3.c" || fail "nothing changed in $2.c by $1"; }

# Conversions in C, for the kernels below (a candidate may include nothing of its own).
cat >floats.inc <<'C'
static float from_bits(unsigned b) { float f; __builtin_memcpy(&f, &b, 4); return f; }
static unsigned to_bits(float f) { unsigned b; __builtin_memcpy(&b, &f, 4); return b; }
static float get_bf16(unsigned short h) { return from_bits((unsigned)h << 16); }
static unsigned short put_bf16(float f) {
    unsigned b = to_bits(f);
    if (f != f) return 0x7fff;
    return (unsigned short)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
static float get_small(unsigned bits, int e, int m, int fn) {
    int sign = (int)(bits >> (e + m)), exponent = (int)(bits >> m & ((1u << e) - 1));
    float fraction = (float)(bits & ((1u << m) - 1)), v;
    int bias = (1 << (e - 1)) - 1;
    if (exponent == (1 << e) - 1 && (!fn || (bits & ((1u << m) - 1)) == (1u << m) - 1))
        v = fraction && !fn ? __builtin_nanf("") : fn ? __builtin_nanf("") : __builtin_inff();
    else if (exponent == 0)
        v = __builtin_ldexpf(fraction, 1 - bias - m);
    else
        v = __builtin_ldexpf(fraction + (float)(1 << m), exponent - bias - m);
    return sign ? -v : v;
}
static unsigned put_small(float f, int e, int m, int fn) {
    int bias = (1 << (e - 1)) - 1, x = 0;
    unsigned sign = to_bits(f) >> 31 << (e + m), all = (1u << e) - 1;
    float v = __builtin_fabsf(f);
    unsigned nan = fn ? (1u << (e + m)) - 1 : all << m | 1u << (m - 1);
    if (f != f) return sign | nan;
    if (v > 1e30f) return sign | (fn ? nan : all << m);
    if (v == 0) return sign;
    __builtin_frexpf(v, &x);
    x = x - 1 < 1 - bias ? 1 - bias : x - 1;
    float q = __builtin_rintf(__builtin_ldexpf(v, m - x));
    unsigned bits = (unsigned)q;
    bits = (unsigned)(x + bias - 1) * (1u << m) + bits;
    unsigned most = fn ? nan - 1 : (all << m) - 1;
    return sign | (bits > most ? (fn ? nan : all << m) : bits);
}
#define get_f16(h) get_small(h, 5, 10, 0)
#define put_f16(f) (unsigned short)put_small(f, 5, 10, 0)
#define get_f8(h) get_small(h, 4, 3, 1)
#define put_f8(f) (unsigned char)put_small(f, 4, 3, 1)
C
with_floats() { cat floats.inc - >"$1.c"; }

# ---- f16, by element: rounded once. Arithmetic in f16 is not as good.
problem half <<'P'
problem half
dim N = 4001
in  x : f16[N] ~ normal
in  y : f16[N] ~ uniform(1, 2)
out z : f16[N]
z = x * y + 0.3
P
with_floats half_ok <<'C'
#pragma hone launch k grid(1) args(x, y, z)
void k(long b, const unsigned short *x, const unsigned short *y, unsigned short *z) {
    for (long i = 0; i < N; i++)
        z[i] = put_f16(get_f16(x[i]) * get_f16(y[i]) + 0.3f);
}
C
ok half half_ok
but 's/get_f16(x\[i\]) \* get_f16(y\[i\])/get_f16(put_f16(get_f16(x[i]) * get_f16(y[i])))/' half_ok half_twice
wrong half half_twice
but 's/+ 0.3f/+ 0.31f/' half_ok half_other
wrong half half_other
but 's/i < N/i < N - 1/' half_ok half_partial
expect_match 1 'wrong \(partial\)' "$HONE" eval half.hone half_partial.c --verify
also '1 of 4001 elements of z were not written'
but 's/i < N/i <= N/' half_ok half_over
expect_match 1 "half_over.c: (crash|wrong \(out-of-bounds\))" "$HONE" eval half.hone half_over.c --verify

# ---- bf16 product: sums in f32, not in bf16
problem mm <<'P'
problem mm
dim M = 24, K = 96, L = 40
in    x : bf16[M, K] ~ normal
param w : bf16[L, K] ~ normal(0, 0.1)
out   y : bf16[M, L]
y = x @ w.T
P
with_floats mm_ok <<'C'
#pragma hone launch k grid(M) args(x, w, y)
void k(long i, const unsigned short *x, const unsigned short *w, unsigned short *y) {
    for (long j = 0; j < L; j++) {
        float s = 0;
        for (long k = 0; k < K; k++)
            s += get_bf16(x[i * K + k]) * get_bf16(w[j * K + k]);
        y[i * L + j] = put_bf16(s);
    }
}
C
ok mm mm_ok
but 's/s += \(.*\);/s = get_bf16(put_bf16(s + \1));/' mm_ok mm_short
wrong mm mm_short
but 's/y\[i \* L + j\] = put_bf16(s)/y[i * L + j] = (unsigned short)(to_bits(s) >> 16)/' mm_ok mm_cut
wrong mm mm_cut

# ---- integers wrap, and are exact
problem whole <<'P'
problem whole
dim N = 999
in  a : i32[N] ~ integers(-2000000000, 2000000000)
in  b : i64[N] ~ integers(-1000000, 1000000)
out c : i32[N]
out d : i64[N]
c = a * 3 + 7
d = b * b - b // 7
P
kernel whole_ok <<'C'
#pragma hone launch k grid(1) args(a, b, c, d)
void k(long z, const int *a, const long long *b, int *c, long long *d) {
    for (long i = 0; i < N; i++) {
        c[i] = (int)((unsigned)a[i] * 3u + 7u);
        long long q = b[i] / 7;
        d[i] = b[i] * b[i] - (q * 7 > b[i] ? q - 1 : q);
    }
}
C
ok whole whole_ok
but 's/(q \* 7 > b\[i\] ? q - 1 : q)/q/' whole_ok whole_cut
wrong whole whole_cut
but 's/+ 7u/+ (i == 998 ? 8u : 7u)/' whole_ok whole_one
expect_match 1 '1 of 999 elements of c are wrong' "$HONE" eval whole.hone whole_one.c --verify

# ---- truth values: 0 or 1, exact but where the comparison depends on rounding
problem truth <<'P'
problem truth
dim M = 33, N = 50
in  x : f32[M, N] ~ normal
out y : bool[M]
y = sum(x * x, axis=1) > 50
P
kernel truth_ok <<'C'
#pragma hone launch k grid(M) args(x, y)
void k(long i, const float *x, unsigned char *y) {
    float s = 0;
    for (long j = N - 1; j >= 0; j--)
        s += x[i * N + j] * x[i * N + j];
    y[i] = s > 50;
}
C
ok truth truth_ok
but 's/y\[i\] = s > 50/y[i] = s > 50 ? 255 : 0/' truth_ok truth_byte
wrong truth truth_byte
but 's/s > 50/s > 70/' truth_ok truth_other
wrong truth truth_other
but 's/y\[i\] = s > 50;/if (!(s > 50)) y[i] = 0;/' truth_ok truth_lazy
wrong truth truth_lazy

# ---- i4 (odd in length), i8, u8
problem packed <<'P'
problem packed
dim N = 1001
in  a : i4[N]
in  b : i8[N]
in  c : u8[N]
out y : i32[N]
out z : i4[N]
y = a * b + c
z = i4(a + 1)
P
kernel packed_ok <<'C'
#pragma hone launch k grid(1) args(a, b, c, y, z)
static int nibble(const unsigned char *p, long i) { int v = p[i / 2] >> (i % 2 ? 4 : 0) & 15; return v > 7 ? v - 16 : v; }
void k(long t, const unsigned char *a, const signed char *b, const unsigned char *c, int *y, unsigned char *z) {
    for (long i = 0; i < N; i++)
        y[i] = nibble(a, i) * b[i] + c[i];
    for (long i = 0; i < N; i += 2)
        z[i / 2] = (unsigned char)((nibble(a, i) + 1) & 15) |
                   (unsigned char)(i + 1 < N ? ((nibble(a, i + 1) + 1) & 15) << 4 : *(volatile unsigned char *)&z[i / 2] & 0xf0);
}
C
ok packed packed_ok
but 's/nibble(a, i) + 1) & 15) |/nibble(a, i) + 1 + (i == 1000)) \& 15) |/' packed_ok packed_last
wrong packed packed_last

# ---- f64: far beyond what f32 gives
problem fine <<'P'
problem fine
dim M = 20, N = 3000
in  x : f64[M, N] ~ normal
out y : f64[M]
out e : f64[M, N]
y = sum(x * x, axis=1)
e = exp(x) - 1
P
kernel fine_ok <<'C'
#include <math.h>
#pragma hone launch k grid(M) args(x, y, e)
void k(long i, const double *x, double *y, double *e) {
    double s[4] = {0};
    for (long j = 0; j < N; j++) {
        s[j % 4] += x[i * N + j] * x[i * N + j];
        e[i * N + j] = exp(x[i * N + j]) - 1;
    }
    y[i] = s[0] + s[1] + s[2] + s[3];
}
C
ok fine fine_ok
but 's/exp(x\[i \* N + j\])/(double)expf((float)x[i * N + j])/' fine_ok fine_float
wrong fine fine_float
but 's/double s\[4\]/float s[4]/' fine_ok fine_sum
wrong fine fine_sum

# ---- f8 in and out, NaN where it overflows
problem eight <<'P'
problem eight
dim N = 2048
in  x : f8e4m3[N] ~ normal(0, 30)
out y : f8e4m3[N]
y = x * 8.25
P
with_floats eight_ok <<'C'
#pragma hone launch k grid(1) args(x, y)
void k(long b, const unsigned char *x, unsigned char *y) {
    for (long i = 0; i < N; i++)
        y[i] = put_f8(get_f8(x[i]) * 8.25f);
}
C
ok eight eight_ok
but 's/put_f8(get_f8(x\[i\]) \* 8.25f)/put_f8(__builtin_fminf(__builtin_fmaxf(get_f8(x[i]) * 8.25f, -448), 448))/' eight_ok eight_stops
wrong eight eight_stops

# ---- places: of values that were rounded, any that is as good; of exact ones, the first
problem best <<'P'
problem best
dim M = 40, N = 64, K = 32
in  x : f32[M, K] ~ normal
in  w : f32[N, K] ~ normal
out y : i64[M]
out t : i32[M, 3]
s = x @ w.T
y = argmax(s, axis=1)
t = i32(topk_index(s, 3))
P
kernel best_ok <<'C'
#pragma hone launch k grid(M) args(x, w, y, t)
void k(long i, const float *x, const float *w, long long *y, int *t) {
    float s[N];
    for (long j = 0; j < N; j++) {
        s[j] = 0;
        for (long k = K - 1; k >= 0; k--)
            s[j] += x[i * K + k] * w[j * K + k];
    }
    for (int r = 0; r < 3; r++) {
        long at = 0;
        for (long j = 1; j < N; j++)
            if (s[j] > s[at])
                at = j;
        t[i * 3 + r] = (int)at;
        if (r == 0)
            y[i] = at;
        s[at] = -__builtin_inff();
    }
}
C
ok best best_ok
but 's/s\[j\] > s\[at\]/s[j] < s[at]/' best_ok best_least
wrong best best_least
but 's/s\[at\] = -__builtin_inff();//' best_ok best_thrice
wrong best best_thrice
problem tie <<'P'
problem tie
dim M = 40, N = 64
in  x : f32[M, N] ~ integers(0, 3)
out y : i64[M]
y = argmax(x, axis=1)
P
kernel tie_ok <<'C'
#pragma hone launch k grid(M) args(x, y)
void k(long i, const float *x, long long *y) {
    long at = 0;
    for (long j = 1; j < N; j++)
        if (x[i * N + j] > x[i * N + at])
            at = j;
    y[i] = at;
}
C
ok tie tie_ok
but 's/] > x/] >= x/' tie_ok tie_last
wrong tie tie_last

# ---- a convolution, of which hone may make no kernel
problem conv <<'P'
problem conv
dim N = 2, C = 3, O = 4, H = 12
in    x : f32[N, C, H, H] ~ normal
param w : f32[O, C, 3, 3] ~ normal(0, 0.2)
out   y : f32[N, O, H, H]
y = conv2d(x, w, padding=1)
P
kernel conv_ok <<'C'
#pragma hone launch k grid(N * O) args(x, w, y)
void k(long b, const float *x, const float *w, float *y) {
    long n = b / O, o = b % O;
    for (long i = 0; i < H; i++)
        for (long j = 0; j < H; j++) {
            float s = 0;
            for (long c = 0; c < C; c++)
                for (long u = 0; u < 3; u++)
                    for (long v = 0; v < 3; v++) {
                        long a = i + u - 1, e = j + v - 1;
                        if (a >= 0 && a < H && e >= 0 && e < H)
                            s += x[((n * C + c) * H + a) * H + e] * w[((o * C + c) * 3 + u) * 3 + v];
                    }
            y[((n * O + o) * H + i) * H + j] = s;
        }
}
C
ok conv conv_ok
but 's/a >= 0/a > 0/' conv_ok conv_edge
wrong conv conv_edge

# ---- inputs that are computed from hidden draws
problem made <<'P'
problem made
dim M = 30, N = 40
in  p : f32[M, N] = softmax(u) where u ~ normal
in  i : i64[M] = argmax(v, axis=1) where v : f32[M, N] ~ normal
out y : f32[M]
y = take_along_axis(log(p), i[:, None], axis=1)[:, 0]
P
kernel made_ok <<'C'
#include <math.h>
#pragma hone launch k grid(1) args(p, i, y)
void k(long b, const float *p, const long long *i, float *y) {
    for (long m = 0; m < M; m++)
        y[m] = logf(p[m * N + i[m]]);
}
C
ok made made_ok
but 's/p\[m \* N + i\[m\]\]/p[m * N]/' made_ok made_first
wrong made made_first

# ---- an index outside its axis is the problem's fault, and said so
problem outside <<'P'
problem outside
dim N = 10
in  x : f32[N] ~ normal
in  i : i64[N] ~ integers(0, 20)
out y : f32[N]
y = take(x, i + 0 * i)
P
kernel outside_any <<'C'
#pragma hone launch k grid(1) args(x, i, y)
void k(long b, const float *x, const long long *i, float *y) {
    for (long m = 0; m < N; m++)
        y[m] = x[i[m] < N ? i[m] : 0];
}
C
expect_match 1 "problem outside: on inputs as it declares them, y: index [0-9]+ .*is outside \[0, 10\)" \
    "$HONE" eval outside.hone outside_any.c --verify

# ---- larger than any machine: how much is needed and how much there is, before anything is taken
problem big <<'P'
problem big
dim M = 262144, N = 1048576
in  x : bf16[M, N] ~ normal
out y : bf16[M, N]
y = x * 2
P
expect_match 3 'problem big: judging it takes about [0-9.]+ GB of memory .*, and [0-9.]+ GB are free' \
    "$HONE" eval big.hone half_ok.c --verify

# ---- scaffold: for what hone makes no kernel of, something that compiles and is wrong
for f in packed eight made best; do
    run "$HONE" scaffold $f.hone -o "${f}_new.c"
    [ "$status" = 0 ] || fail "scaffold $f: $got"
    if grep -q 'NOT A KERNEL YET' "${f}_new.c"; then
        wrong $f "${f}_new"
    else
        ok $f "${f}_new"
    fi
done

# ---- timed: without a baseline against itself, with one against that
expect_match 0 '^packed_ok.c: ok' "$HONE" eval packed.hone packed_ok.c --screen
expect_match 0 'speed-up .* over mm_ok.c' "$HONE" eval mm.hone mm_ok.c --seconds 0.1 --baseline mm_ok.c
valid eval "$HONE" eval best.hone best_ok.c --json --screen
