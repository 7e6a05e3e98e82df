#!/bin/sh
# bench/cpu_products.sh HONE [NAME...]: the default kernels of convolutions and products on this CPU against
# PyTorch (oneDNN, or whatever it was built with) on as many threads in the same run; the cases are in
# bridge/cpu_products.py. A table in Markdown; nothing else should be running. $PYTHON has PyTorch (default:
# /usr/bin/python3, for which Debian has it); without it that column is empty. About 6 s a case. PyTorch's
# results come from memory that it keeps (glibc's thresholds), or it would pay for fresh pages in each call.
set -eu
hone=$(realpath "$1")
shift
root=$(cd "$(dirname "$0")/.." && pwd)
export MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=8589934592
cases="${PYTHON:-/usr/bin/python3} $root/bridge/cpu_products.py"
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work"
[ $# -gt 0 ] || $cases list >names
[ $# -eq 0 ] || printf '%s\n' "$@" >names
export HONE_TARGET=cpu HONE_MEMORY_PATH=off
threads=$("$hone" devices --json | sed -n 's/^ *"threads": \([0-9]*\).*/\1/p' | head -n 1)
"$hone" calibrate --quiet >/dev/null 2>&1 || true
echo "| problem | default | of reach | PyTorch | PyTorch's over ours | stage |"
echo '|---|---|---|---|---|---|'
while read -r name; do
    $cases problem "$name" >p.hone
    "$hone" eval p.hone default --baseline default --screen --json >out.json 2>err || {
        echo "| $name | $(head -n 1 err) | | | | |"
        continue
    }
    peer=$($cases time "$name" "${threads:-1}" 2>/dev/null) || peer=
    stage=$("$hone" emit p.hone | sed -n 's,^// stage [^ ]* *: ,,p' | tail -n 1 | tr -s ' ')
    awk -v name="$name" -v peer="$peer" -v stage="$stage" '
        function value() { sub(/.*: /, ""); sub(/,.*/, ""); return $0 + 0 }
        /"median_s":/ && !time { time = value() }
        /"reach": [{]/ { inside = 1 } inside && /"seconds":/ && !reach { reach = value() }
        END {
            printf "| %s | %.3g ms | %s | %s | %s | `%s` |\n", name, 1e3 * time,
                   reach ? sprintf("%.0f%%", 100 * reach / time) : "", peer ? peer " ms" : "absent",
                   peer ? sprintf("%.2f", peer / time / 1e3) : "", stage
        }' out.json
done <names
