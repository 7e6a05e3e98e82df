# shellcheck shell=sh
# Read by the benchmarks that need a GPU, as `. "$root/bench/gpu_lib.sh"`, with $root (the
# repository) and $hone (the binary) set. Afterwards $work is an empty directory and the current one.
#
#   row WHAT COMMAND RESULT    append a row: date, device, driver, commit, what, command, result
#
# Each benchmark is a command of its own, ends within six minutes ($BENCH_SECONDS: another limit),
# finished or not, and appends to docs/results/h200-NAME.md, where gpu_NAME.sh is its own name
# ($RESULTS names another file).
set -eu
# It runs itself again, under the limit, with whatever it starts.
if [ -z "${BENCH_IS_LIMITED:-}" ]; then
    limit=${BENCH_SECONDS:-360} status=0
    BENCH_IS_LIMITED=1 timeout -k 10 "$limit" sh "$0" "$@" &
    trap 'kill $! 2>/dev/null' INT TERM
    wait $! || status=$?
    case $status in 124 | 137) echo "$(basename "$0"): stopped after $limit s; the rows so far are kept" >&2 ;; esac
    exit $status
fi
unset BENCH_IS_LIMITED
hone=$(cd "$(dirname "$hone")" && pwd)/$(basename "$hone")
results=${RESULTS:-$root/docs/results/h200-$(basename "$0" .sh | sed 's/^gpu_//').md}
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work"

# The object of the first GPU alone, a field on each line.
"$hone" devices --json | awk '/^ *\{ *$/ { n = 0; is_gpu = 0 } { line[n++] = $0 }
    /"target": "cuda:0"/ { is_gpu = 1 }
    is_gpu && /"driver":/ { for (i = 0; i < n; i++) print line[i]; exit }' >gpu.json
if [ ! -s gpu.json ]; then
    echo "skipped: no GPU"
    exit 0
fi
gpu_field() {
    sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" gpu.json | head -n 1
}
device=$(gpu_field device)
driver=$(gpu_field driver)
# A `+` behind the commit: the tree is not what was committed, rows of results aside.
commit=$(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(git -C "$root" status --porcelain --untracked-files=no -- . ':!docs/results' 2>/dev/null)" ] || commit=$commit+
commit=${HONE_COMMIT:-$commit}

row() {
    # shellcheck disable=SC2094  # its name alone
    [ -e "$results" ] || {
        printf '# %s\n\n' "$(basename "$results" .md)"
        printf 'Rows are appended by bench/%s.\n\n' "$(basename "$0")"
        printf '| date | device | driver | commit | what | command | result |\n|---|---|---|---|---|---|---|\n'
    } >"$results"
    printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$(date -u +%Y-%m-%dT%H:%MZ)" "$device" \
        "$driver" "$commit" "$1" "$2" "$3" | tee -a "$results"
}
