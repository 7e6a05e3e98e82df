#!/bin/sh
# run-fuzz.sh BUILD FUZZER...: run each for FUZZ_SECONDS (default 60), starting from
# tests/fuzz/corpus/NAME, as many at a time as there are CPUs. A crash, a leak or a hang fails;
# the input that did it is kept in BUILD/crashes. With FUZZ_SEED the inputs are the same every time.
set -eu
build=$1
shift
[ $# -gt 0 ] || {
    echo "no fuzzers in tests/fuzz"
    exit 0
}

one() {
    seconds=${FUZZ_SECONDS:-60}
    name=$(basename "$1")
    mkdir -p "$build/corpus/$name" "$build/crashes"
    seeds=tests/fuzz/corpus/${name#fuzz_}  # names are short: fuzz_frame reads corpus/frame
    [ -d "$seeds" ] || seeds=
    log=$build/$name.log
    # New inputs go to the first directory; the seeds are only read.
    # The time-out is for what hangs: a machine with other work does not come near it.
    if ! "$1" -max_total_time="$seconds" -timeout=300 -rss_limit_mb=2048 -max_len=4096 \
        ${FUZZ_SEED:+"-seed=$FUZZ_SEED"} -print_final_stats=1 \
        -artifact_prefix="$build/crashes/$name-" "$build/corpus/$name" $seeds >"$log" 2>&1; then
        tail -60 "$log"
        echo "$name: FAILED, see $build/crashes"
        return 1
    fi
    n=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "$name: $n inputs in $seconds s"
    [ "${n:-0}" -gt 0 ]
}

if [ $# = 1 ]; then
    one "$1"
else
    printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} "$0" "$build" {}
fi
