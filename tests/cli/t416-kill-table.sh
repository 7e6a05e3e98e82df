#!/bin/sh
# slow
# kill -9 at random moments of a search on a table, each resumed: the tree and what the judge said
# are in the end those of a search that nobody killed, byte for byte, and nothing is there twice.
. "$(dirname "$0")/lib.sh"
table=$ROOT/tests/tables/h200-gemm.table
kills=${KILLS:-8} killed=0 searches=0 seed=$((1 + ${KILLS:-0}))

search() { "$HONE" optimize "$ROOT/problems/gemm.hone" --target "table:$table" --until 1 --evals 40 --policy random --seed "$1" --store "$2"; }

# told STORE FILE: its nodes and judgements, without the numbers that a judgement gets anew, and
# without the note that it came to its end, which is written after it did.
told() {
    "$HONE" replay --store "$1" -o recording >/dev/null
    grep -E '"schema": ?"hone.(node|judgement)/1"' recording | grep -v '"subject": *"end"' | sed 's/"number": *[0-9]*, *"subject"/"subject"/' >"$2"
}

# Some moment within the next half of a second, by a sequence that is the same every time.
moment() {
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    printf '0.%03d' $((5 + seed / 65536 % 495))
}

# Started, or gone on with, once: killed, or at its end.
once() {
    status=0 state=$("$HONE" runs --store killed 2>/dev/null | awk '$3 == "gemm" { print $2 }')
    if [ "$state" = "done" ]; then
        return # killed between its last step and its exit
    elif [ -n "$state" ]; then
        timeout --foreground -s KILL "$(moment)" "$HONE" optimize --resume --store killed >out 2>&1 || status=$?
    else
        timeout --foreground -s KILL "$(moment)" sh -c 'exec "$@"' - "$HONE" optimize "$ROOT/problems/gemm.hone" --target "table:$table" \
            --until 1 --evals 40 --policy random --seed $searches --store killed >out 2>&1 || status=$?
    fi
    [ $status != 124 ] || status=137 # the moment came while it was ending
}

while [ $killed -lt "$kills" ]; do
    searches=$((searches + 1))
    rm -rf killed whole
    status=137
    while [ $status = 137 ]; do
        once
        moment >/dev/null
        [ $status != 137 ] || killed=$((killed + 1))
    done
    [ $status = 0 ] || fail "search $searches ended with $status: $(cat out)"
    search $searches whole >/dev/null || fail "the search that nobody kills"
    told killed killed.told
    told whole whole.told
    [ "$(grep -c hone.node <whole.told)" -gt 9 ] || fail "hardly a search: $(cat whole.told)"
    cmp killed.told whole.told || fail "search $searches, after $killed kills: another tree"
done
echo "$killed kills in $searches searches: every tree as undisturbed"
