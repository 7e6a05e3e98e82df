#!/bin/sh
# Scripts rely on these: 0 done, 1 the answer is negative, 2 usage, 3 something needed is
# absent, 4 our failure or the machine's, 130 interrupted.
. "$(dirname "$0")/lib.sh"

# 0
expect_match 0 '^build.cc = cc$' "$HONE" config

# 1: something is broken, and has been named
expect_match 1 "^cache     broken" env XDG_CACHE_HOME=/dev/null "$HONE" doctor

# 2: a command line, a setting or a named file that makes no sense
expect 2 "hone: unknown command 'confog'; did you mean 'config'?" "$HONE" confog
expect 2 "hone: unknown command 'compare'; that is: hone eval PROBLEM CANDIDATE CANDIDATE..." "$HONE" compare a.c b.c
expect 2 "hone: unknown command 'zzz'; see 'hone help'" "$HONE" zzz
expect 2 "hone: unknown command ''; see 'hone help'" "$HONE" ""
expect 2 "hone: unknown command '_nonsense'; see 'hone help'" "$HONE" _nonsense
expect 2 "hone: unknown command 'confog'; did you mean 'config'?" "$HONE" help confog
expect 2 "hone: unknown command '--verson'; see 'hone help'" "$HONE" --verson
mkdir -p .hone
echo '[build' >.hone/config
expect 2 "hone: $TMP/.hone/config:1: expected 'name = value' or '[section]'" "$HONE" config
rm .hone/config

# 3: a compiler that is not there
expect_match 3 'absent' env HONE_BUILD_CC=/no/such/cc "$HONE" doctor

# 4: output that does not arrive
full() {
    "$@" >/dev/full
}
expect 4 'hone: write to standard output: No space left on device' full "$HONE" help
closed() {
    "$@" >&-
}
expect 4 'hone: write to standard output: Bad file descriptor' closed "$HONE" help
# A reader that leaves early is told by the status alone. The pipe's reader is gone before
# hone starts: its end is closed by `true`, for which we wait.
mkfifo pipe
run sh -c 'exec 3<>pipe 4>pipe 3<&-; "$1" help >&4' sh "$HONE"
[ "$status:$got" = 4: ] || fail "a closed pipe gave $status: $got"

# Started without standard descriptors it still works on the right files.
run sh -c '"$1" config <&- >out 2>&-' sh "$HONE"
[ "$status" = 0 ] || fail "closed stdin and stderr gave $status"
grep -q '^build.cc' out || fail "output lost"

# 130: interrupted while a child runs; the child goes too. It tells us through a pipe when
# it runs, and by the end of another that it is gone.
mkfifo started held
cat >slow-cc <<'END'
#!/bin/sh
exec 9>held
echo >started
sleep 1000
END
chmod +x slow-cc
HONE_BUILD_CC=./slow-cc "$HONE" doctor >out 2>&1 &
pid=$!
cat held >held.out &
reader=$!
read -r _ <started
kill -INT "$pid"
status=0
wait "$pid" || status=$?
[ "$status:$(cat out)" = "130:hone: interrupted" ] || fail "Ctrl-C gave $status: $(cat out)"
wait "$reader"

# The same rows by a command that reads a file. (130: t205 and t403.)
printf 'problem p\nin x : f32[4]\nout y : f32[4]\ny = x\n' >good.hone
printf 'problem p\ny = \n' >bad.hone
expect_match 0 'ok' "$HONE" check good.hone
expect_match 1 'bad.hone:2' "$HONE" check bad.hone
expect_match 2 'missing.hone' "$HONE" check missing.hone
