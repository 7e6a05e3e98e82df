#!/bin/bash
# run-tests.sh fast|all|asan|long BUILD: unit, language and command-line tests.
#
# fast   unit without the slow ones named below, language, t0* and t1* that are not marked `# slow`
# all    and every other command-line test that is not marked `# long`
# asan   with a sanitised build, each command at least once; any report of any process fails, children too
# long   everything
set -u
mode=$1
case $mode in
fast | all | asan | long) ;;
*)
    echo "run-tests.sh: '$mode' is none of fast, all, asan, long"
    exit 2
    ;;
esac
build=$(cd "$2" && pwd)
cd "$(dirname "$0")/.." || exit 1
export HONE=$build/hone
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failed=0

if [ "$mode" = asan ]; then
    # exitcode: a leak in a child must not look like an ordinary answer. intercept_tls_get_addr: where libraries are
    # opened at run time, gcc 12's sanitizer takes what lies in front of their thread-local storage for a header of
    # its allocator, and LeakSanitizer then reads where nothing is ("Tracer caught signal 11").
    export ASAN_OPTIONS="detect_leaks=1:exitcode=99:intercept_tls_get_addr=0:log_path=$logs/asan"
    export UBSAN_OPTIONS="print_stacktrace=1:log_path=$logs/ubsan"
fi

# step NAME COMMAND...: run it, print its seconds.
step() {
    local name=$1 start=$EPOCHREALTIME
    shift
    "$@"
    local status=$?
    [ $status = 0 ] || failed=1
    printf '%-5s %-6s %6.1f s\n' "$name" "$([ $status = 0 ] && echo ok || echo FAILED)" \
        "$(bc_minus "$EPOCHREALTIME" "$start")"
}

# Difference of two times in seconds; bash has no fractions.
bc_minus() {
    awk -v a="$1" -v b="$2" 'BEGIN { print a - b }'
}

# What compiles much, or computes much: seconds each.
slow='nest/*|nvrtc/*|far/*|family/every_accepted_file_is_lowered|family/higher_ranks_are_lowered'
slow="$slow|cuda_text/random_blocks_of_random_problems_compute_the_problem"
slow="$slow|gpu_oracle/agrees_with_the_interpreter_to_the_bit|math/keeps_its_bounds_at_every_width"
slow="$slow|emit/compiled_text_computes_the_problem|typed_text/*|conversions/*"
slow="$slow|stats/interval_covers_the_median_of_correlated_samples|dev/says_what_is_wrong"

# Compute much, and touch little memory.
numeric='math/keeps_its_bounds_at_every_width|stats/interval_covers_the_median_of_correlated_samples|far/*|conversions/*'

# Left to the long tests.
long='nvrtc/compiles_the_oracle_for_newer_cards'

# Minutes with a sanitizer, in which nothing happens that does not happen in others.
plenty='optimize/and_one_that_races*|*/fails_without_any_one_*|family/higher_ranks_are_lowered|family/every_accepted_file_is_lowered'

# A sanitised run in which every test passed ends with a status of its own when its own process, Criterion's, has a
# leak: what reports() makes of that decides.
leaks_alone() {
    [ "$mode" = asan ] && grep -q '^\[====\] Synthesis: .* Failing: 0 | Crashing: 0' "$logs/unit.txt"
}

unit() {
    local n filter="!($long)"
    [ "$mode" != fast ] || filter="!($slow|$long)"
    # A quarter of the random problems finds what a sanitizer can, in a quarter of the time.
    # Emitted text runs in programs of its own, which have no sanitizer.
    [ "$mode" != asan ] || filter="!($long|nest/*_2|nest/*_3|nest/*_4|*_text/*|nvrtc/*|$numeric|$plenty)"
    [ "$mode" != long ] || filter='*'
    # Only --verbose tells what was skipped, and why; it tells too what the filter left out.
    "$build/test-unit" -j2 --verbose --color=never --filter "$filter" >"$logs/unit.txt" 2>&1 || leaks_alone || {
        grep -v '^\[====\] Running\|^\[RUN\|^\[PASS\|^\[SKIP' "$logs/unit.txt"
        return 1
    }
    n=$(sed -n 's/.*Synthesis: Tested: .*\b\([0-9][0-9]*\) | Passing.*/\1/p' "$logs/unit.txt")
    grep "^mutants:" "$logs/unit.txt" || true
    sed -n '/: Test is disabled$/d; s/^\[SKIP\] \([^ ]*\): \(.*\)/unit: \1 is skipped: \2/p' "$logs/unit.txt" >"$logs/skipped.txt"
    cat "$logs/skipped.txt"
    echo "unit: ${n:-0} tests, $(wc -l <"$logs/skipped.txt") skipped"
    [ "${n:-0}" -gt 0 ]
}

# With sanitizers: every command and both judges, but not the many verdicts that tell about times.
with_asan='t0* t1* t202* t204* t212* t219* t401* t402* t513* t601* t602* t701*'

is_asan() {
    local pattern
    for pattern in $with_asan; do
        # shellcheck disable=SC2254  # a pattern
        case $(basename "$1") in $pattern) return 0 ;; esac
    done
    return 1
}

