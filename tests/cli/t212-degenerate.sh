#!/bin/sh
# A problem that a kernel which computes nothing would pass is degenerate: eval says so with the
# verdict, optimize refuses it, and the store keeps why. A problem that is only small is not.
. "$(dirname "$0")/lib.sh"

problem() { # NAME EXPRESSION
    printf 'problem %s\ndim N = 1000\nin x : f32[N] ~ normal\nout y : f32[N]\ny = %s\n' "$1" "$2" >"$1.hone"
}
problem zeros 'x - x'
problem copy 'maximum(x, x)'
problem constant 'x - x + 3'
problem sound 'x * 2 + 1'
cat >nothing.c <<'END'
#pragma hone fill y 0
#pragma hone launch f grid(1) args(x)
void f(long b, const float *x) { (void)b, (void)x; }
END
cat >copies.c <<'END'
#pragma hone launch f grid(1) args(x, y)
void f(long b, const float *x, float *y) {
    (void)b;
    for (int i = 0; i < N; i++)
        y[i] = x[i];
}
END

# The verdict is given and marked, right or wrong, for a person and for a program.
expect_match 0 '^nothing.c: ok, on a degenerate problem$' "$HONE" eval zeros.hone nothing.c --verify
also '^  degenerate: a kernel that does no more than writing zeros would pass'
expect_match 1 '^copies.c: wrong, on a degenerate problem$' "$HONE" eval zeros.hone copies.c --verify
expect_match 0 'no more than copying an input would pass' "$HONE" eval copy.hone copies.c --verify
expect_match 1 'no more than writing one constant would pass' "$HONE" eval constant.hone copies.c --verify
valid eval "$HONE" eval zeros.hone nothing.c --verify --json
grep -q '"degenerate": true' json || fail "$(cat json)"
[ "$(grep -c '"null_kernel": "writing zeros"' json)" = 2 ] || fail "not next to and in the verdict: $(cat json)"
valid eval "$HONE" eval sound.hone copies.c --verify --json
grep -q '"degenerate": false' json || fail "$(cat json)"
! grep -q '"null_kernel": "' json || fail "$(cat json)"
# One that was never called is not asked about.
printf '#pragma hone launch f grid(1) args(x, y)\nvoid f(long b) { undefined(b); }\n' >broken.c
valid eval "$HONE" eval zeros.hone broken.c --verify --json
grep -q '"degenerate": null' json || fail "$(cat json)"
# Among several.
expect_match 1 '^nothing.c: ok, on a degenerate problem$' "$HONE" eval zeros.hone copies.c nothing.c --verify

# A single number is as good as its inputs: another constant for each set is no null kernel.
printf 'problem total\ndim N = 1000\nin x : f32[N] ~ normal\nout y : f32[]\ny = sum(x)\n' >total.hone
"$HONE" scaffold total.hone >total.c
valid eval "$HONE" eval total.hone total.c --verify --json
grep -q '"degenerate": false' json || fail "$(cat json)"

# Not searched; what came of it is kept.
message='problem zeros is degenerate: a kernel that does no more than writing zeros would pass on every input set'
expect_match 1 "^hone: run 1: $message" "$HONE" optimize zeros.hone --no-calibrate
printf '%s\n' "$got" | grep -q '^champion  none: the problem is degenerate$' || fail "$got"
expect_match 0 '^ *1  degenerate ' "$HONE" runs
expect_match 0 '^stopped: degenerate: a kernel that does no more than writing zeros' "$HONE" show 1
expect_match 0 '^The problem is degenerate: a kernel' "$HONE" report 1
expect_match 1 "^hone: run 1: $message" "$HONE" optimize --resume 1
valid show "$HONE" show 1 --json
grep -q '"stop_reason": "degenerate"' json || fail "$(cat json)"
grep -q '"null_kernel": "writing zeros"' json || fail "$(cat json)"
valid runs "$HONE" runs --json
valid optimize "$HONE" optimize copy.hone --no-calibrate --json
grep -q '"null_kernel": "copying an input"' json || fail "$(cat json)"
expect_match 2 'run 2 found nothing that passed' "$HONE" export 2 -o out
expect_match 0 '^champion ' "$HONE" optimize sound.hone --no-calibrate --evals 1 --seconds 100
valid show "$HONE" show 3 --json
grep -q '"null_kernel": null' json || fail "$(cat json)"
