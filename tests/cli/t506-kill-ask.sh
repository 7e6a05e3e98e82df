#!/bin/sh
# long
# Killed between a question and its answer, and between an answer and its use: what was answered is
# not asked again, what was not is asked once more. A folder of questions is the model at the end.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/cli/llm_lib.sh"

soft="$ROOT/problems/softmax.hone --dim M=96,N=128 --no-calibrate --seconds 300"
hypothesis 'wider' kernel "$span" >plan.txt
printf '<<<IMPROVE stage>>>\nstage y : rowwise  vec 8  rows 8  unroll 4\n<<<END stage>>>\n' >code.txt
cat >model.sh <<'END'
#!/bin/sh
# Answers plans; the first time that it is to write code it takes hone with it.
question=$(cat)
case $question in
*'You plan'*)
    echo plan >>log
    cat plan.txt
    ;;
*)
    echo code >>log
    [ -e killed ] || {
        : >killed
        kill -9 $PPID
    }
    cat code.txt
    ;;
esac
END
chmod +x model.sh

# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 2 --llm exec:./model.sh
[ "$status" = 137 ] || fail "not killed but $status: $got"
[ "$(cat log)" = 'plan
code' ] || fail "log: $(cat log)"
expect_match 0 'killed' "$HONE" runs
run "$HONE" optimize --resume 1
[ "$status" = 0 ] || fail "not resumed: $got"
printf '%s\n' "$got" | grep -q ' ok .*wider$' || fail "not the model's node: $got"
[ "$(grep -c plan log)" = 1 ] || fail 'the plan was asked again'
[ "$(grep -c code log)" = 2 ] || fail 'the code was not asked again'
expect_match 0 '^the same tree' "$HONE" replay 1
printf '%s\n' "$got" | grep -q 'and 2 exchanges$' || fail "not two exchanges: $got"

# The same with questions as files: asked, killed, answered, resumed with another provider.
cat >killer.sh <<'END'
#!/bin/sh
kill -9 $PPID
END
chmod +x killer.sh
# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 2 --llm exec:./killer.sh
[ "$status" = 137 ] || fail "not killed but $status: $got"
mkdir questions
cp plan.txt questions/run2-node001-0-plan.answer.md
cp code.txt questions/run2-node001-1-code.answer.md
run "$HONE" optimize --resume 2 --llm ask:questions
[ "$status" = 0 ] || fail "not resumed: $got"
printf '%s\n' "$got" | grep -q ' ok .*wider$' || fail "not the folder's node: $got"
for file in run2-node001-0-plan run2-node001-1-code; do
    grep -q "^    $file.answer.md" questions/$file.md || fail "$file.md does not say where the answer goes"
done
expect_match 0 '^the same tree' "$HONE" replay 2
# A folder that goes away while the run waits for an answer in it: the expert takes over.
mkdir questions2
cp plan.txt questions2/run3-node001-0-plan.answer.md
cp code.txt questions2/run3-node001-1-code.answer.md
# shellcheck disable=SC2086
"$HONE" optimize $soft --evals 3 --llm ask:questions2 --events >events 2>errors &
child=$!
asked_or_gone() {
    grep -q 'asked in questions2/run3-node002' events || ! kill -0 $child 2>/dev/null
}
until_true asked_or_gone
rm -rf questions2
wait $child || fail "did not survive: $(cat errors)"
grep -q 'the model cannot be used: ask: the folder questions2 is gone' events || fail 'not said'
