#!/bin/sh
# What scaffold writes is a candidate that passes.
. "$(dirname "$0")/lib.sh"
for problem in softmax gelu gemm; do
    "$HONE" scaffold "$ROOT/problems/$problem.hone" --dim M=64,N=48 -o $problem.c
    expect_match 0 ': ok$' "$HONE" eval "$ROOT/problems/$problem.hone" $problem.c --dim M=64,N=48 --verify
done
expect_match 2 'gemm.c exists already' "$HONE" scaffold "$ROOT/problems/gemm.hone" -o gemm.c
expect_match 2 'missing.hone' "$HONE" scaffold missing.hone
"$HONE" scaffold "$ROOT/problems/gemm.hone" | grep -q '#pragma hone launch'
