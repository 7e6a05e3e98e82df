#!/bin/sh
# Options and settings as every command takes them.
. "$(dirname "$0")/lib.sh"

expect 2 "hone: config: unknown option '--orign'; did you mean '--origin'?" "$HONE" config --orign
expect 2 "hone: config: unknown option '--zzz'; see 'hone config --help'" "$HONE" config --zzz
expect 2 "hone: config: unknown option '-x'; see 'hone config --help'" "$HONE" config -x
expect 2 "hone: config: --origin takes no value" "$HONE" config --origin=yes
expect 2 "hone: config: unexpected argument 'more'; see 'hone config --help'" "$HONE" config more
long=$(printf '%0100000d' 0)
expect_match 2 "^hone: config: unknown option '--000" "$HONE" config "--$long"
expect_match 2 "^hone: unknown command '000" "$HONE" "$long"

# The nearest place wins: environment, project (found upward), user, default.
origin() {
    "$HONE" config --origin | sed -n 's/^build\.cc = //p'
}
expect 0 'cc  # default' origin
mkdir -p config/hone project/.hone project/deep/below
printf '[build]\ncc = gcc-12\n' >config/hone/config
expect 0 "gcc-12  # $TMP/config/hone/config" origin
printf '[build]\ncc = clang\n' >project/.hone/config
cd project/deep/below
expect 0 "clang  # $TMP/project/.hone/config" origin
export HONE_BUILD_CC=tcc
expect 0 'tcc  # HONE_BUILD_CC' origin
unset HONE_BUILD_CC

printf '[build]\nccc = x\n' >../../.hone/config
expect 2 "hone: $TMP/project/.hone/config:2: unknown key 'build.ccc'; did you mean 'build.cc'?" \
    "$HONE" config
valid config env HONE_BUILD_CC=x sh -c 'cd / && "$0" config --json' "$HONE"
