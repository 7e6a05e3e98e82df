#!/bin/sh
# kill -9 of coordinators (the command), spool workers, judges and runners at random moments. $KILLS
# of them, a quarter for each. Promised and checked:
#
#   no job is lost      a question whose asker lives has its verdict, a search that is resumed ends
#                       with every node evaluated; nothing is given up, since at most two of those
#                       that work on a job are killed over it, and a job is tried three times
#   none is done twice  one answer for each job, one judgement of each kind in the record, and the
#                       record alone gives the same tree again
#   no process is left  all below one that was killed, compilers too, are gone after a second
#                       (until_gone in lib.sh has what that is on a busy machine); how long it took
#                       by the clock is told
#   no file is left     besides what stays, in any directory after one command that comes to it
. "$(dirname "$0")/lib.sh"
E=$ROOT/tests/exploits
P=$E/softmax.hone
command -v pgrep >/dev/null || skip "pgrep is missing"
me=hk$$
cp "$HONE" ./$me
kills=${KILLS:-32}
mkdir tmp
export TMPDIR="$TMP/tmp"

# below N: a random number under N.
below() { echo $(($(od -An -N3 -tu4 /dev/urandom) % $1)); }
alive() { [ "$1" != 0 ] && kill -0 "$1" 2>/dev/null; }
pause() { sleep "0.$(printf '%03d' "$(below 120)")"; }
count() { grep -c "$@" || true; }
# Whoever is there of this test: our program, and compilers, which work in the cache.
ours() {
    pgrep -f "/$me " || true
    working_in "$XDG_CACHE_HOME"
}

# ---- who is there, and who dies

asking=0 w1=0 w2=0
# found KIND: a random process of that kind. A child that is not yet its own program bears the name
# of its parent, so commands and workers are known by number, and judges by whose child they are.
found() {
    case $1 in
    command) set -- $asking ;;
    worker) set -- $w1 $w2 ;;
    judge) set -- $(pgrep -P "$asking,$w1,$w2" -f "/$me _worker\$") ;;
    runner) set -- $(pgrep -f "/$me _runner\$") ;;
    esac
    [ $# -gt 0 ] || return 1
    shift "$(below $#)"
    alive "$1" && echo "$1"
}
descendants() {
    for child in $(pgrep -P "$1"); do
        echo "$child"
        (descendants "$child")
    done
}
slowest_ms=0 n_slow=0
now_ms() { echo $(($(date +%s%N) / 1000000)); }
# await COMMAND...: wait until those that it lists are gone, and note how long that took.
await() {
    since_ms=$(now_ms)
    until_gone "$@"
    took_ms=$(($(now_ms) - since_ms))
    [ $took_ms -le $slowest_ms ] || slowest_ms=$took_ms
    [ $took_ms -le 1000 ] || n_slow=$((n_slow + 1))
}

