#!/bin/sh
# slow
# ordinary arithmetic is accepted on every input set, lower precision is not: the table of docs/integrity.md
. "$(dirname "$0")/lib.sh"
run "$ROOT/tests/exploits/numerics.sh" "$HONE" --sizes "${SIZES:-1024}" --trials "${TRIALS:-1}"
[ "$status" = 0 ] || fail "$got"
for file in "$ROOT"/tests/exploits/numerics/*.c; do
    case $(head -n 1 "$file") in *': ok') verdict=accepted ;; *) verdict=refused ;; esac
    grep -q "^| \`$(basename "$file" .c)\` |.* $verdict |$" "$ROOT/docs/integrity.md" || fail "the table lacks $file"
done
