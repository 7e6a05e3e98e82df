#!/bin/bash
# gpu_eyes.sh HONE [PROGRAM...]: does `hone profile` name the fault of programs that have one, and keep
# still about their twins? Needs a card and nvcc; about 3 s for each of the programs of
# tests/gpu/pathologies. PROGRAM is "07-0" for the sick one of pair 07, "07-1" for its twin.
set -u
hone=$1
shift
here=$(cd "$(dirname "$0")/.." && pwd)/tests/gpu/pathologies
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
major=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)

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
    nvcc -O3 -lineinfo -arch="sm_$major" -DTWIN="$twin" -o "$work/program" "$here/$number.cu" 2>/dev/null || {
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
