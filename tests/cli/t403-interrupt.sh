#!/bin/sh
# Ctrl-C: status 130 within a second, the run is kept and goes on, no process is left.
. "$(dirname "$0")/lib.sh"

mkfifo events
"$HONE" optimize "$ROOT/problems/softmax.hone" --dim M=256,N=256 --no-calibrate --seconds 60 \
    --events >events 2>message &
pid=$!
# Wait for the third evaluation, whatever time that takes.
n=0
while IFS= read -r line; do
    case $line in *'"evaluated"'*) n=$((n + 1)) ;; esac
    [ $n -lt 3 ] || break
done <events
[ $n = 3 ] || fail "only $n evaluations: $(cat message)"
kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || fail "status $status: $(cat message)"
grep -q '^hone: interrupted; hone optimize --resume 1 goes on$' message || fail "$(cat message)"
expect_match 0 '^ *1  interrupted ' "$HONE" runs
expect_match 2 'run 1 is not finished' "$HONE" export -o d
expect_match 0 '^champion  1\.' "$HONE" optimize --resume --evals 5
expect_match 0 '^ *1  done ' "$HONE" runs
