#!/bin/sh
# The store: what is not one, is newer, damaged, read-only, full.
. "$(dirname "$0")/lib.sh"

small="$ROOT/problems/softmax.hone --dim M=16,N=16 --no-calibrate --evals 1 --seconds 100"
# shellcheck disable=SC2086
expect_match 0 '^stored    run 1 in s/runs.db' "$HONE" optimize $small --store s/runs.db

# The commands that it names are for that store, and run as they are printed.
# shellcheck disable=SC2086
expect_match 0 '^stored    run 1 in ' "$HONE" optimize $small --store "not 'here"
[ ! -e .hone ] || fail 'a store that was not named'
next=$(printf '%s\n' "$got" | sed -n 's/^next      hone //p')
eval "\"\$HONE\" $next" >log 2>&1 || fail "hone $next: $(cat log)"
[ -s softmax-kernel/kernel.c ] || fail "hone $next made nothing: $(cat log)"
also "; see hone report 1 --store 'not '"

expect_match 2 'there is no run 7; the newest in s/runs.db is 1' "$HONE" show 7 --store s
expect 2 'hone: run 1 has no node 9; the newest is 0' "$HONE" show 1.9 --store s
expect_match 2 "'1.x' is not a node" "$HONE" show 1.x --store s
expect_match 2 "'first' is not a run" "$HONE" show first --store s

# The page of a run: test_page.c has what is in it.
expect_match 0 '^page.html: run 1 as a page, [0-9]+ KB$' "$HONE" report --store s --html page.html
grep -q '^</html>$' page.html || fail "page.html is cut off"
expect_match 4 'report: .*no/where/page.html: No such file' "$HONE" report --store s --html no/where/page.html
expect_match 0 '^pages/index.html: 1 run, a page each$' "$HONE" runs --store s --html pages
grep -q 'href="run-1.html"' pages/index.html && [ -s pages/run-1.html ] || fail "no page of run 1: $(ls pages)"
expect_match 2 'is about a whole run' "$HONE" report 1.0 --store s --html page.html

echo 'this is no database, but long enough to be looked at as one.................' >text.db
for command in runs show report 'export -o d' 'optimize --resume'; do
    # shellcheck disable=SC2086
    expect_match 2 'text.db: .*not a hone store' "$HONE" $command --store text.db
    # shellcheck disable=SC2086
    expect_match 2 'none.db: No such file' "$HONE" $command --store none.db
done
# shellcheck disable=SC2086
expect_match 2 'text.db: .*not a hone store' "$HONE" optimize $small --store text.db
# Before anything is measured.
expect 2 "hone: open store text.db: this is not a hone store (nor any database)" "$HONE" optimize "$ROOT/problems/softmax.hone" --store text.db

# A run is removed with all that is its own, and its number is not given again; gc makes the file smaller.
cp -r s fewer
last=$("$HONE" runs --store fewer | awk 'NR == 2 { print $1 }')
expect 0 'removed 1 run' "$HONE" runs rm last --store fewer
expect_match 2 "there is no run $last; the newest|there are no runs|there is no run $last in" "$HONE" show "$last" --store fewer
expect_match 2 'there is no run 99|there are no runs' "$HONE" runs rm 99 --store fewer
expect 2 'hone: runs: expected nothing, or rm RUN...' "$HONE" runs remove 1 --store fewer
expect_match 0 'fewer/runs.db +[0-9.]+ MB, was [0-9.]+ MB$' "$HONE" gc --keep 0 --store fewer
[ "$(find "$XDG_CACHE_HOME/hone/objects" -type f | wc -l)" = 0 ] || fail 'compiled kernels are left'
[ "$(stat -c %s fewer/runs.db)" -lt "$(stat -c %s s/runs.db)" ] || fail 'the store is not smaller'

# The schema's version is at byte 60 of the file, big-endian.
cp -r s newer
printf '\0\0\0\007' | dd of=newer/runs.db bs=1 seek=60 conv=notrunc 2>/dev/null
expect 3 'hone: open store newer/runs.db: schema 7 is newer than 3, the newest that this hone knows' \
    "$HONE" runs --store newer
cp -r s damaged
head -c 24576 /dev/zero | tr '\0' '\377' | dd of=damaged/runs.db bs=4096 seek=1 conv=notrunc 2>/dev/null
expect_match 4 'damaged/runs.db: the file is damaged' "$HONE" runs --store damaged

# A disk that is full, where we may make one (the unit tests fill a file in any case).
mkdir disk
if mount -t tmpfs -o size=320k none disk 2>/dev/null; then
    trap 'umount "$TMP/disk"; rm -rf "$TMP"' EXIT
    # shellcheck disable=SC2086
    expect_match 4 'the disk is full; what was stored before is safe|: No space left' \
        sh -c 'for i in 1 2 3 4 5 6 7 8; do "$@" || exit; done' sh \
        "$HONE" optimize $small --store disk/runs.db
    expect_match 0 '^ *1  done' "$HONE" runs --store disk/runs.db
fi
