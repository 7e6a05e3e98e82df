#!/bin/sh
# Every worked problem is checked, has a bound, and has a kernel on every kind of target.
. "$(dirname "$0")/lib.sh"
n=0
for file in "$ROOT"/problems/*.hone; do
    expect_match 0 ': ok: problem ' "$HONE" check "$file"
    expect 0 '' "$HONE" fmt --check "$file"
    for target in cpu sm_80 sm_90a sm_100a; do
        expect_match 0 '^#pragma hone launch ' "$HONE" emit --target $target "$file"
    done
    expect_match 0 '^limit .*nothing honest is faster' "$HONE" sol "$file"
    n=$((n + 1))
done
[ $n -ge 20 ] || fail "only $n problems"

printf 'problem p\nin x : f32[4, 4]\nout y : f32[16]\ny = reshape(x, 16)\n' >p.hone
expect_match 0 'y : f32\[16\] = reshape x' "$HONE" check -v p.hone
# A reshape moves nothing: one loop over all elements, or one vector where the machine's has 16.
expect_match 0 'hone_load([48].&x.j..|16.&x.0..);' "$HONE" emit --target cpu p.hone
