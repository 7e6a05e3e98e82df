#!/bin/sh
# the control: a kernel against itself, in comparisons of several lengths; pairs kept
# alone
. "$(dirname "$0")/lib.sh"

export HONE_RUN_THREADS=1
cat >affine.hone <<'P'
problem affine
dim M = 16, N = 256
in  x : f32[M, N] ~ normal
out y : f32[M, N]
y = 2 * x + 1
P

# How many there were, not what they said: that is for the clock to say.
expect_match 0 '^2 comparisons of a kernel with itself: called faster [0-2] times, slower [0-2] times$' \
    "$HONE" eval affine.hone default --aa 2 --seconds 0.05
expect_match 0 '^a slow-down of [0-9.]+% would have been detected in 95% of them; a call takes ' \
    "$HONE" eval affine.hone default --aa 1 --screen

# Several lengths: one trial is the longest, and its stretches are the others.
run "$HONE" eval affine.hone default --aa 2 --seconds 0.02,0.05,0.2
[ "$status" = 0 ] || fail "$got"
for line in '^in 0.02 s, [0-9]+ pairs each:$' '^in 0.2 s, [0-9]+ pairs each:$' \
    '^2 trials, each in a process of its own$'; do
    printf '%s\n' "$got" | grep -Eq "$line" || fail "no $line in: $got"
done
valid aa "$HONE" eval affine.hone default --aa 2 --seconds 0.02,0.2 --json --keep pairs.txt
tr -d ' \n' <json >flat
grep -q '"trials":2' flat || fail "trials: $(cat json)"
grep -Eq '"seconds":0.2[0-9]*,"comparisons":2,' flat || fail "as many of the longest as trials: $(cat json)"
grep -Eq '"seconds":0.02[0-9]*,"comparisons":[1-9]' flat || fail "no stretch: $(cat json)"

# All pairs are kept, trial by trial: those that counted are as many as its head says, and so are those left out.
[ "$(grep -c '^# trial [12]: [0-9]* pairs, [0-9]* left out' pairs.txt)" = 2 ] || fail "$(grep '#' pairs.txt)"
[ "$(grep -c -v -e '^#' -e left-out pairs.txt)" = "$(awk '/^#/ { n += $4 } END { print n }' pairs.txt)" ] || fail 'lines'
[ "$(grep -c ' left-out$' pairs.txt)" = "$(awk '/^#/ { n += $6 } END { print n }' pairs.txt)" ] || fail 'left out'
awk '!/^#/ && !($1 > 0 && $2 > 0 && (NF == 2 || $3 == "left-out" || $3 == "disturbed")) { exit 1 }' pairs.txt ||
    fail 'no pair of times'

# A resolution: a trial ends when it can resolve that; how many did, and how long they took. What half of everything differs by
# is resolved by any few pairs.
run "$HONE" eval affine.hone default --aa 3 --resolution 100% --seconds 5
[ "$status" = 0 ] || fail "$got"
printf '%s\n' "$got" | grep -Eq '^the 100% asked for would have been detected in [0-3] of 3; half of them took [0-9.e-]+ s or less, 95% [0-9.e-]+ s$' ||
    fail "$got"
valid aa "$HONE" eval affine.hone default --aa 2 --resolution 50 --seconds 0.1 --json
tr -d ' \n' <json >flat
grep -Eq '"asked":\{"resolution":0.5,"told":[0-2],"half_took_s":[0-9.e-]+,"most_took_s":[0-9.e-]+\}' flat || fail "$(cat json)"
# Several lengths: it goes on for the longest but one at least, so that there are stretches of that.
valid aa "$HONE" eval affine.hone default --aa 2 --resolution 100 --seconds 0.02,0.1,2 --json
tr -d ' \n' <json >flat
grep -Eq '"seconds":0.1[0-9]*,"comparisons":[2-9]' flat || fail "no stretch: $(cat json)"
grep -Eq '"seconds":2[0-9.]*,"comparisons":2,' flat || fail "$(cat json)"
# Against another kernel: which difference could be resolved is said, and whether it is the one asked for.
expect_match 0 '^  resolves  differences of [0-9.e+]+% and more, (100% was asked for|not the 100% asked for: more --seconds, or a quieter machine)$' \
    "$HONE" eval affine.hone default --resolution 100 --seconds 0.2
