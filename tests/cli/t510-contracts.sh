#!/bin/sh
# What the prompts say about source is so: their examples are judged, and every function that they
# name is in the header.
# shellcheck disable=SC2016  # fences, not substitutions
. "$(dirname "$0")/lib.sh"

cat >rows.hone <<'END'
problem rows
dim M = 37, N = 203
in x : f32[M, N] ~ uniform(1, 2)
out y : f32[M, N]
y = x / sum(x, axis=1, keepdims=true)
END
sed -n '/^```c$/,/^```$/p' "$ROOT/prompts/source_c.txt" | grep -v '^```' >example.c
expect_match 0 '^example.c: ok$' "$HONE" eval rows.hone example.c --target cpu --verify

# In the text a name stands for all of its widths.
names() { grep -o '`hone_[a-z_]*[0-9]*`' "$1" | tr -d '`' | sort -u; }
uses() { # NAMES-FILE: a macro is there, a function has an address
    printf 'void use(const void *);\nvoid all(void) {\n'
    while read -r name; do
        printf '#ifndef %s\n    use((const void *)%s);\n#endif\n' "$name" "$name"
    done <"$1"
    printf '}\n'
}
names "$ROOT/prompts/source_c.txt" >names
[ "$(wc -l <names)" -gt 15 ] || fail "few names: $(cat names)"
sed -n 's/16$/8/p' names >eight
sed -n 's/16$/4/p' names >four
cat eight four >>names
{
    echo '#include "hone_math.h"'
    uses names
} >uses.c
run cc -std=gnu17 -Wall -Wno-psabi -Werror -I"$ROOT/runtime" -c uses.c -o uses.o
[ "$status" = 0 ] || fail "hone_math.h lacks what the prompt names: $got"

names "$ROOT/prompts/source_cuda.txt" >names
[ "$(wc -l <names)" -gt 20 ] || fail "few names: $(cat names)"
sed -n '/async/d; s/4$/2/p' names >two
cat two >>names
{
    echo '#include "dev.h"'
    uses names
} >uses.c
run cc -std=gnu17 -Wall -Wno-psabi -Wno-unused -Werror -DHONE_DEV_CPU -I"$ROOT/runtime" -c uses.c -o uses.o
[ "$status" = 0 ] || fail "dev.h lacks what the prompt names: $got"

# The example in CUDA: NVRTC compiles it, its plan fits it. What it computes a card says
# (tests/gpu); the driver that is not there does not know such a kernel.
sed -n '/^```cuda$/,/^```$/p' "$ROOT/prompts/source_cuda.txt" | grep -v '^```' >example.cu
mkdir -p cuda
ln -s "$(dirname "$HONE")/fake/lib64" cuda/lib64
: >cuda/fault
export CUDA_HOME="$TMP/cuda"
run "$HONE" eval rows.hone example.cu --target cuda --verify
case $got in
*'no CUDA compiler'*) skip "no NVRTC" ;;
*"the plan launches 'rows', but the source has no such kernel"*) ;;
*) fail "the example in CUDA: $got" ;;
esac
