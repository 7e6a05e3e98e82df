#!/bin/sh
# no-asan
# slow
# Problems that hone may make no kernel of: a search begins with somebody's source, states its
# speed-up against that, is replayed, and exported with typed parameters. A model may begin with
# nothing.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/cli/llm_lib.sh"

cat >sorted.hone <<'P'
problem packed
dim N = 4001
in  a : i4[N]
in  h : f16[N] ~ normal
in  p : f32[N] = softmax(u) where u ~ normal
out y : i64[N]
out z : bf16[N]
out b : bool[N]
s = cumsum(p)
y = topk_index(s + h, N, largest=false)
z = h * a + s
b = h > s
P
# Whatever families there are, none of them is asked: the start says how.
cat >start.c <<'C'
static float from_bits(unsigned b) { float f; __builtin_memcpy(&f, &b, 4); return f; }
static unsigned to_bits(float f) { unsigned b; __builtin_memcpy(&b, &f, 4); return b; }
static float get_f16(unsigned short h) {
    unsigned e = h >> 10 & 31, m = h & 1023u;
    float v = e ? __builtin_ldexpf((float)(m + 1024), (int)e - 25) : __builtin_ldexpf((float)m, -24);
    return h >> 15 ? -v : v;
}
static unsigned short put_bf16(float f) {
    unsigned b = to_bits(f);
    return (unsigned short)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
#pragma hone scratch keys f32[N]
#pragma hone scratch ones f16[N]
#pragma hone fill ones 1
#pragma hone launch sums grid(1) args(h, p, ones, keys)
#pragma hone launch rest grid(1) args(a, h, p, keys, y, z, b)
void sums(long t, const unsigned short *h, const float *p, const unsigned short *ones, float *keys) {
    double s = 0;
    for (long i = 0; i < N; i++) {
        s += p[i];
        keys[i] = (float)s + get_f16(h[i]) * get_f16(ones[i]);
    }
}
static int less(const float *keys, int i, int j) {
    return keys[i] < keys[j] || (keys[i] == keys[j] && i < j);
}
void rest(long t, const unsigned char *a, const unsigned short *h, const float *p, const float *keys,
          long long *y, unsigned short *z, unsigned char *b) {
    double s = 0;
    int order[N];
    for (int i = 0; i < N; i++) {
        s += p[i];
        int n = a[i / 2] >> (i % 2 ? 4 : 0) & 15;
        z[i] = put_bf16(get_f16(h[i]) * (float)(n > 7 ? n - 16 : n) + (float)s);
        b[i] = get_f16(h[i]) > (float)s;
        int at = i;
        for (; at > 0 && less(keys, i, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = 0; i < N; i++)
        y[i] = order[i];
}
C
expect_match 0 '^start.c: ok$' "$HONE" eval sorted.hone start.c --verify
run "$HONE" optimize sorted.hone --start start.c --evals 3 --seconds 100 --no-calibrate
[ "$status" = 0 ] || fail "optimize: $got"
printf '%s\n' "$got" | grep -Eq '1\.0. ok .* start.c$' || fail "the start is not the root: $got"
printf '%s\n' "$got" | grep -Eq '^champion  1\.0: .*x over (start.c|plain) \(' || fail "no baseline: $got"
expect_match 0 '^the same tree' "$HONE" replay 1
valid optimize "$HONE" optimize sorted.hone --start start.c --evals 1 --seconds 100 --no-calibrate --json
grep -Eq '"baseline": "(start.c|plain)"' json || fail "no baseline: $(cat json)"
"$HONE" replay 1 -o rec.jsonl >/dev/null
grep -q '"start"' rec.jsonl || fail 'the record does not have the start'

# Exported: C types, what they stand for, and a check that converts.
expect_match 0 'const unsigned char \*a, const unsigned short \*h, const float \*p, long long \*y' \
    "$HONE" export 1 -o packed
grep -q 'a  *in   unsigned char\[N\], 4001 elements of i4 (two to a byte' packed/packed.h || fail "$(cat packed/packed.h)"
env -u MAKEFLAGS make -s -C packed 2>out || fail "make: $(cat out)"
[ ! -s out ] || fail "make warned: $(cat out)"
(cd packed && expect_match 0 '^ok$' ./check)
sed -i 's/0x7fff + (b >> 16 & 1)/0/' packed/kernel.c
env -u MAKEFLAGS make -s -C packed
(cd packed && expect_match 1 '^WRONG$' ./check)
valid proof cat packed/PROOF.json

# A start that is wrong is no baseline, and nothing comes of it.
sed 's/order\[i\];/order[N - 1 - i];/' start.c >wrong.c
expect_match 1 '1 evaluation' "$HONE" optimize sorted.hone --start wrong.c --evals 1 --seconds 100 --no-calibrate
expect_match 2 'a resumed run keeps its start' "$HONE" optimize --resume --start start.c
expect_match 2 'nothing.c' "$HONE" optimize sorted.hone --start nothing.c --no-calibrate

# Where hone makes a kernel itself, a start is the root and plain stays the baseline.
expect_match 0 'x over plain \(' "$HONE" optimize "$ROOT/problems/softmax.hone" --dim M=64,N=64 \
    --start "$ROOT/tests/exploits/honest/softmax_plain.c" --evals 1 --seconds 100 --no-calibrate

# A model begins with typed functions that have nothing in them.
if "$HONE" emit sorted.hone >/dev/null 2>&1; then exit 0; fi
expect_match 3 '--start FILE begins with a kernel of your own, --llm with nothing' \
    "$HONE" optimize sorted.hone --no-calibrate
export ANTHROPIC_API_KEY="$CANARY"
printf 'm 10 20 1 12\n' >prices
export HONE_LLM_PRICES="$TMP/prices"
{
    echo '```c'
    cat start.c
    echo '```'
} >answer.txt
serve <<END
repeat
match You plan
say $(hypothesis "write it" source "")
---
match Change: write it
sayfile $TMP/answer.txt
END
run "$HONE" optimize sorted.hone --evals 2 --seconds 100 --no-calibrate --llm "anthropic:m@$url"
[ "$status" = 0 ] || fail "optimize with a model gave $status: $got"
printf '%s\n' "$got" | grep -Eq '\.0. +wrong .* skeleton$' || fail "the root is no skeleton: $got"
printf '%s\n' "$got" | grep -q '^champion  .*, speed-up unknown: there is no baseline that works' || fail "$got"
expect_match 0 '^the same tree' "$HONE" replay
expect_match 0 'unknown' "$HONE" runs
expect_match 0 'speed-up is unknown' "$HONE" report last
