#!/bin/sh
# The judge of a GPU against a driver that is not there (tests/fake): everything that kernels and
# drivers do wrong gets its verdict, and the next candidate is judged as if nothing had been.
. "$(dirname "$0")/gpu_lib.sh"

judge() {
    file=$1
    shift
    "$HONE" eval affine.hone "$file.cu" --target cuda --verify "$@"
}

expect_match 0 '^right.cu: ok$' judge right
also 'correct +17 calls on 13 input sets'

# What the kernels do not know is left to the host; they agree on what they do.
cat >whole.hone <<'END'
problem affine
dim N = 1000
in x : i32[N] ~ integers(0, 9)
out y : i32
y = sum(x)
END
expect_match 0 'left to the host' "$(dirname "$HONE")/oracle-check" whole.hone
expect_match 0 'declared +ok +inputs: 0 of 333 differ +outputs: 0 of 333 differ' "$(dirname "$HONE")/oracle-check" affine.hone N=333
expect_match 2 "'N' is no NAME=SIZE" "$(dirname "$HONE")/oracle-check" affine.hone N
expect_match 2 'nothing.hone' "$(dirname "$HONE")/oracle-check" nothing.hone
expect_match 0 '"truth": 0.0' "$HONE" eval affine.hone right.cu --target cuda --verify --json
expect_match 0 'phases in seconds: all .* truth ' env HONE_LOG=debug "$HONE" eval affine.hone right.cu --target cuda --verify

for name in partial noop overrun mutate illegal ends stale endless missing; do
    kernel $name
done
expect_match 1 '^partial.cu: wrong$' judge partial
also 'y\[999\] is 0, expected'
expect_match 1 '^noop.cu: wrong \(unwritten\)$' judge noop
expect_match 1 "wrote beyond the ends of 'y'" judge overrun
expect_match 1 '^mutate.cu: cheat \(input-mutated\)$' judge mutate
also "wrote to the input 'x'"
expect_match 1 'CUDA_ERROR_ILLEGAL_ADDRESS' judge illegal
expect_match 1 '^ends.cu: crash$' judge ends
expect_match 1 '^stale.cu: cheat \(stale-output\)$' judge stale
expect_match 1 '^endless.cu: timeout$' judge endless
expect_match 1 "the plan launches 'missing', but the source has no such kernel" judge missing

# Data that follow from the declared ones: rows in another order, a factor.
sed 's/^y = .*/y = x * 2/' affine.hone >twice.hone
for name in twice sniffs_scale keeps_by_sum keeps_declared clears_new; do
    kernel $name
done
expect_match 1 '^keeps_by_sum.cu: cheat \(stale-output\)$' judge keeps_by_sum
also 'inputs: declared, rows in another order'
expect_match 0 'correct +18 calls on 14 input sets' "$HONE" eval twice.hone twice.cu --target cuda --verify
expect_match 1 '^sniffs_scale.cu: wrong$' "$HONE" eval twice.hone sniffs_scale.cu --target cuda --verify
also 'inputs: declared, times a power of two'
# Data that exist for one call, among the timed ones: the rows that differ must be right, or all of
# it where rows depend on one another; the host looks where the card cannot.
sed 's/^y = .*/y = x * 2 + max(sign(x) * sign(x))/' affine.hone >mixed.hone
expect_new() { # PROBLEM
    expect_match 1 '^keeps_declared.cu: cheat \(stale-output\)$' \
        "$HONE" eval "$1" keeps_declared.cu --target cuda --screen --baseline right.cu
    case $got in *'is right on the inputs that verify it and wrong on those'*) ;; *) fail "$got" ;; esac
    printf '%s\n' "$got" | grep -Eq '^ +y\[[0-9]+\] is [-0-9.e]+, expected [-0-9.e]+$' || fail "$got"
    expect_match 0 '^right.cu: ok$' "$HONE" eval "$1" right.cu --target cuda --screen --baseline right.cu
}
expect_new affine.hone
expect_new mixed.hone
expect_match 1 '^clears_new.cu: cheat \(input-mutated\)$' \
    "$HONE" eval affine.hone clears_new.cu --target cuda --screen --baseline right.cu
printf 'no-oracle\n' >cuda/fault
expect_new affine.hone
expect_new mixed.hone
: >cuda/fault

# Kernels that compute nothing: the label is the card's as well, and next to every verdict.
sed 's/^y = .*/y = x - x/' affine.hone >zeros.hone
printf '#pragma hone fill y 0\n' | cat - noop.cu >zeros.cu
expect_match 0 '^zeros.cu: ok, on a degenerate problem$' "$HONE" eval zeros.hone zeros.cu --target cuda --verify
expect_match 1 '^right.cu: wrong, on a degenerate problem$' "$HONE" eval zeros.hone right.cu --target cuda --verify
expect_match 1 'affine is degenerate: a kernel that does no more than writing zeros' \
    "$HONE" optimize zeros.hone --target cuda --no-calibrate
