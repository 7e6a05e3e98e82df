#!/bin/sh
# Launches that overlap: products of f32 and tf32, whose operands are split by launches of their own, are right on the
# card with the overlap and without it, at sizes that no tile divides and at some that take several rounds of blocks.
. "$(dirname "$0")/lib.sh"
[ "$(gpu_arch)" = sm_90a ] || skip "no card with wgmma"
n=0
for case in 'f32 2048 2048 2048' 'tf32 2048 2048 2048' 'f32 777 1034 2051' 'tf32 1024 8192 512' 'f32 4096 1024 256'; do
    # shellcheck disable=SC2086
    set -- $case
    precision=
    [ "$1" = f32 ] || precision="precision $1"
    printf 'problem p\n%s\ndim M = %s, N = %s, K = %s\nin a : f32[M, K] ~ normal\nin b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n' \
        "$precision" "$2" "$3" "$4" >p.hone
    "$HONE" emit p.hone --target sm_90a >over.cu
    grep -q ' programmatic args(' over.cu || fail "$case: no launch overlaps"
    sed 's/ programmatic args(/ args(/' over.cu >after.cu
    expect_match 0 '^over.cu: ok$' "$HONE" eval p.hone over.cu --target cuda --verify
    expect_match 0 '^after.cu: ok$' "$HONE" eval p.hone after.cu --target cuda --verify
    n=$((n + 1))
done
[ $n = 5 ]