quota_command=0 quota_worker=0 quota_judge=0 quota_runner=0
n_command=0 n_worker=0 n_judge=0 n_runner=0 n_killed=0
struck=0 # of those that work on the present job
is_met() { [ $((quota_command + quota_worker + quota_judge + quota_runner)) = 0 ]; }
# Somebody of a kind of which there are still some to kill dies, and all below.
strike() {
    set --
    for kind in command worker judge runner; do
        eval "quota=\$quota_$kind"
        [ "$quota" -gt 0 ] || continue
        [ $kind = command ] || [ $struck -lt 2 ] || continue
        set -- "$@" $kind
    done
    [ $# -gt 0 ] || return 0
    shift "$(below $#)"
    kind=$1
    victim=$(found "$kind") || return 0
    family=$(descendants "$victim")
    kill -9 "$victim" 2>/dev/null || return 0
    n_killed=$((n_killed + 1))
    eval "n_$kind=\$((n_$kind + 1)) quota_$kind=\$((quota_$kind - 1))"
    [ "$kind" = command ] || struck=$((struck + 1))
    # shellcheck disable=SC2086
    await echo $victim $family
}

# Two workers, always, where there shall be any.
hire() {
    [ -n "$spool" ] || return 0
    alive $w1 || { "$TMP/$me" worker --spool s --target cpu --no-calibrate >>workers 2>&1 & w1=$!; }
    alive $w2 || { "$TMP/$me" worker --spool s --target cpu --no-calibrate >>workers 2>&1 & w2=$!; }
}

# tidies DIRECTORY COMMAND...: after it, nothing is there but what a spool (its version and its
# machines), the cache (whole objects) and a store keep.
tidies() {
    place=$1
    shift
    expect_match 0 "$@"
    case $place in
    spool) stray=$(find s -type f ! -name spool.json ! -path 's/machines/*') ;;
    cache) stray=$(find tmp -mindepth 1 && find cache \( -name '.new-*' -o -name '*.tmp' -o -name '*.tmp.*' \)) ;;
    store) stray=$(find .hone -type f ! -name runs.db ! -name runs.db-runs ! -name .gitignore) ;;
    esac
    [ -z "$stray" ] || fail "left behind after $*: $stray"
}
# Everybody dies at once; nobody is left, and nothing where one command has come.
n_calm=0
calm() {
    for pid in $w1 $w2; do
        [ "$pid" = 0 ] || kill -9 "$pid" 2>/dev/null || true
    done
    for pid in $w1 $w2; do
        [ "$pid" = 0 ] || wait "$pid" 2>/dev/null || true
    done
    w1=0 w2=0
    await ours
    n_calm=$((n_calm + 1))
    tidies spool 'done$' "$HONE" worker --spool s --target cpu --once --no-calibrate
    tidies cache ': ok$' "$HONE" eval "$P" "$E/honest/softmax_plain.c" --verify
    [ ! -e .hone ] || tidies store '' "$HONE" runs
}

# ---- questions: each gets one verdict, unless who asked was killed.

n=0 n_ok=0 n_dead=0
settle() {
    status=0
    wait $asking 2>/dev/null || status=$?
    asking=0
    if [ $status = 137 ]; then
        n_dead=$((n_dead + 1))
    elif [ $status = 0 ] && [ "$(count ': ok$' <out)" = 1 ]; then
        n_ok=$((n_ok + 1))
    else
        fail "question $n: status $status: $(cat out); workers: $(tail -n 5 workers)"
    fi
}
questions() {
    spool=s
    : >workers
    while ! is_met; do
        hire
        [ $asking = 0 ] || alive $asking || settle
        if [ $asking = 0 ]; then
            n=$((n + 1)) struck=0
            # Every other one is new to the compiler.
            { cat "$E/honest/softmax_plain.c" && echo "// $((n / 2))"; } >c$((n % 2)).c
            "$TMP/$me" eval "$P" c$((n % 2)).c --verify --seed $n --spool s --wait 600 >out 2>&1 &
            asking=$!
        fi
        pause
        strike
    done
    hire
    [ $asking = 0 ] || settle
    twice=$(sed -n 's/^\([0-9a-f]*\)  softmax: .*/\1/p' workers | sort | uniq -d)
    [ -z "$twice" ] || fail "answered twice: $twice"
    calm
}

# ---- searches: resumed until they end, and every node is there once.

