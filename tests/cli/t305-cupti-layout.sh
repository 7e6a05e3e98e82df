#!/bin/sh
# What we declare of CUPTI is what its headers say, where these are.
. "$(dirname "$0")/lib.sh"
cuda=${CUDA_PATH:-/usr/local/cuda}
include=$cuda/include
[ -e "$include/cupti_pcsampling.h" ] || include=$cuda/extras/CUPTI/include
[ -e "$include/cupti_pcsampling.h" ] || skip 'no headers of CUPTI'
expect 0 '' cc -std=c17 -fsyntax-only -I"$include" -I"$cuda/include" "$ROOT/tests/tools/cupti_layout.c"
