#!/bin/sh
# faults put into kernels on purpose are found, other knobs are accepted: a sample for each family
# no-asan
. "$(dirname "$0")/lib.sh"

cd "$ROOT"
for family in map row reduce gemm; do
    run "$(dirname "$HONE")/mutants" "$family" 20 7
    printf '%s\n' "$got" | grep "^$family: " || fail "$family: $got"
    # Twenty say little about shares; that all are found, and all honest ones accepted, they do say.
    printf '%s\n' "$got" | grep -Eq "^$family: 20 mutants, (19|20) killed" || fail "$got"
    printf '%s\n' "$got" | grep -q '^rejected' && fail "$got"
done
exit 0
