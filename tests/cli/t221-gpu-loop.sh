#!/bin/sh
# The loop with a GPU as its target, over a driver that is not there: it proposes what findings say,
# confirms its champion in processes that nobody has been in, and comes out again from its record.
. "$(dirname "$0")/gpu_lib.sh"

: >cuda/processes
expect_match 0 '^champion  1\.[0-9]+: .*x over plain \(' \
    "$HONE" optimize affine.hone --target cuda --policy mcts --evals 3 --seconds 300 --race 1 --no-calibrate
printf '%s\n' "$got" | grep -Eq '^ +(.*; )?confirmed on fresh data, [1-9][0-9]* pairs$' || fail "not confirmed: $got"
printf '%s\n' "$got" | grep -q '^energy    not measured (NVML does not tell the card.s energy: not supported' ||
    fail "nothing about energy: $got"
printf '%s\n' "$got" | grep -q '^target    cuda.*Fake 9000' || fail "another target: $got"
printf '%s\n' "$got" | grep -q '(3 evaluations, ' || fail "not three evaluations: $got"

expect_match 0 '^Energy: not measured \(NVML' "$HONE" report 1
"$HONE" report 1 --html page.html && grep -q '<th scope="row">energy</th><td>not measured' page.html || fail 'a page without energy'
valid show "$HONE" show 1 --json
[ "$(grep -c '"state": "evaluated"' json)" = 3 ] || fail "not three nodes: $(cat json)"
# What was found out about the root is why its child was proposed; it has findings of its own.
valid node "$HONE" show 1.1 --json
for line in '"parent": 0' '"by": "expert"' '"reason": "waves: multiprocessors have no work' '"kind": "ok"' '"tool": "waves"'; do
    grep -q "$line" json || fail "node 1.1 without $line: $(cat json)"
done

# From the record: no card, no compiler.
expect_match 0 '^the same tree, champion node [0-9]+$' env CUDA_HOME="$TMP/none" HONE_BUILD_CC=/no/such/cc "$HONE" replay 1
expect_match 0 '^3 nodes replayed from ' env CUDA_HOME="$TMP/none" "$HONE" replay 1

# Every process has told when it went over to another kernel. Two are there from the beginning. The
# confirmation has two new ones: one for the champion and, since nothing else calls plain, one that
# begins with that.
first=$(awk '!seen[$1]++ { print $2 }' cuda/processes | tr '\n' ' ')
case $first in
'y_map y_map y_map '*y_plain*) ;;
*) fail "a runner from before the confirmation: $(cat cuda/processes)" ;;
esac

# A race: candidates are compiled by several compilers and timed as they come; what comes through is judged.
expect_match 0 '^champion  2\.' "$HONE" optimize affine.hone --target cuda --evals 2 --seconds 300 --race 4 --objective edp --no-calibrate
printf '%s\n' "$got" | grep -Eq '^objective edp: ' || fail "no objective: $got"
printf '%s\n' "$got" | grep -Eq '^ +4 raced against 2\.0' || fail "no race: $got"
expect_match 0 '^the same tree, champion node [0-9]+$' env CUDA_HOME="$TMP/none" "$HONE" replay 2
expect_match 2 "unknown objective 'speed'; there are time, energy, edp" "$HONE" optimize affine.hone --target cuda --objective speed

# A card that is gone half way: why it ended, what was found so far, and it goes on when the card is back.
mkfifo lines
"$HONE" optimize affine.hone --target cuda --evals 3 --seconds 300 --race 1 --no-calibrate --store gone.db >lines 2>&1 &
while read -r line; do
    case $line in *'the default kernel') echo no-device >cuda/fault ;; esac
    printf '%s\n' "$line"
done <lines >out
wait $! && fail "a run that could not be confirmed ended well: $(cat out)"
: >cuda/fault
for line in '^hone: run 1: .*: no CUDA-capable device is detected' '^stopped  ' '^next      hone optimize --resume 1' 'the fastest so far, not confirmed$'; do
    grep -q "$line" out || fail "not '$line': $(cat out)"
done
expect_match 0 '^champion  1\.[0-9]+: .*x over plain' "$HONE" optimize --resume 1 --evals 3 --store gone.db

# All candidates fail: it says so, and there is no champion.
echo resources >cuda/fault
expect_match 1 '^champion  none: no candidate passed' "$HONE" optimize affine.hone --target cuda --evals 2 --seconds 300 --race 1 --no-calibrate --store none.db