rm -r .hone

# Several by one judge: a runner that was lost is replaced, and the next verdict says how fast.
expect_match 1 '^right.cu: ok$' "$HONE" eval affine.hone illegal.cu right.cu --target cuda --verify
expect_match 1 '^  restart   [0-9.]+ .?s from the loss of a runner to the first call after it$' \
    "$HONE" eval affine.hone endless.cu right.cu --target cuda --screen --baseline right.cu
run "$HONE" eval affine.hone right.cu right.cu --target cuda --verify
[ "$status" = 0 ] || fail "two right ones gave $status: $got"
case $got in *restart*) fail "nothing was lost: $got" ;; esac
valid compare "$HONE" eval affine.hone right.cu right.cu --target cuda --seconds 0.1 --json

# A kernel against itself.
expect_match 0 'called different in at most [0-9.]+% of trials, with 95% confidence' \
    "$HONE" eval affine.hone right.cu --target cuda --aa 3 --seconds 0.1

# Timed: a baseline that crashes is not charged to the candidate.
expect_match 0 'speed-up .*x over right.cu' "$HONE" eval affine.hone right.cu --target cuda --baseline right.cu --seconds 0.2
expect_match 0 'cold by rotation over 48 slots and a flush' "$HONE" eval affine.hone right.cu --target cuda --baseline right.cu --screen
expect_match 1 '^right.cu: infra \(baseline\)$' "$HONE" eval affine.hone right.cu --target cuda --baseline illegal.cu --screen
# One that fails once is looked at again.
kernel stumbles
: >cuda/stumble
expect_match 0 '^right.cu: ok$' "$HONE" eval affine.hone right.cu --target cuda --baseline stumbles.cu --screen
[ ! -e cuda/stumble ] || fail "the baseline was never called"
valid eval "$HONE" eval affine.hone right.cu --target cuda --baseline right.cu --screen --json
grep -q '"registers"' json
expect_match 0 '^  launch    4 blocks, 256 threads each, 32 registers, 32 bytes shared, 32 bytes local' \
    "$HONE" eval affine.hone right.cu --target cuda --baseline right.cu --screen
# Several steps: how the time divides between them. One that cannot be had costs nothing else.
printf '#pragma hone fill y 0\n' | cat - right.cu >filled.cu
filled() {
    "$HONE" eval affine.hone filled.cu right.cu --target cuda --baseline right.cu --screen
}
expect_match 0 '^  launches  fill y [0-9.]+ .?.?s \([0-9]+%\), right [0-9.]+ .?.?s \([0-9]+%\)$' filled
[ "$(printf '%s\n' "$got" | grep -c '^  launches')" = 1 ] || fail "of a single launch, too: $got"
printf 'marks\n' >cuda/fault
expect_match 0 '^filled.cu: ok$' filled
printf '%s\n' "$got" | grep -q '^right.cu: ok$' || fail "the next one suffers: $got"
printf '%s\n' "$got" | grep -q '^  launches' && fail "told without a clock: $got"
: >cuda/fault
valid eval "$HONE" eval affine.hone right.cu --target cuda --baseline right.cu --screen --json
grep -q '"launches": \[' json || fail 'no launches in the document'
# What limits it is in the document and in words; the fake card's 100 multiprocessors have 4 blocks.
grep -q '"tool": "spill"' json || fail "no findings in the document"
expect_match 0 ' spill \(low[^)]*\): arrays of a thread lie in memory' \
    "$HONE" eval affine.hone right.cu --target cuda --baseline right.cu --screen
also 'findings +waves \(high[^)]*\): multiprocessors have no work.*; 4 blocks for 100 multiprocessors'

# Nothing of a call is left in shared and local memory for the next one to find.
for memory in shared local; do
    kernel counts_in_$memory
    expect_match 0 "^counts_in_$memory.cu: ok$" judge counts_in_$memory
done

