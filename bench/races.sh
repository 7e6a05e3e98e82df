#!/bin/sh
# races.sh OLD NEW [TARGET [SECONDS]]: candidates a minute of two binaries of hone, problem by problem, one after the other
# in the same minutes; each with an empty cache of objects and ceilings measured before. For docs/results/races.md.
set -eu
old=$1 new=$2 target=${3:-cpu} seconds=${4:-25}
here=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export XDG_CACHE_HOME="$tmp/cache" HONE_MEMORY_PATH=off
"$new" calibrate --target "$target" >/dev/null
# field NAME: a number of the document in json.
field() { sed -n "s/^ *\"$1\": \([0-9.e-]*\),*\$/\1/p" "$tmp/json" | head -n 1; }
# go NAME BINARY PROBLEM SIZES
go() {
    rm -rf "$tmp/cache/hone/objects" "$tmp/store"
    "$2" optimize "$here/problems/$3.hone" ${4:+--dim "$4"} --target "$target" --seconds "$seconds" --store "$tmp/store" \
        --json >"$tmp/json" || true
    evals=$(field evals) screened=$(field screened) elapsed=$(field elapsed_s)
    champion=$(sed -n '/"champion"/,/}/s/^ *"time_s": \([0-9.e-]*\),*$/\1/p' "$tmp/json" | head -n 1)
    awk -v n="$1" -v p="$3" -v e="${evals:-0}" -v s="${screened:-0}" -v t="${elapsed:-0}" -v c="${champion:-0}" 'BEGIN {
        printf "| %s | %s | %d | %d | %.0f s | %.0f | %.3g ms |\n", p, n, e, s, t, (t > 0 ? 60 * (e + s) / t : 0), 1e3 * c }'
}
printf '| problem | | judged | screened | time | candidates a minute | champion |\n|---|---|---|---|---|---|---|\n'
case $target in
cpu) set -- softmax: gemm: layernorm: ;;
*) set -- softmax:M=4096,N=4096 gemm:M=4096,N=4096,K=4096 ;;
esac
for p in "$@"; do
    go old "$old" "${p%%:*}" "${p#*:}"
    go new "$new" "${p%%:*}" "${p#*:}"
done
printf 'load: '
cut -d' ' -f1-3 /proc/loadavg
