#!/bin/sh
# no-asan
# slow
# `library` as a candidate and a baseline, with an OpenBLAS that is not one (tests/fake/libraries)
. "$(dirname "$0")/lib.sh"

export HONE_RUN_THREADS=2
fake=$(dirname "$HONE")/fake/lib64
cat >layer.hone <<'P'
problem layer
dim M = 48, N = 40, K = 24
in  x : f32[M, K] ~ normal
in  w : f32[N, K] ~ normal
in  b : f32[N]    ~ normal
out y : f32[M, N]
y = relu(x @ w.T + b)
P
cat >rows.hone <<'P'
problem rows
in  x : f32[8, 64] ~ normal
out y : f32[8]
y = sum(x, axis=1)
P
expect_match 3 "there is no 'library': no library computes any of it: there is no product" \
    "$HONE" eval rows.hone library
# Among others it is left out, with the reason, and they are judged.
expect_match 3 "^hone: 'library' is left out, the others are judged: .* no product" \
    "$HONE" eval rows.hone library default --verify
printf '%s\n' "$got" | grep -q '^default: ok$' || fail "$got"
export LD_LIBRARY_PATH="$TMP/empty"
if ! ldconfig -p 2>/dev/null | grep -Eq 'lib(openblas|cblas)\.so'; then
    expect_match 3 "there is no 'library': not installed: OpenBLAS \(libopenblas.so.0;" \
        "$HONE" eval layer.hone library
fi
export LD_LIBRARY_PATH="$fake"
# Judged like any candidate, next to a stage of our own, and labelled as what it is.
expect_match 0 '^library \(OpenBLAS 9\.9\.9\): ok$' "$HONE" eval layer.hone library --screen
printf '%s\n' "$got" | grep -Eq '^  launches  library gemm .*, y_map ' || fail "$got"
expect_match 0 '^  speed-up  .* over library \(OpenBLAS 9\.9\.9\)' \
    "$HONE" eval layer.hone default --screen --baseline library
expect_match 1 '^library \(OpenBLAS 9\.9\.9\): wrong$' \
    env LD_LIBRARY_PATH="$fake/../wrong" "$HONE" eval layer.hone library --verify
# A block that names it, and source that must not.
cat >mixed.hone <<'K'
kernel for layer on cpu
stage t.1 : library
stage y   : map
K
expect_match 0 '^mixed.hone: ok$' "$HONE" eval layer.hone mixed.hone --verify
expect_match 0 '^#pragma hone call gemm math\(f32\) size\(48, 40, 24, 1\) lhs\(24, 1, 0\) rhs\(1, 24, 0\) out\(40, 1, 0\) args\(x, w, t_1\)$' \
    "$HONE" emit layer.hone --kernel mixed.hone
"$HONE" emit layer.hone --kernel mixed.hone >source.c
expect_match 1 "only a kernel block calls a library" "$HONE" eval layer.hone source.c --verify
# The champion of a search is confirmed against it; one that calls it is nobody's to export.
expect_match 0 '^confirming 1\.0 on fresh data, against library \(OpenBLAS 9\.9\.9\)$' "$HONE" optimize layer.hone \
    --start mixed.hone --baseline library --no-calibrate --evals 1 --race 1 --seconds 20
expect_match 3 'this kernel calls a library' "$HONE" export 1 -o exported
