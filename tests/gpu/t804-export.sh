#!/bin/sh
# An exported directory builds with nvcc and checks itself on the card, and the check can fail.
. "$(dirname "$0")/lib.sh"
NVCC=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$NVCC" ] || skip "no nvcc"

for problem in "softmax M=512,N=1000" "gelu M=300,N=700" "gemm M=256,N=320,K=192"; do
    # shellcheck disable=SC2086
    set -- $problem
    "$HONE" optimize "$ROOT/problems/$1.hone" --target cuda --dim "$2" --evals 4 >out 2>&1 ||
        fail "optimize $1: $(cat out)"
    expect_match 0 "^    int $1\(const float .*cudaStream_t stream\)" "$HONE" export last -o "$1"
    env -i PATH=/usr/bin:/bin NVCC="$NVCC" make -s -C "$1" >out 2>&1 || fail "make $1: $(cat out)"
    [ ! -s out ] || fail "make $1 warned: $(cat out)"
    expect_match 0 '^ok$' "./$1/check"
    grep -q '"hone.proof/1"' "$1/PROOF.json" || fail "$1: no proof"
done

# Kernels that need more than a grid: the store is made by hand, the kernels run on the card.
# Tensor maps and clusters begin with sm_90.
arch=$(gpu_arch)
case $arch in
sm_80) sources='softmax_much_shared softmax_mixed_shared' ;;
sm_90a | sm_100a) sources='softmax_tensormap softmax_cluster softmax_much_shared softmax_mixed_shared' ;;
*) echo "not run: no store can be made for '$arch'" && sources= ;;
esac
for source in $sources; do
    "$(dirname "$HONE")/gpu-run" runs.db "$ROOT/problems/softmax.hone" M=64,N=256 "$arch" \
        "$ROOT/tests/exploits/device/honest/$source.cu" || fail "$source"
    expect_match 0 'int softmax' "$HONE" export --store runs.db -o "$source"
    make -s -C "$source" NVCC="$NVCC" || fail "make $source"
    expect_match 0 '^ok$' "./$source/check"
done

# A kernel that computes something else is found out.
cp -r softmax spoiled
sed -i 's/hone_exp\([0-9]\)(/hone_abs\1(/g' spoiled/kernel.cu
make -s -C spoiled NVCC="$NVCC" || fail 'spoiled does not build'
expect_match 1 '^WRONG$' ./spoiled/check
