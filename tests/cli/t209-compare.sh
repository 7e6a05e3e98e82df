#!/bin/sh
# alone
# two candidates against each other; only one process times at a moment
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
expect_match 0 '^(a.c is faster than b.c|b.c is faster than a.c|no difference between a.c and b.c is resolved): ' \
    "$HONE" eval affine.hone a.c b.c --seconds 0.1
also '^  speed-up  .* over b.c'
# A kernel that does everything thousands of times is slower, on any machine. One with other work may
# not be able to tell, and says so; then once more.
faster() { # CANDIDATES: a.c and slow.c
    for try in 1 2 3 4 5 6 7 8 9; do
        expect_match 0 '^(a.c is faster than slow.c|no difference between .* is resolved): ' \
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
# A file that is missing is noticed before the first one is judged.
expect 2 'hone: wrong2.c: No such file or directory' "$HONE" eval affine.hone a.c wrong2.c
expect 2 'hone: wrong2.c: No such file or directory' "$HONE" eval affine.hone a.c b.c wrong2.c
# So is a plan that breaks a rule, and a kernel block with mistakes; the first has its verdict all the same, in its turn.
printf '#pragma hone launch rows grid(M) args(x, q)\nvoid rows(long block, const float *x, float *y) {}\n' >plan.c
for others in "a.c plan.c" "a.c b.c plan.c"; do
    # shellcheck disable=SC2086
    "$HONE" eval affine.hone $others --screen >log 2>&1 && fail "$(cat log)"
    head -1 log | grep -Eq '^hone: plan.c is illegal, its verdict comes in its turn: .*q' || fail "told late: $(cat log)"
    grep -q '^plan.c: illegal$' log || fail "no verdict: $(cat log)"
done
(cat affine.hone && printf 'kernel for affine on cpu\nstage y : rowwise\n') >block.hone
expect 1 '' sh -c '"$0" eval affine.hone a.c b.c block.hone --screen 2>message' "$HONE"
# As one document: both verdicts, and the same answer, of the first over the second.
valid compare "$HONE" eval affine.hone a.c b.c --seconds 0.1 --resolution 50% --json
tr -d '\n' <json | tr -s ' ' >flat
grep -Eq '"faster": ("first"|"second"|null), "speedup": [0-9.e+-]+, "low": [0-9.e+-]+, "high": [0-9.e+-]+, "words": "' flat ||
    fail "$(cat json)"
grep -q '"asked": 0.5' json || fail "$(cat json)"
[ "$(grep -c '"told": [0-9]' json)" = 1 ] || fail "the first one was timed: $(cat json)"
valid compare "$HONE" eval affine.hone a.c wrong.c --json
tr -d '\n' <json | tr -s ' ' >flat
grep -q '"faster": null, "speedup": null, "low": null, "high": null, "words": "they cannot be compared: ' flat || fail "$(cat json)"
expect_match 1 '"schema": "hone.compare/1"' "$HONE" eval affine.hone wrong.c a.c --json
valid eval "$HONE" eval affine.hone a.c --seconds 0.1 --json
grep -q '"resolution": null' json || fail "$(cat json)"
# Of more than two, or two that are not timed against each other, a document on each line.
lines() { # N, and as run
    want=$1
    shift
    status=0
    "$@" >json || status=$?
    [ "$status" -le 1 ] && [ "$(wc -l <json)" = "$want" ] || fail "$* gave $status: $(cat json)"
    while read -r line; do
        printf '%s\n' "$line" >document
        "$(dirname "$HONE")/validate" "$ROOT/docs/schema/eval.json" <document || fail "$line"
    done <json
}
lines 3 "$HONE" eval affine.hone a.c wrong.c slow.c --screen --json
[ "$status" = 1 ] && [ "$(grep -c '"kind": *"wrong"' json)" = 1 ] && sed -n 2p json | grep -q wrong.c || fail "$status: $(cat json)"
# Ranked, all of them timed against one baseline; what does not compile is named as its file is.
printf '#pragma hone launch rows grid(M) args(x, y)\nvoid rows(long block, const float *x, float *y) {\n    y[0] = 1 +;\n}\n' >bad.c
expect_match 1 '^  bad.c:3:1[0-9]: error: ' "$HONE" eval affine.hone bad.c --verify
run "$HONE" eval affine.hone slow.c bad.c a.c wrong.c --screen --csv
[ "$status" = 1 ] || fail "$got"
printf '%s\n' "$got" >csv
[ "$(head -1 csv)" = rank,candidate,verdict,time_s,speedup,low,high,baseline,finding ] || fail "$got"
[ "$(wc -l <csv)" = 5 ] && grep -Eq '^[12],"a.c",ok,[0-9.e-]+,[0-9.e-]+,[0-9.e-]+,[0-9.e-]+,"plain",' csv || fail "$got"
# Times agree with the order: each is the baseline's, divided by the speed-up.
awk -F, 'NR > 1 && $4 { n++; base = base ? base : $4 * $5; if ($4 * $5 > 1.001 * base || $4 * $5 < 0.999 * base) exit 1 }
    END { exit n != 2 }' csv || fail "$got"
grep -q '^,"bad.c",no-compile,,,,,"","bad.c:3:' csv && grep -q '^,"wrong.c",wrong,,,,,' csv || fail "$got"
expect_match 0 '^\| =?1 \| [a-z]+ \| .* \| ok \|' "$HONE" eval affine.hone default plain --screen --markdown
printf '%s\n' "$got" | grep -q '^| rank | candidate | time | over plain | between | verdict | finding |$' || fail "$got"
expect_match 0 '^=?1 +(a.c|b.c|plain) ' "$HONE" eval affine.hone a.c b.c plain --screen
printf '%s\n' "$got" | grep -q '^rank  candidate       time  over plain$' || fail "$got"
expect 2 'hone: --markdown, --csv and --json exclude each other' "$HONE" eval affine.hone a.c b.c --csv --json
lines 2 "$HONE" eval affine.hone a.c b.c --verify --json
[ "$status" = 0 ] || fail "$(cat json)"
lines 2 "$HONE" eval affine.hone a.c b.c --screen --baseline plain --json
expect 2 'hone: --aa is for one candidate' "$HONE" eval affine.hone a.c b.c --aa 1

# Left in the caches: how much that is, is said. (Whether data in a cache are faster than memory could be is for others.)
run "$HONE" eval affine.hone a.c --warm --seconds 0.1
[ "$status" -le 1 ] || fail "$got"
printf '%s\n' "$got" | grep -q '^  measured  .* ABBA, warm: 2 slots of 0.524 MB each in turns, ' || fail "$got"
expect_match 2 '^hone: --warm is not for a job of a --spool' "$HONE" eval affine.hone a.c --warm --spool s
# With a baseline both are timed against that.
expect_match 0 '^  speed-up  .* over plain' "$HONE" eval affine.hone a.c b.c --baseline plain --seconds 0.1

# Results that depend on chance: reported, and allowed where the problem says so.
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
also '^chance.c: ok$'

# What is timed holds the lease of its device: while somebody else does, a verdict without times comes, one with them waits
# and says how long. Who compiles and verifies does not hold it.
lease=$XDG_RUNTIME_DIR/hone/cpu.lease
[ -e "$lease" ] || fail "no lease was taken"
if command -v flock >/dev/null; then
    mkfifo held release
    for try in 1 2 3 4 5 6 7 8 9; do
        timeout 300 flock "$lease" sh -c 'echo held >held; read -r _ <release' &
        holder=$!
        read -r _ <held
        "$HONE" eval affine.hone a.c --screen --json >json 2>&1 &
        pid=$!
        expect_match 0 '^a.c: ok$' "$HONE" eval affine.hone a.c --verify
        expect_match 0 '^b.c: ok$' "$HONE" eval affine.hone b.c --verify
        kill -0 $pid 2>/dev/null || fail "timed without the lease: $(cat json)"
        echo go >release
        wait $holder
        wait $pid || fail "once it was free: $(cat json)"
        # On a busy machine it may not have come so far before.
        ! grep -q '"lease_wait_s": [0-9]' json || break
    done
    grep -q '"lease_wait_s": [0-9]' json || fail "it never waited: $(cat json)"
    flock -n "$lease" true || fail 'the lease was not given back'
fi

# How it was timed, as it was found and not as it was meant.
"$HONE" eval affine.hone a.c --screen --json >json
grep -Eq '"method": "ABBA, .*, ([0-9]+) of \1 threads pinned, pages of [0-9]+ KiB' json || fail "$(cat json)"

# Whoever is wrong in timed calls is at fault, as the first or as the second of two, and nothing is said against the other.
exploits=$ROOT/tests/exploits
HONE_SKIP_SCANS=1 run "$HONE" eval "$exploits/gemm.hone" "$exploits/honest/gemm_plain.c" "$exploits/cheat/second_of_two.c" \
    --dim M=128 --dim N=128 --dim K=256 --seconds 1
printf '%s\n' "$got" | grep -q 'gemm_plain.c: ok$' || fail "blames the first: $got"
printf '%s\n' "$got" | grep -q 'second_of_two.c: cheat' || fail "the second: $got"
