#!/bin/sh
# export.sh HONE [ROUNDS [PROBLEM...]]: how long exported CPU kernels take when NumPy calls them, against the time that hone states.
# Each kernel is called with arrays as NumPy makes them (16 bytes off a multiple of 64), with aligned ones, and with arrays
# one element off. hone eval and 40 calls from NumPy take turns, so that both meet the same machine, and where root runs
# this both have a real-time priority (chrt -r 1): other programs then take no processor from either. hone leaves out
# times that were disturbed and a plain median of calls does not, so without it the ratio measures the load.
# A markdown table: the median over the rounds of the stated time, and of each ratio.
set -eu
hone=$(realpath "$1")
rounds=${2:-5}
if [ $# -gt 2 ]; then
    shift 2
else
    set -- softmax gelu gemm
fi
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_CACHE_HOME="$work/cache" HONE_MEMORY_PATH=off
first=
if chrt -r 1 true 2>/dev/null; then
    first='chrt -r 1'
fi
cat >call.py <<'P'
import importlib, sys, time
import numpy as np
name, calls = sys.argv[1], 40
sys.path.insert(0, name)
module = importlib.import_module(name)
function = getattr(module, name)
rng = np.random.default_rng(1)

def array(row, off):
    count = int(np.prod(row[2]))
    room = np.empty(4 * count + 128, dtype="u1")
    at = -room.ctypes.data % 64 + off
    a = room[at:at + 4 * count].view("f4").reshape(row[2])
    a[...] = rng.standard_normal(row[2], dtype="f4")
    return a

offsets = (0, 16, 4)
sets = [([array(r, o) for r in module.INPUTS], [array(r, o) for r in module.OUTPUTS]) for o in offsets]
times = [[] for _ in offsets]
for call in range(calls + 3):
    for i, (ins, outs) in enumerate(sets):
        start = time.perf_counter()
        function(*ins, *outs)
        if call >= 3:
            times[i].append(time.perf_counter() - start)
print(*[float(np.median(t)) for t in times])
P
cat >table.py <<'P'
import json, sys
import numpy as np
name, rounds = sys.argv[1], int(sys.argv[2])
stated = np.array([json.load(open("eval.%d" % i))["measurement"]["median_s"] for i in range(rounds)])
called = np.array([np.loadtxt("calls.%d" % i) for i in range(rounds)])
ratios = called / stated[:, None]
print("| %s | %.3g ms | %s |" % (name, np.median(stated) * 1e3, " | ".join(
    "%.3g ms, %.2fx (%.2f to %.2f)" % (np.median(c) * 1e3, np.median(r), r.min(), r.max()) for c, r in zip(called.T, ratios.T))))
P
echo "load $(cut -d' ' -f1 /proc/loadavg), $rounds rounds${first:+, at a real-time priority}"
echo
echo "| problem | stated | aligned | as NumPy gives them | one element off |"
echo "|---|---|---|---|---|"
for problem; do
    file="$root/problems/$problem.hone"
    "$hone" optimize "$file" --evals 1 --seconds 20 --no-calibrate >out 2>&1 || { cat out; exit 1; }
    "$hone" export -o "$problem" >/dev/null
    make -s -C "$problem"
    round=0
    while [ "$round" -lt "$rounds" ]; do
        $first "$hone" eval "$file" last --json >"eval.$round"
        $first /usr/bin/python3 call.py "$problem" >"calls.$round"
        round=$((round + 1))
    done
    /usr/bin/python3 table.py "$problem" "$rounds"
done
