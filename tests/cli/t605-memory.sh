#!/bin/sh
# slow
# Memory across runs: what a run teaches, moving it about, doing without it, bad files.
. "$(dirname "$0")/lib.sh"
unset HONE_MEMORY_PATH
file=$XDG_DATA_HOME/hone/memory.db

small="$ROOT/problems/softmax.hone --dim M=16,N=16 --no-calibrate --evals 2 --seconds 100 --race 1 --store s"
expect_match 0 "^nothing was learned yet; each hone optimize leaves a lesson in $file" "$HONE" memory
# shellcheck disable=SC2086
expect_match 0 '^stored    run 1 in s' "$HONE" optimize $small
valid memory "$HONE" memory --json
expect_match 0 '^ +1 +2 .*x  softmax M=16 N=16$' "$HONE" memory
expect_match 0 '^ +1 +1 .*x .* -> ' "$HONE" memory moves softmax
expect_match 0 '^nothing was learned yet of gemm' "$HONE" memory moves gemm
valid show "$HONE" show 1 --json --store s

# A run that went on after its end counts once.
expect_match 0 '^stored    run 1 in s' "$HONE" optimize --resume 1 --evals 3 --store s
expect_match 0 '^ +1 +3 .*x  softmax M=16 N=16$' "$HONE" memory

# A sibling takes from it, says what, and is replayed without it.
expect_match 0 '^memory    1 run on siblings' "$HONE" optimize "$ROOT/problems/softmax.hone" --dim M=24,N=24 \
    --no-calibrate --evals 2 --seconds 100 --race 1 --store sibling
"$HONE" show 1 --json --store sibling | sed -n '/"starts"/,/]/p' | grep -q 'kernel for softmax' ||
    fail 'the record does not say what was taken'
expect_match 0 '^the same tree' env HONE_MEMORY_PATH=none.db "$HONE" replay 1 --store sibling

# Out, in, and together; a run counts once.
expect 0 'all.json: lessons of 2 runs' "$HONE" memory export all.json
"$(dirname "$HONE")/validate" "$ROOT/docs/schema/lessons.json" <all.json || fail 'the export broke its schema'
expect 0 'all.json: lessons of 2 runs, 0 of them new' "$HONE" memory import all.json
expect 0 'all.json: lessons of 2 runs, 2 of them new' "$HONE" memory import all.json --memory other.db
expect 0 'other.db: lessons of 2 runs, 0 of them new' "$HONE" memory merge other.db
expect 0 'removed the lessons of 0 runs' "$HONE" memory prune
expect_match 2 'all.json: this is not a hone memory' "$HONE" memory merge all.json
expect_match 1 'import other.db: ' "$HONE" memory import other.db
expect_match 2 'none.json: No such file' "$HONE" memory import none.json
expect_match 2 '^hone: memory: expected problems, moves' "$HONE" memory forget
expect_match 2 '^hone: memory is off' env HONE_MEMORY_PATH=off "$HONE" memory

# Off: neither asked nor taught. A file that is no good: one message, and the run goes on.
before=$(cksum <"$file")
# shellcheck disable=SC2086
expect_match 0 '^stored    run 2 in s' "$HONE" optimize $small --evals 1 --memory off
[ "$(cksum <"$file")" = "$before" ] || fail 'the memory was written, though off'
cp "$file" newer.db
printf '\0\0\0\007' | dd of=newer.db bs=1 seek=60 conv=notrunc 2>/dev/null
cp "$file" damaged.db
head -c 20000 /dev/zero | tr '\0' '\377' | dd of=damaged.db bs=4096 seek=1 conv=notrunc 2>/dev/null
# SQLite writes to no file whose header asks for a newer writer, whoever asks for it.
cp "$file" readonly.db
printf '\003' | dd of=readonly.db bs=1 seek=18 conv=notrunc 2>/dev/null
for bad in 'damaged.db:the file is damaged' 'readonly.db:it cannot be written' '/dev/null/m.db:Not a directory'; do
    # shellcheck disable=SC2086
    run "$HONE" optimize $small --evals 1 --memory "${bad%%:*}"
    [ "$status" = 0 ] || fail "a bad memory ended a run: $got"
    [ "$(printf '%s\n' "$got" | grep -c "memory.*${bad#*:}\|learned.*${bad#*:}")" = 1 ] ||
        fail "${bad%%:*} was not mentioned once: $got"
done
expect_match 3 'newer.db: schema 7 is newer than 1' "$HONE" memory --memory newer.db
expect_match 4 'damaged.db: the file is damaged' "$HONE" memory --memory damaged.db
