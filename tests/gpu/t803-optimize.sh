#!/bin/sh
# The loop on a GPU: runs, ends, and its champion is confirmed.
. "$(dirname "$0")/lib.sh"
confirmed() { # PROBLEM OPTION...
    problem=$1
    shift
    expect_match 0 'x over plain' "$HONE" optimize "$ROOT/problems/$problem.hone" --target cuda "$@"
    printf '%s\n' "$got" | grep -Eq 'confirmed on fresh data, [1-9][0-9]* pairs$' || fail "not confirmed: $got"
}
confirmed softmax --dim M=2048,N=2048 --evals 6

# Far from reach for as long as it goes, so that the root has children; of these some work, and what
# limits them is found.
confirmed gemm --evals 4 --seconds 120
valid show "$HONE" show 2 --json
[ "$(grep -c '"state": "evaluated"' json)" -ge 4 ] || fail "not four nodes: $(cat json)"
found=0
for node in 1 2 3; do
    valid node "$HONE" show 2.$node --json
    grep -q '"parent": [0-9]' json || fail "node $node is no child: $(cat json)"
    ! grep -q '"tool": "' json || found=$((found + 1))
done
[ $found -gt 0 ] || fail "no child has a finding: $("$HONE" show 2)"
