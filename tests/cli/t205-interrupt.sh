#!/bin/sh
# Ctrl-C and kill -9 in the middle of a verdict: the right status, and nobody is left behind.
. "$(dirname "$0")/lib.sh"
E=$ROOT/tests/exploits

# Processes of this test are those whose program has this name.
command -v pgrep >/dev/null || skip "pgrep is missing"
me=hc$$
cp "$HONE" ./$me
left() { pgrep -c -x $me || true; }
# Wait for something to become true; fails after ten seconds.
until_true() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 1000 ] || fail "never came true: $*"
        sleep 0.01
    done
}
has() { [ "$(left)" -ge "$1" ]; }
none() { [ "$(left)" = 0 ]; }

for signal in INT KILL; do
    # Command, worker and a runner that never comes back.
    ./$me eval "$E/softmax.hone" "$E/cheat/endless.c" --verify >out 2>&1 &
    pid=$!
    until_true has 3
    kill -$signal $pid
    status=0
    wait $pid || status=$?
    [ $signal != INT ] || [ $status = 130 ] || fail "status $status after Ctrl-C: $(cat out)"
    until_true none
done

# A runner that somebody kills is no crash of the candidate's: the job is done again.
runner() { pgrep -f "^$TMP/$me _runner" | head -n 1; }
runs() { [ -n "$(runner)" ]; }
./$me eval "$E/softmax.hone" "$E/cheat/endless.c" --verify >out 2>&1 &
pid=$!
until_true runs
kill -KILL "$(runner)"
status=0
wait $pid || status=$?
[ $status = 1 ] && grep -q ': timeout$' out || fail "status $status after a kill of the runner: $(cat out)"
until_true none

# Nor is one of the rival's: it is tried again, and then fails by itself. The runner that has used
# processor time for long is the rival's; should none be seen before its call is over, the outcome
# is the same.
ticks() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 12; }
busy() {
    rival=
    for pid_of in $(pgrep -f "^$TMP/$me _runner" || true); do
        n=$(ticks "$pid_of" || true)
        [ "${n:-0}" -lt 20 ] || rival=$pid_of
    done
    [ -n "$rival" ] || ! kill -0 $pid 2>/dev/null
}
./$me eval "$E/softmax.hone" "$E/honest/softmax_plain.c" --screen --rival "$E/cheat/endless.c" >out 2>&1 &
pid=$!
until_true busy
[ -z "$rival" ] || kill -KILL "$rival" 2>/dev/null || true
status=0
wait $pid || status=$?
[ $status = 1 ] && grep -q 'cannot be timed: timeout' out ||
    fail "status $status after a kill of the rival's runner: $(cat out)"
until_true none

# A worker that dies is replaced, and the job done again; three times, then it is our fault.
worker() { pgrep -f "^$TMP/$me _worker" || true; }
is_new() { [ -n "$(worker)" ] && [ "$(worker)" != "$old" ]; }
for kills in 1 3; do
    ./$me eval "$E/softmax.hone" "$E/cheat/endless.c" --verify >out 2>&1 &
    pid=$!
    old=
    for _ in $(seq $kills); do
        until_true is_new
        old=$(worker)
        until_true has 3
        kill -KILL "$old"
    done
    status=0
    wait $pid || status=$?
    [ $status = 1 ] || fail "status $status after $kills deaths of the worker: $(cat out)"
    [ $kills = 1 ] && want=': timeout$' || want=': infra$'
    grep -q "$want" out || fail "after $kills deaths of the worker: $(cat out)"
    until_true none
done