n_runs=0 n_resumed=0 n_late=0
evaluated() { cat events* 2>/dev/null | count '"event":"evaluated"'; }
search() { # SPOOL
    spool=$1
    n_runs=$((n_runs + 1))
    rm -rf .hone events*
    how="$ROOT/problems/softmax.hone --dim M=64,N=64 --evals 3 --seconds 25 --race 4 --seed $n_runs --no-calibrate"
    attempt=0
    # A resumed search asks the spool for the same job, so who was killed over it counts on.
    known=-1 struck=0 late=0
    while :; do
        hire
        attempt=$((attempt + 1))
        # shellcheck disable=SC2086
        "$TMP/$me" optimize $how ${spool:+--spool s --wait 600} --events >events$attempt 2>message &
        asking=$!
        while alive $asking && ! is_met; do
            seen=$(evaluated)
            # The last one may have met the next job already.
            [ "$seen" = $known ] || struck=$late
            known=$seen late=$struck
            pause
            hire
            strike
            late=$((struck - late))
        done
        status=0
        wait $asking 2>/dev/null || status=$?
        asking=0
        # A busy machine may not come to one verdict in the time of a search.
        if [ $status = 1 ] && grep -q '"stop_reason":"seconds"' events$attempt; then
            n_late=$((n_late + 1)) status=0
        fi
        [ $status != 0 ] || break
        [ $status = 137 ] || fail "search $n_runs: $status: $(cat message) $(tail -n 1 events$attempt)"
        "$HONE" runs --json >runs 2>/dev/null || : >runs
        # Killed after the record had its end: nothing is left to resume.
        ! grep -q '"state": "done"' runs || break
        ! grep -q '"run":' runs || how=--resume
        n_resumed=$((n_resumed + 1))
    done
    "$HONE" show --json >shown
    nodes=$(count '"number": ' <shown) judged=$(count '"state": "evaluated"' <shown)
    [ "$judged" = 3 ] || grep -q '"stop_reason": "seconds"' shown || fail "search $n_runs: $judged evaluated"
    [ "$(count '"state": "proposed"' <shown)" = 0 ] || fail "search $n_runs: not all evaluated"
    [ "$(count '"kind": "infra"' <shown)" = 0 ] || fail "search $n_runs: a node was given up"
    [ "$(grep '"number": ' shown | sort -u | wc -l)" = "$nodes" ] || fail "search $n_runs: a node twice"
    cat events* | sed -n 's/.*"event":"evaluated".*"node":{"number":\([0-9]*\),.*/\1/p' >told
    [ "$(sort told | uniq -d)" = "" ] || fail "search $n_runs: told twice: $(cat told)"
    expect_match 0 '^the same tree' "$HONE" replay
    "$HONE" replay -o record >/dev/null
    twice=$(sed -n 's/.*"hone.judgement.1","number":[0-9]*,\("subject":.*\),"verdict".*/\1/p' record | sort | uniq -d)
    [ -z "$twice" ] || fail "search $n_runs: judged twice: $twice"
}

# ---- so many of each in each of the three, in rounds of about forty

quarter=$((kills / 4))
rounds=$(((kills + 39) / 40))
mkdir s
"$HONE" worker --spool s --target cpu --once --no-calibrate >/dev/null
# share OF WHICH: how many of OF fall to round WHICH.
share() { echo $(($1 * $2 / rounds - $1 * ($2 - 1) / rounds)); }
round=1
while [ $round -le $rounds ]; do
    each=$(share $quarter $round)
    # Half of them by questions, the rest by searches through the spool and without.
    quota_worker=$((each - each / 4)) quota_command=$((each / 2))
    quota_judge=$quota_command quota_runner=$quota_command
    questions
    quota_worker=$((each / 4)) quota_command=$((each / 4))
    quota_judge=$quota_command quota_runner=$quota_command
    while ! is_met; do search s; done
    calm
    quota_command=$((each - each / 2 - each / 4))
    quota_judge=$quota_command quota_runner=$quota_command
    while ! is_met; do search ''; done
    calm
    echo "round $round of $rounds: killed $n_command coordinators, $n_judge judges, $n_runner runners," \
        "$n_worker workers"
    round=$((round + 1))
done
echo "killed $n_killed: $n_command coordinators, $n_judge judges, $n_runner runners, $n_worker workers;" \
    "$n questions: $n_ok answered, $n_dead asked by the dead, $((n - n_ok - n_dead)) lost;" \
    "$n_runs searches ended after $n_resumed resumptions, every node once, $n_late for lack of time;" \
    "nobody left below a killed process after a second, at most $slowest_ms ms by the clock until all were" \
    "gone, $n_slow times more than a second;" \
    "nothing left in $n_calm looks for files"
