#!/bin/sh
# export.sh HONE [ROUNDS [PROBLEM...]]: how long exported CPU kernels take when NumPy calls them, against the time that hone states.
# Each kernel is called with arrays as NumPy makes them (16 bytes off a multiple of 64), with aligned ones, and with arrays
# one element off. hone eval and 40 calls from NumPy take turns, so that both meet the same machine, and where root runs
# this both have a real-time priority (chrt -r 1): other programs then take no processor from either. hone leaves out
# times that were disturbed and a plain median of calls does not, so without it the ratio measures the load.
# hone states times with cold caches, so calls go round through sets of arrays of 1.5 GB together ($BYTES: another
# size): the last-level cache keeps none of them until its turn comes again. THREADS=N: both on the first N cores.
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
export XDG_CACHE_HOME="$work/cache" HONE_MEMORY_PATH=off HONE_TARGET=cpu
first='' priority=''
if chrt -r 1 true 2>/dev/null; then
    first='chrt -r 1' priority=', at a real-time priority'
fi
# The Python that has NumPy: the system's is asked first, since Debian's package belongs to it.
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || python=$(command -v python3)
"$python" -c 'import numpy' || { echo "needs python3 with NumPy"; exit 3; }
# One processor of a core: two that share one would share its vector units too.
if [ -n "${THREADS:-}" ]; then
    cores=$(lscpu -p=CPU,CORE | awk -F, -v n="$THREADS" -v may="$(taskset -cp $$ | sed 's/.*: //')" '
        BEGIN { k = split(may, part, ","); for (i = 1; i <= k; i++) { m = split(part[i], end, "-"); for (c = end[1]; c <= end[m]; c++) ok[c + 0] } }
        /^[0-9]/ && ($1 + 0) in ok && !seen[$2]++ && count < n { printf "%s%s", count++ ? "," : "", $1 }')
    first="taskset -c $cores $first"
fi
cat >call.py <<'P'
import importlib, os, sys, time
import numpy as np
name, calls = sys.argv[1], 40
sys.path.insert(0, name)
module = importlib.import_module(name)
function = getattr(module, name)
rng = np.random.default_rng(1)
rows = list(module.INPUTS) + list(module.OUTPUTS)
values = [rng.standard_normal(r[2], dtype="f4") for r in rows]

def array(row, value, off):
    count = int(np.prod(row[2]))
    room = np.empty(4 * count + 128, dtype="u1")
    at = -room.ctypes.data % 64 + off
    a = room[at:at + 4 * count].view("f4").reshape(row[2])
    a[...] = value
    return a

offsets = (0, 16, 4)
size = sum(v.nbytes for v in values)
n_sets = max(1, int(os.environ.get("BYTES", 1500e6)) // (size * len(offsets)))
sets = [[[array(r, v, o) for r, v in zip(rows, values)] for o in offsets] for _ in range(n_sets)]
times = [[] for _ in offsets]
for call in range(calls + 3):
    for i, o in enumerate(offsets):
        arrays = sets[call % n_sets][i]
        start = time.perf_counter()
        function(*arrays)
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
echo "$(lscpu | sed -n 's/^Model name: *//p'), ${cores:+processors $cores, }load $(cut -d' ' -f1 /proc/loadavg), $rounds rounds$priority"
echo
echo "| problem | stated | aligned | as NumPy gives them | one element off |"
echo "|---|---|---|---|---|"
for problem; do
    file="$root/problems/$problem.hone"
    # shellcheck disable=SC2086
    $first "$hone" optimize "$file" --evals 1 --seconds 20 --no-calibrate >out 2>&1 || { cat out; exit 1; }
    "$hone" export -o "$problem" >/dev/null
    make -s -C "$problem"
    round=0
    while [ "$round" -lt "$rounds" ]; do
        $first "$hone" eval "$file" last --json >"eval.$round"
        $first "$python" call.py "$problem" >"calls.$round"
        round=$((round + 1))
    done
    "$python" table.py "$problem" "$rounds"
done
