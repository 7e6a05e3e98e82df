# shellcheck shell=sh
# Read by every command-line test: `. "$(dirname "$0")/lib.sh"`.
#
#   $HONE    the binary            $ROOT  the repository
#   $TMP     an empty directory, removed afterwards; the test runs in it, and HOME and the
#            XDG directories point into it, so nothing of the user's is read or written
#
# A comment line `# slow` in a test leaves it out of `make check-fast`, `# long` leaves it to
# `make check-long`, `# no-asan` leaves it out of `make check-asan`. `# alone`: what it expects
# goes by measured times, so no other test runs at the same time where there are few processors.
set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
HONE=${HONE:-$ROOT/build/hone}
TMP=$(mktemp -d "${TMPDIR:-/tmp}/hone-cli-XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT TERM
export HOME="$TMP/home" XDG_CACHE_HOME="$TMP/cache" XDG_CONFIG_HOME="$TMP/config"
export XDG_DATA_HOME="$TMP/data" XDG_RUNTIME_DIR="$TMP/run" LC_ALL=C
export TERM=xterm  # a test of another one says so
unset CUTLASS_PATH NO_COLOR HONE_LOG HONE_BUILD_CC HONE_RUN_THREADS HONE_STORE_PATH
export HONE_MEMORY_PATH=off  # a run shall not depend on those before it; t605 turns it on
unset ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN OPENAI_API_KEY HONE_LLM_KEY HONE_LLM_PROVIDER
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
export HONE_TARGET=cpu  # whatever this machine has
# Tests point CUDA_HOME at a driver that is not there; the NVRTC that it named is still found.
[ -z "${CUDA_HOME:-}" ] || export CUDA_PATH="${CUDA_PATH:-$CUDA_HOME}"
mkdir "$HOME"
cd "$TMP"

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*"
    exit 1
}

# Run a command; $got is all it printed, $status how it ended.
run() {
    status=0
    got=$("$@" 2>&1) || status=$?
}

# expect STATUS OUTPUT COMMAND...: run it, compare exit status and all output.
expect() {
    want_status=$1 want=$2
    shift 2
    run "$@"
    [ "$status" = "$want_status" ] && [ "$got" = "$want" ] && return
    fail "$* gave $status:
$got
expected $want_status:
$want"
}

# expect_match STATUS PATTERN COMMAND...: some line of the output matches (grep -E).
expect_match() {
    want_status=$1 want=$2
    shift 2
    run "$@"
    [ "$status" = "$want_status" ] && printf '%s\n' "$got" | grep -Eq -e "$want" && return
    fail "$* gave $status:
$got
expected $want_status and a line matching: $want"
}

# also PATTERN: and so does some other line of the last command's.
also() {
    printf '%s\n' "$got" | grep -Eq -e "$1" || fail "no line matches: $1
$got"
}

# valid SCHEMA COMMAND...: its standard output is one document that docs/schema/SCHEMA.json
# admits. The document is then in $TMP/json.
valid() {
    schema=$ROOT/docs/schema/$1.json
    shift
    status=0
    "$@" >"$TMP/json" || status=$?
    [ "$status" -le 1 ] || fail "$* gave $status"
    "$(dirname "$HONE")/validate" "$schema" <"$TMP/json" || fail "$* broke $schema"
}

# until_true COMMAND...: wait for it to come true; two minutes at most, so that a machine with other
# work can take its time.
until_true() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 12000 ] || fail "never came true: $*"
        sleep 0.01
    done
}

# fate PID: $fate is "gone" (a zombie does nothing any more), "dying" or "alive". Whoever was killed
# needs a processor to die on; until then a SIGKILL is pending, then it is at its end.
fate() {
    fate=gone
    read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
    status_file=/proc/$1/status
    # State, parent, group, session, terminal, its group, flags ... 18: threads.
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    case $1 in
    X*) return 0 ;;
    Z*)
        [ "${18}" -le 1 ] || fate=dying # its first thread is gone, others are not
        return 0
        ;;
    esac
    fate=dying
    [ $(($7 & 4)) = 0 ] || return 0 # PF_EXITING
    grep -Eqs '^(SigPnd|ShdPnd):.*[13579bdf]..$' "$status_file" || fate=alive
}

# until_gone COMMAND...: wait until every process that it lists is gone. All that shall die does so
# within a second, and a test that finds one alive after that fails. What counts are looks, a
# hundred of them at least 10 ms apart, with one alive and none dying: how long it takes those that
# are dying says how busy the machine is, and who is below them hears of it only then.
until_gone() {
    looks=0 idle_looks=0
    while :; do
        alive='' dying=''
        for one in $("$@"); do
            fate "$one"
            case $fate in
            alive) alive="$alive $one" ;;
            dying) dying="$dying $one" ;;
            esac
        done
        [ -n "$alive$dying" ] || return 0
        looks=$((looks + 1))
        [ -n "$dying" ] || idle_looks=$((idle_looks + 1))
        [ $idle_looks -lt 100 ] && [ $looks -lt 12000 ] ||
            fail "left of $*:$(for one in $alive $dying; do
                echo && echo "$one" && tr '\0' ' ' <"/proc/$one/cmdline"
            done 2>/dev/null)"
        sleep 0.01
    done
}

# working_in DIRECTORY: the processes whose working directory is in it, such as compilers.
working_in() {
    dir=$(cd "$1" 2>/dev/null && pwd -P) || return 0
    find /proc/[0-9]*/cwd -maxdepth 0 -lname "$dir/*" 2>/dev/null | cut -d / -f 3
}

# Leave a test out, with the reason. What must be there is not left out: HONE_NEED_NVRTC, as .ci/run
# sets it where there is a toolkit.
skip() {
    [ "$*" != 'no NVRTC' ] || [ -z "${HONE_NEED_NVRTC:-}" ] || fail "HONE_NEED_NVRTC is set, but there is none: hone doctor"
    printf '%s: skipped: %s\n' "$(basename "$0")" "$*"
    exit 77
}
