#!/bin/sh
# slow
# What a shell, man and a package have of hone: all made from the tables of commands.
. "$(dirname "$0")/lib.sh"

# Topics of help, from the tables.
expect_match 0 '^gemm ' "$HONE" help families
expect_match 0 '^ +store +.*: cached stream$' "$HONE" help knobs
expect_match 0 '^  h200 +sm_90a +NVIDIA H200' "$HONE" help targets
expect_match 0 '^reach ' "$HONE" help tools
expect_match 0 '^  explore +.*\(0.08\)$' "$HONE" help policies
expect_match 0 '^no-compile ' "$HONE" help verdicts
expect_match 2 "unknown command 'verdict'" "$HONE" help verdict

# What takes long can be told to be quiet.
for command in calibrate eval optimize replay suite tabulate; do
    expect_match 0 '^  --quiet ' "$HONE" "$command" --help
done

# A first problem.
expect_match 0 '^wrote first.hone' "$HONE" init
expect_match 0 'ok: problem first, 2 inputs, 1 output' "$HONE" check first.hone
expect 0 '' "$HONE" fmt --check first.hone
expect 2 'hone: init: first.hone is there already' "$HONE" init
expect_match 0 '^wrote mine.hone' "$HONE" init mine
expect 2 "hone: init: '../x' is no name: letters, digits and _" "$HONE" init ../x

# Completion: commands, then a command's options, then files.
expect 2 "hone: completion: 'tcsh' is none of bash, zsh, fish" "$HONE" completion tcsh
"$HONE" completion bash >hone.bash
# shellcheck disable=SC2016
complete='. ./hone.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hone; echo "${COMPREPLY[*]}"'
expect 0 '' bash -c "$complete" - hone zzz
bash -c "$complete" - hone e | tr ' ' '\n' | grep -qx export || fail 'export is not completed'
expect 0 '--markdown' bash -c "$complete" - hone eval --ma
expect 0 'beam bandit' bash -c "$complete" - hone optimize --policy b
expect 0 'version verdicts' bash -c "$complete" - hone help ver
expect 0 'first.hone' bash -c "$complete" - hone check firs
for shell in zsh fish; do
    "$HONE" completion $shell >hone.$shell
    grep -q markdown hone.$shell || fail "$shell knows no options"
    grep -q 'mcts epsilon greedy' hone.$shell || fail "$shell knows no policies"
    ! command -v $shell >/dev/null || $shell -n hone.$shell || fail "$shell does not read it"
done

# Installed and removed, with everything, and nothing left.
touch before
"$ROOT/scripts/install.sh" install "$HONE" /usr/local "$TMP/installed"
root=$TMP/installed/usr/local
[ -x "$root/bin/hone" ] && [ -s "$root/share/man/man1/hone.1" ] && [ -s "$root/share/man/man1/hone-eval.1" ] ||
    fail "installed: $(find installed)"
[ -s "$root/share/bash-completion/completions/hone" ] || fail 'no completion'
grep -q '^\.SH OPTIONS' "$root/share/man/man1/hone-eval.1" || fail 'no options'
grep -q 'hone\\-export' "$root/share/man/man1/hone.1" || fail 'no commands'
! grep -n "^'" "$root"/share/man/man1/*.1 || fail 'a line that troff takes for a request'
if command -v man >/dev/null && command -v groff >/dev/null; then
    expect_match 0 'compile, verify and time' man --warnings -l "$root/share/man/man1/hone-eval.1"
fi
touch "$root/share/man/man1/other.1"
"$ROOT/scripts/install.sh" uninstall "$HONE" /usr/local "$TMP/installed"
[ "$(find installed -type f)" = "installed/usr/local/share/man/man1/other.1" ] || fail "left: $(find installed -type f)"

# A package, installed into an empty root and removed again.
"$ROOT/scripts/package.sh" symbols "$HONE" 2.99 || fail symbols
expect_match 1 'needs GLIBC_.*, newer than 2.2:' "$ROOT/scripts/package.sh" symbols "$HONE" 2.2
# What make static makes of the objects of this build: it runs, and needs no newer C library than RHEL 9 has.
build=$(dirname "$HONE")
libs='-l:libjansson.a -l:libsqlite3.a -l:libseccomp.a -l:libinih.a -lm -lpthread -ldl'
if [ ! -e "$build/embedded.o" ]; then
    echo "$0: the static build is left out: no objects next to $HONE"
elif objdump -T "$HONE" | grep -Eq '__asan|__isoc23'; then
    echo "$0: the static build is left out: a sanitizer, or the headers of a newer C library"
else
    # shellcheck disable=SC2086,SC2046  # lists
    CC=cc "$ROOT/scripts/package.sh" static here/hone-static \
        $(cd "$ROOT" && ls src/*.c src/*/*.c | sed "s|^|$build/|; s|c\$|o|") "$build/embedded.o" $libs >log 2>&1 || fail "$(cat log)"
    "$ROOT/scripts/package.sh" symbols here/hone-static 2.34 || fail 'a newer version than RHEL 9 has'
    expect_match 0 '^hone ' here/hone-static version
    expect_match 0 'ok: problem first' here/hone-static check first.hone
    # Without what it puts in the place of a function, this system's is a newer one: the check is one.
    ! objdump -T "$HONE" | grep -q 'GLIBC_2.3[5-9].*hypot' ||
        expect_match 1 'needs GLIBC_2.3[5-9], newer than 2.34' "$ROOT/scripts/package.sh" symbols "$HONE" 2.34
fi
printf 'int main(void) { return 0; }\n' >h.c
expect_match 1 'no binary' "$ROOT/scripts/package.sh" symbols h.c 2.34
if command -v dpkg-deb >/dev/null; then
    deb=$("$ROOT/scripts/package.sh" deb "$HONE" debs)
    expect_match 0 'usr/share/man/man1/hone-optimize.1.gz$' dpkg-deb -c "$deb"
    expect_match 0 '^Package: hone$' dpkg-deb -f "$deb"
    if [ "$(id -u)" = 0 ]; then
        mkdir -p clean/var/lib/dpkg/info clean/var/lib/dpkg/updates && : >clean/var/lib/dpkg/status
        as_root() { dpkg --root="$TMP/clean" --force-depends --log=/dev/null "$@" >log 2>&1 || fail "dpkg $*: $(cat log)"; }
        as_root -i "$deb"
        expect_match 0 '^hone ' clean/usr/bin/hone version
        as_root -r hone
        [ ! -e clean/usr/bin/hone ] && [ ! -e clean/usr/share/doc/hone ] || fail 'something is left'
    fi
fi
