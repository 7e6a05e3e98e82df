#!/bin/bash
# width_problems.sh HONE [TARGET] [FILE...]: every worked problem (or the files) is evaluated as the default kernel and
# as plain, and the table of verdicts is printed: which problems have a kernel that is right on this
# device, and how long a verdict takes. On a CPU the sizes are made small (see `small` below).
set -u
hone=$1
target=${2:-cpu}
[ $# -gt 2 ] && shift 2 || set -- "$(dirname "$0")"/../problems/*.hone
limit=${WIDTH_LIMIT:-60}

# A worked problem is sized for a card; what a processor of two cores can do in a moment is smaller.
small() {
    sed -n 's/^dim //p' "$1" | tr ',' '\n' |
        sed -n 's/^ *\([A-Z][A-Z0-9]*\) *= *\([0-9][0-9]*\) *$/\1 \2/p' |
        awk '$2 > 8 { printf "%s%s=%d", (n++ ? "," : "--dim "), $1, ($2 > 512 ? 64 : $2 >= 112 ? 32 : $2 > 32 ? 16 : 8) }'
}

# "ok 1.2 ms", or what the verdict says.
word() {
    local line
    line=$(grep -m1 -A3 "^$1: " <<<"$2")
    awk -v n="$1" '
        $1 == n ":" { sub(/^[^ ]+ /, ""); v = $0 }
        $1 == "time" { t = $2 " " $3; sub(/,$/, "", t) }
        END { printf "%-18.18s %-9s", v, t }' <<<"$line"
}

printf '%-22s | %-28s | %-28s | %s\n' problem default plain seconds
for file in "$@"; do
    dims=
    [ "$target" != cpu ] || dims=$(small "$file")
    start=$EPOCHREALTIME
    # shellcheck disable=SC2086
    out=$(timeout "$limit" "$hone" eval "$file" default plain --baseline plain --screen --target "$target" $dims 2>&1)
    seconds=$(awk -v a="$EPOCHREALTIME" -v b="$start" 'BEGIN { printf "%.1f", a - b }')
    if grep -q '^default: ' <<<"$out"; then
        printf '%-22s | %s | %s | %s\n' "$(basename "$file" .hone)" "$(word default "$out")" \
            "$(word plain "$out")" "$seconds"
    else
        printf '%-22s | %s (%s s)\n' "$(basename "$file" .hone)" "$(tail -1 <<<"$out" | cut -c1-100)" "$seconds"
    fi
done
