#!/bin/sh
# Jobs for a GPU through a directory, over a driver that is not there: asked for where there is no
# card, judged by a worker that has one, taken back.
. "$(dirname "$0")/gpu_lib.sh"
for name in partial illegal; do
    kernel $name
done
asked() { # CANDIDATE [OPTION...]
    candidate=$1
    shift
    CUDA_HOME=$TMP/none "$HONE" eval affine.hone "$candidate" --target sm_90a --verify --spool s "$@"
}

for candidate in right partial illegal plain default; do
    [ ! -e $candidate.cu ] || candidate=$candidate.cu
    expect_match 0 '^job [0-9a-f]* waits in s$' asked $candidate --detach
done
expect_match 0 '^5 jobs done$' "$HONE" worker --spool s --once --target cuda --no-calibrate
printf '%s\n' "$got" | grep -q '^serving s with sm_90a (Fake 9000)$' || fail "served: $got"
"$(dirname "$HONE")/validate" "$ROOT/docs/schema/machine.json" <"$(echo s/machines/*)" || fail "machine"
for answer in s/done/*; do
    "$(dirname "$HONE")/validate" "$ROOT/docs/schema/spool-answer.json" <"$answer" || fail "answer: $(cat "$answer")"
done
expect_match 0 '^right.cu: ok$' asked right.cu --wait 1
printf '%s\n' "$got" | grep -q 'on cuda:0 (Fake 9000' || fail "not by the card: $got"
expect_match 1 '^partial.cu: wrong$' asked partial.cu --wait 1
printf '%s\n' "$got" | grep -q 'y\[999\] is 0, expected' || fail "no evidence: $got"
expect_match 1 '^illegal.cu: crash$' asked illegal.cu --wait 1
printf '%s\n' "$got" | grep -q 'CUDA_ERROR_ILLEGAL_ADDRESS' || fail "no evidence: $got"
# What hone writes itself, by name.
expect_match 0 '^plain: ok$' asked plain --wait 1
expect_match 0 '^default: ok$' asked default --wait 1
[ -z "$(find s/queue s/claimed s/done s/wanted s/tmp -type f)" ] || fail "left: $(find s)"
