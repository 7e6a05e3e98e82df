#!/bin/sh
# install-deps.sh build|check: install what is missing to build hone, or also to test it.
# Says what it will install. HONE_NO_INSTALL=1 only prints the command, and fails when
# something is missing. Silent when everything is there.
set -eu

missing=
# need PACKAGE PATH...: the package is there when one of the paths exists.
need() {
    package=$1
    shift
    for path; do
        [ -e "$path" ] && return
    done
    missing="$missing $package"
}
# need_program PACKAGE PROGRAM
need_program() {
    command -v "$2" >/dev/null 2>&1 || missing="$missing $1"
}

need_program gcc gcc
need_program make make
need_program binutils objdump
need libc6-dev /usr/include/stdio.h
need libjansson-dev /usr/lib/*/libjansson.a /usr/lib*/libjansson.a
need libsqlite3-dev /usr/lib/*/libsqlite3.a /usr/lib*/libsqlite3.a
need libseccomp-dev /usr/lib/*/libseccomp.a /usr/lib*/libseccomp.a
need libinih-dev /usr/lib/*/libinih.a /usr/lib*/libinih.a
if [ "${1:-build}" = check ]; then
    need libcriterion-dev /usr/include/criterion/criterion.h
    need_program clang clang
    need_program clang-format clang-format
    need_program pmccabe pmccabe
    need_program shellcheck shellcheck
    need_program git git
    # What the interpreter is compared with.
    need python3-numpy /usr/lib/python3/dist-packages/numpy/__init__.py
    need python3-torch /usr/lib/python3/dist-packages/torch/__init__.py
    # Opened at run time; the tests talk to a server of their own through it.
    need libcurl4 /usr/lib/*/libcurl.so.4 /usr/lib*/libcurl.so.4
    # The fuzzers' runtime, which clang only recommends: of the version that clang is or will be
    # (14 on Debian 12, 18 on Ubuntu 24.04).
    version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9][0-9]*\)$/\1/p' | head -n 1)
    need "libclang-rt-${version:-14}-dev" /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
fi
[ -n "$missing" ] || exit 0

command="apt-get install -y --no-install-recommends$missing"
if [ -n "${HONE_NO_INSTALL:-}" ]; then
    echo "missing; to install: $command"
    exit 1
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "missing, and there is no apt-get to install it with:$missing" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || {
        echo "missing; as root: $command" >&2
        exit 1
    }
    as_root=sudo
fi
echo "installing:$missing"
$as_root apt-get update -qq
# shellcheck disable=SC2086  # the packages are words
$as_root env DEBIAN_FRONTEND=noninteractive $command >/dev/null
