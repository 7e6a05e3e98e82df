#!/bin/sh
# kill -9 of the judge, or of the command, while a compiler is at work: its parts (cc1, as), which are
# no children of ours, die with whoever had it run.
. "$(dirname "$0")/lib.sh"
E=$ROOT/tests/exploits
command -v pgrep >/dev/null || skip "pgrep is missing"
me=hc$$
cp "$HONE" ./$me

# A text that takes minutes to compile.
cat >slow.c <<'END'
#pragma hone launch rows grid(M) args(x, y)
#define A(x) x x x x x x x x
#define B(x) A(A(A(x)))
int f(int i);
int f(int i) { B(B(B(i *= i;))) return i; }
END
# What a probe of the sandbox says is kept, so that from here on nothing else is compiled.
expect_match 0 ': ok$' "$HONE" eval "$E/softmax.hone" "$E/honest/softmax_plain.c" --verify

# Compilers work in the cache: the driver, a child of the judge, and what it has started.
compilers() { working_in "$XDG_CACHE_HOME"; }
ours() {
    pgrep -f "^$TMP/$me " || true
    compilers
}
# Should something be left, it goes with this test.
trap 'for one in $(ours); do kill -9 "$one" 2>/dev/null; done; rm -rf "$TMP"' EXIT

# Has the driver started a part that is none of $old? $judge is whose driver that is.
has_part_or_gone() {
    for one in $(compilers); do
        case " $old " in *" $one "*) continue ;; esac
        driver=$(parent_of "$one")
        judge=$(parent_of "$driver")
        [ -n "$judge" ] && pgrep -P $pid -f "^$TMP/$me _worker\$" | grep -qx "$judge" && return
    done
    judge=''
    ! kill -0 $pid 2>/dev/null
}
parent_of() { sed -n 's/.*) . \([0-9]*\) .*/\1/p' "/proc/${1:-none}/stat" 2>/dev/null || true; }

for try in 1 2 3 4 5 6 7 8 9; do
    "$TMP/$me" eval "$E/softmax.hone" slow.c --verify >out 2>&1 &
    pid=$! old='' n_hit=0
    # The judge: another one takes its place, and compiles again.
    until_true has_part_or_gone
    family=$(compilers)
    if [ -n "$judge" ] && kill -9 "$judge" 2>/dev/null; then
        n_hit=1
        # shellcheck disable=SC2086
        until_gone echo "$judge" $family
        old=$(echo $family)
        until_true has_part_or_gone
    fi
    # The command.
    [ -z "$judge" ] || n_hit=$((n_hit + 1))
    kill -9 $pid 2>/dev/null || true
    status=0
    wait $pid 2>/dev/null || status=$?
    until_gone ours
    # A machine with other work may have let the compiler come to its end; then once more.
    [ $n_hit != 2 ] || [ $status != 137 ] || break
done
[ $n_hit = 2 ] && [ $status = 137 ] || fail "no compiler was met in $try tries: $status: $(cat out)"
