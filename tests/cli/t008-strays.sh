#!/bin/sh
# What a killed process left half done goes with the next command that comes to its directory.
. "$(dirname "$0")/lib.sh"

# Of a machine that nobody here knows: an hour is enough to be sure. The new one may be alive.
old=.new-00000000-1-1-abcdef
new=.new-00000000-1-2-abcdef
leave() {
    mkdir -p "$1"
    echo half >"$1/$new"
    mkdir "$1/$old"
    echo half >"$1/$old/inside"
    touch -d '2 hours ago' "$1/$old"
}
gone() {
    [ ! -e "$1/$old" ] || fail "left in $1 by: $2"
    [ -e "$1/$new" ] || fail "removed from $1 by: $2: what may be somebody's"
    rm "$1/$new"
}
# tidies DIRECTORY COMMAND...: this command removes what is stray there, whatever it says.
tidies() {
    dir=$1
    shift
    leave "$dir"
    "$@" >out 2>&1 || true
    gone "$dir" "$*"
}

mkdir problems
cp "$ROOT/tests/exploits/softmax.hone" problems/
kernel=$ROOT/tests/exploits/honest/softmax_plain.c
tidies problems "$HONE" check problems/softmax.hone
tidies problems "$HONE" fmt problems/softmax.hone
tidies "$XDG_CACHE_HOME/hone/objects" "$HONE" eval problems/softmax.hone "$kernel" --verify
tidies "$XDG_CACHE_HOME/hone/ceilings" "$HONE" sol problems/softmax.hone
tidies kernels "$HONE" scaffold problems/softmax.hone -o kernels/softmax.c
tidies .hone "$HONE" optimize problems/softmax.hone --evals 1 --seconds 100 --no-calibrate
tidies .hone "$HONE" runs
tidies ask "$HONE" optimize problems/softmax.hone --evals 1 --seconds 100 --no-calibrate --llm ask:ask --proposer team
tidies exports "$HONE" export -o exports/softmax
tidies exports/softmax "$HONE" export -o exports/softmax
[ -f exports/softmax/PROOF.json ] || fail "not exported: $(cat out)"
find . -name '.new-*' | grep . && fail "something is left" || true
