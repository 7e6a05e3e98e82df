#!/bin/sh
# What a person or a machine can get wrong around a GPU, against a driver that is not there
# (tests/fake): one clear message or verdict each. t207 has what kernels and drivers do wrong.
. "$(dirname "$0")/lib.sh"
mkdir -p cuda
ln -s "$(dirname "$HONE")/fake/lib64" cuda/lib64
toolkit=${CUDA_HOME:-/usr/local/cuda}
export CUDA_HOME="$TMP/cuda"
: >cuda/fault

cat >affine.hone <<'END'
problem affine
dim N = 1000
in x : f32[N] ~ normal
out y : f32[N]
y = x * 2 + 1
END

candidate() { # PLAN [TEXT]
    printf '%s\n%s\nextern "C" __global__ void right(const float *x, float *y) { *y = *x; }\n' "$1" "${2:-}" >right.cu
}
judge() {
    "$HONE" eval affine.hone right.cu --target cuda --verify
}
good='#pragma hone launch right grid(4) block(256) args(x, y)'

candidate "$good"
run judge
case $got in *'no CUDA compiler'*) skip "no NVRTC" ;; esac
expect_match 0 '^right.cu: ok$' judge

# Plans: refused before anything is compiled.
refused() { # PATTERN PLAN
    candidate "$2"
    expect_match 1 "$1" judge
    also '^right.cu: illegal$'
}
refused "plan, line 1: unknown buffer 'nope'" '#pragma hone launch right grid(4) block(256) args(x, nope)'
refused 'a grid of 0 along x; it is from 1 to' '#pragma hone launch right grid(0) block(256) args(x, y)'
refused 'a grid of 0 along y' '#pragma hone launch right grid(1, N - 1000) block(256) args(x, y)'
refused 'a grid of -1 along x' '#pragma hone launch right grid(999 - N) block(256) args(x, y)'
refused 'a grid of 65536 along y; it is from 1 to 65535' '#pragma hone launch right grid(1, 65536) block(256) args(x, y)'
refused 'a grid of 70000 along z; it is from 1 to 65535' '#pragma hone launch right grid(1, 1, 70 * N) block(256) args(x, y)'
refused 'a grid of 2147483648 along x; it is from 1 to 2147483647' '#pragma hone launch right grid(2147483648) block(256) args(x, y)'
refused 'a block of 2048 along x; it is from 1 to 1024' '#pragma hone launch right grid(4) block(2048) args(x, y)'
refused '300000 bytes of shared memory; a block has at most 232448' \
    '#pragma hone launch right grid(4) block(256) shared(300000) args(x, y)'
# The kernel's own 32 bytes count: together they may be more than what needs no asking, not more
# than a block has; one kernel twice, with different amounts, has both.
candidate '#pragma hone launch right grid(4) block(256) shared(49152) args(x, y)'
expect_match 0 '^right.cu: ok$' judge
candidate '#pragma hone launch right grid(4) block(256) shared(100000) args(x, y)
#pragma hone launch right grid(4) block(256) shared(60000) args(x, y)
#pragma hone launch right grid(4) block(256) args(x, y)'
expect_match 0 '^right.cu: ok$' judge
candidate '#pragma hone launch right grid(4) block(256) shared(232448) args(x, y)'
expect_match 1 "'right' declares 32 bytes of shared memory itself and is launched with 232448 more: .*more than a block has" judge
map='#pragma hone launch right grid(4) block(256) args(m, y)'
refused 'box: 300 is not from 1 to 256' "#pragma hone tensormap m = x dims(N) box(300)
$map"
refused "'m' reaches beyond the 4000 bytes of 'x'" "#pragma hone tensormap m = x dims(2*N) box(16)
$map"
refused "unknown buffer 'nope'" "#pragma hone tensormap m = nope dims(N) box(16)
$map"
# One that the driver alone refuses.
candidate "#pragma hone tensormap m = x dims(N) box(16)
$map"
expect_match 1 "parameter 1 of 'right' has 8 bytes; the plan passes 128" judge
# One that it takes, and the same where it does not: the message has the map's name.
mapped() { # TENSORMAP
    printf '%s\n' "$1" '#pragma hone launch mapped grid(4) block(256) args(m, y)' \
        'struct __align__(64) map_t { unsigned long long words[16]; };' \
        'extern "C" __global__ void mapped(const __grid_constant__ map_t m, float *y) { *y = m.words[0]; }' >right.cu
}
mapped '#pragma hone tensormap m = x dims(N) box(16) oob nan'
expect_match 0 '^right.cu: ok$' judge
echo tensormap >cuda/fault
expect_match 1 "tensor map 'm' of 'x': the driver refuses it: .*\(CUDA_ERROR_[A-Z_]+, 1\)" judge
also '^right.cu: illegal$'
: >cuda/fault
refused "plan, line 2: oob nan: 's' holds i32, which has no nan" "#pragma hone scratch s i32[N]
#pragma hone tensormap m = s dims(N) box(16) oob nan
$map"

