#!/bin/sh
# Can the judge of a GPU be believed? Appends to docs/results/h200-control.md:
#   aa          equal kernels called different, 1000 trials on three problems of 8 to 260 us
#   resolution  what difference can be told in 1 and 5 s
#   restart     from the loss of a runner to the first call after it
# Usage: bench/gpu_control.sh [aa|resolution|restart|all]; all of it takes about five minutes.
. "$(dirname "$0")/gpu_lib.sh"
what=${1:-all}
FILE=${RESULTS:-$ROOT/docs/results/h200-control.md}
rows "$FILE" 'The judge of a GPU, controlled'

# A kernel beside itself, TRIALS times.
aa() { # TRIALS PROBLEM DIMS
    command="hone eval problems/$2.hone default --target cuda --dim $3 --aa $1 --seconds 0.1"
    "$HONE" eval "$ROOT/problems/$2.hone" default --target cuda --dim "$3" --aa "$1" --seconds 0.1 >aa
    row "$FILE" "$command" "$(tr '\n' ';' <aa | sed 's/;$//; s/;/; /g')"
    # "N comparisons of ...: called faster A times, slower B times"
    sed -n 's/^\([0-9]*\) comparisons.* faster \([0-9]*\) times, slower \([0-9]*\) times.*/\1 \2 \3/p' aa >>counts
}
run_aa() {
    : >counts
    aa "${TRIALS_SMALL:-400}" softmax M=512,N=4096
    aa "${TRIALS_SMALL:-400}" gelu M=2048,N=4096
    aa "${TRIALS_LARGE:-200}" softmax M=32768,N=4096
    row "$FILE" "bench/gpu_control.sh aa" "$(awk '{ n += $1; k += $2 + $3 }
        END { printf "%d of %d trials called different (promised: at most 1%%)", k, n }' counts)"
}

run_resolution() {
    "$HONE" doctor --target cuda --measure 5 >doctor || true
    row "$FILE" "hone doctor --target cuda --measure 5" "$(sed -n 's/^resolves *//p' doctor)"
}

run_restart() {
    plan='#pragma hone launch f grid(1) block(32) args(x, y)'
    printf '%s\nextern "C" __global__ void f(const float *x, float *y) { *(volatile float *)16 = x[0]; y[0] = 0; }\n' "$plan" >crash.cu
    printf '%s\nextern "C" __global__ void f(const float *x, float *y) { while (*(volatile const float *)x < 1e30f) ; y[0] = 0; }\n' "$plan" >endless.cu
    for rival in plain default; do
        "$HONE" eval "$ROOT/problems/softmax.hone" crash.cu default endless.cu default --target cuda \
            --dim M=512,N=4096 --rival $rival --screen >verdicts || true
        row "$FILE" "hone eval problems/softmax.hone crash.cu default endless.cu default --target cuda --dim M=512,N=4096 --rival $rival --screen" \
            "$(grep -E '^(crash|endless|default)[^:]*: ' verdicts | tr '\n' ',' | sed 's/,$//'); restart $(sed -n 's/^  restart *\(.*\) from.*/\1/p' verdicts | tr '\n' ',' | sed 's/,$//; s/,/, /g') (after a crash, after a kernel that never ends; promised: under 1 s)"
    done
}

case $what in
aa | resolution | restart) "run_$what" ;;
all)
    run_aa
    run_resolution
    run_restart
    ;;
*)
    echo "usage: bench/gpu_control.sh [aa|resolution|restart|all]" >&2
    exit 2
    ;;
esac
