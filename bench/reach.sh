#!/bin/sh
# reach.sh HONE TARGET [EVALS]: is reach a bound at every size? Optimises softmax and gelu over f32[M, 1024] from 8 kB of
# traffic to 64 MB and says each champion's time and share of reach, how many candidates were called suspect, and how often
# the ceilings had to be measured again. More than 100%, beyond the spread of the ceilings, is a mistake of ours. A table
# on the CPU; for `cuda` rows are appended to docs/results/h200-reach.md, within six minutes.
set -eu
hone=$1
target=$2
evals=${3:-8}
root=$(cd "$(dirname "$0")/.." && pwd)
if [ "$target" = cuda ]; then
    # shellcheck disable=SC1091
    . "$root/bench/gpu_lib.sh"
else
    hone=$(realpath "$hone")
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
fi
export XDG_CACHE_HOME="$work/cache" HONE_MEMORY_PATH=off
"$hone" calibrate --target "$target"
[ "$target" = cuda ] || {
    echo
    echo "| problem | M | traffic | champion | of reach | suspect | measured again |"
    echo "|---|---|---|---|---|---|---|"
}
say() { # PROBLEM M TIME SHARE SUSPECT AGAIN
    if [ "$target" = cuda ]; then
        row "$1 $2 x 1024, $(($2 * 8)) kB: champion" "\`bench/reach.sh build/hone cuda $evals\`" \
            "$3, $4 of reach; suspect: $5; ceilings measured again: $6"
    else
        printf '| %s | %s | %s kB | %s | %s | %s | %s |\n' "$1" "$2" "$(($2 * 8))" "$3" "$4" "$5" "$6"
    fi
}
for problem in softmax gelu; do
    for m in 1 4 16 64 256 2048 8192; do
        printf 'problem %s\ndim M = %s, N = 1024\nin  x : f32[M, N] ~ normal\nout y : f32[M, N]\ny = %s(x)\n' \
            "$problem" "$m" "$problem" >p.hone
        rm -f runs.db
        "$hone" optimize p.hone --target "$target" --evals "$evals" --store runs.db >out 2>&1 || true
        time=$(sed -n 's/^champion *[0-9.]*: \([^,]*\),.*/\1/p' out)
        share=$(sed -n 's/^ *\([0-9]*%\) of reach;.*/\1/p' out)
        say "$problem" "$m" "${time:-none}" "${share:--}" "$(grep -c ' suspect ' out || true)" \
            "$(grep -c 'faster than reach: measuring again' out || true)"
    done
done
