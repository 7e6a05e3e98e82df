#!/bin/sh
# A table in place of a device: the seed decides, no compiler runs, and a replay gives the same
# tree. What does not fit is said.
. "$(dirname "$0")/lib.sh"
table=$ROOT/tests/tables/cpu-softmax.table
sizes=$(sed -n 2p "$table" | sed 's/.*dim \(M = [0-9]*, N = [0-9]*\).*/\1/; s/ //g')
export HONE_BUILD_CC=/nonexistent

search() {
    "$HONE" optimize "$ROOT/problems/softmax.hone" --dim "$sizes" --target "table:$table" --until 1 "$@"
}

# searched NAME SEED: its tree is then in NAME.tree.
searched() {
    search --policy random --evals 12 --seed "$2" --store "$1" >out || fail "$(cat out)"
    grep -q 'searching a table of [0-9]* blocks' out || fail "$(cat out)"
    "$HONE" show last --store "$1" | grep ' ok ' >"$1.tree"
}
searched store1 1
searched again 1
searched store2 2
cmp store1.tree again.tree || fail "one seed, two trees"
! cmp -s store1.tree store2.tree || fail "two seeds, one tree"
expect_match 0 'the same tree' "$HONE" replay --store store1
expect_match 0 'the same tree' "$HONE" replay --store store1 --re-evaluate
expect_match 0 'over plain' "$HONE" runs --store store1
expect_match 0 'softmax' "$HONE" report --store store1
valid show "$HONE" show last --store store1 --json
# Nothing was measured or verified anew, and nothing says that it was.
for text in out "report --store store1" "show 1 --store store1"; do
    # shellcheck disable=SC2086
    [ "$text" = out ] || "$HONE" $text >told || fail "hone $text: $(cat told)"
    [ "$text" != out ] || cp out told
    ! grep -E 'fresh data,|[^0-9]0 pairs|input sets|of 1000000000' told || fail "hone $text: $(cat told)"
done
grep -q 'by the table, not confirmed$' out || fail "$(cat out)"
"$HONE" report --store store1 | tr '\n' ' ' | grep -q 'at 99% confidence, from the table\.' || fail "$("$HONE" report --store store1)"
cards=$ROOT/bench/memory/h200
"$HONE" optimize "$cards/s1.hone" --target "table:$cards/s1.table" --evals 2 --until 1 --store cards >out || fail "$(cat out)"
expect_match 0 '^exported: not confirmed: of run 1, node' "$HONE" export 1 --store cards -o exported
grep -q '"is_confirmed": false' exported/PROOF.json || fail "$(cat exported/PROOF.json)"
tr '\n' ' ' <exported/README.txt | grep -q 'confidence, from a table).*not confirmed on fresh data' || fail "$(cat exported/README.txt)"

# A run whose limit is raised goes on from there to what an undisturbed one comes to.
search --evals 5 --store half >/dev/null
"$HONE" optimize --resume 1 --evals 12 --store half >/dev/null || fail "not resumed"
search --evals 12 --store whole >/dev/null
for s in half whole; do "$HONE" show last --store $s | grep ' ok ' >$s.tree; done
cmp half.tree whole.tree || fail "a resumed search took another way"

# What does not fit.
expect_match 2 "is of another problem, or of other sizes: it is of 'softmax' with M=128 N=1024" "$HONE" optimize "$ROOT/problems/softmax.hone" --target "table:$table"
expect_match 2 '[-]-seconds does not go with a table' search --seconds 5
printf 'kernel for softmax on cpu\nstage y : rowwise vec 1 rows 1 unroll 1 keep reread ahead 0 overlap none divide exact store cached\n' >lacks.hone
expect_match 1 'this block is not in the table' search --start lacks.hone --store lacks
expect_match 2 'table none: ' "$HONE" optimize "$ROOT/problems/softmax.hone" --target table:none
sed '1s/1$/9/' "$table" >other.table
expect_match 2 'it is hone.table/9, and this hone reads hone.table/1' "$HONE" optimize "$ROOT/problems/softmax.hone" --dim "$sizes" --target table:other.table
sed '$d' "$table" >half.table
expect_match 2 'is not finished' "$HONE" optimize "$ROOT/problems/softmax.hone" --dim "$sizes" --target table:half.table
sed 's/keep reread/keep nowhere/' "$table" >strange.table
expect_match 2 'does not know its first block any more' "$HONE" optimize "$ROOT/problems/softmax.hone" --dim "$sizes" --target table:strange.table

