#!/bin/sh
# The command list, the page of one command, the version; all from one table.
. "$(dirname "$0")/lib.sh"

expect_match 0 "^hone $(cat "$ROOT/VERSION")( \([0-9a-f]+\))?\$" "$HONE" --version
[ "$got" = "$("$HONE" version)" ] || fail "version: $got"

expect_match 0 '^usage: hone COMMAND' "$HONE" help
overview=$got
expect 0 "$overview" "$HONE" --help
expect 0 "$overview" "$HONE" -h
expect 2 "$overview" "$HONE"
"$HONE" 2>/dev/null | grep . && fail "a mistake is explained on stderr, not stdout"

expect_match 0 '^usage: hone config' "$HONE" help config
page=$got
expect 0 "$page" "$HONE" config --help
expect 0 "$page" "$HONE" config -h
expect 0 "$page" "$HONE" config --nonsense --help
expect_match 2 "unexpected argument '--help'" "$HONE" config -- --help
expect_match 0 '^usage: hone help' "$HONE" help help
expect_match 0 '^usage: hone help' "$HONE" help --help
expect 0 "$(cat "$ROOT/docs/language.md")" "$HONE" help language

# Every command in the overview has a page, and a file in docs/cli.
"$HONE" _docs docs
names=$("$HONE" help | sed -n 's/^  \([a-z]*\)  *.*/\1/p')
[ -n "$names" ] || fail "no commands listed"
for name in $names; do
    expect_match 0 "^usage: hone $name" "$HONE" "$name" --help
    expect_match 0 "^# hone $name\$" cat "docs/$name.md"
    expect_match 0 "^- \[$name\]" cat docs/README.md
done
expect_match 4 'hone: make directory .*: Not a directory' "$HONE" _docs docs/config.md
