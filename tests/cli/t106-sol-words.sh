#!/bin/sh
# sol for cards that are not here: the words and pictures are those of tests/lang/sol
. "$(dirname "$0")/lib.sh"

# golden NAME COMMAND...: the output is that of tests/lang/sol/NAME.txt; BLESS=1 rewrites it.
golden() {
    want=$ROOT/tests/lang/sol/$1.txt
    shift
    "$@" >got 2>&1 || true
    [ -z "${BLESS:-}" ] || cp got "$want"
    expect 0 '' diff "$want" got
}

golden gemm "$HONE" sol "$ROOT/problems/gemm.hone" --target h200
golden softmax "$HONE" sol "$ROOT/problems/softmax.hone" --target a100
golden int4_gemm "$HONE" sol "$ROOT/problems/int4_gemm.hone" --target l40s
golden causal_attention "$HONE" sol "$ROOT/problems/causal_attention.hone" --target b200
golden lstm "$HONE" sol "$ROOT/problems/lstm.hone" --target h200
golden embedding "$HONE" sol "$ROOT/problems/embedding.hone" --target rtx4090
golden stages "$HONE" sol "$ROOT/tests/lang/kernel/softmax_large.hone" --target h100
# What a limit leaves out is said where the figures differ, if only by half a percent.
cat > wide.hone <<'P'
problem wide
in  x : f32[4096, 393216]
out y : f32[4096, 393216]
y = softmax(x)
P
expect_match 0 '^  since outputs could still lie in the last-level cache' \
    "$HONE" sol wide.hone --target h200
also '^  12.9 GB less 62.9 MB in the last-level cache'
also '^  12.8 GB at 4.8 TB/s: 2.67 ms'
valid sol "$HONE" sol "$ROOT/tests/lang/kernel/softmax_large.hone" --target h100 --json
valid sol "$HONE" sol "$ROOT/problems/gemm.hone" --target t4 --json
valid sol "$HONE" sol "$ROOT/problems/lstm.hone" --target t4 --json

# Nothing wider than a terminal, but for names.
if LC_ALL=C.UTF-8 grep -n '.\{81\}' "$ROOT"/tests/lang/sol/*.txt; then
    echo "lines of more than 80 columns" >&2
    exit 1
fi

# A card by name has a limit alone, and nothing runs on it.
expect_match 0 '^reach: not known without the card' "$HONE" sol "$ROOT/problems/gemm.hone" --target h100
expect_match 2 'h200 is a card by name, which hone sol and hone emit take' \
    "$HONE" eval "$ROOT/problems/gemm.hone" plain --target h200
expect 2 "hone: unknown target 'h20'; did you mean 'h200'?" \
    "$HONE" sol "$ROOT/problems/gemm.hone" --target h20
expect_match 2 "unknown target 'mi300x'; there are cpu, cuda, the architectures sm_80, sm_90a, sm_100a, and the cards v100, .*, h200, b200" \
    "$HONE" sol "$ROOT/problems/gemm.hone" --target mi300x
expect_match 0 'on a100 \(NVIDIA A100 SXM4 80 GB\)' "$HONE" sol "$ROOT/problems/gemm.hone" --target a100-80gb

# A kernel block with a mistake is a mistake.
cat > bad.hone <<'P'
problem scale
in  x : f32[64]
out y : f32[64]
y = x * 2

kernel for scale on sm_90a
stage z : map
P
expect_match 1 "bad.hone:7:7" "$HONE" sol bad.hone --target h100
