#!/bin/bash
# judge_honest.sh HONE [--blocks N] [--trials N] [FILE...]: is anything of our own refused? For every worked problem
# (or the files), at small sizes: its scaffold, `plain`, the default kernel, all of them on every input set, and the
# candidates of a random search (random legal blocks, at least N = 20 where there are as many). Prints a table;
# the exit status is 1 when a verdict is not ok.
set -u
export HONE_MEMORY_PATH=off
hone=$(realpath "$1")
shift
here=$(cd "$(dirname "$0")" && pwd)
blocks=20 trials=1
while :; do
    case ${1:-} in
    --blocks) blocks=$2 ;;
    --trials) trials=$2 ;;
    *) break ;;
    esac
    shift 2
done
[ $# -gt 0 ] || set -- "$here"/../problems/*.hone
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-honest-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
status=0 n_all=0 n_refused=0

# Sizes that a processor of two cores does in a moment; sums stay long where that is all that is long.
small() {
    sed -n 's/^dim //p' "$1" | tr ',' '\n' |
        sed -n 's/^ *\([A-Z][A-Z0-9]*\) *= *\([0-9][0-9]*\) *$/\1 \2/p' |
        awk '$2 > 8 { printf "%s%s=%d", (n++ ? "," : ""), $1, ($2 > 512 ? 64 : $2 >= 112 ? 32 : $2 > 32 ? 16 : 8) }'
}

# How many verdicts, how many of them not ok; those are told on standard error.
judged() { # NAME CANDIDATE...
    local name=$1 kinds
    shift
    kinds=$("$hone" eval "$file" "$@" --verify --json --dim "$dims" 2>"$work/err" | tr -d '\n ' |
        sed 's/"schema":"hone.eval/\n&/g' | sed -n 's/.*"schema":"hone.verdict[^"]*","kind":"\([a-z-]*\)".*/\1/p')
    [ -n "$kinds" ] || {
        head -n 1 "$work/err" | cut -c1-90
        return
    }
    tally "$name" "$kinds"
}
tally() { # NAME KINDS
    local n wrong
    n=$(grep -c . <<<"$2")
    wrong=$(grep -cvx ok <<<"$2")
    [ "$wrong" = 0 ] || echo "$(basename "$file" .hone), $1: $(sort <<<"$2" | uniq -c | tr '\n' ' ')" >&2
    echo "$n $wrong"
}

# Searched by chance, again with another seed until there are enough, or nothing new comes.
searched() {
    local kinds='' seed=0
    while [ $seed -lt 4 ] && [ "$(grep -c . <<<"$kinds")" -lt "$blocks" ]; do
        rm -rf "$work/store"
        "$hone" optimize "$file" --target cpu --dim "$dims" --policy random --proposer blind --evals "$blocks" --seconds 120 --until 1 \
            --seed $((seed++)) --store "$work/store" --no-calibrate >"$work/out" 2>&1
        "$hone" show --json --store "$work/store" >"$work/shown" 2>/dev/null || break
        kinds=$(printf '%s\n' "$kinds" "$(tr -d '\n ' <"$work/shown" | grep -o '"schema":"hone.verdict/1","kind":"[a-z-]*"' | sed 's/.*"kind":"\(.*\)"/\1/')" | grep .)
    done
    [ -n "$kinds" ] || {
        tail -n 1 "$work/out" | cut -c1-90
        return
    }
    tally blocks "$kinds"
}

add() { # "N REFUSED", or a reason
    case $1 in
    [0-9]*' '[0-9]*)
        n_all=$((n_all + ${1% *}))
        n_refused=$((n_refused + ${1#* }))
        [ "${1#* }" = 0 ] || status=1
        cell="${1#* } of ${1% *}"
        ;;
    *) cell="($1)" ;;
    esac
}

echo '| problem | sizes | scaffold, plain, default refused | random blocks refused |'
echo '|---|---|---|---|'
for file; do
    dims=$(small "$file")
    rm -f "$work/scaffold.c"
    "$hone" scaffold "$file" --dim "$dims" -o "$work/scaffold.c" --target cpu >/dev/null 2>&1
    set -- default plain
    # Where there is no plain, a scaffold has nothing in it.
    ! "$hone" emit --plain --target cpu --dim "$dims" "$file" >/dev/null 2>&1 || set -- "$@" "$work/scaffold.c"
    ours=''
    for _ in $(seq "$trials"); do
        one=$(judged ours "$@")
        case $one in
        [0-9]*' '[0-9]*) ours="$((${ours% *} + ${one% *})) $((${ours#* } + ${one#* }))" ;;
        *) ours=$one ;;
        esac
    done
    add "$ours"
    first=$cell
    add "$(searched)"
    printf '| %s | %s | %s | %s |\n' "$(basename "$file" .hone)" "$dims" "$first" "$cell"
done
echo
echo "$n_refused of $n_all verdicts refuse what is honest"
exit $status
