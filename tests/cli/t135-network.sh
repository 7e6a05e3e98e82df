#!/bin/sh
# no-asan
# A network of 60 layers and 240 parameters is a problem like any other; what is beyond the limits
# of docs/language.md is refused, each by name.
. "$(dirname "$0")/lib.sh"

# network LAYERS: products with a bias, a residual and a norm, each with parameters of its own.
network() {
    awk -v n="$1" 'BEGIN {
        print "problem network\ndim B = 16, D = 32\nin x0 : f32[B, D] ~ normal"
        for (i = 1; i <= n; i++)
            printf "param w%d : f32[D, D] ~ normal(0, 0.1)\nparam b%d : f32[D] ~ normal\n" \
                   "param g%d : f32[D] ~ uniform(0.5, 1.5)\nparam o%d : f32[D] ~ normal\n", i, i, i, i
        print "out y : f32[B, D]"
        for (i = 1; i <= n; i++)
            printf "h%d = relu(x%d @ w%d + b%d)\nx%d = layernorm(h%d + x%d, g%d, o%d)\n",
                   i, i - 1, i, i, i, i, i - 1, i, i
        printf "y = x%d\n", n
    }'
}
network 60 >network.hone
expect_match 0 'problem network, 241 inputs, 1 output, [0-9]+ nodes' "$HONE" check network.hone
expect_match 0 '^limit ' "$HONE" sol network.hone
expect_match 0 '^speed of light .*memory-bound' "$HONE" sol network.hone --target h200
valid sol "$HONE" sol network.hone --json
expect_match 0 '^#pragma hone launch .*args\(' "$HONE" emit network.hone
expect_match 0 '^HONE_KERNEL' "$HONE" emit network.hone --target sm_90a

# Its kernel block has more stages than it has layers, and is read back.
"$HONE" emit network.hone | sed -n 's,^// \(kernel for .*\|stage .*\)$,\1,p' >block.txt
test "$(grep -c '^stage' block.txt)" -gt 60 || exit 1
cat network.hone block.txt >with_block.hone
expect_match 0 'kernel for network' "$HONE" check with_block.hone
expect_match 0 '^stages of the kernel block' "$HONE" sol with_block.hone

# count N HEAD LINE TAIL: a text with N lines, # in them their number.
count() {
    awk -v n="$1" -v head="$2" -v line="$3" -v tail="$4" 'BEGIN {
        printf "%s", head
        for (i = 1; i <= n; i++) { s = line; gsub(/#/, i, s); printf "%s", s }
        printf "%s", tail
    }'
}
count 513 'problem p\n' 'in x# : f32[8]\n' 'out y : f32[8]\ny = x1\n' >inputs.hone
expect_match 1 'inputs.hone:514:1: a problem has at most 512 inputs' "$HONE" check inputs.hone
count 65 'problem p\nin x : f32[8]\n' 'out y# : f32[8]\n' 'y1 = x + 1\n' >outputs.hone
expect_match 1 'outputs.hone:67:1: a problem has at most 64 outputs' "$HONE" check outputs.hone
count 257 'problem p\n' 'dim M# = 8\n' 'in x : f32[M1]\nout y : f32[M1]\ny = x + 1\n' >dims.hone
expect_match 1 'dims.hone:258:5: a problem has at most 256 dims' "$HONE" check dims.hone
count 1025 'problem p\nin x : f32[8]\nout y : f32[8]\ny = x + 1\nkernel for p on cpu\n' \
    'stage y : map\n' '' >stages.hone
expect_match 1 'stages.hone:1030:1: a kernel has at most 1024 stages' "$HONE" check stages.hone

# As many as there may be.
{
    count 511 'problem many\nparam w : f32[8]\n' 'in x# : f32[8]\n' ''
    count 64 '' 'out y# : f32[8]\n' ''
    count 64 '' 'y# = x# * w\n' ''
    awk 'BEGIN { printf "y1_rest = x65"; for (i = 66; i <= 511; i++) printf " + x%d", i; print "" }'
} | sed 's/^y1 = x1 [*] w$/y1 = x1 * w + y1_rest/' >many_unordered.hone
awk '/^y1_rest/ { rest = $0; next } { lines[n++] = $0 }
     END { for (i = 0; i < n; i++) { if (lines[i] ~ /^y1 = /) print rest; print lines[i] } }' \
    many_unordered.hone >many.hone
expect_match 0 'problem many, 512 inputs, 64 outputs' "$HONE" check many.hone
expect_match 0 '^limit ' "$HONE" sol many.hone
