#!/bin/sh
# no-asan
# slow
# cuBLASLt and cuDNN as candidates, over a driver and libraries that are not there (tests/fake)
. "$(dirname "$0")/gpu_lib.sh"

cat >three.hone <<'P'
problem three
in  a : f32[3, 24, 16] ~ normal
in  b : f32[3, 20, 16] ~ normal
in  x : f32[2, 4, 9, 8] ~ normal
in  u : f32[2, 6, 5, 4] ~ normal
in  w : f32[6, 2, 3, 3] ~ normal
out p : f32[3, 24, 20]
out y : f32[2, 6, 5, 4]
out z : f32[2, 4, 10, 8]
p = einsum("bmk,bnk->bmn", a, b)
y = conv2d(x, w, stride=2, padding=1, groups=2)
z = conv_transpose2d(u, w, stride=2, padding=1, output_padding=1, groups=2)
P
# Of three algorithms that each proposes the first does not run, or rounds f32 to TF32, and is not
# taken; another one is right.
expect_match 0 '^library \(cuBLASLt 99\.1\.2, cuDNN 9\.98\.1\): ok$' \
    "$HONE" eval three.hone library --target cuda --verify
# What is not there is said.
mkdir -p bare/lib64
for f in "$CUDA_HOME"/lib64/*; do
    case $f in *cublasLt* | *cudnn*) ;; *) ln -s "$f" bare/lib64/ ;; esac
done
: >bare/fault
if ! ls /usr/local/cuda/lib*/libcublasLt.so.1[23] >/dev/null 2>&1 && ! ldconfig -p 2>/dev/null | grep -q cublasLt; then
    expect_match 3 "there is no 'library': not installed: cuBLASLt \(libcublasLt.so.13:" \
        env CUDA_HOME="$TMP/bare" CUDA_PATH="$TMP/bare" HOME="$TMP" PATH=/nowhere "$HONE" eval three.hone library --target cuda --verify
fi
