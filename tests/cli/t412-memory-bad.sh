#!/bin/sh
# A memory that is no good, or that two runs want at once, costs a run nothing: one message, and nothing is lost. On
# tables, so that nothing is compiled.
. "$(dirname "$0")/lib.sh"
cd "$ROOT/bench/memory/h200"
export HONE_BUILD_CC=/nonexistent
m=$TMP/m.db

# asked MEMORY STORE: a run with that memory.
asked() { "$HONE" optimize s2.hone --target table:s2.table --memory "$1" --store "$TMP/$2" --evals 6 --until 1; }
# lessons N: so many are in the memory.
lessons() {
    "$HONE" memory export "$TMP/all.json" --memory "$m" >"$TMP/said" || fail "$(cat "$TMP/said")"
    grep -q "lessons of $1 run" "$TMP/said" || fail "not $1: $(cat "$TMP/said")"
}
asked "$m" first.db >/dev/null
lessons 1

# Two at once: both are learned from.
asked "$m" one.db >"$TMP/one" 2>&1 &
other=$!
asked "$m" two.db >"$TMP/two" 2>&1 || fail "$(cat "$TMP/two")"
wait $other || fail "$(cat "$TMP/one")"
lessons 3
! grep -q 'nothing is learned' "$TMP/one" "$TMP/two" || fail "$(cat "$TMP/one" "$TMP/two")"

# once WORDS MEMORY STORE: the run ends well, and says so in one line.
once() {
    run asked "$2" "$3"
    [ "$status" = 0 ] || fail "a bad memory ended a run: $got"
    [ "$(printf '%s\n' "$got" | grep -c "$1")" = 1 ] || fail "not said once: $1: $got"
    printf '%s\n' "$got" | grep -q '^stored ' || fail "not stored: $got"
}
# Of a newer hone, damaged, and one that may be read but not written: it is left as it is.
cp "$m" "$TMP/newer.db"
printf '\0\0\0\007' | dd of="$TMP/newer.db" bs=1 seek=60 conv=notrunc 2>/dev/null
cp "$m" "$TMP/damaged.db"
head -c 20000 /dev/zero | tr '\0' '\377' | dd of="$TMP/damaged.db" bs=4096 seek=1 conv=notrunc 2>/dev/null
cp "$m" "$TMP/readonly.db"
printf '\003' | dd of="$TMP/readonly.db" bs=1 seek=18 conv=notrunc 2>/dev/null
for bad in 'newer:schema 7 is newer' 'damaged:the file is damaged' 'readonly:it cannot be written'; do
    before=$(cksum <"$TMP/${bad%%:*}.db")
    once "${bad#*:}" "$TMP/${bad%%:*}.db" "with-${bad%%:*}.db"
    [ "$before" = "$(cksum <"$TMP/${bad%%:*}.db")" ] || fail "${bad%%:*}: it was written all the same"
done
expect_match 0 'memory    3 runs on siblings' asked "$TMP/readonly.db" again.db

# A full disk, as a limit on the size of files: the run and what was learned before are there.
command -v prlimit >/dev/null || skip 'no prlimit(1)'
n=3
while [ "$(wc -c <"$m")" -lt 3000000 ]; do
    lessons $n
    sed "s/\"run\": \"/&$n-/" "$TMP/all.json" >"$TMP/more.json"
    "$HONE" memory import "$TMP/more.json" --memory "$m" >"$TMP/said" || fail "$(cat "$TMP/said")"
    n=$((2 * n))
done
lessons $n
full() { (trap '' XFSZ; exec prlimit --fsize="$(wc -c <"$m")" "$@"); }
filled() {
    full "$HONE" optimize s2.hone --target table:s2.table --memory "$1" --store "$TMP/$2" --evals 6 --until 1
}
while run filled "$m" "full$n.db"; [ "$status" = 0 ] && ! printf '%s\n' "$got" | grep -q 'nothing is learned'; do
    n=$((n + 1)) # there was room in the last page
done
[ "$status" = 0 ] || fail "a full disk ended a run: $got"
[ "$(printf '%s\n' "$got" | grep -c 'what was learned before is safe')" = 1 ] || fail "$got"
printf '%s\n' "$got" | grep -q '^stored ' || fail "not stored: $got"
lessons $n
sed "s/\"run\": \"/&again-/" "$TMP/all.json" >"$TMP/more.json"
expect_match 4 'what was learned before is safe' full "$HONE" memory import "$TMP/more.json" --memory "$m"
lessons $n
