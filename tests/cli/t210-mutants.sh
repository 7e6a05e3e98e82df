#!/bin/sh
# long
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
    # A row for each of eight operators, and what was put in is equivalent, not run, or counts; the sums are the last row.
    printf '%s\n' "$got" | awk -F'|' '
        / depth of /                     { table = 1 }
        table && $4 ~ /^ [0-9]+ $/       { rows++; if ($4 != $5 + $6 + $7 || $8 + 0 > $7 + 0) exit 1 }
        table && /^\| all /              { if ($4 != n || $7 + 0 != counted || $7 + 0 != 20) exit 1; all = 1; exit }
        table && $4 ~ /^ [0-9]+ $/       { n += $4; counted += $7 }
        END { exit !(all && rows == 9) }' || fail "the table of operators: $got"
    # Equivalents are listed one by one, and by places: as many.
    equivalent=$(printf '%s\n' "$got" | grep -c '^equivalent ' || true)
    printf '%s\n' "$got" | awk -F'|' -v n="$equivalent" '
        places { sum += $5 } / equivalent in / { places = 1 } END { exit sum != n }' || fail "equivalents: $got"
done
# What never ran says nothing about the judge: with a compiler that fails on half of all texts those
# are counted apart, none of them as found, and so many are a failure.
mkdir "$TMP/bin"
cat >"$TMP/bin/cc" <<END
#!/bin/sh
PATH=/usr/bin:/bin
[ ! -e candidate.c ] || [ \$((\$(cksum <candidate.c | cut -d' ' -f1) % 2)) = 0 ] || exit 1
exec "$(command -v cc)" "\$@"
END
chmod +x "$TMP/bin/cc"
run env PATH="$TMP/bin:$PATH" "$(dirname "$HONE")/mutants" map 8 7
[ "$status" = 1 ] || fail "status $status: $got"
printf '%s\n' "$got" | grep -Eq '^map: 8 mutants, [78] killed .*, [1-9][0-9]* not run; ' || fail "$got"
printf '%s\n' "$got" | grep -Eq '^not run    .*: no-compile: the compiler failed with status 1$' || fail "$got"
