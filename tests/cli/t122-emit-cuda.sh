#!/bin/sh
# emit for GPUs needs none: architectures by name, every rule with its reason and the nearest
. "$(dirname "$0")/lib.sh"

cat > soft.hone <<'P'
problem soft
dim M = 100, N = 30000
in  x : f32[M, N] ~ normal
out y : f32[M, N]
y = softmax(x)
P
cat > scale.hone <<'P'
problem scale
dim M = 100, N = 31
in  x : f32[M, N] ~ normal
in  z : f32[N] ~ normal
out y : f32[M, N]
y = exp(x) * z
P
cat > total.hone <<'P'
problem total
dim M = 100, N = 30
in  x : f32[M, N] ~ normal
out y : f32[M]
y = sum(x, axis=1)
P
cat > product.hone <<'P'
problem product
dim M = 100, N = 30, K = 50
in  a : f32[M, K] ~ normal
in  b : f32[K, N] ~ normal
out c : f32[M, N]
c = a @ b
P

for arch in sm_80 sm_90a sm_100a; do
    for problem in soft scale total product; do
        expect_match 0 "^// kernel for $problem on $arch\$" "$HONE" emit $problem.hone --target $arch
        also '^#pragma hone launch .* grid\(.*\) block\([0-9]*\).* args\(.*\)$'
        expect_match 0 '^HONE_KERNEL' "$HONE" emit $problem.hone --target $arch --plain
    done
done
[ "$("$HONE" emit soft.hone --target sm_90a | grep -c '^#include')" = 1 ] || fail "more headers"

# The block's own target is taken; one for another target is left alone.
printf 'kernel for total on sm_80\nstage y : reduce  threads 32\n' > k.hone
cat total.hone k.hone > both.hone
expect_match 0 '^// kernel for total on sm_80$' "$HONE" emit both.hone
expect_match 0 '^// kernel for total on sm_80$' "$HONE" emit total.hone --kernel k.hone
expect_match 0 '^// kernel for total on sm_90a$' "$HONE" emit both.hone --target sm_90a
expect_match 0 '^// kernel for total on cpu$' "$HONE" emit both.hone --target cpu
expect 1 'k.hone:1:1: the kernel is for the target sm_80, not for sm_90a
    kernel for total on sm_80
    ^' \
    "$HONE" emit total.hone --kernel k.hone --target sm_90a
expect_match 2 "unknown target 'sm_91'; there are cpu, cuda, the architectures sm_80, " \
    "$HONE" emit total.hone --target sm_91
# sol and emit take the same names.
expect_match 0 ' on sm_90a ' "$HONE" sol total.hone --target sm_90a
expect_match 0 '^// kernel for total on sm_90a$' "$HONE" emit total.hone --target h200
expect_match 3 'no kernels are emitted for t4 \(sm_75\)' "$HONE" emit total.hone --target t4

# rule PROBLEM ARCH STAGE MESSAGE
rule() {
    printf 'kernel for %s on %s\nstage %s\n' "$1" "$2" "$3" > k.hone
    expect_match 1 "^k.hone:2:[0-9]*: stage [yc]: $4\$" "$HONE" emit "$1.hone" --kernel k.hone
}
rule scale sm_90a 'y : map  vec 4' \
    'vec 4 needs rows of a multiple of 4 elements, but they have 31: the nearest is vec 1'
rule scale sm_90a 'y : map  block 1000' 'block has no value 1000: the nearest is 1024'
rule soft sm_90a 'y : rowwise  threads 1024  rows 2' \
    '2 rows of 1024 threads are 2048 threads a block, above 1024: the nearest is rows 1'
rule soft sm_90a 'y : rowwise  threads 64  rows 8' \
    '100 rows are no multiple of rows 8: the nearest is rows 4, or threads 32'
rule soft sm_90a 'y : rowwise  threads 256  keep register' \
    '240 floats in registers of each of 256 threads, but there is room for 223: the nearest is keep shared'
rule soft sm_80 'y : rowwise  threads 256  rows 2  keep shared' \
    '241024 bytes of shared memory, but a block has at most 166912: the nearest is keep reread'
rule total sm_90a 'y : rowwise  threads 32  keep register' \
    'nothing of a row is needed twice: the nearest is keep reread'
rule total sm_90a 'y : reduce  threads 64  results 32' \
    '32 results of 64 threads are 2048 threads a block, above 1024: the nearest is results 16'
rule total sm_90a 'y : reduce  threads 16  results 32' \
    'threads lie along what is reduced, a warp at least: the nearest is threads 32'
rule total sm_90a 'y : reduce  threads 64  results 8' \
    '100 results are no multiple of results 8: the nearest is results 1, or threads 32'
rule total sm_90a 'y : reduce  threads 32  results 4  vec 2  split 4' \
    '30 terms are too few for 4 blocks that take 64 at a time: the nearest is split 1'
rule product sm_90a 'c : gemm  tile 16x16x8  micro 16x16' \
    'tile 16x16 by micro 16x16 makes 1 threads, not 32 to 1024: the nearest is micro 1x8'
rule product sm_90a 'c : gemm  tile 32x16x8  micro 4x16  vec 2' \
    'tile 32x16 by micro 4x16 makes 8 threads, not 32 to 1024: the nearest is micro 1x16'
rule product sm_90a 'c : gemm  tile 16x16x8  micro 2x16  vec 4' \
    'tile 16x16 by micro 2x16 makes 8 threads, .*'
rule product sm_90a 'c : gemm  tile 32x32x8  micro 4x4  vec 4' \
    'vec 4 needs a multiple of 4 elements side by side, but the left operand has 50: the nearest is vec 2'
rule product sm_90a 'c : gemm  tile 16x16x4  micro 1x1  vec 2' \
    'a slice of 16x4 in vectors of 2 does not fall to 256 threads evenly: the nearest is a depth of 32, or vec 1'
rule product sm_90a 'c : gemm  tile 256x256x8  micro 16x16  vec 2' \
    '304 floats in registers of each of 256 threads, but there is room for 223: the nearest is a tile of half the size'
rule product sm_90a 'c : gemm  tile 128x128x8  micro 8x8  vec 2  minblocks 4' \
    'a multiprocessor has no room for 4 such blocks: the nearest is minblocks 3'