# Scratch in every slot must fit with the rest: the fake card has 4 GiB left.
candidate '#pragma hone scratch s f32[N, 1000000]
#pragma hone launch right grid(4) block(256) args(x, y)'
expect_match 1 'scratch takes [0-9]+ MiB in [0-9]+ slots; the card has 4096 MiB left' judge
also '^right.cu: limits$'

# Inputs and what is expected of them are kept for the next candidate while there is room, and give
# way to scratch.
candidate '#pragma hone scratch s f32[N]
#pragma hone launch right grid(4) block(256) args(x, y)'
cp right.cu again.cu
echo crowded >cuda/fault
expect_match 0 '^again.cu: ok$' "$HONE" eval affine.hone right.cu again.cu --baseline plain --target cuda --verify
: >cuda/fault

# As many sizes as a problem can have, each a macro of the source.
{
    printf 'problem affine\ndim N = 1000'
    i=1
    while [ $i -lt 32 ]; do
        printf ', D%d = %d' $i $i
        i=$((i + 1))
    done
    printf '\nin x : f32[N] ~ normal\nout y : f32[N]\ny = x * 2 + 1\n'
} >many.hone
candidate "$good" 'static_assert(D1 + D31 == 32 && N == 1000, "sizes");'
expect_match 0 '^right.cu: ok$' "$HONE" eval many.hone right.cu --target cuda --verify

# Sources.
{
    echo "$good"
    head -c 10000000 /dev/zero | tr '\0' ' '
} >big.cu
expect_match 1 '^big.cu: limits$' "$HONE" eval affine.hone big.cu --target cuda --verify
printf '%s\n\000\n' "$good" >nul.cu
candidate "$good"
run "$HONE" eval affine.hone big.cu nul.cu right.cu --target cuda --verify
[ "$status" = 1 ] || fail "several gave $status: $got"
for line in 'big.cu: limits' 'nul.cu: illegal' 'right.cu: ok'; do
    printf '%s\n' "$got" | grep -qxF "$line" || fail "no '$line' in: $got"
done
candidate "$good" 'template <unsigned long long I, int D> struct S {
    static const int v = S<2 * I, D - 1>::v + S<2 * I + 1, D - 1>::v; };
template <unsigned long long I> struct S<I, 0> { static const int v = 1; };
__constant__ int z = S<1, 24>::v;'
export HONE_COMPILE_SECONDS=1
expect_match 1 'the compiler took more than 1 s' judge
also '^right.cu: no-compile$'
# The next one is compiled as if nothing had been.
candidate "$good" '// another text'
HONE_COMPILE_SECONDS=200
expect_match 0 '^right.cu: ok$' judge
unset HONE_COMPILE_SECONDS

# Headers of the toolkit: only where there is one, and only those for devices.
candidate "$good" '#include <cuda_fp16.h>'
expect_match 1 "it includes headers of CUDA's toolkit, and there is none here: install it, or let .CUDA_HOME" judge
candidate "$good" '#include <cuda_runtime.h>'
expect_match 1 "#include of 'cuda_runtime.h'; allowed are dev.h, stdint.h and CUDA's device headers" judge
if [ -r "$toolkit/include/cuda_fp16.h" ]; then
    ln -s "$toolkit/include" cuda/include
    candidate "$good" '#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <mma.h>
