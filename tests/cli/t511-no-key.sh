#!/bin/sh
# A key is looked for wherever something is kept or said: also when the model, or whoever answers
# for it, says it back in a plan, in source, and in what the compiler then says about that.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/cli/llm_lib.sh"

soft="$ROOT/problems/softmax.hone --dim M=96,N=128 --no-calibrate --seconds 300"
export ANTHROPIC_API_KEY="$CANARY" OPENAI_API_KEY="$CANARY" HONE_LOG=debug

"$HONE" scaffold "$ROOT/problems/softmax.hone" --dim M=96,N=128 >source.c
{
    printf '```c\n// %s\n#error "%s"\n' "$CANARY" "$CANARY"
    cat source.c
    printf '```\n'
} >requests-broken.txt
{
    printf '```c\n// %s\n' "$CANARY"
    cat source.c
    printf '```\n'
} >requests-repaired.txt
told() {
    cat <<END
match You plan
say $(hypothesis "use $CANARY" source '')
---
match You write
sayfile $TMP/requests-broken.txt
---
match You repair
sayfile $TMP/requests-repaired.txt
END
}

# Through the whole loop: what is printed, logged, stored, told again, recorded, exported.
told >scenario-told
serve <scenario-told
# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 3 --llm "openai:m@$url"
[ "$status" = 0 ] || fail "optimize gave $status: $got"
no_canary
said ' no-compile .*use \*\*\*'
said ' ok .*repair node 1'
for look in 'show 1' 'show 1.1 --source' 'show 1.2 --source' 'show 1 --json' 'report 1' 'runs' \
    'show 1.1 --prompt plan' 'show 1.1 --prompt code' 'show 1.1 --prompt debug' 'replay 1' \
    'replay 1 -o rec.jsonl' 'export 1 -o exported'; do
    # shellcheck disable=SC2086
    run "$HONE" $look
    [ "$status" = 0 ] || fail "$look gave $status: $got"
    no_canary
done
grep -q 'error.*\*\*\*' rec.jsonl || fail 'what was struck out is not even there'
# What was sent has it in the header alone.
[ "$(grep -c "$CANARY" requests)" = "$(grep -ci "^authorization: Bearer $CANARY" requests)" ] ||
    fail 'the key is in what a model was told'
told >scenario-told
serve <scenario-told
# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 3 --llm "anthropic:m@$url" --events
[ "$status" = 0 ] || fail "optimize --events gave $status: $got"
no_canary
[ "$(grep -c "$CANARY" requests)" = "$(grep -ci "^x-api-key: $CANARY" requests)" ] ||
    fail 'the key is in what a model was told'

# In the spool: a candidate that waits there for a worker that never comes.
"$HONE" worker --spool s --target cpu --once --no-calibrate >/dev/null 2>&1
# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 1 --llm "openai:m@$url"
[ "$status" = 0 ] || fail "no first node: $got"
told >scenario-told
serve <scenario-told
"$HONE" optimize --resume last --evals 3 --llm "openai:m@$url" --spool s --wait 600 >out 2>&1 &
child=$!
tries=0
until grep -rqsF '****' s/queue; do
    tries=$((tries + 1))
    [ $tries -lt 6000 ] || fail "no job waits in the spool: $(cat out)"
    sleep 0.05
done
no_canary
kill -INT $child
status=0
wait $child || status=$?
[ "$status" = 130 ] || fail "not 130 but $status: $(cat out)"
no_canary

# In no command line: that of hone and of what it has started, as the model's program sees them.
hypothesis wider kernel "$span" >plan.txt
printf '<<<IMPROVE stage>>>\nstage y : rowwise  vec 16  rows 8  unroll 4\n<<<END stage>>>\n' >code.txt
cat >model.sh <<'END'
#!/bin/sh
# Its parent, and that one's children.
for pid in $PPID $(cat /proc/$PPID/task/*/children 2>/dev/null); do
    tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null
    echo
done >>commands
case $(cat) in
*'You plan'*) cat plan.txt ;;
*) cat code.txt ;;
esac
END
chmod +x model.sh
# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 2 --llm exec:./model.sh
[ "$status" = 0 ] || fail "optimize gave $status: $got"
grep -q 'optimize .*exec:./model.sh' commands || fail "not seen: $(cat commands)"
no_canary

# What is wrong is said before anything is stored or sent, and without the key.
rm -rf .hone
serve <<END
repeat
say ok
END
printf '%s\n' "$CANARY" >keyfile
chmod 640 keyfile
# shellcheck disable=SC2086
expect_match 2 'keyfile can be read by others \(mode 640\)' env HONE_LLM_KEY_FILE=keyfile \
    "$HONE" optimize $soft --llm "openai:m@$url"
# shellcheck disable=SC2086
expect_match 2 "unknown provider 'opnai'; did you mean 'openai'" "$HONE" optimize $soft --llm opnai:m
# shellcheck disable=SC2086
expect_match 2 'is not a folder' "$HONE" optimize $soft --llm ask:plan.txt
echo '{"schema": "hone.recording/9"}' >newer.jsonl
# shellcheck disable=SC2086
expect_match 2 'newer.jsonl:1: .*"hone.recording/9", expected "hone.recording/1"' \
    "$HONE" optimize $soft --llm replay:newer.jsonl
# shellcheck disable=SC2086
expect_match 2 'made with another problem' "$HONE" optimize "$ROOT/problems/gelu.hone" \
    --no-calibrate --llm "replay:rec.jsonl"
# shellcheck disable=SC2086
expect_match 2 "setting llm.window_tokens is 'many'" env HONE_LLM_WINDOW_TOKENS=many \
    "$HONE" optimize $soft --llm "openai:m@$url"
[ ! -e .hone ] || fail 'nonsense was stored'
[ ! -s requests ] || fail 'nonsense was sent'
no_canary
