#!/bin/sh
# Ceilings are measured, kept, and then used: reach is known.
# alone
. "$(dirname "$0")/lib.sh"
P=$ROOT/tests/exploits/softmax.hone

expect_match 0 'not known' "$HONE" sol "$P" --target cpu
valid ceilings "$HONE" calibrate --target cpu --json
expect_match 0 '^reach' "$HONE" sol "$P" --target cpu
# Repeats that differ by more than a quarter are not called ok.
cp -r "$XDG_CACHE_HOME" wild
sed -i 's/spread": [0-9][0-9.e+-]*/spread": 0.67/g' wild/hone/ceilings/*
XDG_CACHE_HOME=$TMP/wild expect_match 0 '^ *ceilings +unsure +measured .*, spread 67%' "$HONE" doctor
XDG_CACHE_HOME=$TMP/wild expect_match 0 '^  uncertain: the ceilings have a spread of 67%' "$HONE" sol "$P" --target cpu
# Ceilings that are far too low: who is faster than twice as fast as them is looked at.
cp -r "$XDG_CACHE_HOME" slow
sed -i 's/"bytes_per_s": [0-9][0-9.e+]*/"bytes_per_s": 1000000.0/; s/"seconds": [0-9][0-9.e+-]*/"seconds": 1.0/' \
    slow/hone/ceilings/*
XDG_CACHE_HOME=$TMP/slow expect_match 1 '^.*softmax_plain.c: suspect \(far-beyond-reach\)$' "$HONE" eval "$P" \
    "$ROOT/tests/exploits/honest/softmax_plain.c" --screen --baseline "$ROOT/tests/exploits/honest/softmax_plain.c"
# A run that goes on where nobody has measured keeps the ceilings of its bound: the same question,
# word for word, and so no second file of it.
ask() {
    : >asked
    "$HONE" optimize "$@" >asked 2>&1 &
    child=$!
    until grep -q '^asked in ' asked; do
        kill -0 $child 2>/dev/null || fail "ended before it asked: $(cat asked)"
        sleep 0.02
    done
    kill -INT $child
    wait $child || true
}
# Nothing takes time there, a launch neither: no kernel is near this reach on any machine.
cp -r "$XDG_CACHE_HOME" fast
sed -i 's/_per_s": [0-9][0-9.e+-]*/_per_s": 1e15/; s/\(fixed_s\|launch_s\|seconds\)": [0-9][0-9.e+-]*/\1": 1e-12/' \
    fast/hone/ceilings/*
XDG_CACHE_HOME=$TMP/fast expect_match 0 'of reach' "$HONE" eval "$P" \
    "$ROOT/tests/exploits/honest/softmax_plain.c" --screen --baseline "$ROOT/tests/exploits/honest/softmax_plain.c"
mkdir empty
XDG_CACHE_HOME=$TMP/fast ask "$P" --target cpu --llm ask:questions --seconds 900
grep -q measuring asked && fail "the ceilings were not read: $(cat asked)"
XDG_CACHE_HOME=$TMP/empty ask --resume 1
[ "$(ls questions)" = run1-node001-0-plan.md ] || fail "asked otherwise: $(ls questions)"
# Which of them binds is for the clock to say.
grep -q '^reach [0-9]' questions/run1-node001-0-plan.md || fail 'no ceilings in the question'
# A cache that cannot be written: told once, and in nobody's way.
XDG_CACHE_HOME=/dev/null run "$HONE" calibrate --target cpu
[ "$status" = 0 ] || fail "calibrate without a cache gave $status: $got"
printf '%s\n' "$got" >out
[ "$(grep -c 'not kept, so reach stays unknown: .*/dev/null' out)" = 1 ] || fail "$got"
for line in 'a small copy +[0-9.]+ [kM]B in [0-9.]+ µs, ' 'read, cache level 1 +[0-9.]+ GB/s' 'f32 multiply-add +[0-9.]+ GFLOP/s' \
    'f64 multiply-add' '128-bit vectors' 'functions' 'measured .* in [0-9.]+ s'; do
    expect_match 0 "$line" cat out
done
XDG_CACHE_HOME=/dev/null expect_match 0 '^reach: not known' "$HONE" sol "$P" --target cpu
expect_match 3 "no compiler 'nocc'" env HONE_BUILD_CC=nocc "$HONE" calibrate --target cpu
expect_match 2 'target' "$HONE" calibrate --target nowhere

# A run measures again before it believes that, and judges by what it measured then.
cp -r slow slow_run
XDG_CACHE_HOME=$TMP/slow_run expect_match 0 '^far beyond reach: measuring again what this machine can do$' \
    "$HONE" optimize "$P" --target cpu --evals 1 --seconds 100
printf '%s\n' "$got" | grep -Eq '^champion  [0-9]+\.0: ' || fail "judged by the old ceilings: $got"

# A run with little time cuts its calibration short, and then does not keep it: a later one shall have it in full.
XDG_CACHE_HOME=$TMP/hurried run "$HONE" optimize "$P" --target cpu --seconds 0.001 --no-energy
[ "$status" = 0 ] || fail "$got"
kept=$(find hurried/hone -path '*/ceilings/*' -type f | wc -l)
case $got in
*'cut short after '*) [ "$kept" = 0 ] || fail 'ceilings that were cut short are kept' ;;
*) [ "$kept" = 1 ] || fail "neither cut short nor kept: $got" ;;
esac
also '^bound .* reach '
