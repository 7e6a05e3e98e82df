#!/bin/sh
# Candidates that did damage on a GPU, over a driver that is not there, and the next one by the same
# judge: it is judged as if nothing had been.
. "$(dirname "$0")/gpu_lib.sh"
for name in mutate overrun partial illegal sweeps sweeps_dies sweeps_others; do
    kernel $name
done

# Inputs, guard zones, outputs of its own slot, then everything that is mapped; with a word of it, or
# with the end of the process.
expect_verdicts 'mutate: cheat (input-mutated)
right: ok
overrun: wrong (out-of-bounds)
right: ok
partial: wrong
right: ok
sweeps: wrong (out-of-bounds)
right: ok
sweeps_dies: crash
right: ok' mutate.cu right.cu overrun.cu right.cu partial.cu right.cu sweeps.cu right.cu sweeps_dies.cu right.cu \
    --target cuda --verify

# Timed: by then every slot has been made ready for a call, and one that is right in its own slot and
# writes to all others is found by the next call.
expect_verdicts 'right: ok
sweeps: wrong (out-of-bounds)
right: ok
sweeps_others: cheat (writes-ahead)
right: ok' right.cu sweeps.cu right.cu sweeps_others.cu right.cu --target cuda --screen --baseline right.cu

# Memory is there when it is asked for, and gone when scratch is taken: the candidate's verdict, and
# the run goes on.
kernel right '' '#pragma hone scratch s f32[N, 1000]'
mv right.cu scratch.cu
kernel right
expect_match 0 '^scratch.cu: ok$' "$HONE" eval affine.hone scratch.cu --target cuda --verify
# Timed calls leave the judge's kernels at work in it when it is given back.
expect_verdicts 'scratch: ok
right: ok' scratch.cu right.cu --baseline right.cu --seconds 0.3 --target cuda
echo no-scratch >cuda/fault
expect_verdicts 'right: ok
scratch: limits
right: ok
scratch: limits
right: ok' right.cu scratch.cu right.cu scratch.cu right.cu --target cuda --verify
printf '%s\n' "$got" | grep -q 'take device memory: .*CUDA_ERROR_OUT_OF_MEMORY' || fail "why: $got"
