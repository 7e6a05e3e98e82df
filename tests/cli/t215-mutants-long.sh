#!/bin/sh
# long
# no-asan
# at least 300 faults for each family: 99% must be found, at most a fifth by the first 64 outputs
. "$(dirname "$0")/lib.sh"

cd "$ROOT"
for family in map row reduce gemm; do
    run "$(dirname "$HONE")/mutants" "$family" "${MUTANTS:-300}"
    # The totals, the table by operators and the equivalents by places.
    printf '%s\n' "$got" | sed -n "/^$family: /,\$p"
    [ "$status" = 0 ] || fail "$family: $got"
done
# An operator without a place, which nobody named an exception, is a failure.
run "$(dirname "$HONE")/mutants" map_two 100
[ "$status" = 1 ] || fail "status $status: $got"
printf '%s\n' "$got" | grep -q '^share      uninitialised scratch: 0 of 100 counted, less than half' || fail "$got"
