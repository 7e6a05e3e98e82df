#!/bin/sh
# package.sh dist OUT | deb HONE OUT | static HONE OBJECT... | symbols HONE VERSION
#
# dist     OUT/hone-VERSION.tar.gz of the commit that is checked out; it builds without git, and says its commit
# deb      OUT/hone_VERSION_ARCH.deb of a binary
# static   link a binary that RHEL 9 and Ubuntu 22.04 can run, from the objects of any build, and look at what it needs
# symbols  fail when a binary needs a newer C library than VERSION (2.34: RHEL 9; 2.35: Ubuntu 22.04)
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
version=$(cat "$root/VERSION")
case $1 in
dist)
    mkdir -p "$2"
    out=$(cd "$2" && pwd)
    stage=$(mktemp -d)
    trap 'rm -rf "$stage"' EXIT
    git -C "$root" archive --prefix="hone-$version/" HEAD | tar -x -C "$stage"
    git -C "$root" rev-parse --short=10 HEAD >"$stage/hone-$version/COMMIT"
    tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git -C "$root" log -1 --format=%ct)" \
        -czf "$out/hone-$version.tar.gz" "hone-$version"
    echo "$out/hone-$version.tar.gz"
    ;;
deb)
    mkdir -p "$3"
    out=$(cd "$3" && pwd)
    stage=$(mktemp -d)
    trap 'rm -rf "$stage"' EXIT
    chmod 755 "$stage"
    "$root/scripts/install.sh" install "$2" /usr "$stage"
    strip --strip-unneeded "$stage/usr/bin/hone"
    find "$stage/usr/share/man" -name '*.1' -exec gzip -9n {} +
    mkdir -p "$stage/DEBIAN" "$stage/usr/share/doc/hone"
    cp "$root/LICENSE" "$stage/usr/share/doc/hone/copyright"
    cp -r "$root/docs" "$root/problems" "$root/examples" "$stage/usr/share/doc/hone/"
    arch=$(dpkg --print-architecture)
    cat >"$stage/DEBIAN/control" <<C
Package: hone
Version: $version
Architecture: $arch
Maintainer: hone developers <hone@localhost>
Depends: libc6 (>= 2.35), gcc | clang
Recommends: binutils, libcurl4
Section: devel
Priority: optional
Description: makes GPU and CPU kernels fast
 Takes a tensor computation in a small language, makes kernels for it,
 verifies and times them, and searches for the fastest.
C
    dpkg-deb -Zgzip --root-owner-group --build "$stage" "$out/hone_${version}_$arch.deb" >/dev/null
    echo "$out/hone_${version}_$arch.deb"
    ;;
static)
    out=$2
    shift 2
    mkdir -p "$(dirname "$out")"
    # shellcheck disable=SC2086  # CC may be several words
    ${CC:-cc} -O2 -Wl,--wrap=hypot,--wrap=hypotf -o "$out.new" "$root/scripts/old_libm.c" "$@"
    "$0" symbols "$out.new" 2.34
    mv "$out.new" "$out"
    ;;
symbols)
    newest=$(objdump -T "$2" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -1)
    [ -n "$newest" ] || { echo "$2: no binary that needs the C library"; exit 1; }
    [ "$(printf '%s\n%s\n' "$newest" "$3" | sort -V | tail -1)" = "$3" ] || {
        echo "$2 needs GLIBC_$newest, newer than $3:"
        objdump -T "$2" | grep -F "GLIBC_$newest"
        exit 1
    }
    ;;
*)
    sed -n '2,7p' "$0" >&2
    exit 2
    ;;
esac
