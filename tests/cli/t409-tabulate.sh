#!/bin/sh
# slow
# no-asan
# Every block of a small space once; what was killed half way goes on without a second row.
. "$(dirname "$0")/lib.sh"
cat >p.hone <<'P'
problem tiny
dim N = 4096
in x : f32[N] ~ normal
out y : f32[N]
y = x * 2 + 1
P
export HONE_RUN_THREADS=1
tab() { "$HONE" tabulate p.hone --limit 4 --seconds 0.01 --no-calibrate -o t.table; }
expect_match 0 '4 blocks of more than' "$HONE" tabulate p.hone --limit 4 --count
expect_match 2 '[-]o FILE' "$HONE" tabulate p.hone
expect_match 0 '4 of 4 blocks, 4 ok' tab
cp t.table whole.table
# The end and half of the last row are lost.
sed '$d' whole.table >t.table
truncate -s -5 t.table
expect_match 0 '4 of 4 blocks, 4 ok' tab
blocks() { sed -n '3,$s/ = .*//p' "$1" | sort -u; }
[ "$(blocks t.table)" = "$(blocks whole.table)" ] && [ "$(blocks t.table | wc -l)" = 5 ] || fail "$(cat t.table)"
[ "$(grep -c '^plain' t.table)" = 1 ] || fail "recorded twice: $(cat t.table)"
# One that is whole is left as it is; another problem's is not gone on with.
cp t.table same.table
expect_match 0 '4 of 4 blocks' tab
cmp t.table same.table || fail "changed"
expect_match 2 'is of another problem' "$HONE" tabulate p.hone --dim N=2048 --limit 4 --no-calibrate -o t.table
expect_match 2 'is of another limit' "$HONE" tabulate p.hone --limit 5 --no-calibrate -o t.table
echo "no table" >t.table
expect_match 2 'this is no table' tab
