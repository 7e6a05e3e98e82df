#!/bin/bash
# gpu_eyes.sh HONE --ncu [PROBLEM...]: the default kernel of each problem (default: five) counted by
# `ncu --set full` and by us, in a process that stays: seconds of both, with the start of the process
# (cold) and without (warm, median of 5), and how many counters are within 2% of each other.
# gpu_eyes.sh HONE [PROGRAM...]: does `hone profile` name the fault of programs that have one, and keep
# still about their twins? Needs a card and nvcc; about 3 s for each of the programs of
# tests/gpu/pathologies. PROGRAM is "07-0" for the sick one of pair 07, "07-1" for its twin.
set -u
hone=$1
shift
here=$(cd "$(dirname "$0")/.." && pwd)/tests/gpu/pathologies
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
# What four warps multiply together is compiled for one card only.
[ "$arch" = 90 ] && arch=90a

# What stands first, and findings of high severity: "tool severity gain" and a number.
first() {
    sed -n '/"first": {/,/}/p' "$1" | sed -n 's/.*"\(tool\|severity\|gain\)": "\{0,1\}\([a-z0-9.]*\).*/\2/p' | tr '\n' ' '
}
time_us() {
    sed -n '/"metrics"/,/}/p' "$1" | awk -F'[:,]' '/"time_s"/ { printf "%.1f", $2 * 1e6; exit }'
}
command -v nvcc >/dev/null && nvidia-smi >/dev/null 2>&1 || {
    echo "skipped: no GPU, or no nvcc"
    exit 0
}

beside_ncu() {
    local problems
    problems=$(dirname "$here")/../../problems
    printf '%-22s %8s %8s %8s %6s %6s  %s\n' problem 'ncu s' 'cold s' 'warm s' cold warm 'counters within 2% of ncu; the others (ours, of ncu)'
    for name in "$@"; do
        "$hone" profile --json --by ncu --repeat 5 "$problems/$name.hone" default >"$work/json" 2>"$work/err" || {
            echo "$name: $(tail -1 "$work/err")"
            continue
        }
        awk -v name="$name" '
        function number(text) { sub(/.*: /, "", text); sub(/,$/, "", text); return text + 0 }
        /^  "runs_s"/ { list = "runs" } /^  "again_s"/ { list = "again" }
        list && /^    [0-9]/ { at[list, n[list]++] = $1 + 0 } /^  \]/ { list = "" }
        /^  "profile": [{]/ { part = "ncu" } /^  "again": [{]/ { part = "us" } /^  [}]/ { part = "" }
        part && /"launches"/ { launch = 1 } launch && /^      [{]/ { launch++ } /^    \]/ { launch = 0 }
        launch && /^        "/ && !/"name"/ {
            key = $1; gsub(/[":]/, "", key)
            value[part, launch " " key] = number($0)
            if (part == "us" && key !~ /^(code|hot)_/) keys[launch " " key] = 1
        }
        END {
            for (key in keys) {
                if (!(("ncu", key) in value)) continue
                a = value["us", key]; b = value["ncu", key]; all++
                d = a - b; d = d < 0 ? -d : d; m = b < 0 ? -b : b
                if (d <= 0.02 * m || d < 1e-9) { good++; continue }
                split(key, word, " "); rest = rest sprintf(" %s %.4g/%.4g", word[2], a, b)
            }
            for (i = 1; i < n["again"]; i++) # a median of five, by insertion
                for (j = i; j > 1 && at["again", j] < at["again", j - 1]; j--) {
                    x = at["again", j]; at["again", j] = at["again", j - 1]; at["again", j - 1] = x
                }
            warm = at["again", int(n["again"] / 2)]; cold = at["again", 0]; ncu = at["runs", 1]
            printf "%-22s %8.2f %8.2f %8.3f %5.1fx %5.1fx  %d of %d;%s\n", name, ncu, cold, warm, ncu / cold, ncu / warm, good, all, rest
        }' "$work/json"
        [ -z "${KEEP:-}" ] || cp "$work/json" "$KEEP/ncu-$name.json"
    done
}
if [ "${1:-}" = --ncu ]; then
    shift
    [ $# -gt 0 ] || set -- softmax reduction gemm layernorm transpose
    beside_ncu "$@"
    exit
fi

programs=("$@")
if [ $# = 0 ]; then
    while read -r number _; do
        programs+=("$number-0" "$number-1")
    done <"$here/expected.txt"
fi
right=0 sick=0 still=0 healthy=0
printf '%-8s %-11s %-8s %s\n' program expected result 'first (gain, severity, tool); kernel time'
for name in "${programs[@]}"; do
    number=${name%-*} twin=${name#*-}
    expected=$(sed -n "s/^$number //p" "$here/expected.txt")
    nvcc -O3 -lineinfo -gencode "arch=compute_$arch,code=sm_$arch" -DTWIN="$twin" -o "$work/program" "$here/$number.cu" 2>/dev/null || {
        echo "$name does not compile"
        continue
    }
    "$hone" profile --json -- "$work/program" >"$work/json" 2>/dev/null || {
        echo "$name: hone profile failed"
        continue
    }
    found=$(first "$work/json")
    if [ "$twin" = 0 ]; then
        sick=$((sick + 1)) result=wrong
        case " $found " in *" $expected "*) right=$((right + 1)) result=right ;; esac
    else
        healthy=$((healthy + 1)) result=loud
        grep -q '"severity": "high"' "$work/json" || still=$((still + 1)) result=still
    fi
    printf '%-8s %-11s %-8s %s; %s us\n' "$name" "$expected" "$result" "$found" "$(time_us "$work/json")"
done
echo "the right tool first: $right of $sick; nothing of high severity on the healthy: $still of $healthy"
