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

# For a GPU, without one.
"$HONE" scaffold "$ROOT/problems/softmax.hone" --tier D | grep -q '#pragma hone launch .* block('
"$HONE" scaffold "$ROOT/problems/gemm.hone" --target sm_80 | grep -q 'HONE_KERNEL'
expect_match 2 "unknown tier 'E'" "$HONE" scaffold "$ROOT/problems/gemm.hone" --tier E
expect_match 2 'tier C is not for target sm_80' "$HONE" scaffold "$ROOT/problems/gemm.hone" --tier C --target sm_80
expect_match 2 'tier D is not for target cpu' "$HONE" scaffold "$ROOT/problems/gemm.hone" --tier D --target cpu
