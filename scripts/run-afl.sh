#!/bin/sh
# run-afl.sh: the fuzzers of the language under AFL++, FUZZ_SECONDS each (default 60). Where
# afl-clang-fast is not installed it says so and is done. A crash or a hang fails; the input is kept
# in build-afl/NAME/default/crashes and hangs.
set -eu
seconds=${FUZZ_SECONDS:-60}
command -v afl-clang-fast >/dev/null 2>&1 || {
    echo "AFL++ left out: no afl-clang-fast here (package afl++)"
    exit 0
}
export AFL_QUIET=1 AFL_USE_ASAN=1 AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1
export AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_MAP_SIZE=262144
targets='lang block values'
# Its compiler falls over the resolvers of cloned functions.
# shellcheck disable=SC2086,SC2046  # lists
make -s -j"$(nproc)" BUILD=build-afl CC=afl-clang-fast CFLAGS="-O1 -g" \
    CPPFLAGS=-DHONE_NO_CLONES FUZZ_LINK=-fsanitize=fuzzer \
    $(printf 'build-afl/fuzz_%s ' $targets)
for name in $targets; do
    out=build-afl/$name
    rm -rf "$out"
    afl-fuzz -V "$seconds" -t 300000 -G 4096 ${FUZZ_SEED:+-s "$FUZZ_SEED"} -i "tests/fuzz/corpus/$name" -o "$out" -- \
        "build-afl/fuzz_$name" >"$out.log" 2>&1 || {
        tail -30 "$out.log"
        exit 1
    }
    n=$(sed -n 's/^execs_done *: //p' "$out/default/fuzzer_stats")
    echo "$name under AFL++: $n inputs in $seconds s"
    if ls "$out"/default/crashes/id* "$out"/default/hangs/id* 2>/dev/null; then
        echo "$name: FAILED under AFL++, see these files"
        exit 1
    fi
    [ "${n:-0}" -gt 0 ]
done
