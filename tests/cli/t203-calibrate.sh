#!/bin/sh
# Ceilings are measured, kept, and then used: reach is known.
. "$(dirname "$0")/lib.sh"
P=$ROOT/tests/exploits/softmax.hone

expect_match 0 'not known' "$HONE" sol "$P" --target cpu
valid ceilings "$HONE" calibrate --target cpu --json
expect_match 0 '^reach' "$HONE" sol "$P" --target cpu
expect_match 0 'of reach' "$HONE" eval "$P" "$ROOT/tests/exploits/honest/softmax_plain.c" --screen \
    --rival "$ROOT/tests/exploits/honest/softmax_plain.c"
expect_match 0 'f32 multiply-add +[0-9.]+ GFLOP/s' "$HONE" calibrate --target cpu
expect_match 3 "no compiler 'nocc'" env HONE_BUILD_CC=nocc "$HONE" calibrate --target cpu
expect_match 2 'target' "$HONE" calibrate --target nowhere
