#!/bin/sh
# Ctrl-C: status 130 within a second, the run is kept and goes on, no process is left.
. "$(dirname "$0")/lib.sh"

# The end that we read from stays open: a search whose reader has left ends by itself.
mkfifo events
"$HONE" optimize "$ROOT/problems/softmax.hone" --dim M=256,N=256 --no-calibrate --race 4 \
    --events >events 2>message &
pid=$!
exec 3<events
# Wait for the third evaluation, whatever time that takes.
n=0
while IFS= read -r line; do
    case $line in *'"evaluated"'*) n=$((n + 1)) ;; esac
    [ $n -lt 3 ] || break
done <&3
[ $n = 3 ] || fail "only $n evaluations: $(cat message)"
kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || fail "status $status: $(cat message)"
grep -q '^hone: interrupted; hone optimize --resume 1 goes on$' message || fail "$(cat message)"
expect_match 0 '^ *1  interrupted ' "$HONE" runs
# What it has so far can be exported, as what it is.
expect_match 0 '^d: not confirmed: of run 1, node [0-9]+$' "$HONE" export -o d
valid proof cat d/PROOF.json
grep -q '"is_confirmed": false' d/PROOF.json || fail "$(cat d/PROOF.json)"
grep -q '^It was verified and timed once, and not confirmed' d/README.txt || fail "$(cat d/README.txt)"
make -s -C d >log 2>&1 && d/check >log 2>&1 || fail "$(cat log)"
expect_match 0 '^champion  1\.' "$HONE" optimize --resume --evals 5 --seconds 300
expect_match 0 '^ *1  done ' "$HONE" runs
