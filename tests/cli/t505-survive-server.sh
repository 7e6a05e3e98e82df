#!/bin/sh
# long
# Tools and servers that misbehave, through the whole loop: each costs a retry, a verdict or a
# word, and the run ends with a champion. Good answers stand between the bad ones, since three
# failures in a row hand the run to the expert, which is tested last. They are as far apart as those
# of t504, for the same reason.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/cli/llm_lib.sh"

soft="$ROOT/problems/softmax.hone --dim M=96,N=128 --no-calibrate --seconds 300"
export ANTHROPIC_API_KEY="$CANARY" OPENAI_API_KEY="$CANARY" HONE_LLM_RETRIES=1

# 4. Tools: nonsense, and no end of them.
{
    cat <<END
match no JSON object
tool no_such_tool {}
---
match there is no tool
say $(hypothesis 'after tools' kernel "$span")
---
match Change: after tools
say <<<IMPROVE stage>>>\nstage y : rowwise  vec 8  rows 2  unroll 4\n<<<END stage>>>
---
match You plan
tool check_kernel {"text": 
---
repeat
match You plan
tool sol {}
END
} >blocks
serve <blocks
# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 3 --policy greedy --llm "openai:m@$url"
survived
said ' ok .*after tools$'
said 'expert steps in for the model: plan: it calls tools without end'
[ "$(grep -c '^====' requests)" = 9 ] || fail "not nine requests: $(grep -c '^====' requests)"

# In the other dialect, and six at once: four of them are answered, in one message.
serve <<END
match "tool_result"
say $(hypothesis 'after six' kernel "$span")
---
match Change: after six
say <<<IMPROVE stage>>>\nstage y : rowwise  vec 8  rows 2  unroll 4\n<<<END stage>>>
---
match You plan
tool check_kernel {"text": "kernel for softmax on cpu\\nstage y : rowwise vec 8\\n"}
tool sol {}
tool findings {"node": 0}
tool history {"query": "vec"}
tool sol {}
tool sol {}
END
# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 2 --llm "anthropic:m@$url"
survived
said ' ok .*after six$'
grep -q 'legal; complete' requests || fail 'nobody told that the block is legal'
results=$(grep -o '"type": *"tool_result"' requests | wc -l)
[ "$results" = 4 ] || fail "$results results of tools"

# 5. Servers: not accepted, too large, in trouble, breaking off, silent; and back again.
{
    cat <<END
match You plan
status 400
body {"error": {"type": "invalid_request_error", "message": "no"}}
---
match You plan
status 413
body {"error": {"message": "too large"}}
END
    good 4 'vec 8  rows 8  unroll 4'
    cat <<END
---
match You plan
status 429
header retry-after-ms: 10
---
match You plan
status 529
---
match You plan
status 500
---
match You plan
status 408
END
    good 5 'vec 4  rows 32  unroll 8'
    cat <<END
---
match You plan
say {"hypo
reset
---
match You plan
sse {"type": "error", "error": {"type": "api_error", "message": "sorry"}}
---
match You plan
status 429
header retry-after: 600
---
match You plan
status 429
END
    good 6 'vec 8  rows 1  unroll 8  keep local  store stream'
} >blocks
serve <blocks
# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 10 --llm "anthropic:m@$url"
survived
said 'steps in for the model: anthropic: the request was not accepted \(400'
said 'steps in for the model: anthropic: the request was not accepted \(413'
said 'too many requests \(429\); trying again in 0.0 s'
[ "$(printf '%s\n' "$got" | grep -c '(429); trying again')" = 2 ] || fail "429 with and without: $got"
said 'steps in for the model: anthropic: the server is in trouble \(529\); gave up'
said 'steps in for the model: anthropic: the server is in trouble \(408\); gave up'
said 'steps in for the model: anthropic: the answer broke off: api_error: sorry; gave up'
said 'asks to wait 600 s'
said ' good 4$'
said ' good 5$'
said ' good 6$'

# 6. What stays: a slow drip, no server, no TLS, no proxy, a key that is refused. The expert takes
# over, aloud.
{
    cat <<END
repeat
drip 200
chunk 1
say an answer that takes its time
END
} >blocks
serve <blocks
export HONE_LLM_RETRIES=0
# shellcheck disable=SC2086
run env HONE_LLM_TIMEOUT_S=2 "$HONE" optimize $soft --evals 5 --llm "openai:m@$url"
survived
said 'the answer broke off: not done within 2 s'
said 'the model has failed 3 times in a row: the expert takes over'
# What was sent is there, when the server comes to reading it.
asked() { [ "$(grep -c '^====' requests)" -ge "$1" ]; }
until_true asked 3
! asked 4 || fail 'asked after the expert took over'
for code in 401 403; do
    serve <<END
repeat
status $code
body {"error": {"message": "bad key $CANARY"}}
END
    # shellcheck disable=SC2086
    run "$HONE" optimize $soft --evals 2 --llm "openai:m@$url"
    survived
    said "the model cannot be used: openai: the key in OPENAI_API_KEY was refused \\($code: bad key \\*+\\); the expert takes over"
done
# Silent for longer than the run may take: its time ends the wait, and the run. There is a champion
# before, and time for a question, however long that took: half of the time is kept for the end at most.
serve <<END
repeat
stall
END
# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 1 --llm "openai:m@$url"
[ "$status" = 0 ] || fail "no first node: $got"
"$HONE" show last --json >shown
seconds=$(awk -F '[:,]' '/"elapsed_s"/ { print int(2 * $2) + 4; exit }' shown)
run "$HONE" optimize --resume last --evals 9 --seconds "$seconds"
survived
said '^stopped   .*time'
until_true asked 1
# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 2 --llm "openai:m@https://${url#http://}"
survived
said 'steps in for the model: openai: .*(SSL|TLS)'
# shellcheck disable=SC2086
run env https_proxy=http://127.0.0.1:1 "$HONE" optimize $soft --evals 2 --llm anthropic:m
survived
said 'steps in for the model: anthropic: '
