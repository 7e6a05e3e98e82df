#!/bin/sh
# bless.sh HONE: rewrite what is generated from the program: docs/cli, and the golden files
# of tests/lang/emit and tests/lang/sol. Review the diff before committing it.
set -eu
cd "$(dirname "$0")/.."
rm -rf docs/cli
"$1" _docs docs/cli
[ ! -x scripts/run-lang-tests.sh ] || BLESS=1 scripts/run-lang-tests.sh "$1"
BLESS=1 HONE=$1 tests/cli/t106-sol-words.sh
git status --short docs/cli tests/lang
