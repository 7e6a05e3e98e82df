#!/bin/sh
# bench/language.sh HONE: the figures of docs/results/language.md that a machine can measure: growth
# of parse and check, ceilings against STREAM and OpenBLAS, calibration against itself. Markdown.
set -eu
hone=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$work/cache" HONE_TARGET=cpu
cd "$work"

row() {
    printf '| %s | %s | %s |\n' "$1" "$2" "$3"
}

# chain N: a problem of N statements, each using the one before.
chain() {
    awk -v n="$1" 'BEGIN {
        print "problem p\ndim N = 8\nin x : f32[N]\nout y : f32[N]\nv0 = x + 1"
        for (i = 1; i < n; i++) print "v" i " = v" i - 1 " + x"
        print "y = v" n - 1 }' >"chain$1.hone"
}

# cpu_ms COUNT COMMAND...: processor time of one run in milliseconds, the mean of COUNT.
cpu_ms() {
    count=$1
    shift
    i=0
    # The shell's own times come second in its list, those of its children after them.
    (
        while [ $i -lt "$count" ]; do
            "$@" >/dev/null
            i=$((i + 1))
        done
        times
    ) | tail -n 1 | awk -v n="$count" '{
        for (k = 1; k <= 2; k++) { split($k, t, "m"); sub("s", "", t[2]); sum += t[1] * 60 + t[2] }
        printf "%.3f", sum * 1000 / n }'
}

echo "# Language and bound, measured"
echo
echo "\`bench/language.sh build/hone\` on $(date -u +%F): $("$hone" devices | head -n 1 | sed 's/^cpu *//');" \
    "$(cc --version | head -n 1); hone $("$hone" --version | cut -d' ' -f2)."
echo
echo '| what | measured | aim |'
echo '|---|---|---|'

chain 10
row 'ten statements parsed, checked and inferred: processor time of the whole process, mean of 100' \
    "$(cpu_ms 100 "$hone" check chain10.hone) ms (\`/bin/true\`: $(cpu_ms 100 /bin/true) ms)" 'under 2 ms'
base=$(cpu_ms 100 "$hone" check chain10.hone)
text=''
for n in 1000 10000 100000; do
    chain $n
    ms=$(cpu_ms $((300000 / n)) "$hone" check chain$n.hone)
    text="$text${text:+, }$n: $(awk -v a="$ms" -v b="$base" -v n=$n 'BEGIN { printf "%.2f", (a - b) * 1000 / n }') µs"
done
row 'processor time per statement, problems of N statements' "$text" 'no growth from 10 to 100 000'

cc -O3 -march=native -fopenmp -I"$root/bench" -o stream "$root/bench/peer_stream.c"
cc -O2 -I"$root/bench" -o sgemm "$root/bench/peer_sgemm.c" -ldl
for i in 1 2 3; do
    ./stream >>streams
    ./sgemm >>sgemms
    "$hone" calibrate --json >"ceilings$i.json"
done
# rate FILE KEY N: the N-th number called KEY.
rate() {
    sed -n "s/.*\"$2\": \([-0-9.e+]*\).*/\1/p" "$1" | sed -n "$3p"
}
best() {
    sort -g "$1" | tail -n 1
}
# The rates of the four mixes, by falling share of reads, one to a line.
mixes() {
    awk '/"traffic"/ { inside = 1 } inside && /"bytes_per_s"/ { gsub(/[^0-9.e+]/, "", $2); print $2 }
         inside && /^  \]/ { exit }' "$1"
}
for i in 1 2 3; do
    for k in 1 2 3 4; do
        mixes ceilings$i.json | sed -n "${k}p" >>"traffic$k"
    done
    rate ceilings$i.json f32_flops_per_s 1 >>f32
done
tr ' ' '\n' <streams >both
# shellcheck disable=SC2016
row 'two reads and a write by `hone calibrate`, against the STREAM triad (best of ordinary and streaming stores), best of 3 each, in turns' \
    "$(awk -v a="$(best traffic2)" -v b="$(best both)" 'BEGIN { printf "%.1f and %.1f GB/s: %.3f", a / 1e9, b, a / 1e9 / b }')" \
    'within 5%'
if grep -q absent sgemms; then
    row 'f32 multiply-adds against OpenBLAS sgemm at 2048³' 'OpenBLAS is not installed' 'at least 1'
else
    row 'f32 multiply-adds against OpenBLAS sgemm at 2048³, best of 3 each, in turns' \
        "$(awk -v a="$(best f32)" -v b="$(best sgemms)" 'BEGIN { printf "%.0f and %.0f GFLOP/s: %.3f", a / 1e9, b, a / 1e9 / b }')" \
        'at least 1'
fi
spread() {
    sort -g "$1" | awk '{ v[NR] = $1 } END { printf "%.1f%%", 100 * (v[NR] - v[1]) / v[2] }'
}
row 'three calibrations one after the other, largest less smallest: read, two reads and a write, copy, write, f32' \
    "$(spread traffic1), $(spread traffic2), $(spread traffic3), $(spread traffic4), $(spread f32)" \
    'within 5%, or stated'
row 'a calibration takes' "$(rate ceilings1.json seconds 1 | cut -c1-4) s" '(stated)'
