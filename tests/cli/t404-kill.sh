#!/bin/sh
# kill -9 at some moment, then --resume: nothing acknowledged is lost, and it ends.
. "$(dirname "$0")/lib.sh"

mkfifo events
round=1
while [ $round -le "${ROUNDS:-2}" ]; do
    rm -rf .hone
    # So many evaluations that it does not end by itself, however late the kill comes.
    "$HONE" optimize "$ROOT/problems/softmax.hone" --dim M=64,N=64 --no-calibrate --evals 1000 --race 4 \
        --seed $round --events >events 2>message &
    pid=$!
    exec 3<events
    # The moment: when so many lines have come, a different number every round. What was written
    # before it is acknowledged, whether we have read it or not.
    n=0 acknowledged=0
    while IFS= read -r line; do
        n=$((n + 1))
        case $line in *'"evaluated"'*) acknowledged=$((acknowledged + 1)) ;; esac
        [ $n != $((1 + round * 3 % 10)) ] || kill -9 $pid || true
    done <&3
    status=0
    wait $pid 2>/dev/null || status=$?
    [ $status = 137 ] || fail "round $round: not killed but $status: $(cat message)"
    "$HONE" show --json >shown
    stored=$(grep -c '"state": "evaluated"' shown || true)
    [ "$stored" -ge "$acknowledged" ] || fail "round $round: $stored stored of $acknowledged"
    # What waits to be judged is judged, whatever the limit.
    evals=$((stored + $(grep -c '"state": "proposed"' shown || true) + 2))
    expect_match 0 '^ *1  killed ' "$HONE" runs
    expect_match 0 '^champion  1\.' "$HONE" optimize --resume --evals $evals --seconds 300
    "$HONE" show --json >shown
    [ "$(grep -c '"state": "evaluated"' shown)" = $evals ] || fail "round $round: not $evals nodes"
    round=$((round + 1))
done
