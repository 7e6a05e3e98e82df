#!/bin/sh
# Tools that users bring: found in their directory or named, asked about kernels that have what they
# want, ranked among ours; whatever they do wrong is said, and nothing more.
. "$(dirname "$0")/lib.sh"
file=$ROOT/tests/fixtures/ncu/copy_raw.csv
mkdir -p "$XDG_CONFIG_HOME/hone/tools"

# tool NAME DESCRIPTION SCRIPT: one in the directory; what it gets is kept in $TMP/NAME.in.
tool() {
    printf '#!/bin/sh\n[ "$1" = --describe ] && echo %s && exit\ncat >"%s/%s.in"\n%s\n' "'$2'" "$TMP" "$1" "$3" \
        >"$XDG_CONFIG_HOME/hone/tools/$1"
    chmod +x "$XDG_CONFIG_HOME/hone/tools/$1"
}
only() {
    rm -f "$XDG_CONFIG_HOME"/hone/tools/* ./*.in
    tool "$@"
}
finding='{"kernel": 0, "severity": "high", "cause": "too copied", "evidence": "seen", "gain": 2, "confidence": 0.7, "actions": ["copy less"]}'

only mine '{"name": "mine", "metrics": ["dram_busy"]}' "echo '{\"findings\": [$finding]}'"
expect_match 0 '^  findings  mine .high, confidence 0.7.: too copied; worth up to 2.00x$' "$HONE" diagnose "$file"
printf '%s\n' "$got" | grep -q '^            - copy less$' || fail 'no action'
printf '%s\n' "$got" | grep -q 'saturated (low, ' || fail 'ours are gone'
grep -q '"schema": "hone.tool_input/1"' mine.in || fail 'it got something else'
grep -q '"dram_busy": 0.8' mine.in || fail 'no metrics'
valid diagnosis "$HONE" diagnose --json "$file"

# Not asked about other classes, nor without what it wants.
only mine '{"name": "mine", "classes": ["compute"]}' 'exit 1'
"$HONE" diagnose "$file" >/dev/null
[ ! -e mine.in ] || fail 'a kernel of another class was shown'
only mine '{"name": "mine", "metrics": ["hot_fma"]}' 'exit 1'
"$HONE" diagnose "$file" >/dev/null
[ ! -e mine.in ] || fail 'a kernel without the metric was shown'

# Mistakes.
only mine '{"name": "mine", "metrics": ["l2_hits"]}' 'exit 1'
expect_match 0 "^absent: what the tool mine says: there is no metric 'l2_hits'\$" "$HONE" diagnose "$file"
only mine '{"name": "mine"}' 'exit 3'
expect_match 0 '^absent: what the tool mine says: it ended with status 3$' "$HONE" diagnose "$file"
only mine '{"name": "mine"}' 'echo hello'
expect_match 0 '^absent: what the tool mine says: no JSON: ' "$HONE" diagnose "$file"
only mine '{"name": "mine"}' "echo '{}'"
expect_match 0 '^absent: what the tool mine says: there are no findings in it$' "$HONE" diagnose "$file"
only mine '{"name": "mine"}' "echo '{\"findings\": [{\"kernel\": 7}]}'"
expect_match 0 '^absent: what the tool mine says: a finding without kernel, severity or cause$' "$HONE" diagnose "$file"
only mine '{"name": "mine", "classes": ["memmory"]}' 'exit 1'
expect_match 0 "^absent: what the tool mine says: there is no class 'memmory'\$" "$HONE" diagnose "$file"
only mine '{"name": "mine", "metrics": "l2_hit"}' "echo '{\"findings\": []}'"
expect_match 0 '^absent: what the tool mine says: metrics is no list of names$' "$HONE" diagnose "$file"
only mine '{"name": "spill"}' "echo '{\"findings\": [$finding]}'"
expect_match 0 "^absent: .*/mine says: it calls itself 'spill', as a tool of hone's\$" "$HONE" diagnose "$file"
[ ! -e mine.in ] || fail "asked under a name of ours"
for wrong in '"kernel": 0.5, "severity": "high"' '"kernel": 0, "severity": "awful"' '"kernel": -1, "severity": "low"'; do
    only mine '{"name": "mine"}' "echo '{\"findings\": [{$wrong, \"cause\": \"it is\"}]}'"
    expect_match 0 '^absent: what the tool mine says: a finding without kernel, severity or cause$' "$HONE" diagnose "$file"
done
only mine '{"name": "mine"}' "echo '{\"findings\": [{\"kernel\": 0, \"severity\": \"high\", \"cause\": \"it is\", \"gain\": 1e300}]}'"
expect_match 0 '^absent: what the tool mine says: a gain that cannot be$' "$HONE" diagnose "$file"
also '^  findings  mine .high.: it is$'
# One finding said often counts once, a text is one line of what can be printed, and ours stay.
many="$finding,$finding,$finding,$finding,$finding,{\"kernel\": 0, \"severity\": \"low\", \"cause\": \"a\\u000ab\\u001b[31m\"}"
only mine '{"name": "mine"}' "printf '%s\\n' '{\"findings\": [$many]}'"
expect_match 0 '^            mine .low.: a b .31m$' "$HONE" diagnose "$file"
[ "$(printf '%s\n' "$got" | grep -c 'mine (high')" = 1 ] || fail "said more than once: $got"
also 'saturated .low, '
only mine '{}' 'exit 1'
expect_match 0 '^absent: .*mine says: it does not say its name$' "$HONE" diagnose "$file"
only mine '{"name": "mine"}' 'kill -SEGV $$'
expect_match 0 '^absent: what the tool mine says: it ended with signal 11$' "$HONE" diagnose "$file"
rm "$XDG_CONFIG_HOME"/hone/tools/*
expect_match 0 '^absent: what the tool ./none says: ' "$HONE" diagnose --tool ./none "$file"
printf '#!/bin/sh\nif [ "$1" = --describe ]; then echo "{\\"name\\": \\"named\\"}"; else echo "{\\"findings\\": []}"; fi\n' >named
chmod +x named
expect 0 '' sh -c "'$HONE' diagnose --tool ./named '$file' | grep 'the tool'; true"

# In a search: what it says is a finding of the node, which the expert follows; it is recorded, so
# that a replay does without it; what it does wrong is said once.
table=$ROOT/tests/tables/cpu-softmax.table
optimize() { "$HONE" optimize "$ROOT/problems/softmax.hone" --dim M=128,N=1024 --target "table:$table" --until 1 --evals 4; }
action='{"words": "fewer rows", "knob": "rows", "direction": -1}'
only mine '{"name": "mine", "metrics": ["time_s"]}' \
    "echo '{\"findings\": [{\"kernel\": 0, \"severity\": \"high\", \"cause\": \"too many rows\", \"actions\": [$action]}]}'"
optimize >out 2>&1 || fail "$(cat out)"
grep -q '"name": "call"' mine.in || fail "it was asked about something else: $(cat mine.in)"
"$HONE" show last.0 >node
grep -q 'high: too many rows' node || fail "not among the findings: $(cat node)"
"$HONE" show --json last >run.json
grep -q '"tool": "mine"' run.json || fail 'no node was made for what it says'
rm "$XDG_CONFIG_HOME"/hone/tools/*
expect_match 0 'the same' "$HONE" replay last
only mine '{"name": "mine"}' 'exit 3'
optimize >out 2>&1 || fail "$(cat out)"
[ "$(grep -c 'without what the tool mine says: it ended with status 3' out)" = 1 ] || fail "$(cat out)"
