#!/bin/sh
# Every worked problem is checked and has a bound; kernels are refused in words where there are none.
. "$(dirname "$0")/lib.sh"
n=0
for file in "$ROOT"/problems/*.hone; do
    expect_match 0 ': ok: problem ' "$HONE" check "$file"
    expect 0 '' "$HONE" fmt --check "$file"
    expect_match 0 '^limit .*nothing honest is faster' "$HONE" sol "$file"
    n=$((n + 1))
done
[ $n -ge 20 ] || fail "only $n problems"

printf 'problem p\nin x : f32[4, 4]\nout y : f32[16]\ny = reshape(x, 16)\n' >p.hone
expect 3 "hone: problem p: 'y' is a reshape, and no kernel is made of that yet" "$HONE" emit p.hone
expect_match 0 'y : f32\[16\] = reshape x' "$HONE" check -v p.hone
printf 'kernel for p on cpu\nstage y : map\n' >>p.hone
expect_match 0 "note: stage y cannot be lowered yet: 'y' is a reshape, and no kernel is made of that yet" \
    "$HONE" check p.hone
