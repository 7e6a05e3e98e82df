#!/bin/sh
# kill -9 of commands, spool workers, judges, runners and compilers at random moments: no job is
# lost, none is recorded twice, no process is left after a second and no file after the next
# command. $KILLS of them.
. "$(dirname "$0")/lib.sh"
E=$ROOT/tests/exploits
P=$E/softmax.hone
command -v pgrep >/dev/null || skip "pgrep is missing"
me=hk$$
cp "$HONE" ./$me
kills=${KILLS:-25}

left() { pgrep -c -x $me || true; }
none() { [ "$(left)" = 0 ]; }
# Wait for something to become true, for so many hundredths of a second.
within() {
    tries=$1
    shift
    until "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.01
    done
}
# below N: a random number under N.
below() { echo $(($(od -An -N3 -tu4 /dev/urandom) % $1)); }
alive() { [ "$1" != 0 ] && kill -0 "$1" 2>/dev/null; }
stray() {
    find s cache -type f \( -path 's/*' -o -path '*/.new-*' -o -name '*.tmp' \) \
        ! -name spool.json ! -path 's/machines/*'
}
role() {
    case $(tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline") in
    *' _worker '*) echo judge ;;
    *' _runner '*) echo runner ;;
    *' worker '*) echo worker ;;
    *' eval '* | *' optimize '*) echo command ;;
    *) echo other ;;
    esac
}

# A random process of ours dies.
n_command=0 n_worker=0 n_judge=0 n_runner=0 n_killed=0
strike() {
    # shellcheck disable=SC2046
    set -- $(pgrep -x $me || true)
    [ $# -gt 0 ] || return 0
    shift "$(below $#)"
    kind=$(role "$1")
    [ "$kind" != other ] || return 0
    kill -9 "$1" 2>/dev/null || return 0
    n_killed=$((n_killed + 1))
    eval "n_$kind=\$((n_$kind + 1))"
}
pause() {
    sleep "0.$(printf '%03d' "$(below 120)")"
}

# Two workers, always.
w1=0 w2=0
hire() {
    alive $w1 || { ./$me worker --spool s --target cpu --no-calibrate >>workers 2>&1 & w1=$!; }
    alive $w2 || { ./$me worker --spool s --target cpu --no-calibrate >>workers 2>&1 & w2=$!; }
}

# ---- questions: each gets one verdict, unless who asked was killed.
n=0 n_ok=0 n_infra=0 n_lost=0 asking=0
settle() {
    status=0
    wait $asking 2>/dev/null || status=$?
    if [ $status = 0 ] && [ "$(grep -c ': ok$' out)" = 1 ]; then
        n_ok=$((n_ok + 1))
    elif [ $status = 1 ] && [ "$(grep -c ': infra$' out)" = 1 ]; then
        n_infra=$((n_infra + 1))
    elif [ $status = 137 ]; then
        n_lost=$((n_lost + 1))
    else
        fail "question $n: status $status: $(cat out)"
    fi
    asking=0
}
half=$((kills / 2))
while [ $n_killed -lt $half ]; do
    hire
    [ $asking = 0 ] || alive $asking || settle
    if [ $asking = 0 ]; then
        n=$((n + 1))
        # Every other one is new to the compiler.
        { cat "$E/honest/softmax_plain.c" && echo "// $((n / 2))"; } >c$((n % 2)).c
        ./$me eval "$P" c$((n % 2)).c --verify --seed $n --spool s --wait 30 >out 2>&1 &
        asking=$!
    fi
    pause
    strike
done
hire
[ $asking = 0 ] || settle
[ $((n_ok + n_infra + n_lost)) = $n ] || fail "$n questions, $n_ok + $n_infra + $n_lost ends"
[ $n_infra -le $((2 + n / 10)) ] || fail "$n_infra of $n questions were given up"

# ---- a search: resumed until it ends, and every node is there once.
n_runs=0
while [ $n_killed -lt "$kills" ]; do
    n_runs=$((n_runs + 1))
    rm -rf .hone
    how="$ROOT/problems/softmax.hone --dim M=64,N=64 --evals 3 --seed $n_runs"
    while :; do
        hire
        # shellcheck disable=SC2086
        ./$me optimize $how --spool s --wait 30 --events >events 2>message &
        pid=$!
        while alive $pid && [ $n_killed -lt "$kills" ]; do
            pause
            hire
            strike
        done
        status=0
        wait $pid 2>/dev/null || status=$?
        [ $status != 0 ] || break
        [ $status = 137 ] || grep -q 'infra\|workers ended\|nothing can be judged' message || fail "status $status: $(cat message)"
        ./$me runs --json >runs 2>/dev/null || : >runs
        grep -q '"id"' runs && how=--resume
    done
    ./$me show --json >shown
    evaluated=$(grep -c '"state": "evaluated"' shown || true)
    [ "$evaluated" = 3 ] || fail "run $n_runs: $evaluated nodes of 3: $(cat events)"
    [ "$(grep -c '"number": ' shown)" = "$(grep '"number": ' shown | sort -u | wc -l)" ] ||
        fail "run $n_runs: a node twice"
done

# ---- nobody and nothing is left.
for pid in $w1 $w2; do
    kill -9 "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
done
within 100 none || fail "left after a second: $(pgrep -a -x $me)"
expect_match 0 'done$' "$HONE" worker --spool s --target cpu --once --no-calibrate
expect_match 0 ': ok$' "$HONE" eval "$P" "$E/honest/softmax_plain.c" --verify
[ -z "$(stray)" ] || fail "left behind: $(stray)"
echo "killed $n_killed: $n_command commands, $n_worker spool workers, $n_judge judges, $n_runner" \
    "runners; $n questions: $n_ok answered, $n_infra given up, $n_lost asked by the dead;" \
    "$n_runs searches ended"