expect_match 0 '^  resolves  differences of [0-9.e+]+% and more, not the 0.8% asked for: ' \
    "$HONE" eval affine.hone default plain --resolution 0.8% --seconds 0.001

# More than are started together.
expect_match 0 '^51 comparisons of a kernel with itself: ' "$HONE" eval affine.hone default --aa 51 --screen

# Ctrl-C: the trials that came to their end are told, and it is said that these are not all.
"$HONE" eval affine.hone default --aa 100000 --seconds 0.02 --keep long.txt >out 2>err &
pid=$!
third_or_gone() { grep -q '^# trial 3:' long.txt 2>/dev/null || ! kill -0 $pid 2>/dev/null; }
until_true third_or_gone
kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || fail "status $status after Ctrl-C: $(cat out err)"
n=$(sed -n 's/^hone: interrupted after \([0-9]*\) of 100000 trials$/\1/p' err)
[ "${n:-0}" -ge 2 ] || fail "after Ctrl-C: $(cat err)"
grep -q "^$n comparisons of a kernel with itself: " out || fail "after $n trials: $(cat out)"
# Before the first there is nothing to tell.
"$HONE" eval affine.hone default --aa 2 --seconds 500 --keep none.txt >out 2>err &
pid=$!
opened_or_gone() { [ -e none.txt ] || ! kill -0 $pid 2>/dev/null; }
until_true opened_or_gone
kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 130 ] && [ ! -s out ] || fail "status $status: $(cat out err)"

# Mistakes.
expect 2 'hone: several --seconds are for --aa' "$HONE" eval affine.hone default --seconds 1,5
for wrong in '' x 0 -1 '1,' '1,,2' nan inf 1e999 11111111111111111111111111111111111; do
    expect 2 "hone: eval: --seconds $wrong: expected a number above zero" \
        "$HONE" eval affine.hone default --aa 1 --seconds "$wrong"
done
expect 2 'hone: eval: --seconds 5,1: expected ascending numbers' "$HONE" eval affine.hone default --aa 1 --seconds 5,1
expect 2 'hone: eval: --seconds 1,2,3,4,5: more than 4' "$HONE" eval affine.hone default --aa 1 --seconds 1,2,3,4,5
expect 2 'hone: eval: --seconds 0.1,20: the longest is more than 100 times the shortest' \
    "$HONE" eval affine.hone default --aa 1 --seconds 0.1,20
expect 2 'hone: eval: --aa 9000000000: at most 1000000' "$HONE" eval affine.hone default --aa 9000000000
expect 2 'hone: --keep is for the pairs of --aa' "$HONE" eval affine.hone default --keep pairs.txt
expect 2 'hone: --verify times nothing, --aa does' "$HONE" eval affine.hone default --aa 1 --verify
expect_match 2 '^hone: no/where: cannot be written: ' "$HONE" eval affine.hone default --aa 1 --keep no/where
expect_match 2 '^hone: \.: cannot be written: ' "$HONE" eval affine.hone default --aa 1 --keep .
for wrong in '' % x 1%% nan 1e999 11111111111111111111111111111111111; do
    expect 2 "hone: eval: --resolution $wrong: expected percent, such as 1%" \
        "$HONE" eval affine.hone default --resolution "$wrong"
done
for wrong in 0 -1 0.5% 101; do
    expect 2 "hone: eval: --resolution $wrong: expected 0.8% to 100%; identical kernels may differ by 0.5%" \
        "$HONE" eval affine.hone default --resolution "$wrong"
done
expect 2 'hone: --screen measures no difference, --resolution asks for one' "$HONE" eval affine.hone default --screen --resolution 1
expect 2 'hone: --verify measures no difference, --resolution asks for one' "$HONE" eval affine.hone default --verify --resolution 1
# A candidate that is wrong cannot be timed.
printf '#pragma hone launch f grid(M) args(x, y)\nvoid f(long b, const float *x, float *y) { y[b] = x[b]; }\n' >wrong.c
expect_match 1 '^wrong: ' "$HONE" eval affine.hone wrong.c --aa 1 --seconds 0.05
# No room for the pairs: said once, with the status of a machine's failure.
if [ -w /dev/full ]; then
    expect_match 4 '^hone: write /dev/full: ' "$HONE" eval affine.hone default --aa 1 --seconds 0.05 --keep /dev/full
fi
