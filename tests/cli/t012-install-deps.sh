#!/bin/sh
# What install-deps.sh would install, on systems that differ in their packages: an apt that is not there, a
# root that has nothing in it.
. "$(dirname "$0")/lib.sh"
mkdir bin root lists
for program in sh sed head grep cat env id ln; do
    ln -s "$(command -v $program)" bin/
done
# Packages that there are: files in lists, once they were fetched (lists.d).
cat >bin/apt-cache <<'END'
#!/bin/sh
[ -e "$LISTS" ] || exit 100
case $1 in
show) [ -e "$LISTS/$2" ] && echo "Package: $2" ;;
depends) [ ! -e "$LISTS/$2" ] || cat "$LISTS/$2" ;;
esac
END
cat >bin/apt-get <<'END'
#!/bin/sh
case $1 in
update) ln -sfn lists fetched ;;
*) echo "$*" >>asked ;;
esac
END
cat >bin/sudo <<'END'
#!/bin/sh
exec "$@"
END
chmod +x bin/*
deps() {
    env -i PATH="$TMP/bin" LISTS="$TMP/fetched" DEPS_ROOT="$TMP/root" HONE_NO_INSTALL="$no_install" \
        /bin/sh "$ROOT/scripts/install-deps.sh" "$@"
}
build=' gcc make binutils libc6-dev libjansson-dev libsqlite3-dev libseccomp-dev libinih-dev'
check=' libcriterion-dev clang clang-format pmccabe shellcheck git procps python3-numpy'

no_install=1
expect 1 "missing; to install: apt-get install -y --no-install-recommends$build" deps
# Ubuntu 24.04: clang is 18, PyTorch has no package. The lists come first.
no_install=
: >lists/libc6
printf 'clang\n  Depends: clang-18\n' >lists/clang
expect 0 "installing:$build$check libcurl4 libclang-rt-18-dev" deps check
expect 0 "install -y --no-install-recommends$build$check libcurl4 libclang-rt-18-dev" cat asked
# Debian 12.
: >lists/python3-torch
printf 'clang\n  Depends: clang-14\n' >lists/clang
expect 0 "installing:$build$check python3-torch libcurl4 libclang-rt-14-dev" deps check

# What is there is not installed again; with all of it nothing is said.
mkdir -p root/usr/include root/usr/lib/x root/usr/lib/python3/dist-packages/numpy root/usr/lib/python3/dist-packages/torch
for file in include/stdio.h lib/x/libjansson.a lib/x/libsqlite3.a lib/x/libseccomp.a lib/x/libinih.a; do
    : >root/usr/$file
done
for program in gcc make objdump; do
    ln -s /bin/true bin/$program
done
expect 0 '' deps
: >root/usr/lib/python3/dist-packages/torch/__init__.py
no_install=1
expect 1 "missing; to install: apt-get install -y --no-install-recommends$check libcurl4 libclang-rt-14-dev" deps check
rm bin/apt-get
no_install=
expect 1 "missing, and there is no apt-get to install it with:$check libcurl4 libclang-rt-14-dev" deps check
