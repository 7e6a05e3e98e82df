#!/bin/bash
# gpu_findings.sh HONE --ncu [PROBLEM...]: the default kernel of each problem (default: five) counted by
# `ncu --set full` and by us, in a process that stays: seconds of both, with the start of the process
# (cold) and without (warm, median of 5), and how many counters are within 2% of each other.
# gpu_findings.sh HONE [PROGRAM...]: does `hone profile` name the fault of programs that have one, and keep
# still about their twins? Needs a card and nvcc; about 2 s for each of the programs of
# tests/gpu/pathologies. PROGRAM is "07-0" for the sick one of pair 07, "07-1" for its twin. KEEP=DIR keeps
# what was measured as DIR/PROGRAM.json; PROGRAMS=DIR has programs that are compiled already.
# gpu_findings.sh HONE --again DIR [PROGRAM...]: the same of what was kept, by the tools as they are now; no card.
set -u
hone=$1
shift
here=$(cd "$(dirname "$0")/.." && pwd)/tests/gpu/pathologies
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# first FILE: what stands first, "tool severity gain".
first() {
    sed -n '/"first": {/,/}/{s/.*"\(tool\|severity\|gain\)": "\{0,1\}\([a-z0-9.e+]*\).*/\2/p;/}/q}' "$1" | tr '\n' ' '
}
gain() {
    first "$1" | cut -d' ' -f3
}
# time_us FILE same|span: of all launches of all kernels, or from the first to the last.
time_us() {
    awk -F'[:,]' -v what="$2" '
    /"metrics": [{]/ { n++ } n && /"time_s": / { time_s[n] = $2 } n && /"calls": / { calls[n] = $2 }
    /"span_s": / { span_s = $2 }
    END {
        for (i = 1; i <= n; i++) sum += time_s[i] * (calls[i] ? calls[i] : 1)
        printf "%.1f", 1e6 * (what == "span" ? span_s : sum)
    }' "$1"
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
again=
[ "${1:-}" != --again ] || {
    again=$2
    shift 2
}
[ -n "$again" ] || nvidia-smi >/dev/null 2>&1 || {
    echo "skipped: no GPU"
    exit 0
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

# compiled NAME: the path of its program, compiled where it is not yet.
compiled() {
    local arch=90a
    [ ! -x "${PROGRAMS:-/nowhere}/$1" ] || {
        echo "$PROGRAMS/$1"
        return
    }
    arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
    # What four warps multiply together is compiled for one card only.
    [ "$arch" != 90 ] || arch=90a
    nvcc -O3 -lineinfo -gencode "arch=compute_$arch,code=sm_$arch" -DTWIN="${1#*-}" -o "$work/program" "$here/${1%-*}.cu" 2>/dev/null &&
        echo "$work/program"
}
# measure NAME: its profile to $work/json, of now or of then.
measure() {
    local program
    if [ -n "$again" ]; then
        "$hone" diagnose --json "$again/$1.json" >"$work/json" 2>/dev/null
        return
    fi
    program=$(compiled "$1") || return
    "$hone" profile --json -- "$program" >"$work/json" 2>/dev/null || return
    [ -z "${KEEP:-}" ] || cp "$work/json" "$KEEP/$1.json"
}

right=0 sick=0 still=0 healthy=0 half=0 pairs=0
printf '%-8s %-11s %-8s %s\n' program expected result 'first (tool, severity, gain); time of all kernels'
for name in "${programs[@]}"; do
    number=${name%-*} twin=${name#*-}
    read -r _ expected same <<<"$(grep "^$number " "$here/expected.txt")"
    measure "$name" || {
        echo "$name: not measured"
        continue
    }
    found=$(first "$work/json") took=$(time_us "$work/json" "${same:-same}") result=
    if [ "$twin" = 0 ]; then
        sick=$((sick + 1)) result=wrong before=$took promised=$(gain "$work/json")
        case " $found " in *" $expected "*) right=$((right + 1)) result=right ;; esac
    else
        healthy=$((healthy + 1)) result=loud
        grep -q '"severity": "high"' "$work/json" || still=$((still + 1)) result=still
    fi
    printf '%-8s %-11s %-8s %s; %s us' "$name" "$expected" "$result" "$found" "$took"
    if [ "$twin" = 1 ] && [ -n "${same:-}" ] && [ -n "${before:-}" ]; then
        pairs=$((pairs + 1))
        came=$(awk -v a="$before" -v b="$took" 'BEGIN { printf "%.2f", a / b }')
        enough=$(awk -v p="$promised" -v c="$came" 'BEGIN { print (c >= 1 + (p - 1) / 2) }')
        half=$((half + enough))
        printf '; the sick one took %s times as long, expected %.2f%s' "$came" "$promised" "$([ "$enough" = 1 ] || echo ': less than half came')"
    fi
    [ "$twin" = 0 ] || before=
    echo
done
echo "the right tool first: $right of $sick; nothing of high severity on the healthy: $still of $healthy;"
echo "at least half of the expected gain: $half of $pairs pairs that do the same work"
