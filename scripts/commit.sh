#!/bin/sh
# Print commit.h: the commit that is built, from git or, in a tarball of `make dist`, from the file COMMIT.
cd "$(dirname "$0")/.." || exit 1
commit=$(git rev-parse --short=10 HEAD 2>/dev/null || cat COMMIT 2>/dev/null || true)
echo "#define HONE_COMMIT \"$commit\""
