#!/bin/sh
# run-fuzz.sh BUILD FUZZER...: run each for FUZZ_SECONDS (default 60), starting from
# tests/fuzz/corpus/NAME. A crash, a leak or a hang fails; the input that did it is kept in
# BUILD/crashes.
set -eu
build=$1
shift
seconds=${FUZZ_SECONDS:-60}
[ $# -gt 0 ] || {
    echo "no fuzzers in tests/fuzz"
    exit 0
}
for fuzzer; do
    name=$(basename "$fuzzer")
    mkdir -p "$build/corpus/$name" "$build/crashes"
    seeds=tests/fuzz/corpus/${name#fuzz_}  # names are short: fuzz_frame reads corpus/frame
    [ -d "$seeds" ] || seeds=
    log=$build/$name.log
    # New inputs go to the first directory; the seeds are only read.
    if ! "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$build/crashes/$name-" "$build/corpus/$name" $seeds >"$log" 2>&1; then
        tail -60 "$log"
        echo "$name: FAILED, see $build/crashes"
        exit 1
    fi
    n=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "$name: $n inputs in $seconds s"
    [ "${n:-0}" -gt 0 ]
done
