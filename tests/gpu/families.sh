#!/bin/sh
# families.sh BENCH: emitted kernels on GPU 0, right first, then how fast. BENCH is the program
# kernel-bench; it needs the driver and NVRTC, nothing of this tree but problems/.
#
#   families.sh build/kernel-bench              # about two minutes
#   families.sh build/kernel-bench softmax 6    # climb six rounds on one problem
set -eu
bench=$1 only=${2:-} rounds=${3:-0}
cd "$(dirname "$0")/../.."

status=0
"$bench" problems/softmax.hone --dim M=8,N=8 >/dev/null 2>&1 || status=$?
if [ $status = 3 ]; then
    echo "skipped: no GPU"
    exit 0
fi

# Sizes that divide and sizes that do not, against the reference.
right() {
    "$bench" --check --plain "problems/$1.hone" --dim "$2"
}
fast() {
    "$bench" --plain --climb "$rounds" "problems/$1.hone" --dim "$2"
}

if [ -n "$only" ]; then
    case $only in
    gemm) fast gemm M=4096,N=4096,K=4096 ;;
    *) fast "$only" M=16384,N=8192 ;;
    esac
    exit
fi
right softmax M=1000,N=4096
right softmax M=333,N=1001
right softmax M=40,N=50000
right gelu M=1000,N=4096
right gelu M=333,N=1001
right gemm M=1024,N=1024,K=1024
right gemm M=333,N=257,K=129
right gemm M=128,N=256,K=5000
fast softmax M=16384,N=4096
fast softmax M=16384,N=8192
fast gelu M=16384,N=4096
fast gemm M=4096,N=4096,K=4096
