#!/bin/sh
# import.sh HONE: what becomes of KernelBench's files (levels 1 to 3). Of every one: `hone import`, then
# `hone check`; a table by level, then a line for each that was not imported or not accepted.
#
#   KERNELBENCH  a checkout of the repository, or its directory KernelBench; nothing of it is kept here
#   PYTHON       a Python with PyTorch (/usr/bin/python3); some files of level 3 also want einops
#   JOBS         how many at once (2)
#   VERIFY=1     compare with PyTorch as well, at small sizes: all in one Python, by the code that
#                `hone import --verify` uses (bridge/import_cases.py). Minutes.
#   KEEP         a directory for the problems that come out; else they are thrown away
set -eu
hone=${1:-build/hone}
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-/usr/bin/python3}
if [ -z "${KERNELBENCH:-}" ]; then
    echo 'import.sh: KERNELBENCH is not set: it names a checkout of ScalingIntelligence/KernelBench'
    exit 0
fi
from=$KERNELBENCH
[ -d "$from/level1" ] || from=$KERNELBENCH/KernelBench
[ -d "$from/level1" ] || { echo "import.sh: $KERNELBENCH has no directory level1"; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
keep=${KEEP:-$work/problems}
mkdir -p "$keep"

cat >"$work/one" <<'E2'
# one HONE PYTHON KEEP FILE: prints "LEVEL STATE NAME REASON"
level=$(basename "$(dirname "$4")") name=$(basename "$4" .py)
out=$3/$level-$name.hone
if ! "$1" import "$4" --python "$2" -o "$out" --force >"$out.log" 2>&1; then
    echo "$level refused $name $(tr '\n' ' ' <"$out.log" | cut -c1-300)"
elif ! "$1" check "$out" >"$out.log" 2>&1; then
    echo "$level rejected $name $(head -1 "$out.log")"
else
    echo "$level accepted $name $(grep -c '^# Not as' "$out")"
fi
E2
find "$from"/level[123] -name '*.py' | sort |
    xargs -P "${JOBS:-2}" -n 1 sh "$work/one" "$hone" "$python" "$keep" >"$work/all"

echo "PyTorch $("$python" -c 'import torch; print(torch.__version__)'), $("$hone" --version | head -1)"
echo '| level | files | imported | accepted by hone check | with a note |'
echo '|---|---|---|---|---|'
for level in level1 level2 level3; do
    awk -v l=$level '$1 == l { n++; if ($2 != "refused") i++; if ($2 == "accepted") { a++; if ($4 > 0) d++ } }
        END { printf "| %s | %d | %d | %d | %d |\n", substr(l, 6), n, i, a, d }' "$work/all"
done
grep -v ' accepted ' "$work/all" | sort || true
if [ -n "${VERIFY:-}" ]; then
    # shellcheck disable=SC2046
    "$python" -W ignore "$root/bridge/import_cases.py" --small "$(dirname "$hone")/reference" "$work" \
        $(find "$from"/level[123] -name '*.py' | sort)
fi
