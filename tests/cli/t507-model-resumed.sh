#!/bin/sh
# A run goes on with a model after it was given up, and after Ctrl-C while one was thinking.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/cli/llm_lib.sh"

soft="$ROOT/problems/softmax.hone --dim M=96,N=128 --no-calibrate --seconds 300"
export OPENAI_API_KEY="$CANARY" HONE_LLM_RETRIES=0

# Given up, and then named anew: it gets another chance.
serve <<END
repeat
status 404
END
# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 4 --llm "openai:m@$url"
survived
said "there is no model 'm' at http.*the expert takes over"
good 7 'vec 8  rows 8  unroll 4' | sed 1d >blocks
serve <blocks
run "$HONE" optimize --resume last --evals 5 --llm "openai:m@$url"
survived
said ' ok .*good 7$'

# Ctrl-C while a model thinks: said at once, and the run can be resumed.
serve <<END
repeat
stall
END
# shellcheck disable=SC2086
"$HONE" optimize $soft --evals 4 --llm "openai:m@$url" >out 2>&1 &
child=$!
asked_or_gone() {
    [ -s requests ] || ! kill -0 $child 2>/dev/null
}
until_true asked_or_gone
kill -INT $child
status=0
wait $child || status=$?
[ "$status" = 130 ] || fail "not 130 but $status: $(cat out)"
grep -q 'interrupted; hone optimize --resume [0-9]* goes on' out || fail "not said: $(cat out)"
good 8 'vec 8  rows 8  unroll 4' | sed 1d >blocks
serve <blocks
run "$HONE" optimize --resume last --evals 2 --llm "openai:m@$url"
survived
said ' ok .*good 8$'
