#!/bin/sh
# cpu_findings.sh HONE [NUMBER...]: do the tools for a CPU name the fault of kernels that have one, and keep
# still about their twins? Judges the pairs of tests/cpu/pathologies as any candidate, after
# calibrating (CALIBRATED=yes: ceilings in XDG_CACHE_HOME hold); screened, two to ten seconds each. What is in the code shows on a machine that does something
# else as well; what threads do to one another, and gains, only on one that does not: these are left
# out where the processors that it may use (taskset) are busy with something else, unless QUIET=yes says that
# the caller has seen to it (by priority, say). KEEP=DIR keeps what was said of each as DIR/NN-T.json.
set -u
hone=$(realpath "$1")
shift
here=$(cd "$(dirname "$0")/.." && pwd)/tests/cpu/pathologies
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HONE_MEMORY_PATH=off HONE_TARGET=cpu
[ -n "${XDG_CACHE_HOME:-}" ] || export XDG_CACHE_HOME="$work/cache"
for threads in 1 "$(nproc)"; do
    [ -z "${CALIBRATED:-}" ] || break
    HONE_RUN_THREADS=$threads "$hone" calibrate --target cpu >/dev/null || exit 1
done
if [ $# = 0 ]; then
    # shellcheck disable=SC2046 # numbers, one word each
    set -- $(cut -d" " -f1 "$here/expected.txt")
fi

# field KEY: of the first finding of the document.
field() {
    sed -n '/"findings": \[/,/^  \]/p' "$work/json" | sed -n "s/^      \"$1\": \"*\([^\",]*\)\"*,*$/\1/p" | head -n 1
}
time_us() {
    awk -F'[:,]' '/"median_s"/ { printf "%.1f", $2 * 1e6; exit }' "$work/json"
}
# busy: jiffies that the processors which we may use were busy, and all of theirs.
busy() {
    awk -v list="$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)" '
    BEGIN {
        n = split(list, part, ",")
        for (i = 1; i <= n; i++) {
            m = split(part[i], end, "-")
            for (k = end[1]; k <= end[m]; k++) ours["cpu" k] = 1
        }
    }
    $1 in ours { for (i = 2; i <= 9; i++) all += $i; idle += $5 + $6 }
    END { print all - idle, all }' /proc/stat
}
# Is nobody else at work? Nine tenths of a second must be idle.
is_quiet() {
    [ "${QUIET:-}" != yes ] || return 0
    before_busy=$(busy)
    sleep 1
    echo "$before_busy $(busy)" | awk '{ exit !($3 - $1 < 0.1 * ($4 - $2)) }'
}
# As wide as this machine's vectors.
lanes=8
grep -q avx512f /proc/cpuinfo && lanes=16
# widened FILE: the path of the candidate for vectors of this machine. Files are for 32 bytes, 8 lanes; a pair
# that is about the width of vectors has the sick one at half of that.
widened() {
    case $1 in
    *.hone) sed "s/vec 16/vec $lanes/" "$1" >"$work/candidate.hone" && echo "$work/candidate.hone" ;;
    */06-* | */26-*) echo "$1" ;; # its gathers are instructions for 8 lanes
    *) if [ $lanes = 8 ]; then echo "$1"; else
        sed 's/vector_size(32)/vector_size(64)/; s/LANES = 8/LANES = 16/; s,N / 64,N / 128,; s,N / 16,N / 32,; s/j += 8)/j += 16)/
             s/vector_size(16)/vector_size(32)/; s/LANES = 4/LANES = 8/; s,N / 8),N / 16),' "$1" >"$work/candidate.c" && echo "$work/candidate.c"
    fi ;;
    esac
}
# A processor that adds in parallel to its products loses nothing by doing both apart: such a pair has no fault there.
fuse_gain=$(sed -n 's/.*"fuse_gain": \([0-9.]*\).*/\1/p' "$XDG_CACHE_HOME"/hone/ceilings/*.json 2>/dev/null | head -n 1)
has_no_fault() {
    [ "$1" = fused ] && awk -v gain="${fuse_gain:-2}" 'BEGIN { exit !(gain < 1.15) }'
}
# What was counted so far, then from the beginning.
right=0 sick=0 still=0 healthy=0 half=0 gains=0
totals() {
    [ $((sick + healthy)) = 0 ] || {
        echo "$1: the right tool first: $right of $sick; nothing of high severity on the healthy: $still of $healthy;"
        echo "at least half of the expected gain came: $half of $gains pairs that were timed on a quiet machine"
    }
    right=0 sick=0 still=0 healthy=0 half=0 gains=0
}
group='pairs that the tools were written with'
printf '%-5s %-9s %-7s %-9s %-7s %8s %10s\n' pair expected result first severity gain 'time us'
for number in "$@"; do
    if [ "$number" -gt 20 ] && [ "$group" != 'held out' ]; then
        totals "$group"
        group='held out'
    fi
    expected=$(sed -n "s/^$number \([^ ]*\) .*/\1/p" "$here/expected.txt")
    if has_no_fault "$expected"; then
        echo "$number    $expected: no fault here, products and sums apart take $fuse_gain times as long"
        continue
    fi
    for twin in 0 1; do
        problem=$(sed -n "s/^$number [^ ]* \([^ ]*\) \([^ ]*\)$/\\$((twin + 1))/p" "$here/expected.txt")
        candidate=$(echo "$here/$number-$twin".*)
        candidate=$(widened "$candidate")
        # What is in the code shows with one thread, whatever else the machine does meanwhile.
        case $expected in idle | sharing) threads=$(nproc) ;; *) threads=1 ;; esac
        case $expected in idle | sharing) is_quiet || {
            echo "$number-$twin $expected: left out, others use the processors"
            continue
        } ;; esac
        HONE_RUN_THREADS=$threads "$hone" eval --screen --json "$here/$problem.hone" "$candidate" >"$work/json" 2>"$work/err" || {
            echo "$number-$twin: $(sed -n 's/.*"evidence": //p' "$work/json" | head -n 1) $(tail -n 1 "$work/err")"
            continue
        }
        [ -z "${KEEP:-}" ] || cp "$work/json" "$KEEP/$number-$twin.json"
        tool=$(field tool) severity=$(field severity) gain=$(field expected_gain)
        if [ $twin = 0 ]; then
            sick=$((sick + 1)) result=wrong before=$(time_us) promised=$gain
            [ "$tool" != "$expected" ] || { right=$((right + 1)) result=right; }
        else
            healthy=$((healthy + 1)) result=loud
            grep -q '"severity": "high"' "$work/json" || { still=$((still + 1)) result=still; }
        fi
        printf '%-5s %-9s %-7s %-9s %-7s %8.6s %10s\n' "$number-$twin" "$expected" "$result" "$tool" "$severity" "$gain" "$(time_us)"
    done
    [ -n "${before:-}" ] || continue
    is_quiet || {
        before=
        continue
    }
    gains=$((gains + 1))
    came=$(awk -v a="$before" -v b="$(time_us)" 'BEGIN { printf "%.2f", a / b }')
    half=$((half + $(awk -v p="$promised" -v c="$came" 'BEGIN { print (p + 0 <= 1 || c >= 1 + (p - 1) / 2) }')))
    echo "$number    the sick one took $came times as long, expected ${promised:-nothing}"
    before=
done
totals "$group"
