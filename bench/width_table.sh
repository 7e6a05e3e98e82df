#!/bin/sh
# bench/width_table.sh HONE TARGET [small]: problems at sizes that people have (shapes of KernelBench,
# level 1), each with 30 s for `hone optimize` and a hard limit of 60 s, in one table: does every row
# end with a confirmed champion? A row is printed when it is there, so that what has come stays where
# a limit on the whole ends it: 9 minutes at most. `small`: sizes for a CPU, to try the script.
# ONLY='softmax|group_norm': these rows alone.
set -u
export HONE_MEMORY_PATH=off
[ $# -ge 2 ] || {
    echo "usage: $0 HONE TARGET [small]" >&2
    exit 2
}
case $1 in
/*) HONE=$1 ;;
*) HONE=$PWD/$1 ;;
esac
ROOT=$(cd "$(dirname "$0")/.." && pwd)
TARGET=$2
SMALL=${3:-}
SECONDS_EACH=${SECONDS_EACH:-30} LIMIT=${LIMIT:-60}
[ "$SMALL" = small ] && SECONDS_EACH=4
DIR=$(mktemp -d "${TMPDIR:-/tmp}/hone-width-XXXXXX")
trap 'rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM
cd "$DIR" || exit 4
# shellcheck disable=SC1091
. "$ROOT/bench/width_set.sh"

# "3 ok, 1 wrong": verdicts of the nodes, as the log has them.
verdicts() {
    sed -n 's/^ *[0-9]*\.[0-9]*[ *] \([a-z-]*\) .*/\1/p' "$1" | sort | uniq -c |
        awk '{ printf "%s%s %s", (NR > 1 ? ", " : ""), $1, $2 }'
}

# What hides behind a row that is not as it should be.
explain() {
    why=$(tr '\r' '\n' <"$1" | grep -v '^ *$' | tail -n 1)
    printf '%-20s %s\n' "$2" "$why" >>failures
    "$HONE" show last.0 2>/dev/null | grep -A3 -E 'wrong|suspect|timeout|evidence|allowed' | head -n 5 |
        sed 's/^/                     /' >>failures
}

: >failures
[ "$SMALL" = small ] || timeout -s INT -k 5 "$LIMIT" "$HONE" calibrate --target "$TARGET" >calibration 2>&1 ||
    tail -n 1 calibration
printf '%-20s %6s  %-16s %10s %9s %10s %8s\n' problem status verdicts champion 'of reach' speed-up seconds
while read -r name sizes; do
    set -- optimize "$name.hone" --target "$TARGET" --seconds "$SECONDS_EACH"
    [ "$SMALL" = small ] && set -- "$@" --dim "$sizes" --no-calibrate
    start=$(date +%s.%N)
    status=0
    timeout -s INT -k 5 "$LIMIT" "$HONE" "$@" >"$name.log" 2>&1 </dev/null || status=$?
    took=$(echo "$(date +%s.%N) $start" | awk '{ printf "%.1f", $1 - $2 }')
    champion=$(sed -n 's/^champion  [0-9]*\.[0-9]*: \([0-9.]* [^ ,]*\).*/\1/p' "$name.log")
    speedup=$(sed -n 's/^champion  .*, \([0-9.]*x\) over .*/\1/p' "$name.log")
    reach=$(sed -n '/^champion  /,$s/.*[ ;]\([0-9]*%\) of reach.*/\1/p' "$name.log" | head -n 1)
    printf '%-20s %6s  %-16s %10s %9s %10s %8s\n' "$name" "$status" "$(verdicts "$name.log")" \
        "${champion:-none}" "${reach:--}" "${speedup:-unknown}" "$took"
    if [ "$status" != 0 ] || [ -z "$champion" ] || [ -z "$speedup" ]; then
        explain "$name.log" "$name"
    fi
done <rows
[ -s failures ] || exit 0
printf '\nrows that are not as they should be, and the last that was said\n'
cat failures
exit 1
