#!/bin/sh
# install-deps.sh build|check: install what is missing to build hone, or also to test it.
# Says what it will install. HONE_NO_INSTALL=1 only prints the command, and fails when
# something is missing. Silent when everything is there.
# DEPS_ROOT=DIR looks for files below DIR; it is for tests.
set -eu

# need PACKAGE PATH...: the package is there when one of the paths exists.
need() {
    package=$1
    shift
    for path; do
        [ ! -e "$path" ] || return 0
    done
    missing="$missing $package"
}
# need_program PACKAGE PROGRAM
need_program() {
    command -v "$2" >/dev/null 2>&1 || missing="$missing $1"
}
# Whether this system has a package of that name at all.
is_package() {
    apt-cache show "$1" 2>/dev/null | grep -q '^Package:'
}

usr=${DEPS_ROOT:-}/usr
needed_to_build() {
    need_program gcc gcc
    need_program make make
    need_program binutils objdump
    need libc6-dev "$usr"/include/stdio.h
    need libjansson-dev "$usr"/lib/*/libjansson.a "$usr"/lib*/libjansson.a
    need libsqlite3-dev "$usr"/lib/*/libsqlite3.a "$usr"/lib*/libsqlite3.a
    need libseccomp-dev "$usr"/lib/*/libseccomp.a "$usr"/lib*/libseccomp.a
    need libinih-dev "$usr"/lib/*/libinih.a "$usr"/lib*/libinih.a
}
needed_to_check() {
    need libcriterion-dev "$usr"/include/criterion/criterion.h
    need_program clang clang
    need_program clang-format clang-format
    need_program pmccabe pmccabe
    need_program shellcheck shellcheck
    need_program git git
    need_program procps ps
    # What the interpreter is compared with. Debian 12 has a package of PyTorch, Ubuntu 24.04 has none: there
    # that one test is left out, and says so.
    need python3-numpy "$usr"/lib/python3/dist-packages/numpy/__init__.py
    if is_package python3-torch || ! is_package libc6; then
        need python3-torch "$usr"/lib/python3/dist-packages/torch/__init__.py
    fi
    # Opened at run time; the tests talk to a server of their own through it.
    need libcurl4 "$usr"/lib/*/libcurl.so.4 "$usr"/lib*/libcurl.so.4
    # The fuzzers' runtime, which clang only recommends: of the version that clang is or will be
    # (14 on Debian 12, 18 on Ubuntu 24.04).
    version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9][0-9]*\)$/\1/p' | head -n 1)
    need "libclang-rt-${version:-14}-dev" "$usr"/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
}
find_missing() {
    missing=
    needed_to_build
    [ "$1" != check ] || needed_to_check
}
find_missing "${1:-build}"
[ -n "$missing" ] || exit 0

command="apt-get install -y --no-install-recommends"
if [ -n "${HONE_NO_INSTALL:-}" ]; then
    echo "missing; to install: $command$missing"
    exit 1
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "missing, and there is no apt-get to install it with:$missing" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || {
        echo "missing; as root: $command$missing" >&2
        exit 1
    }
    as_root=sudo
fi
$as_root apt-get update -qq
find_missing "${1:-build}" # the lists of packages may say more now
[ -n "$missing" ] || exit 0
echo "installing:$missing"
# shellcheck disable=SC2086  # the packages are words
$as_root env DEBIAN_FRONTEND=noninteractive $command $missing >/dev/null