wanted() {
    case $mode:$1 in
    fast:*/t0* | fast:*/t1*) ;;
    fast:*) return 1 ;;
    esac
    ! grep -q '^# slow$' "$1" || [ "$mode" != fast ] || return 1
    ! grep -q '^# long$' "$1" || [ "$mode" = long ] || return 1
    [ "$mode" != asan ] || { is_asan "$1" && ! grep -q '^# no-asan$' "$1"; }
}

# Runs one test; its output only when it fails or is left out. The limit is for what hangs: a busy
# machine does not come near it.
export LIMIT=3600
one() {
    local status start=${EPOCHREALTIME/./} name
    name=$(basename "$1")
    # A test's reports bear its name: log_path is the last of the options.
    [ -z "${ASAN_OPTIONS:-}" ] || export ASAN_OPTIONS="$ASAN_OPTIONS.$name"
    timeout -k 10 $LIMIT sh "$1" >"$2/$name.out" 2>&1
    status=$?
    echo "$(((${EPOCHREALTIME/./} - start) / 1000000)) $(basename "$1")" >>"$2/seconds.txt"
    case $status in
    0) echo ok ;;
    77)
        cat "$2/$(basename "$1").out"
        echo left out
        ;;
    124 | 137) echo "$1: more than $LIMIT s" ;;
    *)
        cat "$2/$(basename "$1").out"
        echo "$1: FAILED"
        ;;
    esac
}
export -f one

# The longest first, so that none of them is left over at the end: seconds on two processors with the
# others around, of those above ten.
longest='t207 t702 t221 t306 t503 t217 t205 t208 t202 t220 t406 t230 t501 t213 t211 t130 t133'
longest_first() {
    local t
    for t in $longest; do
        grep "/$t-" "$1"
    done
    grep -v "/\(${longest// /\\|}\)-" "$1" | sort -r
}

# each LIST JOBS: so many of them at a time.
each() {
    # shellcheck disable=SC2016  # expanded by the inner shell
    xargs -r -P "$2" -I{} bash -c 'one {} "$0"' "$logs" <"$1" >>"$logs/cli.txt"
}

# Which there are: those that share the processors, and those that go by times that are measured and want two
# processors for themselves.
choose_cli() {
    for test in tests/cli/t*.sh; do
        wanted "$test" && echo "$test"
    done >"$logs/wanted.txt"
    xargs grep -l '^# alone$' <"$logs/wanted.txt" | sort -r >"$logs/alone.txt"
    grep -vxFf "$logs/alone.txt" "$logs/wanted.txt" >"$logs/any.txt"
    longest_first "$logs/any.txt" >"$logs/sharing.txt"
}

# Most of them wait half of the time, for a judge's limits or a server that is slow on purpose: two for each
# processor. The tests of modules, which compute all of the time, run meanwhile.
cli_sharing() {
    local sharing=$((2 * $(nproc)))
    [ "$sharing" -le 8 ] || sharing=8
    each "$logs/sharing.txt" "$sharing"
}

cli() {
    local n jobs=2 wanted
    wanted=$(wc -l <"$logs/wanted.txt")
    [ "$mode" = fast ] || [ "$(nproc)" -ge 4 ] || jobs=1
    each "$logs/alone.txt" "$jobs"
    grep -v '^ok$\|^left out$' "$logs/cli.txt"
    sort -rn "$logs/seconds.txt" >"$build/cli-seconds.txt"
    [ "$mode" = fast ] || echo "cli, seconds: $(sort -rn "$logs/seconds.txt" | head -5 | tr '\n' ' ')"
    n=$(grep -c '^ok$' "$logs/cli.txt")
    echo "cli: $n of $wanted passed, $(grep -c '^left out$' "$logs/cli.txt") left out"
    [ "$n" -gt 0 ] && [ $((n + $(grep -c '^left out$' "$logs/cli.txt"))) = "$wanted" ]
}

# True when all leaks of a report were allocated by Criterion itself (it loses 48 bytes now and then): the first frame
# below the allocator is its library's. What a test lost has a frame of ours there.
criterions_own() {
    grep -q 'LeakSanitizer' "$1" && awk '/^ *#0 /{ n++ } /^ *#1 /{ if (/libcriterion/) own++ }
        END { exit !(n > 0 && n == own) }' "$1"
}

# What AddressSanitizer said, of whichever process.
reports() {
    local report
    for report in "$logs"/asan.* "$logs"/ubsan.*; do
        [ -e "$report" ] || continue
        # A thread that ends while leaks are looked for is passed over: no finding.
        grep -qv '^==[0-9]*==Unable to get registers from thread [0-9]*\.$' "$report" || continue
        ! criterions_own "$report" || continue
        echo "$(basename "$report"):"
        head -60 "$report"
        return 1
    done
}

choose_cli
: >"$logs/cli.txt"
cli_sharing &
sharing=$!
step unit unit
[ ! -x scripts/run-lang-tests.sh ] || step lang scripts/run-lang-tests.sh "$HONE"
wait $sharing
step cli cli
[ "$mode" != asan ] || step asan reports
exit $failed
