#!/bin/sh
# bench/gpu_control.sh HONE [aa|resolution|restart|all]: can the judge of a GPU be believed? Appends
# to docs/results/h200-control.md:
#   aa          equal kernels called different, 1000 trials on three problems of 8 to 260 us
#   resolution  what difference is resolved in 1 and 5 s
#   restart     from the loss of a runner to the first call after it
# All of it takes about five minutes.
set -eu
hone=${1:-build/hone}
part=${2:-all}
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"

# A kernel against itself, so many times.
trials() { # TRIALS PROBLEM DIMS
    "$hone" eval "$root/problems/$2.hone" default --target cuda --dim "$3" --aa "$1" --seconds 0.1 >trials
    row "a kernel against itself, $2 $3" \
        "\`hone eval problems/$2.hone default --target cuda --dim $3 --aa $1 --seconds 0.1\`" \
        "$(tr '\n' ';' <trials | sed 's/;$//; s/;/; /g')"
    sed -n 's/^\([0-9]*\) comparisons.* faster \([0-9]*\) times, slower \([0-9]*\) times.*/\1 \2 \3/p' trials >>counts
}

aa() {
    : >counts
    trials "${TRIALS_SMALL:-400}" softmax M=512,N=4096
    trials "${TRIALS_SMALL:-400}" gelu M=2048,N=4096
    trials "${TRIALS_LARGE:-200}" softmax M=32768,N=4096
    row "equal kernels called different (promised: at most 1%)" "\`bench/gpu_control.sh build/hone aa\`" \
        "$(awk '{ n += $1; k += $2 + $3 } END { printf "%d of %d", k, n }' counts)"
}

resolution() {
    "$hone" doctor --target cuda --measure 5 >parts || true
    row "what difference is resolved" "\`hone doctor --target cuda --measure 5\`" \
        "$(sed -n 's/^resolves *//p' parts)"
}

restart() {
    plan='#pragma hone launch f grid(1) block(32) args(x, y)'
    head='extern "C" __global__ void f(const float *x, float *y)'
    printf '%s\n%s { *(volatile float *)16 = x[0]; y[0] = 0; }\n' "$plan" "$head" >crash.cu
    printf '%s\n%s { while (*(volatile const float *)x < 1e30f) ; y[0] = 0; }\n' "$plan" "$head" >endless.cu
    for baseline in plain default; do
        "$hone" eval "$root/problems/softmax.hone" crash.cu default endless.cu default --target cuda \
            --dim M=512,N=4096 --baseline $baseline --screen >verdicts || true
        row "from the loss of a runner to the first call after it (promised: under 1 s)" \
            "\`hone eval problems/softmax.hone crash.cu default endless.cu default --target cuda --dim M=512,N=4096 --baseline $baseline --screen\`" \
            "$(sed -n 's/^  restart *\(.*\) from.*/\1/p' verdicts | tr '\n' ',' | sed 's/,$//; s/,/, /g'); $(
                grep -E '^(crash|endless|default)[^:]*: ' verdicts | tr '\n' ',' | sed 's/,$//; s/,/, /g'
            )"
    done
}

case $part in
aa | resolution | restart) $part ;;
all)
    aa
    resolution
    restart
    ;;
*)
    echo "usage: bench/gpu_control.sh HONE [aa|resolution|restart|all]" >&2
    exit 2
    ;;
esac
