#!/bin/sh
# What a bad candidate, or a bad machine, does to an evaluation: a verdict or one clear message, and
# the next evaluation goes on. Forks, sockets, signals and the like are in tests/exploits.
. "$(dirname "$0")/lib.sh"
E=$ROOT/tests/exploits
P=$E/softmax.hone
G=$E/honest/softmax_plain.c
plan='#pragma hone launch rows grid(M) args(x, y)'
good() {
    expect_match 0 ': ok$' "$HONE" eval "$P" "$G" --verify
}

: >empty.c
expect_match 1 'illegal' "$HONE" eval "$P" empty.c --verify
printf '%s\nvoid other(void);\nvoid other(void) {}\n' "$plan" >lacks.c
expect_match 1 "the plan launches 'rows', but the source defines no such function" \
    "$HONE" eval "$P" lacks.c --verify
printf '%s\nint rows;\n' "$plan" >variable.c
expect_match 1 'illegal|crash' "$HONE" eval "$P" variable.c --verify
# What is too large or no text has its verdict, and the next candidate is judged.
head -c 50000000 /dev/zero | tr '\0' ' ' >huge.c
printf '%s\n\nint a;\000int b;\n' "$plan" >nul.c
printf '%s\n// \377\n' "$plan" >latin.c
cp huge.c huge.hone
expect_match 1 '^huge.c: limits$' "$HONE" eval "$P" huge.c --verify
printf '%s\n' "$got" | grep -qx '  the file has 50000000 bytes, at most 4194304 are taken' || fail "$got"
expect_match 1 '^huge.hone: limits$' "$HONE" eval "$P" huge.hone --verify
at=$((${#plan} + 9))
expect_match 1 "^  holds a NUL byte: byte $at of $((at + 7)), in line 3\$" "$HONE" eval "$P" nul.c --verify
at=$((${#plan} + 5))
expect_match 1 "^  is not valid UTF-8: byte $at of $((at + 1)), in line 2\$" "$HONE" eval "$P" latin.c --verify
run "$HONE" eval "$P" huge.c nul.c latin.c huge.hone "$G" --verify
[ "$status" = 1 ] || fail "several gave $status: $got"
for line in 'huge.c: limits' 'nul.c: illegal' 'latin.c: illegal' 'huge.hone: limits' "$G: ok"; do
    printf '%s\n' "$got" | grep -qxF "$line" || fail "no '$line' in: $got"
done
expect_match 1 ': ok$' "$HONE" eval "$P" "$G" huge.c --verify
valid eval "$HONE" eval "$P" huge.c --screen --json
grep -q '"hash": null' json || fail "$(cat json)"
grep -q '"kind": "limits"' json || fail "$(cat json)"
expect_match 1 '^they cannot be compared' "$HONE" eval "$P" nul.c "$G"
expect_match 1 '^they cannot be compared' "$HONE" eval "$P" "$G" nul.c
expect_match 1 '^hone: limits: the file has 50000000 bytes' "$HONE" eval "$P" huge.c --aa 1
# A baseline, or a job for somebody else, that is none: the command makes no sense.
expect 2 'hone: baseline huge.c: the file has 50000000 bytes, at most 4194304 are taken' \
    "$HONE" eval "$P" "$G" --baseline huge.c --screen
expect_match 2 '^hone: baseline nul.c: holds a NUL byte' "$HONE" eval "$P" "$G" --baseline nul.c --screen
expect_match 2 '^hone: huge.c: the file has ' "$HONE" eval "$P" huge.c --verify --spool s --detach
expect_match 2 '^hone: nul.c: holds a NUL byte' "$HONE" eval "$P" nul.c --verify --spool s --detach
expect_match 2 '^hone: none.c: No such file' "$HONE" eval "$P" "$G" none.c --verify
expect_match 2 '^hone: \.: is a directory' "$HONE" eval "$P" . --verify
if [ "$(id -u)" != 0 ]; then
    chmod 000 huge.c
    expect_match 2 '^hone: huge.c: Permission denied' "$HONE" eval "$P" huge.c --verify
fi
rm -f huge.c huge.hone

# A compile that takes ten minutes, of which it gets one second.
{
    printf '%s\n#define A(x) x x x x x x x x\n' "$plan"
    printf '#define B(x) A(A(A(x)))\nint f(int i);\nint f(int i) { B(B(B(i *= i;))) return i; }\n'
} >slow.c
expect_match 1 'no-compile' env HONE_COMPILE_SECONDS=1 "$HONE" eval "$P" slow.c --verify
also 'the compiler took more than 1 s'
# And one that would fill the disk or the memory: an object of gigabytes.
printf '%s\nconst char table[3000000000] = {1};\n' "$plan" >wide.c
expect_match 1 'no-compile|limits' env HONE_COMPILE_SECONDS=20 "$HONE" eval "$P" wide.c --verify
good

# Messages: the first errors with their lines, not all of them.
{
    echo "$plan"
    i=0
    while [ $i -lt 400 ]; do
        echo "int a$i = nothing$i;"
        i=$((i + 1))
    done
} >many.c
run "$HONE" eval "$P" many.c --verify
[ "$status" = 1 ] || fail "$got"
printf '%s\n' "$got" | grep -q 'many.c:2:.*nothing0' || fail "not the first error: $got"
[ "$(printf '%s\n' "$got" | wc -l)" -le 24 ] || fail "too many lines: $got"

# The machine's faults are not the candidate's: no verdict, one message, status 3 or 4.
one_message() { # STATUS PATTERN COMMAND...
    expect_match "$@"
    [ "$(printf '%s\n' "$got" | grep -c '^hone: ')" = 1 ] || fail "more than one message: $got"
    ! printf '%s\n' "$got" | grep -q 'no-compile' || fail "charged to the candidate: $got"
}
one_message 3 "^hone: .*no compiler 'nocc'" env HONE_BUILD_CC=nocc "$HONE" eval "$P" "$G" --verify
# One that sleeps for ever cannot be distinguished from one whom the machine lets wait: it is tried again.
cat >asleep.c <<'END'
#pragma hone launch rows grid(1) args(x, y)
void rows(long block, const float *x, float *y) {
    int word = 0;
    long r = 202;
    register long for_ever __asm__("r10") = 0;
    y[block] = x[block];
    for (;; r = 202)
        __asm__ volatile("syscall" : "+a"(r) : "D"(&word), "S"(0), "d"(0), "r"(for_ever) : "rcx", "r11", "memory");
}
END
if [ "$(uname -m)" = x86_64 ]; then
    expect_match 1 ': timeout \(stalled\)$' "$HONE" eval "$P" asleep.c --verify
    printf '%s\n' "$got" | grep -q 'did not run (tried 3 times)' || fail "not tried again: $got"
fi
# A compiler that somebody kills says nothing of the candidate.
printf '#!/bin/sh\nkill -9 $$\n' >killed-cc
chmod +x killed-cc
expect_match 1 'infra' env HONE_BUILD_CC="$TMP/killed-cc" "$HONE" eval "$P" "$G" --verify
printf '%s\n' "$got" | grep -q 'the compiler was killed from outside' || fail "not told: $got"
# A cache that cannot be written is replaced by a temporary directory; without that there is nothing.
mkdir tmp
expect_match 0 ': ok$' env XDG_CACHE_HOME=/proc TMPDIR="$TMP/tmp" "$HONE" eval "$P" "$G" --verify
one_message 4 '^hone: ' env XDG_CACHE_HOME=/proc TMPDIR=/proc "$HONE" eval "$P" "$G" --verify
one_message 4 '^hone: ' env XDG_CACHE_HOME=/dev/null TMPDIR=/dev/null "$HONE" eval "$P" "$G" --verify
if [ "$(id -u)" != 0 ]; then
    mkdir -m 500 closed
    one_message 4 '^hone: .*closed' env XDG_CACHE_HOME="$TMP/closed" TMPDIR="$TMP/closed" "$HONE" eval "$P" "$G" --verify
fi
# A full disk and a read-only one, where we may mount such.
mkdir small
if unshare -m true 2>/dev/null; then
    on_disk() { # full|nearly|ro COMMAND...
        # Nearly full: our headers fit, what the compiler makes does not.
        size=200k
        [ "$1" != nearly ] || size=108k
        # shellcheck disable=SC2016
        SIZE=$size unshare -m sh -c 'mount -t tmpfs -o size=$SIZE tmpfs small && mkdir small/hone small/hone/objects &&
            { [ "$1" != full ] || head -c 1000000 /dev/zero >small/fill 2>/dev/null || :; } &&
            { [ "$1" != ro ] || mount -o remount,ro small; } && shift && exec "$@"' sh "$@"
    }
    one_message 4 '^hone: .*No space left' on_disk full env XDG_CACHE_HOME="$TMP/small" "$HONE" eval "$P" "$G" --verify
    one_message 4 '^hone: .*No space left' on_disk nearly env XDG_CACHE_HOME="$TMP/small" "$HONE" eval "$P" "$G" --verify
    one_message 4 '^hone: .*Read-only' on_disk ro env XDG_CACHE_HOME="$TMP/small" TMPDIR="$TMP/small" "$HONE" eval "$P" "$G" --verify
fi
good
