#!/bin/sh
# One call to a model: what comes of every answer that a server can give.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/cli/llm_lib.sh"

claude() {
    env ANTHROPIC_API_KEY="$CANARY" "$HONE" doctor --llm "anthropic:m@$url"
}
gpt() {
    env OPENAI_API_KEY="$CANARY" "$HONE" doctor --llm "openai:m@$url"
}

# Streams in both dialects, byte by byte.
serve <<END
chunk 1
say ok
END
expect_match 0 '^llm  .*ok .*anthropic:m at http.*key from ANTHROPIC_API_KEY; answered.*100 tokens in, 50 out' claude
no_canary
grep -q "^x-api-key: $CANARY" requests || fail 'no key was sent'
grep -q '^anthropic-version: 2023-06-01' requests || fail 'no version was sent'
grep -q '"cache_control"' requests || fail 'no mark for the cache'
! grep -q temperature requests || fail 'temperature was sent'
serve <<END
chunk 1
say ok
END
expect_match 0 '^llm  .*openai:m at .*100 tokens in, 50 out' gpt
no_canary
grep -q "^authorization: Bearer $CANARY" requests || fail 'no key was sent'
grep -q '"max_completion_tokens"' requests || fail 'not the name that OpenAI wants'
grep -q '"developer"' requests || fail 'not the role that OpenAI wants'

