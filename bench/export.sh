#!/bin/sh
# export.sh HONE [CALLS]: how long exported CPU kernels take when NumPy calls them, against the time that hone states.
# Each kernel is called with arrays as NumPy makes them (16 bytes off a multiple of 64), with aligned ones, and with arrays
# one element off. A markdown table; nothing else should be running.
set -eu
hone=$(realpath "$1")
calls=${2:-40}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_CACHE_HOME="$work/cache" HONE_MEMORY_PATH=off
cat >call.py <<'P'
import importlib, json, sys, time
import numpy as np
name, calls = sys.argv[1], int(sys.argv[2])
sys.path.insert(0, name)
module = importlib.import_module(name)
function = getattr(module, name)
stated = json.load(open(name + "/PROOF.json"))["measurement"]["median_s"]
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
medians = [float(np.median(t)) for t in times]
print("| %s | %.3g ms | %s |" % (name, stated * 1e3, " | ".join("%.3g ms, %.2fx" % (m * 1e3, m / stated) for m in medians)))
P
echo "| problem | stated | aligned | as NumPy gives them | one element off |"
echo "|---|---|---|---|---|"
for problem in softmax gelu gemm; do
    "$hone" optimize "$root/problems/$problem.hone" --evals 2 --seconds 60 --no-calibrate >out 2>&1 || { cat out; exit 1; }
    "$hone" export -o "$problem" >/dev/null
    make -s -C "$problem"
    /usr/bin/python3 call.py "$problem" "$calls"
done
