#!/bin/sh
# A model plans, writes and repairs through the whole loop; what it costs is watched; what it said is
# kept, replayed, and taken up again after a kill.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/cli/llm_lib.sh"

soft="$ROOT/problems/softmax.hone --dim M=96,N=128 --no-calibrate --seconds 300"
export ANTHROPIC_API_KEY="$CANARY" OPENAI_API_KEY="$CANARY"
printf 'm 10 20 1 12\n' >prices
export HONE_LLM_PRICES="$TMP/prices"

plan='{"hypotheses": [{"cause": "narrow vectors", "finding": 0, "change": "vec 8", "form": "kernel", "spans": [{"name": "stage", "first": 2, "last": 2}], "speedup": 1.3, "risk_implementation": 1, "risk_performance": 2}, {"cause": "rows", "finding": 0, "change": "more rows", "form": "kernel", "spans": [], "speedup": 1.2, "risk_implementation": 2, "risk_performance": 2}]}'
bold='{"hypotheses": [{"cause": "a bold one", "finding": 0, "change": "own source", "form": "source", "spans": [], "speedup": 1.2, "risk_implementation": 2, "risk_performance": 2}]}'
"$HONE" scaffold "$ROOT/problems/softmax.hone" --dim M=96,N=128 >source.c
{
    echo '```c'
    sed 's/expf(y_shifted)/expf(y_shifted) + missing/' source.c
    echo '```'
} >broken.txt
{
    echo '```c'
    sed 's/softmax, by/softmax, repaired, by/' source.c
    echo '```'
} >repaired.txt

# A kernel block within its span.
printf '```\nkernel for softmax on cpu\nstage y : rowwise rows 16 keep local\n```\n' >rows.txt
serve <<END
repeat
match You plan
say $plan
---
match Change: vec 8
say <<<IMPROVE stage>>>\nstage y : rowwise  vec 8  rows 4\n<<<END stage>>>
---
match Change: vec 8
say <<<IMPROVE stage>>>\nstage y : rowwise  vec 8  rows 8  keep local\n<<<END stage>>>
---
match Change: more rows
sayfile $TMP/rows.txt
END
# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 3 --llm "anthropic:m@$url" --max-usd 1
[ "$status" = 0 ] || fail "optimize gave $status: $got"
printf '%s\n' "$got" | head -n 1 | grep -q '^model     anthropic:m@http.*; price 10 USD in, 20 USD out per million tokens; cap 1 USD$' ||
    fail "the first line does not say model, price and cap: $got"
printf '%s\n' "$got" | grep -q '1\.1. ok .*vec 8' || fail "no node from the plan: $got"
printf '%s\n' "$got" | grep -q '^model     [34] calls, .* tokens in (.* from a cache), .* out, 0\.0.* USD$' ||
    fail "no sum: $got"
printf '%s\n' "$got" | grep -q '^champion  1\.' || fail "no champion: $got"
no_canary
expect_match 0 'by team with anthropic:m' "$HONE" replay 1
printf '%s\n' "$got" | grep -q '^the same tree' || fail "another tree: $got"
"$HONE" replay 1 -o rec.jsonl >/dev/null
no_canary
grep '"hone.exchange/1"' rec.jsonl | while IFS= read -r line; do
    printf '%s\n' "$line" | "$(dirname "$HONE")/validate" "$ROOT/docs/schema/exchange.json" ||
        fail "broke exchange.json: $line"
done
valid node "$HONE" show 1.1 --json
grep -q '"by": "team"' json || fail 'not by the team'
valid show "$HONE" show 1 --json
no_canary
# Source that does not compile, and is repaired.
serve <<END
match You plan
say $bold
---
match Change: own source
sayfile $TMP/broken.txt
---
match You repair
sayfile $TMP/repaired.txt
END
# shellcheck disable=SC2086
expect_match 0 ' 2\.2. ok .*repair node 1' "$HONE" optimize $soft --evals 3 --llm "openai:m@$url"
printf '%s\n' "$got" | grep -q ' 2\.1  no-compile .*own source' || fail "not broken first: $got"
grep -q missing requests || fail 'the debugger was not told what the compiler said'
expect_match 0 '^the same tree' "$HONE" replay 2

# The same answers again, from the file: another run, the same first nodes.
# shellcheck disable=SC2086
expect_match 0 '^champion  3\.' "$HONE" optimize $soft --evals 2 \
    --llm "replay:$TMP/rec.jsonl"
