#!/bin/sh
# The champion of a GPU, exported where there is none: the host function and the check run over a
# runtime made for tests, kernels on fibres; nvcc builds the same directory where it is installed.
. "$(dirname "$0")/lib.sh"
RUN=$(dirname "$HONE")/gpu-run
FAKE=$ROOT/tests/fake/cudart
DEVICE=$ROOT/tests/exploits/device/honest

# fake DIR [FLAG]: DIR/fake is its check over the runtime for tests.
fake() {
    sed -n 's/^#pragma hone launch \([A-Za-z_0-9]*\) .*args(\(.*\)).*/\1 \2/p
            s/^HONE_KERNEL([0-9]*) \([A-Za-z_0-9]*_fill_[0-9]*\)(.*/\1 to/p
            s/^HONE_KERNEL([0-9]*) \(check_draw_[0-9]*\)(.*/\1 to/p' "$1/kernel.cu" "$1/draw.cu" |
        awk -v any="$([ ! -e "$1/kernel_any.cu" ] || echo 1)" '!seen[$1]++ { print "KERNEL(" $1 ", " NF - 1 ")"
            if (any && !/_fill_|check_draw/) print "KERNEL(" $1 "_any, " NF - 1 ")" }' >"$1/kernels.h"
    host=$(sed -n 's/^NAME = //p' "$1/Makefile")
    cc -std=gnu17 -Wall -Wextra -Werror -c -I "$FAKE" -o "$1/host.o" "$1/$host.c" || fail "$1: host"
    cc -std=gnu17 -Wall -Wextra -Werror -c -I "$FAKE" -o "$1/check.o" "$1/check.c" || fail "$1: check"
    # Checked as some systems' compilers do by themselves: fibres must not be taken for a stack gone wrong.
    cc -std=gnu17 -O1 -w -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -ffp-contract=off -DHONE_DEV_CPU "${2:--DFAKE_RUN}" -I "$1" -I "$FAKE" \
        -I "$ROOT/runtime" -o "$1/fake" "$FAKE/cudart.c" "$1/host.o" "$1/check.o" -lm ||
        fail "$1: kernels"
}

# The directory as somebody with a CUDA toolkit builds it.
NVCC=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$NVCC" ] || echo "not built with nvcc, which is not here"
with_nvcc() {
    [ -x "$NVCC" ] || return 0
    env -i PATH=/usr/bin:/bin NVCC="$NVCC" ARCH=sm_75 make -s -j2 -C "$1" >out 2>&1 || fail "make $1: $(cat out)"
    [ ! -s out ] || fail "make $1 warned: $(cat out)"
    [ -x "$1/check" ] || fail "$1: no check"
}

cat >total.hone <<'P'
problem total
dim M = 3, N = 100000
in  x : f32[M, N] ~ normal
out workspace : f32[M]
workspace = sum(x, axis=1)
P
n=0
for problem in "$ROOT/problems/softmax.hone M=6,N=100" "$ROOT/problems/gelu.hone M=4,N=72" \
    "$ROOT/problems/gemm.hone M=32,N=48,K=40" "total.hone M=3"; do
    for arch in sm_80 sm_90a sm_100a; do
        # shellcheck disable=SC2086
        "$RUN" runs.db $problem $arch || fail "$problem $arch"
        n=$((n + 1))
        name=$(basename "${problem%%.hone*}")
        expect_match 0 "^    int $name\(const float .*, void \*workspace_?, cudaStream_t stream\);" \
            "$HONE" export --store runs.db -o "$name-$arch"
        grep -q "^ARCH = $arch\$" "$name-$arch/Makefile" || fail "$name: not for $arch"
        [ $arch = sm_90a ] || continue
        fake "$name-$arch"
        for seed in 1 2 3; do
            expect_match 0 '^ok$' env FAKE_SEED=$seed "$name-$arch/fake"
        done
        expect_match 0 '^[a-z]+: [0-9]+ of [0-9]+ sampled elements right' "$name-$arch/fake"
        # Arrays that are not aligned take another kernel, or, fed by the copy engine, are refused.
        if [ -e "$name-$arch/kernel_any.cu" ]; then
            expect_match 0 '^ok$' env FAKE_SHIFT=4 "$name-$arch/fake"
        else
            expect_match 2 'error 716' env FAKE_SHIFT=4 "$name-$arch/fake"
        fi
        valid proof cat "$name-$arch/PROOF.json"
        [ "$name" != gemm ] || with_nvcc "$name-$arch"
    done
done
[ -e softmax-sm_90a/kernel_any.cu ] || fail 'no kernel for other alignments'
[ -e softmax-sm_90a/dev.h ] || fail 'no dev.h'
[ ! -e softmax-sm_90a/hone_math.h ] || fail "the CPU's header"
grep -q '"NVRTC \|"compiler": null' softmax-sm_90a/PROOF.json || fail 'which compiler?'

# Instructions that only sm_90a has.
printf 'problem hgemm\ndim N = 512\nin a : f16[N, N]\nin b : f16[N, N]\nout c : f16[N, N]\nc = a @ b\n' >hgemm.hone
"$RUN" runs.db hgemm.hone N=512 sm_90a
expect_match 0 'int hgemm' "$HONE" export --store runs.db -o hgemm
grep -q 'gemm as wgmma' hgemm/kernel.cu || fail 'no wgmma'
with_nvcc hgemm

# A kernel that computes something else is found out, and a block that is not launched.
cp -r softmax-sm_90a spoiled
sed -i 's/y_exp \/ y_sum/y_exp * y_sum/' spoiled/kernel.cu
fake spoiled
expect_match 1 '^WRONG$' spoiled/fake
cp -r softmax-sm_90a fewer
sed -i 's/\.gridDim = {[0-9]*/.gridDim = {1/' fewer/softmax.c
fake fewer
expect_match 1 '^WRONG$' fewer/fake

# Whatever call fails, its code is said.
for call in cudaMalloc cudaMemset cudaMemcpy cudaLaunchKernelExC cudaDeviceSynchronize cudaFree; do
    expect_match 2 ': something failed \(error 999\)$' env FAKE_FAIL=$call softmax-sm_90a/fake
done

# Fills with a number are kernels of their own; scratch is in the workspace.
cat >twice.cu <<'C'
#include "dev.h"
#pragma hone scratch zero f32[M] = 0
#pragma hone scratch half f32[300, M]
#pragma hone fill half 0.5
#pragma hone fill workspace 0
#pragma hone launch sums grid(M) block(32) args(x, zero, half, workspace)
HONE_KERNEL(32) sums(const float *x, float *zero, const float *half, float *y) {
    float sum = 0;
    for (int i = hone_thread(); i < N; i += 32)
        sum += x[hone_block() * N + i] * (half[i % 300 * M] + half[300 * M - 1]);
    sum = hone_warp_sum(sum);
    if (hone_thread() == 0)
        y[hone_block()] += sum + zero[hone_block()];
}
C
"$RUN" runs.db total.hone N=700 sm_90a twice.cu
expect_match 0 'int total' "$HONE" export --store runs.db -o twice
fake twice
expect_match 0 '^ok$' twice/fake

sed -i 's/0x1p-1f/0x1p-2f/' twice/kernel.cu
fake twice
expect_match 1 '^WRONG$' twice/fake

# Everything that a plan can have. The source is only launched, not run.
cat >all.cu <<'C'
#pragma hone scratch zeros f32[M] = 0
#pragma hone scratch ones f32[M, 3]
#pragma hone tensormap xa = x dims(N, M) strides(4*N) box(32, 2) swizzle(128) promote(256) oob nan
#pragma hone tensormap line = y dims(M*N) box(64)
#pragma hone fill ones 1.5
#pragma hone fill y 0
#pragma hone launch rows grid(M, 2) block(32, 2) shared(100000) cluster(1, 2, 1) args(xa, line, zeros)
#pragma hone launch rows grid(16*M) block(32) shared(2000) cluster(16) programmatic args(xa, line, zeros)
#pragma hone launch sums grid(M) block(64) cooperative args(x, ones, y)
struct __align__(64) tensormap {
    unsigned long long words[16];
};
extern "C" __global__ void rows(const __grid_constant__ tensormap a, const __grid_constant__ tensormap b,
                                float *zeros) {
    zeros[0] = (float)a.words[0] + (float)b.words[0];
}
extern "C" __global__ void sums(const float *x, float *ones, float *y) {
    y[0] = x[0] + ones[0];
}
C
"$RUN" runs.db "$ROOT/problems/softmax.hone" M=4,N=64 sm_90a all.cu
expect_match 0 'int softmax' "$HONE" export --store runs.db -o all
fake all -DFAKE_RECORD
expect_match 1 '^WRONG$' all/fake
printf '%s\n' "$got" | sed '/^y/,$d; /: drawing /d' >recorded
cat >expected <<'T'
check_draw_0: grid 1 1 1, block 256 1 1, shared 0, 1 arguments
map: type 7, interleave 0, swizzle 3, promotion 3, outside 1; 64 by 32 step 1 4 by 2 step 1 stride 256
map: type 7, interleave 0, swizzle 0, promotion 0, outside 0; 256 by 64 step 1
fill 16 bytes with 0
softmax_fill_0: grid 1 1 1, block 256 1 1, shared 0, 1 arguments
fill 1024 bytes with 0
rows: attribute 8 is 100000
rows: grid 4 2 1, block 32 2 1, shared 100000, cluster 1 2 1, 3 arguments
rows: attribute 8 is 2000
rows: attribute 13 is 1
rows: grid 64 1 1, block 32 1 1, shared 2000, cluster 16 1 1, programmatic 1, 3 arguments
sums: grid 4 1 1, block 64 1 1, shared 0, cooperative 1, 3 arguments
T
diff expected recorded || fail 'other calls'
expect_match 0 'return 512;' grep -A1 '^size_t softmax_workspace_bytes' all/softmax.c
expect_match 2 '^softmax: invalid argument \(error 1\)$' env FAKE_FAIL=cuTensorMapEncodeTiled all/fake
expect_match 2 '\(error 999\)$' env FAKE_FAIL=cudaGetDriverEntryPointByVersion all/fake
expect_match 2 '\(error 500\)$' env FAKE_FAIL=found all/fake
expect_match 2 '\(error 999\)$' env FAKE_FAIL=cudaFuncSetAttribute all/fake
expect_match 2 '\(error 999\)$' env FAKE_FAIL=cudaMemsetAsync all/fake
with_nvcc all
expect_match 2 'error 716' env FAKE_SHIFT=8 all/fake
for source in softmax_tensormap softmax_cluster; do
    "$RUN" runs.db "$ROOT/problems/softmax.hone" M=4,N=256 sm_90a "$DEVICE/$source.cu"
    expect_match 0 'int softmax' "$HONE" export --store runs.db -o $source
    with_nvcc $source
done

# A plan that counts multiprocessors needs the GPU it was made on.
sed 's/grid(M) block(64)/grid(SMS) block(64)/' all.cu >counts.cu
"$RUN" runs.db "$ROOT/problems/softmax.hone" M=4,N=64 sm_90a counts.cu
expect_match 3 'was made on no GPU, which is not here, .*; hone show [0-9]*.0 --source prints' \
    "$HONE" export --store runs.db -o counts
