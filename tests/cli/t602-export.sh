#!/bin/sh
# An exported directory builds and checks itself without hone, and the check can fail.
. "$(dirname "$0")/lib.sh"

for problem in "softmax M=96,N=130" "gelu M=40,N=72" "gemm M=48,N=80,K=56"; do
    # shellcheck disable=SC2086
    set -- $problem
    "$HONE" optimize "$ROOT/problems/$1.hone" --dim "$2" --evals 2 --seconds 100 --race 1 --no-calibrate >out ||
        fail "optimize $1: $(cat out)"
    expect_match 0 "^    void $1\(const float" "$HONE" export last -o "$1"
    # Without hone, and without a way to find it.
    env -i PATH=/usr/bin:/bin make -s -C "$1" >out 2>&1 || fail "make $1: $(cat out)"
    [ ! -s out ] || fail "make $1 warned: $(cat out)"
    expect_match 0 '^ok$' "./$1/check"
    expect_match 0 '^[a-z]+: [0-9]+ of [0-9]+ sampled elements right' "./$1/check"
    valid proof cat "$1/PROOF.json"
done

# One thread, without OpenMP.
make -s -C softmax clean
make -s -C softmax OPENMP= || fail 'does not build without OpenMP'
expect_match 0 '^ok$' ./softmax/check

# A kernel that computes something else is found out.
cp -r softmax spoiled
sed -i 's/\(for (long block = 0; block < \)\([0-9]*\)/\1\2 - 1/' spoiled/softmax.c
make -s -C spoiled || fail 'spoiled does not build'
expect_match 1 '^WRONG$' ./spoiled/check

# What is there is not overwritten, unless it is an earlier export or --force says so.
expect_match 0 '' "$HONE" export 1 -o softmax
mkdir other && echo precious >other/file
expect 2 'hone: export: other holds something that is no earlier export; --force writes into it' \
    "$HONE" export 1 -o other
expect_match 0 '' "$HONE" export 1 -o other --force
[ "$(cat other/file)" = precious ] || fail 'somebody else'"'"'s file is gone'
expect_match 2 'other/file: Not a directory' "$HONE" export 1 -o other/file
expect_match 0 'node' "$HONE" export -o deep/er/dir/
[ -e deep/er/dir/PROOF.json ] || fail 'no deep directory'

# The check draws what the judge draws, whatever the distribution and the promise.
cat >draws.hone <<'END'
problem draws
dim N = 96
in u : f32[N, N] triangular upper ~ uniform(1, 2)
in s : f32[N, N] symmetric ~ normal
in z : f32[N] ~ zipf(1.2, 50)
in b : f32[N] ~ bernoulli(0.3)
in p : f32[N] ~ permutation
in o : f32[N] ~ sorted(-1, 1)
out y : f32[N, N]
y = u * z + s * b + p * o
END
expect_match 0 'champion' "$HONE" optimize draws.hone --evals 1 --seconds 100 --no-calibrate --store drawn
expect_match 0 'node 0' "$HONE" export --store drawn -o draws
make -s -C draws || fail 'draws does not build'
expect_match 0 '^y: 4096 of 4096 sampled elements right' ./draws/check
