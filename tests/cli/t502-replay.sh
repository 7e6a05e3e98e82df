#!/bin/sh
# A run from its record: the same tree, with no compiler; and recordings that are none.
. "$(dirname "$0")/lib.sh"

soft="$ROOT/problems/softmax.hone --dim M=96,N=128 --no-calibrate"
# shellcheck disable=SC2086
"$HONE" optimize $soft --evals 4 --seconds 300 --race 1 >/dev/null || fail 'no run to replay'
expect_match 0 '^the same tree, champion node' env HONE_BUILD_CC=/no/such/cc "$HONE" replay
expect_match 0 '^4 nodes replayed from ' "$HONE" replay last
valid replay "$HONE" replay 1 --json
grep -q '"same": true' json || fail 'not the same'

expect_match 0 'judgements and 0 exchanges written to rec.jsonl' "$HONE" replay 1 -o rec.jsonl
mkdir away
cd away
expect_match 0 '^the same tree' "$HONE" replay ../rec.jsonl
cd ..
while IFS= read -r line; do
    schema=$(printf '%s' "$line" | sed -n 's/.*"schema":"hone\.\([a-z]*\)\/1","number".*/\1/p')
    case $line in
    *'"schema":"hone.recording/1"'*) schema=recording ;;
    *'"schema":"hone.run/1"'*) schema=run ;;
    esac
    printf '%s\n' "$line" | "$(dirname "$HONE")/validate" "$ROOT/docs/schema/$schema.json" ||
        fail "broke $schema.json: $line"
done <rec.jsonl

# Another answer somewhere: the first node that differs is named.
sed 's/"kind":"ok"/"kind":"wrong"/3' rec.jsonl | sed '/"hone.node\/1","number":2/s/"kind":"ok"/"kind":"crash"/' >other.jsonl
expect_match 1 '^not the same tree: at node [0-9]+ ' "$HONE" replay ./other.jsonl

# No recordings.
expect_match 2 'no such run|there is no run 9' "$HONE" replay 9
expect_match 2 'none.jsonl' "$HONE" replay ./none.jsonl
: >empty.jsonl
expect_match 2 'recording ./empty.jsonl holds no run' "$HONE" replay ./empty.jsonl
echo '{"schema": "hone.recording/9"}' >newer.jsonl
expect_match 2 'newer.jsonl:1: expected hone.recording/1, found hone.recording/9' \
    "$HONE" replay ./newer.jsonl
{
    head -n 1 rec.jsonl
    echo 'half a li'
} >cut.jsonl
expect_match 2 'cut.jsonl:2: ' "$HONE" replay ./cut.jsonl
head -n 3 rec.jsonl >short.jsonl
expect_match 2 'holds no run' "$HONE" replay ./short.jsonl
{
    cat rec.jsonl
    echo '{"schema": "hone.verdict/1"}'
} >more.jsonl
expect_match 2 "a recording holds no 'hone.verdict/1'" "$HONE" replay ./more.jsonl
expect_match 2 'is a directory' "$HONE" replay ./away

# A run without time for two verdicts: the confirmation is the first, and a replay has it so too.
# shellcheck disable=SC2086
run "$HONE" optimize $soft --seconds 0.001 --store short
[ "$status" = 0 ] || fail "$got"
also 'the kernel to begin with is confirmed at once'
also '^champion  1\.0: .* over plain'
also '^stopped   the time was used up \(1 evaluation'
expect_match 0 '^the same tree, champion node 0' "$HONE" replay --store short
