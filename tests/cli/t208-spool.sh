#!/bin/sh
# Jobs through a directory: here, from several commands, carried away and back, and what can go
# wrong on the way.
. "$(dirname "$0")/lib.sh"
E=$ROOT/tests/exploits
P=$E/softmax.hone
G=$E/honest/softmax_plain.c

# Files of the spool besides what stays: the version and the machines.
left() { find "$1" -type f ! -name spool.json ! -path "*/machines/*" | sort; }
empty() { [ -z "$(left "$1")" ] || fail "left in $1: $(left "$1")"; }
some() { [ -n "$(find "$@" -type f)" ]; }
work() { "$HONE" worker --spool "$1" --target cpu --once --no-calibrate; }

# Left there, done by a worker, taken by the same question.
expect_match 0 '^job [0-9a-f]* waits in s$' "$HONE" eval "$P" "$G" --verify --spool s --detach
"$HONE" eval "$P" "$G" --verify --spool s --detach >/dev/null # one job, however often it is asked
[ "$(ls s/queue | wc -l)" = 1 ] || fail "two jobs"
"$(dirname "$HONE")/validate" "$ROOT/docs/schema/spool-job.json" <"$(echo s/queue/*)" || fail "job"
expect_match 0 '^1 job done$' work s
"$(dirname "$HONE")/validate" "$ROOT/docs/schema/spool-answer.json" <"$(echo s/done/*)" || fail "answer"
"$(dirname "$HONE")/validate" "$ROOT/docs/schema/machine.json" <"$(echo s/machines/*)" || fail "machine"
! grep -rq '"seed": *"0x0*[1-9]' s || fail "a seed in the spool"
expect_match 0 '^job [0-9a-f]* is answered \(without --detach it is taken\) in s$' "$HONE" eval "$P" "$G" --verify --spool s --detach
expect_match 0 'softmax_plain.c: ok$' "$HONE" eval "$P" "$G" --verify --spool s
empty s
# What bears no name of ours is left alone.
strange=s/queue/$(printf '%0230d' 7).json
: >"$strange"
expect_match 0 '^0 jobs done$' work s
[ -e "$strange" ] || fail "a file that is not ours was removed"
rm "$strange"

# A worker that waits; a verdict that is not ok, sizes, a document, a baseline, a null kernel.
"$HONE" worker --spool s --target cpu --no-calibrate >worker.out 2>&1 &
worker=$!
expect_match 1 'cheat/partial.c: wrong \(partial\)$' "$HONE" eval "$P" "$E/cheat/partial.c" --verify --spool s
expect_match 1 "wrote 0 bytes past the end of 'y'" \
    "$HONE" eval "$P" "$E/cheat/overrun.c" --verify --dim N=256 --spool s
valid eval "$HONE" eval "$P" "$G" --screen --baseline "$G" --json --spool s
grep -q '"kind": "ok"' json || fail "$(cat json)"
printf 'problem null\ndim N = 4096\nin x : f32[N] ~ normal\nout y : f32[N]\ny = x - x\n' >null.hone
printf '#pragma hone fill y 0\n#pragma hone launch f grid(1) args(x)\nvoid f(long b, const float *x) {(void)b, (void)x;}\n' >null.c
expect_match 0 '^null.c: ok, on a degenerate problem$' "$HONE" eval null.hone null.c --verify --spool s
expect_match 1 'problem null is degenerate: a kernel that does no more than writing zeros' "$HONE" optimize null.hone --spool s
# The search, and its record.
expect_match 0 '^champion  2\.' "$HONE" optimize "$ROOT/problems/softmax.hone" --dim M=64,N=64 --evals 3 --seconds 300 --spool s
expect_match 0 '^ *2  done ' "$HONE" runs
"$HONE" show --json >shown
[ "$(grep -c '"state": "evaluated"' shown)" = 3 ] || fail "not three nodes"
empty s
kill -INT $worker
status=0
wait $worker || status=$?
[ $status = 130 ] || fail "status $status: $(cat worker.out)"
grep -q '^hone: interrupted after [0-9]* jobs$' worker.out || fail "$(cat worker.out)"
# Ctrl-C in the middle of a job ends it with its claim back in the queue. A machine with other work
# may have the job done before we come to it; then once more.
for try in 1 2 3 4 5 6 7 8 9; do
    rm -r s
    "$HONE" worker --spool s --target cpu --no-calibrate >worker.out 2>&1 &
    worker=$!
    "$HONE" eval "$P" "$E/cheat/endless.c" --verify --seed $try --spool s --detach >/dev/null
    until_true some s/claimed s/done
    kill -INT $worker
    status=0
    wait $worker || status=$?
    [ $status = 130 ] || fail "status $status: $(cat worker.out)"
    ! some s/done || continue
    [ "$(ls s/queue | wc -l)" = 1 ] || fail "the claim was not returned: $(left s)"
    [ "$(cat s/queue/*.0.json | wc -c)" -gt 0 ] || fail "the return was counted"
    break
done
! some s/done || fail "never in the middle of a job"
rm -r s

# Several at once, left and taken by one command each.
expect_match 0 'waits in several$' "$HONE" eval "$P" "$G" "$E/cheat/partial.c" --verify --spool several --detach
expect_match 0 '^2 jobs done$' work several
expect_match 1 'wrong \(partial\)$' "$HONE" eval "$P" "$G" "$E/cheat/partial.c" --verify --spool several --wait 1
printf '%s\n' "$got" | grep -q 'softmax_plain.c: ok$' || fail "$got"
empty several

# Carried there and back.
for seed in 5 8; do
    "$HONE" eval "$P" "$E/honest/softmax_plain.c" --verify --seed $seed --spool here --detach >/dev/null
