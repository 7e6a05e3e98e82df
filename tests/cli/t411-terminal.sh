#!/bin/sh
# slow
# hone optimize at the terminal: a view that is drawn again, events in a file, several files at once.
. "$(dirname "$0")/lib.sh"

few="--dim M=16,N=16 --no-calibrate --evals 1 --seconds 100 --race 1"
softmax=$ROOT/problems/softmax.hone

# Several files: what fails is said, the others are tried, the worst decides.
printf 'problem p\n' >bad.hone
# shellcheck disable=SC2086
run "$HONE" optimize "$softmax" bad.hone none.hone $few --store s --events-to events.jsonl
[ "$status" = 2 ] || fail "several files gave $status: $got"
for words in '^hone: .*none.hone: No such file' '^ +- +- +-  bad.hone \(failed\)$' '^ +- +- +-  none.hone \(failed\)$' \
    '^ +[0-9.]+ .+s +[0-9.]+x +-  .*softmax.hone$' '^stored    run 1 in s'; do
    printf '%s\n' "$got" | grep -Eq "$words" || fail "no line matches $words: $got"
done
# What cannot be read is told before the first one begins.
printf '%s\n' "$got" | awk '/none.hone: No such file/ && !begun { early = 1 } /^run  / { begun = 1 } END { exit !early }' || fail "told late: $got"
[ "$(wc -l <events.jsonl)" -ge 4 ] || fail "too few events: $(cat events.jsonl)"
while read -r event; do
    printf '%s\n' "$event" | "$(dirname "$HONE")/validate" "$ROOT/docs/schema/event.json" || fail "not an event: $event"
done <events.jsonl
expect_match 2 'are for one file' "$HONE" optimize "$softmax" bad.hone --start x.c
expect_match 2 'are for one run' "$HONE" optimize --resume 1 2
# shellcheck disable=SC2086
expect_match 2 'events-to no/where: No such file' "$HONE" optimize "$softmax" $few --events-to no/where

# A terminal of 40 columns.
command -v script >/dev/null || skip 'no script(1)'
at_terminal() {
    script -qec "stty cols 40 rows 10; exec '$HONE' optimize '$softmax' $few --store t" /dev/null </dev/null | tr -d '\r'
}
esc=$(printf '\033')
seen=$(NO_COLOR=1 at_terminal)
printf '%s\n' "$seen" | grep -q 'tried    0 verified of 1, 0 screened$' || fail "no view: $seen"
printf '%s\n' "$seen" | grep -q 'judging  1.0 the default kernel$' || fail "it does not say what is tried: $seen"
printf '%s\n' "$seen" | grep -q 'because  the default lowering$' || fail "nor why: $seen"
printf '%s\n' "$seen" | grep -q 'time     [0-9]* s, at most [0-9]* s left$' || fail "nor how long it may take: $seen"
printf '%s\n' "$seen" | grep -q "${esc}\[[0-9]*A${esc}\[J" || fail "the view is not taken away: $seen"
printf '%s\n' "$seen" | grep -q "${esc}\[2m" && fail "colours, with NO_COLOR"
seen=$(at_terminal)
printf '%s\n' "$seen" | grep -q "${esc}\[2mtried" || fail "no colours: $seen"
seen=$(TERM=dumb at_terminal)
printf '%s\n' "$seen" | grep -q "$esc" && fail "a terminal that can do nothing was drawn on"

# What is printed at the end and later keeps to 40 columns too, and is not broken within words; in a pipe it has its 80.
at_40() { # COMMAND: its words go through the shell
    script -qec "stty cols 40 rows 10; exec '$HONE' $1" /dev/null </dev/null | tr -d '\r'
}
for command in "show 1 --store t" "show 1.0 --store t" "report 1 --store t" "runs --store t" "sol '$ROOT/problems/gemm.hone' --target h200" \
    'help optimize' "eval '$softmax' default plain --dim M=16,N=16 --screen" 'replay 1 --store t' "eval '$softmax' nothing"; do
    at_40 "$command" >narrow || : # the last one is a mistake
    [ "$(wc -l <narrow)" -gt 2 ] || fail "hone $command: $(cat narrow)"
    # Names may be longer: of a file, a processor, a pragma.
    ! LC_ALL=C.UTF-8 grep -n '.\{41\}' narrow | grep -v '^[0-9]*: *[^ ]*$' || fail "hone $command is wider than 40 columns"
done
# Nor is anything broken in 80 columns but a stage of a kernel block, which stays as it can be copied.
for command in 'help optimize' 'help tools' 'help knobs' doctor tools devices help '' "show 1 --store t" "report 1 --store t"; do
    script -qec "stty cols 80 rows 10; exec '$HONE' $command" /dev/null </dev/null | tr -d '\r' >wide
    [ "$(wc -l <wide)" -gt 2 ] || fail "hone $command: $(cat wide)"
    ! LC_ALL=C.UTF-8 grep -n '.\{81\}' wide | grep -Ev '^[0-9]*: *([^ ]*$|stage )' || fail "hone $command is wider than 80 columns"
done
at_40 'show 1 --store t' | tr -s ' \n' ' ' >narrow
"$HONE" show 1 --store t | tr -s ' \n' ' ' | diff - narrow || fail 'show says something else on a terminal'
"$HONE" sol "$ROOT/problems/gemm.hone" --target h200 | grep -q '.\{60\}' || fail 'narrow in a pipe too'
exit 0
