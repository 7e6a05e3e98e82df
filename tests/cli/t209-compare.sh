#!/bin/sh
# two candidates beside each other; only one process times at a moment
. "$(dirname "$0")/lib.sh"

[ "$(nproc)" = 1 ] && HONE_RUN_THREADS=1 || HONE_RUN_THREADS=2
export HONE_RUN_THREADS
cat >affine.hone <<'P'
problem affine
dim M = 64, N = 1024
in  x : f32[M, N] ~ normal
out y : f32[M, N]
y = 2 * x + 1
P
kernel() { # FILE TIMES FACTOR: as often as that
    cat >"$1" <<C
#pragma hone launch rows grid(M) args(x, y)
void rows(long block, const float *x, float *y) {
    for (volatile int i = 0; i < $2; i++)
        for (int j = 0; j < N; j++)
            y[block * N + j] = $3 * x[block * N + j] + 1;
}
C
}
kernel a.c 1 2
kernel b.c 1 2
kernel slow.c 2000 2
kernel wrong.c 1 3

# Which one is faster is for the clock to say; that something is said about the two is not.
expect_match 0 '^(a.c is faster than b.c|b.c is faster than a.c|no difference between a.c and b.c can be told): ' \
    "$HONE" eval affine.hone a.c b.c --seconds 0.1
expect_match 0 '^  speed-up  .* over b.c' "$HONE" eval affine.hone a.c b.c --seconds 0.1
# A kernel that does everything thousands of times is slower, on any machine. One with other work may
# not be able to tell, and says so; then once more.
faster() { # CANDIDATES: a.c and slow.c
    for try in 1 2 3 4 5 6 7 8 9; do
        expect_match 0 '^(a.c is faster than slow.c|no difference between .* can be told): ' \
            "$HONE" eval affine.hone "$@" --seconds 0.2
        ! printf '%s\n' "$got" | grep -q '^a.c is faster than slow.c: ' || return 0
    done
    fail "not told in $try tries: $got"
}
faster a.c slow.c
faster slow.c a.c
# What is wrong has no speed.
expect_match 1 '^they cannot be compared' "$HONE" eval affine.hone a.c wrong.c
expect_match 1 '^wrong.c: wrong' "$HONE" eval affine.hone wrong.c a.c
expect_match 2 'wrong2.c' "$HONE" eval affine.hone a.c wrong2.c
# With a rival both are timed beside that.
expect_match 0 '^  speed-up  .* over plain' "$HONE" eval affine.hone a.c b.c --rival plain --seconds 0.1

# Results that hang on chance: reported, and allowed where the problem says so.
cat >chance.hone <<'P'
problem chance
dim M = 64, N = 4096
in  x : f32[M, N] ~ normal
out y : f32[M]
y = sum(x, axis=1)
P
cat >chance.c <<'C'
#pragma hone launch rows grid(M) args(x, y)
void rows(long block, const float *x, float *y) {
    // Where the buffer lies decides where the sum begins.
    long begin = (long)((unsigned long)y >> 6) % N;
    float s[8] = {0};
    for (long j = 0; j < N; j++)
        s[j % 8] += x[block * N + (begin + j) % N];
    y[block] = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}
C
expect_match 1 '^chance.c: unstable$' "$HONE" eval chance.hone chance.c --verify
sed 's/^problem chance$/&\norder any/' chance.hone >any.hone
expect_match 0 'not deterministic: [0-9]+ of [0-9]+ calls gave other bits' "$HONE" eval any.hone chance.c --verify
expect_match 0 '^chance.c: ok$' "$HONE" eval any.hone chance.c --verify

# The lease is a file of the device.
[ -e "$XDG_RUNTIME_DIR/hone/cpu.lease" ] || fail "no lease was taken"
