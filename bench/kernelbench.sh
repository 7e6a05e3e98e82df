#!/bin/sh
# kernelbench.sh HONE OUT: what becomes of all of KernelBench (levels 1 to 3) after the import, without a card. Of
# every problem at its own sizes: the default kernel for sm_90a, lowered and compiled by NVRTC, and lowered for
# sm_80 and as `plain`; at small sizes (those of `hone import --verify`) the verdict of the default kernel on this
# CPU. OUT keeps what was found, one file for each step of each problem: a sweep that was stopped goes on where it
# was, and what is removed there is done again. Tables by level on standard output, then what failed.
#
#   KERNELBENCH  a checkout of the repository, or its directory KernelBench; nothing of it is kept here
#   PYTHON       a Python with PyTorch (/usr/bin/python3); some files of level 3 also want einops
#   JOBS         how many at once (2)
#   STEPS        which steps: sm_90a sm_80 plain cpu (all four)
#   SECONDS_CPU  how long a verdict may take (240)
#
# build/block-facts and build/reference are needed next to HONE. An hour on two cores.
set -eu
hone=${1:-build/hone}
out=${2:-build/kernelbench}
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-/usr/bin/python3}
if [ -z "${KERNELBENCH:-}" ]; then
    echo 'kernelbench.sh: KERNELBENCH is not set: it names a checkout of ScalingIntelligence/KernelBench'
    exit 0
fi
from=$KERNELBENCH
[ -d "$from/level1" ] || from=$KERNELBENCH/KernelBench
[ -d "$from/level1" ] || { echo "kernelbench.sh: $KERNELBENCH has no directory level1"; exit 2; }
mkdir -p "$out/found"
tools=$(dirname "$hone")

# shellcheck disable=SC2046
"$python" -B -W ignore "$root/bridge/import_keep.py" --jobs "${JOBS:-2}" "$tools/reference" "$out/problems" \
    $(find "$from"/level[123] -name '*.py' | sort) >"$out/import.log" 2>&1 || true

cat >"$out/one" <<'E2'
# one STEP FILE: what is found goes to found/NAME.STEP.json, whole or not at all.
name=$(basename "$2" .hone)
to=$OUT/found/$name.$1.json
[ -s "$to" ] && exit 0
case $1 in
sm_90a) set -- "$TOOLS/block-facts" --compile sm_90a "$2" ;;
sm_80) set -- "$TOOLS/block-facts" sm_80 "$2" ;;
plain) set -- "$TOOLS/block-facts" --plain sm_90a "$2" ;;
cpu)
    small=$(dirname "$2")/small/$name.hone
    [ -f "$small" ] || exit 0
    set -- "$HONE" eval "$small" default --verify --target cpu --quiet --json
    ;;
esac
timeout "$LIMIT" "$@" >"$to.new" 2>"$to.err" && status=0 || status=$?
[ -s "$to.new" ] || echo "{\"file\": \"$name.hone\", \"error\": \"status $status\"}" >"$to.new"
mv "$to.new" "$to"
E2
export HONE="$hone" TOOLS="$tools" OUT="$out" LIMIT="${SECONDS_CPU:-240}"
for step in ${STEPS:-sm_90a sm_80 plain cpu}; do
    find "$out/problems" -maxdepth 1 -name '*.hone' | sort | xargs -P "${JOBS:-2}" -n 1 sh "$out/one" "$step"
done
"$hone" --version | head -1
"$python" "$root/bridge/kernelbench_table.py" "$out" "$from"