#include <cooperative_groups.h>
__device__ float both(float x) { return __half2float(__float2half(x)) + __bfloat162float(__float2bfloat16(x)); }
__global__ void uses(float *x) { cooperative_groups::this_grid(); *x = both(*x); }'
    expect_match 0 '^right.cu: ok$' judge
    if [ -r "$toolkit/include/cccl/cuda/barrier" ]; then
        candidate "$good" '#include <cuda/barrier>
#include <cub/block/block_reduce.cuh>
__global__ void uses(float *x) {
    __shared__ typename cub::BlockReduce<float, 128>::TempStorage t;
    float sum = cub::BlockReduce<float, 128>(t).Sum(x[threadIdx.x]);
    if (threadIdx.x == 0) *x = sum;
}'
        expect_match 0 '^right.cu: ok$' judge
    fi
    # Mistakes have the line that the author sees.
    candidate "$good" '#include <cuda_fp16.h>
int f() { return undefined + N; }'
    expect_match 1 'right.cu\(3\): error: identifier "undefined" is undefined' judge
    # The compiler can read there and nowhere else.
    candidate "$good" '#include "/etc/hostname"'
    expect_match 1 'cannot open source file "/etc/hostname"' env HONE_SKIP_SCANS=1 "$HONE" eval affine.hone right.cu --target cuda --verify
    rm cuda/include
fi

# Compilers and drivers.
candidate "$good"
mkdir -p odd/lib64
ln -s "$(dirname "$HONE")/fake/lib64/libcuda.so.1" odd/lib64/
ln -s "$(dirname "$HONE")/fake/lib64/libcuda.so.1" odd/lib64/libnvrtc.so.13
expect_match 3 'no CUDA compiler: libnvrtc.so.13 lacks nvrtcVersion' env CUDA_HOME="$TMP/odd" "$HONE" eval affine.hone right.cu --target cuda --verify
with_fault() { # FAULT STATUS PATTERN
    printf '%s\n' "$1" >cuda/fault
    expect_match "$2" "$3" judge
    : >cuda/fault
}
with_fault old 3 'target cuda: the driver speaks CUDA 11.4, hone needs 12.0'
with_fault image 3 'code of NVRTC [0-9.]+ on a driver for CUDA 13.0 \(a newer driver, or an older NVRTC'
with_fault full 4 'CUDA_ERROR_OUT_OF_MEMORY'
with_fault no-device 3 'no CUDA-capable device is detected'
expect_match 3 'there is no GPU number 7: the driver sees 1' "$HONE" eval affine.hone right.cu --target cuda:7 --verify
# Packages of single libraries have them in lib.
mkdir flat
ln -s "$(dirname "$HONE")/fake/lib64" flat/lib
expect_match 0 '^cuda:0 +Fake 9000' env CUDA_HOME="$TMP/flat" "$HONE" devices
mkdir none
if ! CUDA_HOME=$TMP/none "$HONE" devices | grep -q '^cuda'; then
    expect_match 3 'target cuda: (NVIDIA.s driver: libcuda.so.1 is not installed|the driver sees no GPU)' \
        env CUDA_HOME="$TMP/none" "$HONE" eval affine.hone right.cu --target cuda --verify
    expect_match 3 'target cuda: ' env CUDA_HOME="$TMP/none" "$HONE" optimize affine.hone --target cuda
    expect_match 3 'target cuda: .*; for a card that is not here name its architecture: sm_80, sm_90a or sm_100a$' \
        env CUDA_HOME="$TMP/none" "$HONE" emit affine.hone --target cuda
    expect_match 0 '^#pragma hone launch y_map' env CUDA_HOME="$TMP/none" "$HONE" emit affine.hone --target sm_100a
fi

# A dim's name may be one that the compiler's own header uses, such as T.
sed 's/\bN\b/T/g' affine.hone >named.hone
expect_match 0 '^right.cu: ok' "$HONE" eval named.hone right.cu --target cuda --verify
