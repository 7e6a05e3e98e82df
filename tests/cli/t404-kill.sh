#!/bin/sh
# kill -9 at some moment, then --resume: nothing acknowledged is lost, and it ends.
. "$(dirname "$0")/lib.sh"

mkfifo events
round=1
while [ $round -le "${ROUNDS:-2}" ]; do
    rm -rf .hone
    "$HONE" optimize "$ROOT/problems/softmax.hone" --dim M=64,N=64 --no-calibrate --evals 4 \
        --seed $round --events >events 2>/dev/null &
    pid=$!
    # The moment: when so many lines have come, a different number every round.
    n=0 acknowledged=0
    while IFS= read -r line; do
        n=$((n + 1))
        case $line in *'"evaluated"'*) acknowledged=$((acknowledged + 1)) ;; esac
        [ $n -le $((round * 3 % 10)) ] || break
    done <events
    kill -9 $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    "$HONE" show --json >shown
    stored=$(grep -c '"state": "evaluated"' shown || true)
    [ "$stored" -ge "$acknowledged" ] || fail "round $round: $stored stored of $acknowledged"
    expect_match 0 '^ *1  killed ' "$HONE" runs
    expect_match 0 '^champion  1\.' "$HONE" optimize --resume
    "$HONE" show --json >shown
    [ "$(grep -c '"state": "evaluated"' shown)" = 4 ] || fail "round $round: not four nodes"
    round=$((round + 1))
done
