#!/bin/sh
# bench/gpu_verdicts.sh HONE: verdicts a minute on a GPU (compile, verify at full size, time) against
# KernelBench's own evaluation function on the same kernels; appends to docs/results/h200-verdicts.md.
# KERNELBENCH names a checkout of KernelBench; without it that part is said to be absent. Every copy
# of a kernel is new to every cache. Ends within six minutes.
set -eu
hone=$1
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"
arch=$(gpu_field isa)
copies=${COPIES:-9}
jobs=${JOBS:-24}

# fresh NAME I: a copy that nobody has compiled.
fresh() {
    { cat "$root/bench/kernels/$1.cu"; echo "// copy $2 of $(date +%s%N)"; } >"$1-$2.cu"
}
now_ns() {
    date +%s%N
}
seconds() {
    awk -v ns=$(($(now_ns) - $1)) 'BEGIN { printf "%.3f\n", ns / 1e9 }'
}

# Ceilings once, so that no verdict pays for them.
"$hone" sol "$root/problems/softmax.hone" --target cuda --dim M=4096,N=4096 >/dev/null

for name in softmax gelu; do
    i=0
    while [ $i -lt "$copies" ]; do
        fresh $name $i
        begin=$(now_ns)
        "$hone" eval "$root/problems/$name.hone" $name-$i.cu --target cuda --dim M=4096,N=4096 \
            --baseline default >$name-$i.txt || {
            cat $name-$i.txt
            exit 1
        }
        seconds "$begin"
        i=$((i + 1))
    done | sort -n >$name.cold
    median=$(sed -n "$(((copies + 1) / 2))p" $name.cold)
    row "one verdict, $name 4096 x 4096, from the command to the answer" \
        "\`hone eval problems/$name.hone K.cu --target cuda --dim M=4096,N=4096 --baseline default\`, $copies new kernels" \
        "median $median s ($(head -n 1 $name.cold) to $(tail -n 1 $name.cold))"

    # Warm: one worker drains a folder of jobs.
    i=0
    while [ $i -lt "$jobs" ]; do
        fresh $name w$i
        "$hone" eval "$root/problems/$name.hone" $name-w$i.cu --target "$arch" \
            --dim M=4096,N=4096 --baseline default --spool "$work/spool-$name" --detach >/dev/null
        i=$((i + 1))
    done
    begin=$(now_ns)
    "$hone" worker --spool "$work/spool-$name" --once --target cuda >$name-worker.txt
    each=$(seconds "$begin" | awk -v n="$jobs" '{ printf "%.3f", $1 / n }')
    row "verdicts a minute, $name 4096 x 4096, one worker" \
        "\`hone worker --spool DIR --once --target cuda\`, $jobs new kernels" \
        "$(awk -v s="$each" 'BEGIN { printf "%.0f", 60 / s }') ($each s each)"
    echo "$name $each" >>each.txt
done

if [ -z "${KERNELBENCH:-}" ]; then
    row "KernelBench's eval_kernel_against_ref" 'KERNELBENCH is not set' 'absent'
    exit 0
fi
python3 "$root/bridge/kernelbench_eval.py" "$root/bench/kernels" | tee kernelbench.jsonl
# Its own chatter stands between the documents.
sed -n 's/^{"kernel": "\([a-z]*\)", "seconds": \([0-9.]*\), "correct": \([a-z]*\),.*/\1 \2 \3/p' kernelbench.jsonl |
    while read -r name s correct; do
        ours=$(awk -v n="$name" '$1 == n { print $2 }' each.txt)
        row "the same by KernelBench's eval_kernel_against_ref, $name, once" \
            "\`KERNELBENCH=DIR python3 bridge/kernelbench_eval.py bench/kernels\`" \
            "$s s, correct: $correct; hone gives $(awk -v a="$s" -v b="$ours" 'BEGIN { printf "%.0f", a / b }') verdicts in that time"
    done
