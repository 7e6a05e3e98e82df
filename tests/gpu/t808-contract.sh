#!/bin/sh
# The example in the contract of CUDA source, which models are given, is right on the card.
. "$(dirname "$0")/lib.sh"
cat >rows.hone <<'END'
problem rows
dim M = 37, N = 203
in x : f32[M, N] ~ uniform(1, 2)
out y : f32[M, N]
y = x / sum(x, axis=1, keepdims=true)
END
# shellcheck disable=SC2016  # fences, not substitutions
sed -n '/^```cuda$/,/^```$/p' "$ROOT/prompts/source_cuda.txt" | grep -v '^```' >example.cu
expect_match 0 '^example.cu: ok$' "$HONE" eval rows.hone example.cu --target cuda --verify
