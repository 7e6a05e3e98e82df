#!/bin/sh
# long
# A batch is proposed before it is judged: several workers of a spool share it, and where the model
# and the device are not at hand at once, a run is carried from one to the other and back.
# slow
. "$(dirname "$0")/lib.sh"

soft="$ROOT/problems/softmax.hone --dim M=96,N=128 --no-calibrate --seconds 600"
expect 2 "hone: optimize: a --batch has at most 64 candidates" \
    "$HONE" optimize "$ROOT/problems/softmax.hone" --batch 65

# until_true COMMAND...: while $child lives.
until_true() {
    until "$@"; do
        kill -0 $child 2>/dev/null || fail "ended too soon: $(cat out)"
        sleep 0.02
    done
}
end_child() {
    kill -INT $child
    status=0
    wait $child || status=$?
    [ $status = 130 ] || fail "ended with $status: $(cat out)"
}
hypothesis() {
    printf '{"cause": "c", "finding": 0, "change": "%s", "form": "kernel", "spans": [{"name": "stage", "first": 2, "last": 2}], "speedup": %s, "risk_implementation": 1, "risk_performance": 2}' "$1" "$2"
}
# answer NAME: from standard input, whole.
answer() {
    cat >part
    mv part "questions/$1.answer.md"
}
stage() {
    printf '<<<IMPROVE stage>>>\nstage y : rowwise  %s\n<<<END stage>>>\n' "$2" | answer "$1"
}

# With the device, and no model that would answer: the default kernel is judged, the question asked.
expect_match 0 '^0 jobs' "$HONE" worker --spool spool --once --no-calibrate
# shellcheck disable=SC2086
"$HONE" optimize $soft --llm ask:questions --batch 3 --evals 5 >out 2>&1 &
child=$!
until_true test -e questions/run1-node001-0-plan.md
end_child
grep -q '^candidates are judged 3 at a time' questions/run1-node001-0-plan.md || fail 'the planner is not told'
grep -q '^ *1\.0[* ] ok' out || fail "the default kernel was not judged: $(cat out)"

# With the model, and nobody who would judge: the whole batch is proposed, and waits in the spool.
printf '{"hypotheses": [%s, %s, %s]}' "$(hypothesis one 1.5)" "$(hypothesis two 1.4)" "$(hypothesis three 1.3)" |
    answer run1-node001-0-plan
stage run1-node001-1-code 'vec 8  rows 4'
stage run1-node002-0-code 'vec 8  rows 8  unroll 4'
stage run1-node003-0-code 'vec 8  rows 4'
stage run1-node003-1-code 'vec 8  rows 2'
"$HONE" optimize --resume 1 --spool spool >out 2>&1 &
child=$!
three_wait() { [ "$(find spool/queue -name '*.json' | wc -l)" = 3 ]; }
until_true three_wait
end_child
[ -z "$(find spool/queue spool/wanted -type f)" ] || fail "left in the spool: $(find spool -type f)"
valid show "$HONE" show 1 --json
grep -q "\"batch\": 3" json || fail "the batch is not in the record"

# With the device again: judged, and the next question asked, which knows what came of it.
"$HONE" optimize --resume 1 >out 2>&1 &
child=$!
until_true test -e questions/run1-node004-0-plan.md
end_child
[ "$(grep -c '^ *1\.[123][* ] ok' out)" = 3 ] || fail "not judged: $(cat out)"
grep -q "not judged yet" questions/run1-node004-0-plan.md &&
    fail 'a question after the batch does not know what came of it'

# It ends, and is the same when it is repeated.
run "$HONE" optimize --resume 1 --evals 4
[ "$status" = 0 ] || fail "did not end: $got"
expect_match 0 '^the same tree' "$HONE" replay 1
expect 2 "hone: optimize: a resumed run keeps its start, baseline, sizes, target, policy, proposer, seed, batch, race and objective; only --evals, --seconds, --until and the model and its caps can be given anew" \
    "$HONE" optimize --resume 1 --batch 2

# Two workers, one spool: nothing is lost, nothing done twice.
for _ in 1 2; do
    "$HONE" worker --spool spool --no-calibrate >>worked 2>&1 &
    workers="${workers:-} $!"
done
trap 'kill $workers 2>/dev/null; wait; rm -rf "$TMP"' EXIT
# shellcheck disable=SC2086
run "$HONE" optimize $soft --batch 2 --evals 5 --spool spool
[ "$status" = 0 ] || fail "over a spool: $got"
[ "$(printf '%s\n' "$got" | grep -c '^ *2\.[0-4][* ] ')" = 5 ] || fail "not five nodes: $got"
expect_match 0 '^the same tree' "$HONE" replay 2
