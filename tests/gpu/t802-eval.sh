#!/bin/sh
# Everything that hone itself writes for a GPU is right there, at sizes that divide and others.
. "$(dirname "$0")/lib.sh"
for problem in softmax gelu gemm; do
    P=$ROOT/problems/$problem.hone
    for dims in M=512,N=768 M=333,N=257; do
        "$HONE" scaffold "$P" --tier D --dim $dims >$problem.cu
        expect_match 0 ': ok$' "$HONE" eval "$P" $problem.cu --target cuda --dim $dims --verify
        expect_match 0 '^plain: ok$' "$HONE" eval "$P" plain --target cuda --dim $dims --verify
        expect_match 0 '^default: ok$' "$HONE" eval "$P" default --target cuda --dim $dims --screen
        rm $problem.cu
    done
done
valid eval "$HONE" eval "$P" default --target cuda --screen --json --dim M=512,N=768
for metric in registers occupancy spill_bytes time_s; do
    grep -q "\"$metric\"" json || fail "no $metric in $(cat json)"
done
