#!/bin/sh
# Several GPUs of one machine. Both of a pair are timed on one of them; the record says on which; what
# may be the best is ranked on the run's own; a judge that dies costs its job only.
# slow
. "$(dirname "$0")/devices_lib.sh"

# Two at a time on two devices.
# shellcheck disable=SC2086
expect_match 0 '^champion  1\.' "$HONE" optimize $search --jobs 2 --batch 2 --evals 3
printf '%s\n' "$got" | grep -q '(3 evaluations, ' || fail "not three evaluations: $got"
check 1
grep -Eq '"depth": ?"screen".*"device": ?"cuda:1"' judgements || fail "cuda:1 judged nothing"

# The judge of the second one dies whenever it begins: its jobs are done at home, and it gets no more.
echo second-dies >cuda/fault
# shellcheck disable=SC2086
expect_match 0 '^champion  2\.' "$HONE" optimize $search --jobs 2 --batch 2 --evals 5
printf '%s\n' "$got" | grep -q 'a device is out: 1 of 2 go on' || fail "not said: $got"
printf '%s\n' "$got" | grep -q '(5 evaluations, ' || fail "not five evaluations: $got"
check 2
! grep -q '"device": *"cuda:1"' judgements || fail "the dead one judged"

# What it is not for.
expect_match 2 '^hone: --jobs: cpu judges one candidate at a time; several are for GPUs' \
    "$HONE" optimize affine.hone --target cpu --jobs 2 --no-calibrate
expect 2 "hone: optimize: at most 64 --jobs" "$HONE" optimize affine.hone --jobs 65
