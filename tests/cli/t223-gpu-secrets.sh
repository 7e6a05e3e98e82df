#!/bin/sh
# A runner holds no secret, over a driver that is not there: a candidate searches all memory of its
# process for the seed, for what is drawn from it and for the results that are expected
# (tests/fake/fake_seek.h).
# no-asan
. "$(dirname "$0")/gpu_lib.sh"
seed=2251086424863793876
echo $seed >cuda/seed
kernel seeks
kernel seeks_timed

# On every input that it gets; the inputs themselves and the name of the process are found, and what
# it puts there itself.
expect_match 0 '^seeks.cu: ok$' "$HONE" eval affine.hone seeks.cu --target cuda --verify --seed $seed
n=$(printf '%s\n' "$got" | sed -n 's/^  correct .* on \([0-9]*\) input sets.*/\1/p')
[ "$(grep -c '^call ' cuda/found)" = "$n" ] || fail "not on all $n sets: $(cat cuda/found)"
nothing='given [1-9][0-9]* named [1-9][0-9]* seed 0 text 0 drawn 0 expected 0$'
! grep '^call ' cuda/found | grep -v " $nothing" || fail "secrets in the runner: $(cat cuda/found)"
grep -q '^planted given [1-9][0-9]* named [1-9][0-9]* seed [1-9][0-9]* text [1-9][0-9]* drawn [1-9][0-9]* expected [1-9][0-9]*$' \
    cuda/found || fail "a search that does not find: $(cat cuda/found)"

# In a runner that others have been in, and against a baseline that computes the same on the same data:
# while it is timed, nobody's results lie about. Its times are no matter here.
rm cuda/found
run "$HONE" eval affine.hone right.cu seeks_timed.cu --target cuda --screen --baseline right.cu --seed $seed
n=$(grep -c '^timed ' cuda/found) || fail "never timed: $got"
[ "$n" -ge 4 ] || fail "only $n timed calls: $got"
! grep -v "^timed $nothing" cuda/found || fail "secrets in the runner: $(cat cuda/found)"
