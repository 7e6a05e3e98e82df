#!/bin/sh
# Ctrl-C and kill -9 in the middle of a verdict: the right status, and nobody is left behind.
. "$(dirname "$0")/lib.sh"
E=$ROOT/tests/exploits

# Processes of this test are those with its directory in the command line: ours, whose program is
# there, and compilers, which work there.
command -v pgrep >/dev/null || skip "pgrep is missing"
me=hc$$
cp "$HONE" ./$me
left() { pgrep -c -f "$TMP/" || true; }
has_or_gone() { [ "$(left)" -ge "$1" ] || ! kill -0 $pid 2>/dev/null; }
none() { [ "$(left)" = 0 ]; }

# Command, worker and a runner that never comes back. A machine with other work may have the verdict
# before we come to it; then once more.
for signal in INT KILL; do
    [ $signal = INT ] && want=130 || want=137
    for try in 1 2 3 4 5 6 7 8 9; do
        "$TMP/$me" eval "$E/softmax.hone" "$E/cheat/endless.c" --verify >out 2>&1 &
        pid=$!
        until_true has_or_gone 3
        kill -$signal $pid 2>/dev/null || true
        status=0
        wait $pid 2>/dev/null || status=$?
        until_true none
        [ $status = 1 ] && grep -q ': timeout$' out || break
    done
    [ $status = $want ] || fail "status $status after $signal, try $try: $(cat out)"
done

# What a probe of the sandbox says and what the compiler makes is kept; from here on the only
# runner of an evaluation is the candidate's.
"$TMP/$me" eval "$E/softmax.hone" "$E/cheat/endless.c" --verify >out 2>&1 && fail "endless ended"
grep -q ': timeout$' out || fail "endless: $(cat out)"
until_true none

# Kill one of these processes, by role: true once a signal has met one. One that is there when
# they are listed may be gone, or replaced, when the signal is sent.
kill_one() {
    for found in $(pgrep -f "^$TMP/$me $1\$"); do
        kill -KILL "$found" 2>/dev/null && return
    done
    return 1
}

# A runner that somebody kills is no crash of the candidate's: the job is done again.
runner_killed_or_gone() { kill_one _runner && n_hit=1 || ! kill -0 $pid 2>/dev/null; }
for try in 1 2 3 4 5 6 7 8 9; do
    "$TMP/$me" eval "$E/softmax.hone" "$E/cheat/endless.c" --verify >out 2>&1 &
    pid=$! n_hit=0
    until_true runner_killed_or_gone
    status=0
    wait $pid || status=$?
    [ $status = 1 ] && grep -q ': timeout$' out || fail "status $status after a kill of the runner: $(cat out)"
    until_true none
    [ $n_hit = 0 ] || break
done
[ $n_hit = 1 ] || fail "no runner was seen in $try tries"

# Nor is one of the baseline's: the job is done again, and then the baseline fails by itself. The one
# runner that has used processor time for long is the baseline's; should none be seen before its call
# is over, the outcome is the same.
ticks() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 12; }
kill_busy() {
    for found in $(pgrep -f "^$TMP/$me _runner\$"); do
        used=$(ticks "$found")
        [ "${used:-0}" -ge 20 ] && kill -KILL "$found" 2>/dev/null && return
    done
    ! kill -0 $pid 2>/dev/null
}
"$TMP/$me" eval "$E/softmax.hone" "$E/honest/softmax_plain.c" --screen --baseline "$E/cheat/endless.c" >out 2>&1 &
pid=$!
until_true kill_busy
status=0
wait $pid || status=$?
[ $status = 1 ] && grep -q 'cannot be timed: timeout' out ||
    fail "status $status after a kill of the baseline's runner: $(cat out)"
until_true none

# A worker that dies is replaced, and the job done again; three times, then it is our fault. None
# is hit twice: a process that was killed can stay in the list until it is waited for. Nor is a child
# of a worker that still bears its name.
worker_killed_or_gone() {
    new=$(pgrep -P $pid -f "^$TMP/$me _worker\$") || new=
    if [ -n "$new" ] && [ "$new" != "$old" ] && kill -KILL "$new" 2>/dev/null; then
        old=$new n_hit=$((n_hit + 1))
        return
    fi
    ! kill -0 $pid 2>/dev/null
}
for kills in 1 3; do
    for try in 1 2 3 4 5 6 7 8 9; do
        "$TMP/$me" eval "$E/softmax.hone" "$E/cheat/endless.c" --verify >out 2>&1 &
        pid=$! old='' n_hit=0
        for _ in $(seq $kills); do
            until_true worker_killed_or_gone
        done
        status=0
        wait $pid || status=$?
        until_true none
        [ $n_hit -lt $kills ] || break
    done
    [ $n_hit = $kills ] || fail "$n_hit of $kills workers were seen in $try tries"
    [ $status = 1 ] || fail "status $status after $kills deaths of the worker: $(cat out)"
    [ $kills = 1 ] && want=': timeout$' || want=': infra$'
    grep -q "$want" out || fail "after $kills deaths of the worker: $(cat out)"
done

# A search needs to know first whether a kernel that computes nothing would pass. When nobody lives to
# say so there is none, and no run is kept.
for try in 1 2 3 4 5 6 7 8 9; do
    "$TMP/$me" optimize "$E/softmax.hone" --target cpu --dim M=2048,N=2048 --evals 1 --no-calibrate >out 2>&1 &
    pid=$! old='' n_hit=0
    for _ in 1 2 3; do
        until_true worker_killed_or_gone
    done
    status=0
    wait $pid || status=$?
    until_true none
    ! grep -q '^hone: the worker failed 3 times: ' out || break
done
[ $status = 4 ] && grep -q '^hone: the worker failed 3 times: ' out || fail "status $status, try $try: $(cat out)"
[ $try -gt 1 ] || [ -z "$(find "$TMP/data" -name 'runs.db*' 2>/dev/null)" ] || fail 'a run was kept'
