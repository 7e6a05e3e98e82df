#!/bin/sh
# What the sandbox really refuses, in the verdict and by the doctor. Sanitizers need more calls.
# no-asan
. "$(dirname "$0")/lib.sh"
E=$ROOT/tests/exploits
P=$E/softmax.hone
G=$E/honest/softmax_plain.c

expect_match 0 'sandbox +(ok|absent) +level [0-2], ' "$HONE" doctor
also '(all [0-9]+|not) refused: '
expect_match 0 'sandbox +level [0-2]; a probe was refused [0-9]+ of [0-9]+ forbidden things' \
    "$HONE" eval "$P" "$G" --verify
valid eval "$HONE" eval "$P" "$G" --json --verify
grep -q '"refused": \[' json || fail "no list of what was refused"
grep -q '"write to an input"' json || fail "an input can be written to"
# Where the kernel can do it all, nothing is allowed.
if "$HONE" doctor | grep -q '^seccomp *ok' && "$HONE" doctor | grep -q '^landlock *ok'; then
    expect_match 0 'sandbox +ok +level 2, all [0-9]+ refused: .*open a socket.*open a file while loaded' \
        "$HONE" doctor
    expect_match 0 'level 2; a probe was refused ([0-9]+) of \1 forbidden things$' \
        "$HONE" eval "$P" "$G" --verify
    for what in 'start a process or thread' 'become another program' 'trace a process' 'open a file'; do
        grep -q "\"$what\"" json || fail "not refused: $what"
    done
fi
# Kept: the second time nothing is tried, and the answer is the same. A cache that is damaged is
# made again.
kept=$(echo "$XDG_CACHE_HOME"/hone/objects/*.json)
[ -f "$kept" ] || fail "not kept: $kept"
echo 'no document' >"$kept"
expect_match 0 'a probe was refused' "$HONE" eval "$P" "$G" --verify
grep -q 'hone.sandbox/1' "$kept" || fail "not made again"

# No process survives a time-out, nor a candidate that tries to leave one behind.
count() {
    n=0
    for dir in /proc/[0-9]*; do
        [ "$(readlink "$dir/exe" 2>/dev/null)" = "$(readlink -f "$HONE")" ] || continue
        case $(tr '\0' ' ' <"$dir/cmdline" 2>/dev/null) in *"_runner "*) ;; *) continue ;; esac
        [ "$(readlink "$dir/cwd" 2>/dev/null)" = "$TMP" ] && n=$((n + 1))
    done
    echo $n
}
expect_match 1 'timeout' "$HONE" eval "$P" "$E/cheat/endless.c" --verify
expect_match 1 'forbidden-syscall' "$HONE" eval "$P" "$E/cheat/fork.c" --verify
none() { [ "$(count)" = 0 ]; }
until_true none
