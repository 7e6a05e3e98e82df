#!/bin/sh
# long
# no-asan
# at least 300 faults for each family: 99% must be found, at most a fifth by the first 64 outputs
. "$(dirname "$0")/lib.sh"

cd "$ROOT"
for family in map row reduce gemm; do
    run "$(dirname "$HONE")/mutants" "$family" "${MUTANTS:-300}"
    printf '%s\n' "$got" | grep -A 8 "^$family: "
    [ "$status" = 0 ] || fail "$family: $got"
done
