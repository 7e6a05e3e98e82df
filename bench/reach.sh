#!/bin/sh
# reach.sh HONE TARGET [EVALS]: is reach a bound at every size? Optimises softmax and gelu over f32[M, 1024] from 8 kB of
# traffic to 64 MB and prints each champion's time and share of reach, how many candidates were called suspect, and how often
# the ceilings had to be measured again. More than 100%, beyond the spread of the ceilings, is a mistake of ours. Markdown.
set -eu
hone=$(realpath "$1")
target=$2
evals=${3:-8}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME="$dir/cache"
cd "$dir"
"$hone" calibrate --target "$target"
echo
echo "| problem | M | traffic | champion | of reach | suspect | measured again |"
echo "|---|---|---|---|---|---|---|"
for problem in softmax gelu; do
    for m in 1 4 16 64 256 2048 8192; do
        printf 'problem %s\ndim M = %s, N = 1024\nin  x : f32[M, N] ~ normal\nout y : f32[M, N]\ny = %s(x)\n' \
            "$problem" "$m" "$problem" >p.hone
        rm -f runs.db
        "$hone" optimize p.hone --target "$target" --evals "$evals" --store runs.db >out 2>&1 || true
        time=$(sed -n 's/^champion *[0-9.]*: \([^,]*\),.*/\1/p' out)
        share=$(sed -n 's/^ *\([0-9]*%\) of reach;.*/\1/p' out)
        printf '| %s | %s | %s kB | %s | %s | %s | %s |\n' "$problem" "$m" "$((m * 8))" "${time:-none}" "${share:--}" \
            "$(grep -c ' suspect ' out || true)" "$(grep -c 'faster than reach: measuring again' out || true)"
    done
done