# Structural moves are tried like any other, and the record shows them: an operand is laid out for its reader, a law is
# used, what is split off is merged again. (The times of this table are made up.)
cat >across.hone <<'P'
problem p
dim M = 256, N = 384
in  x : f32[N, M] ~ normal
out y : f32[M, N]
y = softmax(x.T)
P
{
    sed -n '1p; 2s/problem softmax.ndim M = 128, N = 1024.nin  x : f32.M, N. \(.*\)softmax(x)/problem p\\ndim M = 256, N = 384\\nin  x : f32[N, M] \1softmax(x.T)/p' "$table"
    cat <<'T'
shape kernel for p on cpu|stage y : rowwise vec ? rows ? unroll ? keep reread ahead ? overlap none divide exact store cached
0 8 8 1 0 = 200 1 1
plain = 400 0.99 1.01
shape kernel for p on cpu|stage y : rowwise vec ? rows ? unroll ? keep reread ahead ? overlap none divide reciprocal store cached
1 8 8 1 0 = 190 0.99 1.01
shape kernel for p on cpu|stage v.1 : map as tiles vec ? tile ? ahead ? turn registers store cached|stage y : rowwise vec ? rows ? unroll ? keep reread ahead ? overlap none divide exact store cached
2 8 64x64 0 8 8 1 0 = 120 0.99 1.01
shape kernel for p on cpu|stage v.1 : map as tiles vec ? tile ? ahead ? turn registers store cached|stage y : rowwise vec ? rows ? unroll ? keep reread ahead ? overlap none divide reciprocal store cached
3 8 64x64 0 8 8 1 0 = 100 0.99 1.01
end 4
T
} >across.table
for policy in surrogate mcts; do
    "$HONE" optimize across.hone --target table:across.table --policy $policy --evals 4 --until 1 --store $policy.db >out || fail "$(cat out)"
    "$HONE" show last --store $policy.db >tree
    grep -q ' lay out v.1 for y$' tree || fail "$policy: $(cat tree)"
    grep -q ' y: divide exact -> reciprocal$' tree || fail "$policy: $(cat tree)"
done
printf 'kernel for p on cpu\nstage v.1 : map as tiles vec 8 tile 64x64 ahead 0 turn registers store cached\nstage y : rowwise vec 8 rows 8 unroll 1 keep reread ahead 0 overlap none divide exact store cached\n' >start-across.hone
"$HONE" optimize across.hone --target table:across.table --start start-across.hone --policy mcts --evals 4 --until 1 --store merge.db >out || fail "$(cat out)"
"$HONE" show last --store merge.db | grep -q ' merge v.1 into y$' || fail "$("$HONE" show last --store merge.db)"

# What a search may hear of profiles: the tools' findings, how far it is from reach, nothing. The
# default policy keeps to it too.
counted=$ROOT/tests/tables/counted/h200-layernorm.table
cat >start.hone <<'K'
kernel for layernorm on sm_90a
stage y.rstd : rowwise threads 256 rows 1 vec 4 keep register divide exact store cached
stage y : rowwise threads 32 rows 2 vec 4 keep shared divide exact store cached
K
# heard KIND: tools whose findings were behind some node.
heard() {
    rm -f heard.db
    "$HONE" optimize "$ROOT/problems/layernorm.hone" --target "table:$counted" --evals 8 --feedback "$1" \
        --policy surrogate:default=0:far=0 --start start.hone --until 1 --store heard.db >out 2>err || fail "$(cat err)"
    "$HONE" tools --store heard.db | awk '$4 > 0 && $4 == int($4) { printf "%s ", $1 }'
}
for what in "tools reread " "raw reach " "none "; do
    [ "$(heard "${what%% *}")" = "${what#* }" ] || fail "$what: $(heard "${what%% *}")"
done