printf '%s\n' "$got" | grep -q 'price nothing' || fail "a replay costs nothing: $got"
expect_match 2 'made with another problem: softmax' "$HONE" optimize "$ROOT/problems/gelu.hone" \
    --no-calibrate --llm "replay:$TMP/rec.jsonl"

# Caps: reserved before the call, so nothing is spent beyond them.
serve <<END
repeat
match You plan
say $plan
---
match You write
say <<<IMPROVE stage>>>\nstage y : rowwise  vec 8  rows 2\n<<<END stage>>>
END
# shellcheck disable=SC2086
expect_match 0 '^stopped   .*calls' "$HONE" optimize $soft --evals 9 --llm "openai:m@$url" --max-calls 2
[ "$(grep -c '^====' requests)" = 2 ] || fail 'more calls than allowed'
# shellcheck disable=SC2086
expect_match 0 '^stopped   .*money' "$HONE" optimize $soft --evals 9 --llm "openai:m@$url" --max-usd 0.001
[ "$(grep -c '^====' requests)" = 2 ] || fail 'money was spent beyond the cap'
printf '%s\n' "$got" | grep -q '^model     0 calls, 0 tokens' || fail "not nothing: $got"
# shellcheck disable=SC2086
expect_match 0 '^stopped   .*tokens' "$HONE" optimize $soft --evals 9 --llm "openai:m@$url" --max-tokens 100
# shellcheck disable=SC2086
expect_match 2 'the price of other is not known' "$HONE" optimize $soft --llm "openai:other@$url" --max-usd 1
echo 'm 10 twenty 1 1' >prices
# shellcheck disable=SC2086
expect_match 2 "prices:1: .*found 'twenty'" "$HONE" optimize $soft --llm "openai:m@$url"
rm prices
# shellcheck disable=SC2086
expect_match 2 'price table: .*prices' "$HONE" optimize $soft --llm "openai:m@$url"
unset HONE_LLM_PRICES
# shellcheck disable=SC2086
expect_match 2 "unknown feedback 'all'" "$HONE" optimize $soft --llm "openai:m@$url" --feedback all
# shellcheck disable=SC2086
expect_match 2 'proposer team needs a model' "$HONE" optimize $soft --proposer team
# shellcheck disable=SC2086
expect_match 2 'goes with the proposer team, not with expert' "$HONE" optimize $soft --proposer expert --llm exec:cat
# shellcheck disable=SC2086
expect_match 2 'is not a folder' env HONE_LLM_PROMPTS=/no/such "$HONE" optimize $soft --llm exec:cat
[ "$(grep -c '^====' requests)" = 2 ] || fail 'nonsense was sent'

# Caps without a model are a misunderstanding, not something to pass over.
for option in '--max-calls 3' '--max-usd 1' '--max-tokens 9'; do
    # shellcheck disable=SC2086
    expect_match 2 "${option% *} is about a model, and none is named: --llm" "$HONE" optimize $soft $option
done
# shellcheck disable=SC2086
expect_match 2 '--max-calls is about a model' "$HONE" optimize $soft --proposer expert --max-calls 3

# A key in the environment does not mean that a model is used.
# shellcheck disable=SC2086
expect_match 0 'proposer expert' "$HONE" optimize $soft --evals 1
no_canary

# Prompts without a call.
expect_match 0 '^You plan' "$HONE" show 1.1 --prompt plan
expect_match 0 '^You repair' "$HONE" show 1.1 --prompt debug
expect_match 2 "there is no role 'boss'" "$HONE" show 1.1 --prompt boss
expect_match 2 'needs a node' "$HONE" show 1 --prompt plan
mkdir own
echo 'My own planner.' >own/plan.txt
expect_match 0 '^My own planner' env HONE_LLM_PROMPTS=own "$HONE" show 1.1 --prompt plan

# A model named by the user's settings is used, unless another mind is asked for.
mkdir -p config/hone
printf '[llm]\nprovider = exec:cat\n' >config/hone/config
# shellcheck disable=SC2086
expect_match 0 'proposer expert' "$HONE" optimize $soft --evals 1 --proposer expert
# shellcheck disable=SC2086
expect_match 0 '^model     exec:cat; price unknown' "$HONE" optimize $soft --evals 1
printf '[llm]\nprovder = exec:cat\n' >config/hone/config
# shellcheck disable=SC2086
expect_match 2 "config:2: unknown key 'llm.provder'; did you mean 'llm.provider'" "$HONE" optimize $soft
