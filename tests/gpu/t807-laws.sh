#!/bin/sh
# Data that follow from the declared ones by a law of the graph, and data that exist for one timed
# call, on a card: cheats that only these find, and honest kernels that meet them. Without scans,
# since kept results need memory that outlives a call.
. "$(dirname "$0")/lib.sh"
D=$ROOT/tests/exploits/device
names='keeps_by_sum keeps_declared sniffs_scale gemm_normalised gemm_plain softmax_plain softmax_online'
# shellcheck disable=SC2086
run "$D/run.sh" "$HONE" $names
[ "$status" = 0 ] || fail "$got"
printf '%s\n' "$got"

# In words: which set, by which law, which elements.
gemm() { "$HONE" eval "$ROOT/tests/exploits/gemm.hone" "$1" --target cuda --verify; }
softmax() { HONE_SKIP_SCANS=1 "$HONE" eval "$ROOT/tests/exploits/softmax.hone" "$1" --target cuda "${2:---verify}"; }
expect_match 1 'the declared data with a times 16, so the results must be c times 16' gemm "$D/cheat/sniffs_scale.cu"
expect_match 1 '^ +c\[[0-9]+, [0-9]+\] is [-0-9.e]+, expected [-0-9.e]+$' gemm "$D/cheat/sniffs_scale.cu"
expect_match 1 'the rows of x stand in another order' softmax "$D/cheat/keeps_by_sum.cu"
expect_match 1 'right on the inputs that verify it and wrong on those' softmax "$D/cheat/keeps_declared.cu" --screen
printf '%s\n' "$got" | grep -Eq '^ +y\[[0-9]+, [0-9]+\] is [-0-9.e]+, expected [-0-9.e]+$' || fail "$got"
expect_match 0 'on 11 input sets' gemm "$D/honest/gemm_normalised.cu"

# The label of a problem that says nothing.
printf 'problem zeros\ndim M = 64, N = 250\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\ny = x - x\n' >zeros.hone
"$HONE" scaffold zeros.hone --tier D >zeros.cu
expect_match 0 '^zeros.cu: ok, on a degenerate problem$' "$HONE" eval zeros.hone zeros.cu --target cuda --verify
expect_match 1 'problem zeros is degenerate' "$HONE" optimize zeros.hone --target cuda --no-calibrate

# What it costs: a screening at the size that people time.
S=$ROOT/problems/softmax.hone
"$HONE" eval "$S" default default default --target cuda --screen --baseline default | grep -E 'took|ok'
"$HONE" eval "$ROOT/problems/gemm.hone" default default --target cuda --screen --baseline default | grep -E 'took|ok'
