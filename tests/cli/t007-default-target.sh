#!/bin/sh
# slow
# Without --target: the setting, else the first GPU that can be compiled for, else the CPU; the
# first line says which. Files know what they are for. The GPU is the one of the fake driver.
. "$(dirname "$0")/lib.sh"
unset HONE_TARGET
soft="$ROOT/problems/softmax.hone"
small='--dim M=16,N=16'

# A home of CUDA: the fake driver, and an NVRTC that can tell its version and no more.
mkdir -p cuda/lib64 old/lib64 older/lib64
ln -s "$(dirname "$HONE")/fake/lib64/libcuda.so.1" cuda/lib64
ln -s "$(dirname "$HONE")/fake/lib64/libcuda.so.1" old/lib64
ln -s "$(dirname "$HONE")/fake/lib64/libcuda.so.1" older/lib64
{
    echo 'int nvrtcVersion(int *major, int *minor) { *major = 13; *minor = 0; return 0; }'
    for name in CreateProgram CompileProgram DestroyProgram GetProgramLogSize GetProgramLog \
        GetCUBINSize GetCUBIN GetErrorString; do
        echo "int nvrtc$name(void) { return 1; }"
    done
} >nvrtc.c
cc -shared -fPIC -o cuda/lib64/libnvrtc.so.13 nvrtc.c
echo 'int nothing;' >nothing.c
cc -shared -fPIC -o cuda/lib64/libnvrtc-builtins.so.13.0 nothing.c
cc -shared -fPIC -o old/lib64/libnvrtc.so.13 nothing.c
sed 's/major = 13; \*minor = 0/major = 11; *minor = 8/' nvrtc.c >older.c
cc -shared -fPIC -o older/lib64/libnvrtc.so.12 older.c
with_gpu() {
    env CUDA_HOME="$TMP/cuda" "$@"
}
without() {
    env CUDA_HOME="$TMP/cuda" FAKE_CUDA=none "$@"
}
# first LINE COMMAND...: the first line of what it prints matches.
first() {
    want=$1
    shift
    run "$@"
    printf '%s\n' "$got" | head -1 | grep -Eq -e "$want" || fail "$*: $got; wanted first: $want"
}

first '^softmax on cuda:0 \(Fake 9000\)$' with_gpu "$HONE" sol "$soft"
first '^softmax on cpu ' without "$HONE" sol "$soft"
first '^softmax on cpu ' env CUDA_HOME="$TMP/old" "$HONE" sol "$soft"
first '^softmax on cpu ' env CUDA_HOME="$TMP/older" "$HONE" sol "$soft"
first '^softmax on cpu ' with_gpu "$HONE" sol "$soft" --target cpu

# What was passed over nobody says but the doctor: which compiler for a GPU there is, or what it
# means that there is none.
expect_match 0 "^nvrtc     ok      13\\.0: $TMP/cuda/lib64/libnvrtc\\.so\\.13\$" with_gpu "$HONE" doctor
# What it opens by name is taken from next to it: the loader may know nothing of that directory.
expect_match 0 "dlopen $TMP/cuda/lib64/libnvrtc-builtins\\.so\\.13\\.0: ok" with_gpu env HONE_LOG=debug "$HONE" doctor
expect_match 0 '^nvrtc     absent  libnvrtc\.so\.13 lacks nvrtcVersion: too old for hone$' \
    env CUDA_HOME="$TMP/old" "$HONE" doctor
expect_match 0 '^nvrtc     absent  NVRTC 11\.8 is too old: hone needs 12$' env CUDA_HOME="$TMP/older" "$HONE" doctor
expect_match 3 'no CUDA compiler: NVRTC 11\.8 is too old: hone needs 12' \
    env CUDA_HOME="$TMP/older" "$HONE" eval "$soft" plain --target cuda --verify
expect_match 0 'the GPU is not used: where no target is named the CPU is taken, .*install NVRTC' \
    env CUDA_HOME="$TMP/old" "$HONE" doctor
expect_match 0 'CUDA cannot be compiled here; only a GPU needs it' \
    env CUDA_HOME="$TMP/old" FAKE_CUDA=none "$HONE" doctor
valid doctor env CUDA_HOME="$TMP/old" "$HONE" doctor --json

expect_match 0 '^// kernel for softmax on sm_90a$' with_gpu "$HONE" emit "$soft"
expect_match 0 '^// kernel for softmax on cpu$' without "$HONE" emit "$soft"
# shellcheck disable=SC2086
first '^target    cpu: ' without "$HONE" optimize "$soft" $small --evals 1 --seconds 100 --no-calibrate
# shellcheck disable=SC2086
first '^softmax on cpu ' without "$HONE" eval "$soft" plain $small --verify

# The setting, from the environment and from a file; --target stands above both.
first '^softmax on cpu ' with_gpu env HONE_TARGET=cpu "$HONE" sol "$soft"
first '^softmax on cuda:0 ' with_gpu env HONE_TARGET=cpu "$HONE" sol "$soft" --target cuda
mkdir -p .hone
printf '[run]\ntarget = cpu\n' >.hone/config
first '^softmax on cpu ' with_gpu "$HONE" sol "$soft"
rm .hone/config
for command in "sol $soft" "eval $soft plain --verify" "optimize $soft" calibrate "emit $soft" \
    "scaffold $soft"; do
    # shellcheck disable=SC2086
    expect_match 2 "unknown target 'cupa'; did you mean 'cuda'\?" \
        env HONE_TARGET=cupa "$HONE" $command
done

# A candidate, a kernel block, the file to write: each knows what it is for.
# shellcheck disable=SC2086
{
    with_gpu "$HONE" scaffold "$soft" $small -o mine.c
    with_gpu "$HONE" scaffold "$soft" $small -o mine.cu
    without "$HONE" scaffold "$soft" $small -o also.cu
}
grep -q HONE_KERNEL mine.cu && grep -q HONE_KERNEL also.cu || fail 'no CUDA in a .cu'
! grep -q HONE_KERNEL mine.c || fail 'CUDA in a .c'
# shellcheck disable=SC2086
first '^softmax on cpu ' with_gpu "$HONE" eval "$soft" mine.c $small --verify
printf 'kernel for softmax on cpu\nstage y : rowwise\n' >block.hone
# shellcheck disable=SC2086
first '^softmax on cpu ' with_gpu "$HONE" eval "$soft" block.hone $small --verify
expect_match 0 '^// kernel for softmax on cpu$' with_gpu "$HONE" emit "$soft" --kernel block.hone
printf 'kernel for softmax on sm_90a\nstage y : rowwise\n' >block.hone
for file in mine.cu block.hone; do
    expect_match 3 '^hone: target cuda: ' without "$HONE" eval "$soft" $file --verify
done
