#!/bin/sh
# long
# no-asan
# A baseline that is wrong, or cannot be timed, costs the speed-up and not the champion: the run
# ends with it, confirmed, says what is unknown and why, and everything that reads a run copes.
. "$(dirname "$0")/gpu_lib.sh"

echo plain-wrong >cuda/fault
expect_match 0 "^champion  1\\.[0-9]+: .*s, speed-up unknown: the baseline 'plain' cannot be timed:$" \
    "$HONE" optimize affine.hone --target cuda --evals 3 --seconds 300 --race 1 --no-calibrate
for line in 'wrong: 1 of 1000 elements' 'the champion is confirmed alone$' \
    'confirmed on fresh data, [1-9][0-9]* pairs with itself$'; do
    printf '%s\n' "$got" | grep -Eq -e "$line" || fail "without $line: $got"
done

valid optimize "$HONE" optimize affine.hone --target cuda --evals 1 --seconds 300 --no-calibrate --json
grep -q '"speedup": null' json || fail "a speed-up: $(cat json)"
grep -q '"speedup_unknown": "the baseline' json || fail "no reason: $(cat json)"
valid show "$HONE" show 1 --json
valid runs "$HONE" runs --json
expect_match 0 'done .* unknown ' "$HONE" runs
expect_match 0 'Its speed-up is unknown' "$HONE" report 1
expect_match 0 '^the same tree, champion node [0-9]+$' env CUDA_HOME="$TMP/none" HONE_BUILD_CC=/no/such/cc "$HONE" replay 1

expect_match 0 '' "$HONE" export 1 -o kernel
valid proof cat kernel/PROOF.json
grep -q '"speedup_unknown": "the baseline' json || fail "a proof without the reason: $(cat json)"
grep -q '^.* ms\. The speed-up over the baseline is unknown:$' kernel/README* || fail "$(cat kernel/README*)"

# With a baseline that works the next run knows it again.
: >cuda/fault
expect_match 0 '^champion  3\.[0-9]+: .*x over plain' \
    "$HONE" optimize affine.hone --target cuda --evals 1 --seconds 300 --no-calibrate
