#!/bin/sh
# An exported directory builds and checks itself without hone, and the check can fail.
. "$(dirname "$0")/lib.sh"

# Stores past the caches, which need aligned vectors, and others.
cat >stream.hone <<'END'
kernel for softmax on cpu
stage y : rowwise vec 4 rows 8 store stream
END
for problem in "softmax M=96,N=128 --start stream.hone" "gelu M=40,N=72" "gemm M=48,N=80,K=56"; do
    # shellcheck disable=SC2086
    set -- $problem
    "$HONE" optimize "$ROOT/problems/$1.hone" --dim "$2" ${3:+"$3" "$4"} --evals 1 --seconds 100 --race 1 --no-calibrate >out ||
        fail "optimize $1: $(cat out)"
    expect_match 0 "^    void $1\(const float" "$HONE" export last -o "$1"
    # Without hone, and without a way to find it.
    env -i PATH=/usr/bin:/bin make -s -C "$1" >out 2>&1 || fail "make $1: $(cat out)"
    [ ! -s out ] || fail "make $1 warned: $(cat out)"
    expect_match 0 '^ok$' "./$1/check"
    also '^[a-z]+: [0-9]+ of [0-9]+ sampled elements right'
    valid proof cat "$1/PROOF.json"
done

# Python calls it, with arrays that begin anywhere, and ./check judges what comes back.
for name in softmax gemm; do
    expect_match 0 '^arrays 4 bytes off: ok$' env PYTHONDONTWRITEBYTECODE=1 python3 "$name/test_$name.py"
    [ "$(printf '%s\n' "$got" | tail -1)" = ok ] || fail "test_$name.py: $got"
done
grep -q '^It is for these sizes alone: M = 96, N = 128\.$' softmax/README.txt || fail "$(cat softmax/README.txt)"
grep -q '^kernel_any.c ' softmax/README.txt && [ -e softmax/kernel_any.c ] || fail 'the list of files'
# An array of another type is refused in NumPy's words; /usr/bin has the Python that NumPy is for.
other_type() {
    (cd softmax && PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c "
class A: __array_interface__ = {'data': (64, False), 'shape': (96, 128), 'typestr': '<f8', 'version': 3}
import softmax
softmax.softmax(A(), A())")
}
expect_match 1 '^TypeError: x is float64, not float32$' other_type
# In place: nothing is copied, and what is written past the caches has a kernel of its own.
! grep -q 'memcpy\|aligned_alloc' softmax/softmax.c || fail 'softmax.c copies'
grep -q 'softmax_y_rowwise_any(block' softmax/softmax.c || fail 'no kernel for other alignments'
# The test sees a wrong result.
mkdir wrong && head -c 49152 /dev/zero >wrong/output_0.bin
expect_match 1 '^WRONG$' softmax/check --read wrong
expect_match 2 'usage: check' softmax/check --reed wrong
# No progress where nobody watches; --quiet goes with everything.
softmax/check 2>progress >out || fail "$(cat out)"
[ -s progress ] && fail "not quiet in a pipe: $(cat progress)"
expect_match 1 '^WRONG$' softmax/check --quiet --read wrong
expect_match 2 'nowhere/output_0.bin: cannot read 49152 bytes' softmax/check --read nowhere

# Two of them in one program, by pkg-config, shared and static.
cat >main.c <<'END'
#include <gelu.h>
#include <softmax.h>
static float x[96 * 128], y[96 * 128];
int main(void) {
    softmax(x, y);
    float one = y[0];
    gelu(x, x, x, x, y);
    return one != 1 / 128.0f || y[0] != 0;
}
END
export PKG_CONFIG_PATH=softmax:gelu
# shellcheck disable=SC2046
cc -o main main.c $(pkg-config --cflags --libs softmax gelu) && ./main || fail 'the shared libraries'
cc -o main -Isoftmax -Igelu main.c softmax/libsoftmax.a gelu/libgelu.a -fopenmp -lm && ./main || fail 'the archives'
make -s -C gelu install PREFIX="$TMP/there" || fail 'install'
expect_match 0 "^-I$TMP/there/include" env PKG_CONFIG_PATH=there/lib/pkgconfig pkg-config --cflags gelu

# One thread, without OpenMP.
make -s -C softmax clean
# Called from Python before it is built.
if command -v python3 >/dev/null; then
    expect_match 1 'ImportError: .*/libsoftmax.so is not built yet: make -C .*/softmax$' \
        python3 -c 'import sys; sys.path.insert(0, "softmax"); import softmax'
fi
make -s -C softmax OPENMP= || fail 'does not build without OpenMP'
expect_match 0 '^ok$' ./softmax/check

# A kernel that computes something else is found out.
cp -r softmax spoiled
sed -i 's/\(for (long block = 0; block < \)\([0-9]*\)/\1\2 - 1/' spoiled/softmax.c
make -s -C spoiled || fail 'spoiled does not build'
expect_match 1 '^WRONG$' ./spoiled/check

# What is there is not overwritten, unless it is an earlier export or --force says so.
expect_match 0 '' "$HONE" export 1 -o softmax
expect 2 'hone: export: softmax holds another export (of softmax); --force writes into it' \
    "$HONE" export 2 -o softmax
# Nothing of the other export is left, and what is not its own stays.
cp -r softmax both && echo mine >both/notes && make -s -C both || fail 'both'
expect_match 0 '' "$HONE" export 2 -o both --force
for file in softmax.c softmax.py test_softmax.py libsoftmax.so softmax.pc check kernel.o kernel_any.c; do
    [ ! -e "both/$file" ] || [ "$file" = kernel_any.c ] || fail "both/$file is left"
done
[ "$(cat both/notes)" = mine ] || fail 'notes are gone'
make -s -C both && expect_match 0 '^ok$' ./both/check
mkdir other && echo precious >other/file
expect 2 'hone: export: other holds something that is no earlier export; --force writes into it' \
    "$HONE" export 1 -o other
expect_match 0 '' "$HONE" export 1 -o other --force
[ "$(cat other/file)" = precious ] || fail 'somebody else'"'"'s file is gone'
expect_match 2 'other/file: Not a directory' "$HONE" export 1 -o other/file
expect_match 0 'node' "$HONE" export -o deep/er/dir/
[ -e deep/er/dir/PROOF.json ] || fail 'no deep directory'

# The check draws what the judge draws, whatever the distribution and the promise.
cat >draws.hone <<'END'
problem draws
dim N = 96
in u : f32[N, N] triangular upper ~ uniform(1, 2)
in s : f32[N, N] symmetric ~ normal
in z : f32[N] ~ zipf(1.2, 50)
in b : f32[N] ~ bernoulli(0.3)
in p : f32[N] ~ permutation
in o : f32[N] ~ sorted(-1, 1)
out y : f32[N, N]
y = u * z + s * b + p * o
END
expect_match 0 'champion' "$HONE" optimize draws.hone --evals 1 --seconds 100 --no-calibrate --store drawn
expect_match 0 'node 0' "$HONE" export --store drawn -o draws
make -s -C draws || fail 'draws does not build'
expect_match 0 '^y: 4096 of 4096 sampled elements right' ./draws/check
