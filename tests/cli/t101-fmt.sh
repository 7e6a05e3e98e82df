#!/bin/sh
# hone fmt: rewrites in place, keeps comments, leaves alone what is canonical or wrong.
. "$(dirname "$0")/lib.sh"

cat >a.hone <<END
# head
problem   p   # what
dim N=4
in x:f32[N]
out   y : f32[ N ]

y=( x+ 1 )*2


END
cp a.hone before.hone
expect 1 "a.hone" "$HONE" fmt --check a.hone
cmp -s a.hone before.hone || fail "--check changed the file"
expect 0 "a.hone" "$HONE" fmt a.hone
cat >want.hone <<END
# head
problem p  # what
dim N = 4
in  x : f32[N]
out y : f32[N]

y = (x + 1) * 2
END
diff want.hone a.hone || fail "not canonical"
touch -d '2001-01-01' a.hone
expect 0 "" "$HONE" fmt a.hone
[ -z "$(find a.hone -newermt '2002-01-01')" ] || fail "a canonical file was written again"
expect 0 "" "$HONE" fmt --check a.hone

# Every file named is formatted; a mistake stops and touches nothing.
cp before.hone b.hone
expect 0 "b.hone" "$HONE" fmt a.hone b.hone
printf 'problem p\ny = (\n' >wrong.hone
cp wrong.hone kept.hone
expect 1 "wrong.hone:2:6: expected a value: a name, a number or '('
    y = (
         ^" "$HONE" fmt wrong.hone
cmp -s wrong.hone kept.hone || fail "a file with mistakes was changed"
# What parses is formatted even where names are unknown.
printf 'y=foo\n' >names.hone
expect 0 "names.hone" "$HONE" fmt names.hone
expect 0 "y = foo" cat names.hone

# More mistakes than an error's text holds: whole ones, then their number.
{
    echo 'problem p'
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do
        echo "value$i = some_longer_name_that_fills_the_message + ( "
    done
} >many.hone
run "$HONE" fmt many.hone
[ "$status" = 1 ] || fail "many mistakes gave $status"
printf '%s\n' "$got" | tail -1 | grep -q 'mistakes in many.hone' || fail "no count: $got"

expect 2 "hone: none.hone: No such file or directory" "$HONE" fmt none.hone
expect_match 2 '^hone: .*directory' "$HONE" fmt "$TMP"
expect_match 2 "did you mean '--check'" "$HONE" fmt --chek a.hone
expect_match 2 '^hone: fmt: expected FILE' "$HONE" fmt
: >empty.hone
expect 0 "" "$HONE" fmt empty.hone
printf 'a\000b' >nul.hone
expect_match 1 'NUL byte' "$HONE" fmt nul.hone
if [ "$(id -u)" != 0 ]; then
    mkdir locked
    cp before.hone locked/a.hone
    chmod 500 locked
    expect_match 4 'locked' "$HONE" fmt locked/a.hone
    chmod 700 locked
    cmp -s before.hone locked/a.hone || fail "a file in a locked directory was changed"
fi
