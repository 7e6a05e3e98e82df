#!/bin/sh
# bless.sh HONE: rewrite what is generated from the program: docs/cli, and the golden files
# of tests/lang/emit. Review the diff before committing it.
set -eu
cd "$(dirname "$0")/.."
rm -rf docs/cli
"$1" _docs docs/cli
[ ! -x scripts/run-lang-tests.sh ] || BLESS=1 scripts/run-lang-tests.sh "$1"
git status --short docs/cli tests/lang
