#!/bin/sh
# kill -9 at some moment, then --resume: nothing acknowledged is lost, and it ends.
. "$(dirname "$0")/lib.sh"

round=1
while [ $round -le "${ROUNDS:-3}" ]; do
    rm -rf .hone lines
    "$HONE" optimize "$ROOT/problems/softmax.hone" --dim M=64,N=64 --no-calibrate --evals 6 \
        --seed $round --events >lines 2>/dev/null &
    pid=$!
    # The moment: when so many lines have come, a different number every round.
    while [ "$(wc -l <lines 2>/dev/null || echo 0)" -lt $((round % 14 + 2)) ] &&
        kill -0 $pid 2>/dev/null; do :; done
    kill -9 $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    acknowledged=$(grep -c '"event": *"evaluated"' lines || true)
    "$HONE" show --json >shown
    stored=$(grep -c '"state": "evaluated"' shown || true)
    [ "$stored" -ge "$acknowledged" ] || fail "round $round: $stored stored of $acknowledged"
    expect_match 0 '^champion  1\.' "$HONE" optimize --resume 1
    "$HONE" show --json >shown
    [ "$(grep -c '"state": "evaluated"' shown)" = 6 ] || fail "round $round: not six nodes"
    round=$((round + 1))
done
