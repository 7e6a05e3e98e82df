#!/bin/sh
# Many blocks at once: most are screened, few are judged; that is stored, shown apart, resumed and replayed.
. "$(dirname "$0")/lib.sh"

soft="$ROOT/problems/softmax.hone --dim M=96,N=128 --no-calibrate --seconds 300 --race 5"
# shellcheck disable=SC2086
"$HONE" optimize $soft --evals 2 >out || fail "no run: $(cat out)"
grep -Eq '^ +5 raced against 1\.0' out || fail "no race: $(cat out)"
grep -Eq '[0-9]+ more screened' out || fail "nothing screened: $(cat out)"
valid show "$HONE" show 1 --json
grep -q '"state": "screened"' json || fail 'no node is screened'
n=$(sed -n 's/.*"number": \([0-9]*\),/\1/p' json | tail -n 1)
expect_match 0 '^screened: lost a race, timed roughly, not verified; the fastest call of a few$' "$HONE" show 1
expect_match 0 '^  screened  +[0-9]+ more: lost a race' "$HONE" report 1
valid node "$HONE" show "1.$n" --json
expect_match 0 '^race      ' "$HONE" show "1.$n"
expect_match 0 '^the same tree, champion node' env HONE_BUILD_CC=/no/such/cc "$HONE" replay 1

# With more evaluations it goes on racing; the record of both parts is replayed.
valid optimize "$HONE" optimize --resume 1 --evals 3 --json
grep -q '"evals": [23]' json || fail "not two or three evaluations: $(cat json)"
[ "$(sed -n 's/.*"screened": \([0-9]*\),*/\1/p' json)" -ge 4 ] || fail "too few screened: $(cat json)"
expect_match 0 '^the same tree, champion node' "$HONE" replay 1

# One at a time, as it was.
# shellcheck disable=SC2086
valid optimize "$HONE" optimize $soft --race 1 --evals 2 --json
grep -q '"screened": 0' json || fail 'raced all the same'
expect 2 'hone: optimize: a --race has at most 256 candidates' "$HONE" optimize "$ROOT/problems/softmax.hone" --race 257

# The judge of a race. The slow one takes a thousand times as long; nobody asks whether the wrong one is right.
talk() { "$(dirname "$HONE")/worker-talk" "$HONE"; }
# block LABEL BODY
block() {
    printf '{"schema": "hone.candidate/1", "tier": "%s", "label": "%s", "hash": "%s", "source": "#pragma hone launch f grid(1) args(x, y)\\nvoid f(long b, const float *x, float *y) { %s }\\n", "kernel": %s}' \
        "${3:-K}" "$1" "$1" "$2" "${4:-\"kernel\"}"
}
right='for (int i = 0; i < N; i++) y[i] = x[i] + 1;'
slow='for (int k = 0; k < 1000; k++) { for (int i = 0; i < N; i++) y[i] = x[i] + k; __asm__ volatile(\"\" ::: \"memory\"); }'
wrong='for (int i = 0; i < N / 2; i++) y[i] = 3;'
crash='__builtin_trap();'
open='{"schema": "hone.open/1", "problem": "problem p\ndim N = 65536\nin x : f32[N] ~ normal\nout y : f32[N]\ny = x + 1\n", "dims": {}, "threads": 1, "cc": "cc", "machine": "native", "cache": "'$TMP'", "lease": "", "llc_bytes": 1048576, "limit_s": null, "reach_s": null, "seed": "0x1", "skip_scans": false, "gpu": false, "ordinal": 0}'
got=$({
    printf '%s\n' "$open"
    printf '{"schema": "hone.race/1", "candidates": [%s, %s, %s, %s, %s], "baseline": %s, "survivors": 2, "seconds": 100}\n' \
        "$(block slow "$slow")" "$(block twin "$right")" "$(block broken 'return 1' )" "$(block wrong "$wrong")" \
        "$(block crash "$crash")" "$(block root "$right")"
} | talk) || fail "$got"
printf '%s\n' "$got" | grep -q '"schema":"hone.raced/1"' || fail "$got"
for want in '"rounds":1,"pairs":' '"same_as":"root"' '"fault":"no-compile: ' '"fault":"crash: '; do
    printf '%s\n' "$got" | grep -qF "$want" || fail "no $want in $got"
done
[ "$(printf '%s\n' "$got" | grep -o '"fault":null' | wc -l)" = 3 ] || fail "not two that were timed: $got"
printf '%s\n' "$got" | grep -q '"verdict"' && fail "a race has no verdict: $got"
# Source that somebody wrote is not timed before it is verified.
got=$({
    printf '%s\n' "$open"
    printf '{"schema": "hone.race/1", "candidates": [%s], "baseline": %s, "survivors": 1, "seconds": 100}\n' \
        "$(block somebody "$right" C null)" "$(block root "$right")"
} | talk) || fail "$got"
printf '%s\n' "$got" | grep -q "race: 'somebody' is no kernel block" || fail "$got"
