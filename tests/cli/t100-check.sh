#!/bin/sh
# hone check: what it prints, its exit status, and every kind of bad input.
. "$(dirname "$0")/lib.sh"

expect 0 "$ROOT/problems/softmax.hone: ok: problem softmax, 1 input, 1 output, 8 nodes" \
    "$HONE" check "$ROOT/problems/softmax.hone"
expect_match 0 '^y.max : f32\[M\] = max x over 1' "$HONE" check -v "$ROOT/problems/softmax.hone"
expect_match 0 '^c : f32\[M, N\] = matmul a, b$' "$HONE" check --verbose "$ROOT/problems/gemm.hone"

cat >two.hone <<END
problem p
in  x : f32[4]
out y : f32[4]
y = softmx(x)
z = 3 +
END
expect 1 "two.hone:4:5: no function is named 'softmx'
    y = softmx(x)
        ^
    did you mean 'softmax'?
two.hone:5:8: expected a value: a name, a number or '('
    z = 3 +
           ^" "$HONE" check two.hone
# Mistakes go to standard error; the other files are still checked.
"$HONE" check two.hone "$ROOT/problems/gemm.hone" >out 2>err && fail "two.hone passed"
grep -q 'gemm.hone: ok' out || fail "the second file was not checked"
grep -q 'two.hone:4:5' err || fail "no mistake on standard error"

cat >kernel.hone <<END
problem p
dim N = 4
in  x : f32[N]
out y : f32[N]
y = x

kernel for p on cpu
stage y : map
END
expect 0 "kernel.hone: ok: problem p, 1 input, 1 output, 2 nodes; kernel for p on cpu, 1 stage" \
    "$HONE" check kernel.hone

# Sizes from outside.
expect 0 "kernel.hone: ok: problem p, 1 input, 1 output, 2 nodes; kernel for p on cpu, 1 stage" \
    "$HONE" check --dim N=7 kernel.hone
expect 2 "hone: kernel.hone has no dim 'n'; did you mean 'N'?" "$HONE" check --dim n=7 kernel.hone
expect 2 "hone: kernel.hone has no dim 'width'; it has N" "$HONE" check --dim N=7,width=7 kernel.hone
for command in check sol emit scaffold optimize; do
    expect_match 2 "^hone: kernel.hone has no dim 'Q'" "$HONE" $command kernel.hone --dim Q=3
done
expect_match 2 "^hone: kernel.hone has no dim 'Q'" "$HONE" eval kernel.hone plain --dim Q=3
expect_match 1 "'N' was set to 0 from outside" "$HONE" check --dim N=0 kernel.hone
for dims in N N= =3 N=x N=3,M N=99999999999999999999; do
    expect_match 2 '^hone: sizes are given as M=1024,N=64' "$HONE" check --dim "$dims" kernel.hone
done

# JSON.
valid check "$HONE" check --json kernel.hone "$ROOT/problems/gelu.hone"
grep -q '"ok": true' json || fail "not ok"
valid check "$HONE" check --json two.hone
grep -q 'softmx' json || fail "the mistakes are missing"
[ "$status" = 1 ] || fail "mistakes in JSON gave $status"

# Bad input.
expect 2 "hone: none.hone: No such file or directory" "$HONE" check none.hone
expect_match 2 '^hone: .*directory' "$HONE" check "$TMP"
expect_match 2 "unknown option '--verbos'; did you mean '--verbose'" "$HONE" check --verbos two.hone
expect_match 2 '^hone: check: expected FILE' "$HONE" check
: >empty.hone
expect_match 1 "empty.hone:1:1: the file holds no block; begin with 'problem NAME'" \
    "$HONE" check empty.hone
printf 'problem p\n\000\001\002' >nul.hone
expect_match 1 'nul.hone:2:1: NUL byte: this is not a text file' "$HONE" check nul.hone
head -c 10000000 /dev/zero | tr '\0' x >line.hone
expect_match 1 'line.hone:1:1: this name is too long' "$HONE" check line.hone
head -c 10000000 /dev/zero | tr '\0' '(' >line.hone
expect_match 1 'line.hone:1:1: expected a statement' "$HONE" check line.hone
yes 'x + ' | head -c 10000000 | tr -d '\n' >line.hone
expect_match 1 "line.hone:1:3: expected '='" "$HONE" check line.hone
{ printf 'y = '; yes 'x + ' | head -c 10000000 | tr -d '\n'; } >line.hone
expect_match 1 'more than 4096 words|1000 operations' "$HONE" check line.hone
head -c 10000000 /dev/zero | tr '\0' '#' >line.hone
expect_match 1 'line.hone:1:1: this comment is too long' "$HONE" check line.hone
head -c 2000000 /dev/urandom >random.hone
run "$HONE" check random.hone
[ "$status" = 1 ] || fail "random bytes gave $status"
[ "$(printf '%s\n' "$got" | wc -c)" -lt 20000 ] || fail "random bytes gave a flood"
head -c 70000000 /dev/zero >huge.hone
expect_match 2 'huge.hone' "$HONE" check huge.hone
rm huge.hone
if [ "$(id -u)" != 0 ]; then
    cp kernel.hone secret.hone
    chmod 000 secret.hone
    expect_match 2 'secret.hone: Permission denied' "$HONE" check secret.hone
fi

# From a pipe.
expect_match 0 '^-: ok: problem softmax' sh -c "'$HONE' check - <'$ROOT/problems/softmax.hone'"
expect_match 1 '^-:1:' sh -c "echo nonsense | '$HONE' check -"
