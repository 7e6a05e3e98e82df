# shellcheck shell=sh
# Read by the benchmarks that need a GPU: `. "$(dirname "$0")/gpu_lib.sh"`.
#
#   $HONE   the binary      $ROOT  the repository      $TMP  an empty directory, the current one
#   row FILE COMMAND RESULT    append a row: date, device, driver, commit, command, result
#
# Each benchmark is a command of its own, ends within six minutes, and appends to
# docs/results/h200-*.md.
set -eu
ROOT=$(cd "$(dirname "$0")/.." && pwd)
HONE=${HONE:-$ROOT/build/hone}
TMP=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT TERM
cd "$TMP"

"$HONE" devices --json >devices.json
gpu_field() { # NAME: of the first GPU
    sed -n '/"target": "cuda:0"/,/"target":/p; /"driver":/h' devices.json >/dev/null
    sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" gpu.json | head -n 1
}
# The object of cuda:0 alone, one field a line.
awk '/^ *\{ *$/ { n = 0; is_gpu = 0 } { line[n++] = $0 } /"target": "cuda:0"/ { is_gpu = 1 }
    /^ *\},? *$/ { if (is_gpu) for (i = 0; i < n; i++) print line[i]; is_gpu = 0; n = 0 }' devices.json >gpu.json
if [ ! -s gpu.json ]; then
    echo "skipped: no GPU"
    exit 0
fi
DEVICE=$(gpu_field device)
DRIVER=$(gpu_field driver)
COMMIT=${HONE_COMMIT:-$(git -C "$ROOT" rev-parse --short HEAD 2>/dev/null || echo unknown)}

# A file of rows, with its title when it is new.
rows() { # FILE TITLE
    [ -e "$1" ] || printf '# %s\n\n%s\n\n| date | device | driver | commit | command | result |\n|---|---|---|---|---|---|\n' \
        "$2" "Rows are appended by the benchmark named in the command's script." >"$1"
}
row() {
    printf '| %s | %s | %s | %s | `%s` | %s |\n' "$(date -u +%Y-%m-%dT%H:%MZ)" "$DEVICE" "$DRIVER" \
        "$COMMIT" "$2" "$3" | tee -a "$1"
}
