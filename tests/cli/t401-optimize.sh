#!/bin/sh
# optimize on a small problem: text, JSON and events; then runs, show, report on it.
. "$(dirname "$0")/lib.sh"

soft="$ROOT/problems/softmax.hone --dim M=96,N=128 --no-calibrate --seconds 300 --race 1"
# shellcheck disable=SC2086
expect_match 0 '^champion  1\.[0-9]+: .*x over plain \(' \
    "$HONE" optimize $soft --evals 3
printf '%s\n' "$got" | grep -q '^target    cpu: ' || fail "no target line: $got"
printf '%s\n' "$got" | grep -q '^problem   softmax' || fail "no problem line: $got"
printf '%s\n' "$got" | grep -q '^stored    run 1 in ' || fail "no place: $got"
printf '%s\n' "$got" | grep -q '^next      hone export 1 -o' || fail "no next step: $got"
[ "$(cat .hone/.gitignore)" = '*' ] || fail 'no .gitignore'

# shellcheck disable=SC2086
valid optimize "$HONE" optimize $soft --evals 2 --policy greedy --json
grep -q '"baseline": "plain"' json || fail 'no baseline'
grep -q '"stop_reason": "evals"' json || fail 'not stopped by --evals'
grep -q '"run": 2' json || fail 'not run 2'

# A kernel block in the problem's file is where the search begins.
cp "$ROOT/problems/softmax.hone" own.hone
printf '\nkernel for softmax on cpu\nstage y : rowwise vec 4 rows 8 unroll 2\n' >>own.hone
# shellcheck disable=SC2086
"$HONE" optimize own.hone ${soft#* } --evals 2 --events >lines || fail "--events failed"
n=$(wc -l <lines)
sed '$d' lines | while IFS= read -r line; do
    printf '%s\n' "$line" | "$(dirname "$HONE")/validate" "$ROOT/docs/schema/event.json" ||
        fail "event: $line"
done
sed -n '$p' lines | "$(dirname "$HONE")/validate" "$ROOT/docs/schema/optimize.json" ||
    fail 'the last line is not the outcome'
[ "$n" -ge 7 ] || fail "only $n lines of events"
[ "$(grep -c '"event": *"evaluated"' lines)" = 2 ] || fail 'not two evaluations'

valid runs "$HONE" runs --json
[ "$(grep -c '"run":' json)" = 3 ] || fail 'not three runs'
expect_match 0 '^ *3  done  ' "$HONE" runs
expect_match 0 '^run 1: softmax on cpu' "$HONE" show 1
also '^  1[ *] '
valid show "$HONE" show 1 --json
valid node "$HONE" show 1.1 --json
expect_match 0 '^node      1\.0' "$HONE" show 1.0
expect_match 0 'vec 4  rows 8  unroll 2' "$HONE" show 3.0 --source
grep -q 'starting from the kernel block in own.hone' lines || fail 'the start is not said'

# Nodes of runs are candidates and baselines, where no file has their name.
small="$ROOT/problems/softmax.hone --dim M=96,N=128"
# shellcheck disable=SC2086
set -- $small
expect_match 0 '^3: ok' "$HONE" eval "$1" 3 3.0 1.0 "$2" "$3" --verify
expect_match 0 ' over 3.0 ' "$HONE" eval "$1" 1.0 "$2" "$3" --baseline 3.0 --screen
expect_match 2 '1.0 is a kernel for another problem, or other sizes: run 1 is of softmax' \
    "$HONE" eval "$1" 1.0 --verify
expect_match 2 'run 1 has no node 99; the newest is' "$HONE" eval "$1" 1.99 --verify
expect_match 0 '^#pragma hone launch' "$HONE" show 1.0 --source
expect_match 0 '^Run 1: softmax on cpu, done' "$HONE" report 1
[ "$(printf '%s\n' "$got" | awk 'length > 80' | grep -vc 'stage')" = 0 ] || fail "wide: $got"

# The same shapes in every document.
compact() { # of a document on the standard input: its number, champion's node and time, speed-up
    tr -d ' \n' | sed 's/.*"run":1,/"run":1,/; s/"run":1,.*"champion":{\("node":[0-9]*,\)[^}]*\("time_s":[0-9.e-]*\).*"speedup":{\([^}]*\)}.*/\1\2 \3/'
}
"$HONE" runs --json | compact >one
"$HONE" show 1 --json | sed '/"nodes": \[/,$d; /"record": {/,/"is_running"/d' | compact >two
valid optimize "$HONE" report 1 --json
sed -n '/"speedup": {/,/}/p' json >three
sed -n '/"champion": {/,/"error"/p' json | tr -d ' \n' | grep -Eq '"champion":\{"node":[0-9]+,"kernel":.*"time_s":' || fail "$(cat json)"
[ -s one ] && grep -q '^"node":' one && cmp one two || fail "$(cat one two)"
[ "$(tr -d ' \n' <three | sed 's/"speedup":{\(.*\)},*/\1/')" = "$(sed 's/.* //' one)" ] || fail "$(cat one three)"
# Seconds that are used up already would do nothing.
expect_match 2 'run 1 has taken [0-9]+ s already, and --seconds counts from its beginning: give more than' \
    "$HONE" optimize --resume 1 --seconds 0.01
# A finished run: nothing is left to do unless the budget grows.
expect_match 0 '^champion  1\.' "$HONE" optimize --resume 1
expect_match 0 '\(5 evaluations' "$HONE" optimize --resume 1 --evals 5
expect 2 "hone: there is no unfinished run in $TMP/.hone/runs.db" "$HONE" optimize --resume