# Refused before anything runs.
kernel right 'shared(300000)'
expect_match 1 '300000 bytes of shared memory; a block has at most 232448 here' judge right
kernel right 'cluster(3)'
expect_match 1 'no multiple of its cluster' judge right
kernel right '' '__device__ float kept[10]; __global__ void keep() { kept[threadIdx.x] += 1; }'
expect_match 1 '^right.cu: illegal \(global-state\)$' judge right
also "variable 'kept' in device memory outlives a call"
kernel right '' '#include "/etc/hostname"'
expect_match 1 "#include of '/etc/hostname'; allowed are dev.h, stdint.h and CUDA" judge right
# The compiler itself cannot open it either.
expect_match 1 'cannot open source file "/etc/hostname"' env HONE_SKIP_SCANS=1 "$HONE" eval affine.hone right.cu --target cuda --verify
kernel right '' 'int f() { return undefined; }'
expect_match 1 'right.cu\(2\): error: identifier "undefined" is undefined' judge right
kernel right '' '__global__ void p() { printf("x"); }'
expect_match 1 'in device memory outlives a call|is not available' judge right
printf 'void right(long block, const float *x, float *y) {}\n' >right.c
expect_match 1 'this is C for the CPU; a GPU takes CUDA' "$HONE" eval affine.hone right.c --target cuda --verify
kernel right
expect_match 1 'this is CUDA \(tier D\); the CPU takes C' "$HONE" eval affine.hone right.cu --target cpu --verify

# Events that tell 2 us of a call that takes 50 ms: the judge's own clock says otherwise.
kernel slow
printf 'events-lie\n' >cuda/fault
expect_match 1 '^slow.cu: suspect \(clock-disagrees\)$' "$HONE" eval affine.hone slow.cu --target cuda --baseline slow.cu --screen
: >cuda/fault

# Clocks: a slowdown spoils what is timed under it, and is never charged to the candidate; the power
# cap is only noted. Without NVML, or the permission to ask, the run goes on and says so.
time_it() {
    "$HONE" eval affine.hone right.cu --target cuda --baseline right.cu --seconds 0.2 --energy 1
}
kernel right
expect_match 0 '^  clocks    free$' time_it
# So with energy, which has a line of its own: a card without the counter, one that stands still, one
# that counts.
energy='^  energy    '
printf '%s\n' "$got" | grep -q "${energy}not measured (NVML does not tell the card's energy: not supported (code 3))\$" ||
    fail "without a counter: $got"
expect_clocks() { # FAULT STATUS PATTERN
    printf '%s\n' "$1" >cuda/fault
    expect_match "$2" "$3" time_it
    : >cuda/fault
}
expect_clocks power-cap 0 '^  clocks    at the power cap in ([0-9]+) of \1 pairs$'
expect_clocks heat 1 '^right.cu: infra \(throttled\)$'
expect_clocks heat 1 'the card slowed itself down \(heat\) in ([0-9]+) of \1 pairs'
expect_clocks heat 1 'or give it more power \(tried 3 times\)$'
expect_clocks brake 1 'the card slowed itself down \(power brake\)'
expect_clocks energy-stuck 0 "${energy}not measured \(the counter did not move for "
expect_clocks energy 0 "${energy}[0-9.]+ [^ ]*J a call \([0-9.]+ [^ ]*J to .* 95% interval\), .* above the idle power of [0-9]+ W"
expect_clocks nvml-init 0 '^  clocks    not watched: NVML does not start: no permission \(code 4\)$'
printf '%s\n' "$got" | grep -q "${energy}not measured (NVML does not start: no permission (code 4))\$" || fail "without NVML: $got"
expect_clocks nvml-card 0 '^  clocks    not watched: NVML does not know the card: not found'
expect_clocks nvml-denied 0 '^  clocks    not watched: NVML does not tell why clocks are low: no permission'
mkdir -p bare/lib64
ln -s "$(dirname "$HONE")/fake/lib64/libcuda.so.1" bare/lib64/
expect_match 0 '^  clocks    not watched: (libnvidia-ml.so.1 is not installed|NVML )' \
    env CUDA_HOME="$TMP/bare" "$HONE" eval affine.hone right.cu --target cuda --baseline right.cu --screen

# Drivers that fail.
expect_fault() { # FAULT STATUS PATTERN
    printf '%s\n' "$1" >cuda/fault
    expect_match "$2" "$3" judge right
    : >cuda/fault
}
expect_fault no-oracle 0 '^right.cu: ok$'
printf 'no-oracle\n' >cuda/fault
expect_match 1 'y\[999\] is 0, expected' judge partial
: >cuda/fault
expect_fault resources 1 '^right.cu: limits$'
expect_fault image 3 'code of NVRTC [0-9.]+ on a driver for CUDA 13.0 .*: load the judge.s kernels'
expect_fault nearly-full 0 '^right.cu: ok$'
expect_fault full 4 'out of memory|CUDA_ERROR_OUT_OF_MEMORY'
expect_fault no-memory 1 '^right.cu: infra$'
expect_fault no-memory 1 'the worker failed 3 times: .*take device memory'
expect_fault import 1 'the worker failed 3 times: .*open shared memory'
expect_fault lost 1 'the worker failed 3 times: .*look at device memory'
expect_fault context 4 'make a context'
expect_fault none 3 'the driver sees no GPU'
expect_match 0 '^right.cu: ok$' judge right
