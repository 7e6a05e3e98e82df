#!/bin/sh
# Several devices, what takes longer: a race in parts; two workers of a spool with a device each, one of which is
# killed.
# long
. "$(dirname "$0")/devices_lib.sh"

# Every device races its part, and the record says so. (A race has a share of the time; on a busy machine compiling
# alone would use up that of a minute.)
# shellcheck disable=SC2086
expect_match 0 '^champion  1\.' "$HONE" optimize $search --seconds 600 --jobs 9 --race 4 --evals 2
printf '%s\n' "$got" | grep -q '2 of the 9 jobs asked for: so many GPUs like cuda:0 are here' || fail "not said: $got"
check 1
[ "$(grep -Ec '"depth": ?"race"' judgements)" = 4 ] || fail "not four raced"
[ "$(grep -E '"depth": ?"race"' judgements | grep -c '"device": *"cuda:1"')" = 2 ] || fail "not halves"
valid show "$HONE" show 1 --json
run "$HONE" show 1.2
printf '%s\n' "$got" | grep -q "raced on cuda:1, not on the run's own device" || fail "show does not say where: $got"

for n in 0 1; do
    "$HONE" worker --spool s --target cuda:$n --no-calibrate >worker$n.out 2>&1 &
    eval "worker$n=\$!"
done
trap 'kill -9 $worker0 $worker1 2>/dev/null || :; rm -rf "$TMP"' EXIT
both() { [ "$(find s/machines -name '*.json' 2>/dev/null | wc -l)" = 2 ]; }
until_true both
# spooled EVALS: by both, or by who is left.
spooled() {
    CUDA_HOME=$TMP/none "$HONE" optimize affine.hone --target cuda:0 --seconds 60 --spool s --jobs 2 --evals "$1" >out 2>&1 &
    child=$!
}
judged() {
    wait $child || fail "the run did not end well: $(cat out)"
    grep -q "^champion  $1\." out || fail "no champion: $(cat out)"
    grep -q "($2 evaluations, " out || fail "not $2 evaluations: $(cat out)"
    check "$1"
}
spooled 3
judged 2 3
grep -Eq '"depth": ?"screen".*"device": ?"cuda:1 \(' judgements || fail "the other worker judged nothing"

# Killed while it has a job, which goes back to the queue.
spooled 5
pid=$worker1
claimed() { find s/claimed -name "*[!0-9]${pid}[!0-9]*" | grep -q . || ! kill -0 $child 2>/dev/null; }
until_true claimed
kill -9 $worker1
judged 3 5
kill -INT $worker0
wait $worker0 || :
