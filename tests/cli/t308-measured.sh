#!/bin/sh
# Programs with one known fault each and their twins, as measured on an H200 and kept: the tools of today name the
# fault of every sick one first, and find nothing of high severity in the others.
. "$(dirname "$0")/lib.sh"
kept=$ROOT/tests/gpu/pathologies/measured
names=$(cd "$kept" && ls | sed 's/\.json$//')
# shellcheck disable=SC2086 # names without blanks
"$ROOT/bench/gpu_findings.sh" "$HONE" --again "$kept" $names >out || fail "$(cat out)"
! grep -E ' (wrong|loud) |not measured' out >bad || fail "$(cat bad)"
[ "$(grep -cE '^[0-9].* (right|still) ' out)" = "$(echo "$names" | wc -l)" ] || fail "not all: $(cat out)"

# The page of one: class, place on the roofline, the finding with its evidence and what to do.
expect_match 0 '^  first     thrash in work' "$HONE" diagnose "$kept/44-0.json"
also '^  class     memory-bound .memory 93% busy'
also '^  roofline  memory 4.53 TB/s of 4.8 TB/s .94%., f32 units .*: 0.64 FLOP a byte at most, the ridge is at 14$'
also '2.15 GB read from memory, 7.9 times all that the launch can touch'
