#!/bin/sh
# The scripted stand-in for a model (bench/scripted_model.sh) and comparisons of policies with it (bench/policies.sh): the
# changes are its own, and the same command gives the same numbers.
. "$(dirname "$0")/lib.sh"
command -v bash >/dev/null || skip 'no bash'
export HONE_BUILD_CC=/no/such/cc
table=$ROOT/tests/tables/cpu-softmax.table
asked() {
    "$HONE" optimize "$ROOT/problems/softmax.hone" --dim M=128,N=1024 --target "table:$table" --evals 5 --until 1 \
        --llm "exec:$ROOT/bench/scripted_model.sh" --store "$1"
}
expect_match 0 '^stored    run 1 in s' asked s
"$HONE" show 1 --json --store s >json
[ "$(grep -c '"by": "team"' json)" -ge 3 ] || fail "it proposed too little: $(cat json)"
grep '"by": "team"' -B 8 json | grep -q '"move": "y: [a-z]* [^ ]* -> ' || fail "$(cat json)"
expect_match 0 '^stored    run 1 in t' asked t
"$HONE" show 1 --store s >one
"$HONE" show 1 --store t | cmp - one || fail 'two runs differ'
expect_match 0 '^the same tree' "$HONE" replay 1 --store s

compared() {
    TARGET=table EVALS=4 FLAGS="--llm exec:$ROOT/bench/scripted_model.sh" \
        bash "$ROOT/bench/policies.sh" "$HONE" "$1" mcts,random "1 2" "$table"
}
compared out && compared again || fail 'no comparison'
[ "$(grep -c ' end$' out)" = 4 ] || fail "not four runs: $(cat out)"
cmp out again || fail 'two comparisons differ'
# The least time is that of the block's narrowest row, not of any row.
EVALS=4 expect_match 0 '^\| cpu-softmax \| 101\.0 \| 2 \|' bash "$ROOT/bench/policies.sh" "$HONE" out