done
"$HONE" eval "$P" "$E/cheat/partial.c" --verify --spool here --detach >/dev/null
tar cf - here | (mkdir away && cd away && tar xf -)
expect_match 0 '^3 jobs done$' work away/here
cp -r away/here/. here
expect_match 0 ': ok$' "$HONE" eval "$P" "$G" --verify --seed 5 --spool here --wait 1
expect_match 0 ': ok$' "$HONE" eval "$P" "$G" --verify --seed 8 --spool here --wait 1
expect_match 1 'wrong \(partial\)' "$HONE" eval "$P" "$E/cheat/partial.c" --verify --spool here --wait 1
empty here

# For a GPU that is not here: prepared for its architecture, and no CPU takes it.
printf '#pragma hone launch f grid(1) block(1) args(x, y)\nextern "C" __global__ void f(const float *x, float *y) {}\n' >k.cu
expect_match 0 'waits' "$HONE" eval "$P" k.cu --verify --target sm_90a --spool gpu --detach
expect_match 0 '^0 jobs done$' work gpu
left gpu | grep -q "queue/[0-9a-f]*\.sm_90a\.any\.0\.json$" || fail "$(left gpu)"
expect_match 4 'no worker has taken the job for 1 s; start one for sm_90a with: hone worker --spool gpu$' \
    "$HONE" eval "$P" k.cu --verify --target sm_90a --spool gpu --wait 1
expect_match 4 'no worker has described its device for cuda; start one with: hone worker --spool gpu$' \
    "$HONE" optimize "$P" --target cuda --spool gpu --wait 1

# Nobody comes: said, and nothing stays. Ctrl-C: the same.
expect_match 4 'no worker has taken the job for 1 s; start one for cpu with: hone worker --spool alone$' \
    "$HONE" eval "$P" "$G" --verify --spool alone --wait 1
empty alone
"$HONE" eval "$P" "$G" --verify --spool alone >out 2>&1 &
pid=$!
until_true some alone/queue
kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || fail "status $status: $(cat out)"
empty alone

# What is no job is answered once, with what is wrong; an answer that is none is not believed.
echo 'no json' >alone/queue/hand.json
id=$("$HONE" eval "$P" "$G" --verify --spool alone --detach | sed 's/^job \([0-9a-f]*\) .*/\1/')
echo more >>"$(echo alone/queue/$id*)"
expect_match 0 '^2 jobs done$' work alone
grep -q 'damaged, or no job' alone/done/hand.json || fail "$(cat alone/done/hand.json)"
expect_match 4 'damaged, or no job' "$HONE" eval "$P" "$G" --verify --spool alone
rm alone/done/hand.json
empty alone
# One that names itself rightly and says another version.
echo '{"schema": "hone.spool-job/9"}' >job
id=$(sha256sum job | cut -c 1-32)
mv job alone/queue/$id.cpu.any.0.json
expect_match 0 "job: .*hone.spool-job/9" work alone
grep -q 'hone.spool-job/9' alone/done/$id.json || fail "$(cat alone/done/$id.json)"
rm alone/done/$id.json
# Three workers ended over it.
id=$("$HONE" eval "$P" "$G" --verify --spool alone --detach | sed 's/^job \([0-9a-f]*\) .*/\1/')
mv alone/queue/$id.cpu.any.0.json alone/queue/$id.cpu.any.3.json
expect_match 0 'given up, 3 workers ended over it' work alone
expect_match 1 ': infra$' "$HONE" eval "$P" "$G" --verify --spool alone
empty alone
# An answer of another device, of another version, of no kind.
for answer in '{"schema": "hone.spool-answer/9"}' '[]' 'nothing'; do
    id=$("$HONE" eval "$P" "$G" --verify --spool alone --detach | sed 's/^job \([0-9a-f]*\) .*/\1/')
    echo "$answer" >alone/done/$id.json
    expect_match 4 "^hone: job " "$HONE" eval "$P" "$G" --verify --spool alone
    empty alone
done

# Bad input: one message, the right status.
expect_match 2 'expected --spool DIR' "$HONE" worker
expect_match 2 'no/such' "$HONE" worker --spool no/such
expect_match 2 'not a directory' "$HONE" worker --spool "$P" --no-calibrate
expect_match 2 'holds other things' "$HONE" eval "$P" "$G" --spool "$E"
expect_match 2 'is for a job of a --spool' "$HONE" eval "$P" "$G" --detach
expect_match 2 'is for workers of a --spool' "$HONE" optimize "$P" --wait 3
expect_match 2 'prints no verdict' "$HONE" eval "$P" "$G" --detach --json --spool alone
expect_match 2 'unknown target' "$HONE" eval "$P" "$G" --target cpx --spool alone
expect_match 2 'unknown target' "$HONE" worker --spool alone --target cpx
expect_match 2 'did you mean .*--spool' "$HONE" worker --spol alone
expect_match 2 'hone.spool/7' sh -c 'mkdir v; echo "{\"schema\": \"hone.spool/7\"}" >v/spool.json; "$1" worker --spool v --target cpu --no-calibrate' sh "$HONE"
expect_match 3 "the compiler 'nocc' is not there" env HONE_BUILD_CC=nocc "$HONE" worker --spool alone --target cpu
if [ "$(id -u)" != 0 ]; then
    mkdir closed && chmod 555 closed
    expect_match 4 'closed' "$HONE" worker --spool closed --target cpu --no-calibrate
fi
# A directory that vanishes.
"$HONE" worker --spool vanish --target cpu --no-calibrate >out 2>&1 &
pid=$!
until_true test -e vanish/machines
until_true some vanish/machines
mv vanish vanished
status=0
wait $pid || status=$?
[ $status = 4 ] || fail "status $status: $(cat out)"
grep -q '^hone: spool vanish is not there any more' out || fail "$(cat out)"
