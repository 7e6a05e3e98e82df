#!/bin/sh
# Recordings of real models that are kept in examples/ still give the trees that they gave.
. "$(dirname "$0")/lib.sh"

found=
for file in "$ROOT"/examples/*.jsonl "$ROOT"/examples/*/*.jsonl; do
    [ -e "$file" ] || continue
    found=1
    expect_match 0 '^the same tree' "$HONE" replay "$file"
done
[ -n "$found" ] || skip 'there is no recording in examples/'