# Local servers: other names, no key, no cost.
serve <<END
say ok
END
expect_match 0 '^llm  .*ollama:m' "$HONE" doctor --llm "ollama:m@$url"
grep -q '"max_tokens"' requests || fail 'not the name that Ollama knows'
grep -q '"system"' requests || fail 'not the role that Ollama knows'
serve <<END
body {"model": "m", "choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}
END
expect_match 0 '^llm  .*vllm:m.*unknown tokens in' "$HONE" doctor --llm "vllm:m@$url"

# What a model refuses is not sent again, and the answer comes.
serve <<END
status 400
body {"error": {"type": "invalid_request_error", "message": "thinking: not for this model"}}
---
status 400
body {"error": {"type": "invalid_request_error", "message": "output_config.effort: no"}}
---
say ok
END
HONE_LLM_EFFORT=high expect_match 0 'answered' claude
[ "$(grep -c '"thinking"' requests)" = 1 ] || fail 'thinking was sent again'
[ "$(grep -c '"effort"' requests)" = 2 ] || fail 'effort was sent again'
serve <<END
status 400
body {"error": {"message": "Unsupported parameter", "param": "max_completion_tokens"}}
---
say ok
END
expect_match 0 'answered' gpt
[ "$(grep -c '"max_tokens"' requests)" = 1 ] || fail 'the other name was not tried'

# Trouble that passes.
serve <<END
status 429
header retry-after-ms: 20
body {"error": {"message": "slow down"}}
---
status 529
body {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
---
status 408
---
say ok
END
expect_match 0 'answered' claude
[ "$(grep -c '^====' requests)" = 4 ] || fail 'not four requests'
serve <<END
status 429
header retry-after: 1
---
sse {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
---
raw data: {"type": "message_st
reset
---
say ok
END
expect_match 0 'answered' claude
serve <<END
say o
nostop
---
say ok
END
expect_match 0 'answered' gpt

# Trouble that stays: the status says which kind.
refused() {
    serve <<END
repeat
status $1
$3
body {"error": {"type": "t", "code": "$4", "message": "your key $CANARY is bad"}}
END
    expect_match "$2" "^llm  .*$5" claude
    no_canary
}
refused 401 3 '' '' 'the key in ANTHROPIC_API_KEY was refused \(401: your key \*+ is bad\)'
refused 403 3 '' '' 'was refused \(403'
refused 404 3 '' '' "there is no model 'm'"
refused 413 1 '' '' 'was not accepted \(413'
refused 400 1 '' '' 'was not accepted \(400'
refused 429 3 '' insufficient_quota 'nothing left'
refused 429 1 'header retry-after: 3600' '' 'asks to wait 3600 s'
refused 500 1 '' '' 'gave up after 4 attempts'
refused 500 1 'header x-should-retry: false' '' 'was not accepted \(500'
[ "$(grep -c '^====' requests)" = 1 ] || fail 'tried again though the server said not to'
refused 302 3 'header location: http://127.0.0.1:1/' '' 'sends us elsewhere'
serve <<END
repeat
body this is no JSON
END
expect_match 1 'not what the API promises: this is no JSON' gpt
serve <<END
repeat
sse {"type": 
END
expect_match 1 'holds an event that is no JSON' claude

# Nor does a developer's log have it.
serve <<END
status 500
body {"error": {"message": ""}}
---
say ok
END
HONE_LOG=debug expect_match 0 '^hone: .*libcurl' claude
no_canary

# A server that echoes the key, and one that says nothing or little.
serve <<END
sayheaders
END
expect_match 0 'answered' claude
no_canary
serve <<END
repeat
stall
END
HONE_LLM_IDLE_S=0.2 HONE_LLM_RETRIES=0 expect_match 1 'silent for 0.2 s' claude
serve <<END
repeat
drip 100
chunk 1
say a long answer that never ends in time
END
HONE_LLM_TIMEOUT_S=0.5 HONE_LLM_RETRIES=0 expect_match 1 'not done within 0.5 s' claude
serve <<END
repeat
saymany 5000000
END
expect_match 1 'longer than 4 MiB' gpt

# No server, no TLS, no proxy, no library.
unserve
url=http://127.0.0.1:1 # the port that was ours can be anybody's by now
HONE_LLM_RETRIES=1 expect_match 1 'gave up after 2 attempts' claude
serve <<END
repeat
say ok
END
tls() {
    env ANTHROPIC_API_KEY="$CANARY" "$HONE" doctor --llm "anthropic:m@https://${url#http://}"
}
HONE_LLM_RETRIES=0 expect_match 1 '^llm  .*(SSL|TLS)' tls
no_canary
proxied() {
    env ANTHROPIC_API_KEY="$CANARY" https_proxy=http://127.0.0.1:1 HONE_LLM_RETRIES=0 \
        "$HONE" doctor --llm anthropic:m
}
expect_match 1 '^llm  ' proxied
no_canary
expect_match 3 '^libcurl   absent' env HONE_LIBCURL=/no/such.so ANTHROPIC_API_KEY="$CANARY" \
    "$HONE" doctor --llm "anthropic:m@$url"
also '^llm  .*libcurl is not installed'
expect_match 0 '^libcurl   absent' env HONE_LIBCURL=/no/such.so "$HONE" doctor

# Nonsense is said before anything is sent.
rm -f requests
expect_match 1 "unknown provider 'antropic'; did you mean 'anthropic'" "$HONE" doctor --llm antropic:m
expect_match 1 'expected anthropic:MODEL' "$HONE" doctor --llm anthropic
expect_match 1 'expected gateway:MODEL@URL' "$HONE" doctor --llm gateway:m
expect_match 1 'expected ollama:MODEL' "$HONE" doctor --llm ollama:m@
expect_match 1 'no http:// or https:// address' "$HONE" doctor --llm gateway:m@httpx://h
expect_match 1 'no user name or password' "$HONE" doctor --llm "gateway:m@https://u:p@h/v1"
expect_match 3 'needs a key: set ANTHROPIC_API_KEY' "$HONE" doctor --llm anthropic:m
expect_match 1 'not sent over plain http' env OPENAI_API_KEY="$CANARY" \
    "$HONE" doctor --llm openai:m@http://192.0.2.1/v1
printf '%s\n' "$CANARY" >keyfile
chmod 644 keyfile
expect_match 1 'can be read by others \(mode 644\)' env HONE_LLM_KEY_FILE=keyfile \
    "$HONE" doctor --llm "anthropic:m@$url"
chmod 600 keyfile
expect_match 0 'key from keyfile; answered' env HONE_LLM_KEY_FILE=keyfile \
    "$HONE" doctor --llm "anthropic:m@$url"
no_canary
printf 'two words\n' >keyfile
expect_match 1 'not one line of printable' env HONE_LLM_KEY_FILE=keyfile \
    "$HONE" doctor --llm "anthropic:m@$url"
expect_match 1 'key file /dev/null is not a file' env HONE_LLM_KEY_FILE=/dev/null \
    "$HONE" doctor --llm "anthropic:m@$url"
expect_match 1 "setting llm.retries is 'many'" env HONE_LLM_RETRIES=many \
    "$HONE" doctor --llm "ollama:m@$url"
expect_match 1 "setting llm.effort is 'huge'" env HONE_LLM_EFFORT=huge \
    "$HONE" doctor --llm "ollama:m@$url"

# A command, a folder, a recording.
expect_match 0 '^llm  .*exec at .*answered' "$HONE" doctor --llm "exec:sh -c 'cat >/dev/null; echo \"o k\"'"
HONE_LLM_RETRIES=0 expect_match 1 'exit status 3: no licence' "$HONE" doctor --llm \
    "exec:sh -c 'echo no licence >&2; exit 3'"
HONE_LLM_RETRIES=0 expect_match 1 'its answer is longer than 4 MiB' "$HONE" doctor --llm exec:yes
expect_match 3 "there is no program 'no-such-agent'" "$HONE" doctor --llm "exec:no-such-agent -p"
expect_match 1 'a quote is not closed' "$HONE" doctor --llm "exec:sh -c 'x"
HONE_LLM_RETRIES=0 HONE_LLM_TIMEOUT_S=0.2 expect_match 1 'no answer within' "$HONE" doctor --llm \
    'exec:tail -f /dev/null'
expect_match 0 '^llm  .*ask at questions' "$HONE" doctor --llm ask:questions
expect_match 1 'is not a folder' "$HONE" doctor --llm ask:scenario
expect_match 1 'replay: .*none' "$HONE" doctor --llm replay:none
: >empty
expect_match 1 'recording empty is empty' "$HONE" doctor --llm replay:empty
echo '{"schema": "hone.run/1"}' >other
expect_match 1 'recording other:1: ' "$HONE" doctor --llm replay:other

# Somebody else's directory must not decide where a key goes.
mkdir .hone
printf '[llm]\nprovider = openai:m@https://elsewhere.example/v1\n' >.hone/config
expect_match 1 '/.hone/config: llm.provider belongs into your own settings' "$HONE" doctor --llm \
    "ollama:m@$url"
