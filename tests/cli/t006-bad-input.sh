#!/bin/sh
# every command that reads a file, given what is not one: a clear line, the right status
. "$(dirname "$0")/lib.sh"

mkdir directory
: >empty.hone
printf 'problem p\000\nin x : f32[4]\n' >nul.hone
printf '\377\376\000\001 not text at all' >binary.hone
head -c 10000000 /dev/zero | tr '\0' 'x' >long.hone
cat >good.hone <<'P'
problem good
dim N = 64
in  x : f32[N] ~ normal
out y : f32[N]
y = x * 2 + 1
P

# one CLEAR LINE: not a dump, not silence.
clear_message() {
    [ -n "$got" ] || fail "$*: no message"
    lines=$(printf '%s\n' "$got" | wc -l)
    [ "$lines" -le 12 ] || fail "$*: $lines lines"
    bytes=$(printf '%s' "$got" | wc -c)
    [ "$bytes" -le 2000 ] || fail "$*: $bytes bytes"
}

refuses() {
    want=$1
    shift
    run "$@"
    [ "$status" = "$want" ] || fail "$* gave $status, expected $want:
$got"
    clear_message "$@"
}

each_bad_file() {
    for file in missing.hone directory; do
        refuses 2 "$@" $file
    done
    for file in $mistaken; do
        refuses 1 "$@" "$file"
    done
    if [ "$(id -u)" != 0 ]; then
        cp good.hone unreadable.hone
        chmod 000 unreadable.hone
        refuses 2 "$@" unreadable.hone
    fi
}

mistaken='nul.hone binary.hone long.hone' # an empty file is in canonical form
each_bad_file "$HONE" fmt
mistaken="empty.hone $mistaken"
for command in check sol emit scaffold; do
    each_bad_file "$HONE" $command
done
each_bad_file "$HONE" optimize --no-calibrate --evals 1
mistaken='empty.hone nul.hone binary.hone'
each_bad_file "$HONE" eval good.hone
refuses 1 "$HONE" eval good.hone long.hone # larger than any candidate

# The problem's place of eval, too.
for file in missing.hone directory; do
    refuses 2 "$HONE" eval $file good.hone
done
refuses 1 "$HONE" eval empty.hone good.hone

# An unknown option names the nearest one, for every command.
for command in check fmt import scaffold sol emit eval optimize runs show report export doctor devices \
    calibrate config; do
    run "$HONE" $command --jsn
    [ "$status" = 2 ] || fail "$command --jsn gave $status: $got"
    clear_message "$command --jsn"
done
expect_match 2 "did you mean '--json'" "$HONE" check --jsn good.hone
expect_match 2 "did you mean '--target'" "$HONE" optimize --targt cpu good.hone

# No compiler.
HONE_BUILD_CC=no-such-cc refuses 3 "$HONE" optimize good.hone --no-calibrate
printf 'kernel for good on cpu\nstage y : map\n' >k.hone
HONE_BUILD_CC=no-such-cc refuses 3 "$HONE" eval good.hone k.hone
HONE_BUILD_CC=no-such-cc refuses 3 "$HONE" calibrate

# Output that cannot be written is a failure, and says so.
if [ -w /dev/full ]; then
    status=0
    "$HONE" check good.hone >/dev/full 2>message || status=$?
    [ "$status" = 4 ] || fail "a full disk gave $status"
    grep -q 'write to standard output' message || fail "no word about the full disk"
fi
