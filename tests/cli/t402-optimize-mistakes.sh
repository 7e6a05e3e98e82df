#!/bin/sh
# What may be wrong with the command line or the file: one message, the right status, and no
# store left behind.
. "$(dirname "$0")/lib.sh"

soft=$ROOT/problems/softmax.hone
expect 2 "hone: optimize: expected FILE or --resume [RUN]; see 'hone optimize --help'" \
    "$HONE" optimize
expect 2 "hone: optimize: unknown option '--eval'; did you mean '--evals'?" \
    "$HONE" optimize "$soft" --eval 3
expect 2 "hone: unknown policy 'mctss'; did you mean 'mcts'?" \
    "$HONE" optimize "$soft" --policy mctss
expect 2 "hone: unknown policy 'searching'; there are surrogate, mcts, epsilon, greedy, beam, evolve, bandit, random" \
    "$HONE" optimize "$soft" --policy searching
# Nothing of which none would do; of a budget, none is not the same as no limit.
for option in evals batch jobs race max-calls max-tokens; do
    expect 2 "hone: optimize: --$option 0: expected an integer, at least 1" "$HONE" optimize "$soft" --$option 0
done
expect_match 2 '^hone: optimize: --max-usd 0: expected a number above zero' "$HONE" optimize "$soft" --max-usd 0
expect 2 "hone: unknown setting of policy mcts 'explor'; did you mean 'explore'?" \
    "$HONE" optimize "$soft" --policy mcts:explor=1
expect 2 "hone: unknown setting of policy greedy 'explore'; there are none" \
    "$HONE" optimize "$soft" --policy greedy:explore=1
expect 2 "hone: policy mcts: 'explore=much' is not NAME=NUMBER" \
    "$HONE" optimize "$soft" --policy mcts:explore=much
expect 2 "hone: unknown proposer 'exprt'; did you mean 'expert'?" \
    "$HONE" optimize "$soft" --proposer exprt
expect 2 "hone: optimize: --until is a fraction of reach, at most 1" \
    "$HONE" optimize "$soft" --until 95
expect_match 2 '^hone: optimize: --json and --events' "$HONE" optimize "$soft" --json --events
expect_match 2 '^hone: optimize: --evals -1: expected an integer' "$HONE" optimize "$soft" --evals -1
expect_match 2 '^hone: optimize: --seconds 0: expected a number above zero' \
    "$HONE" optimize "$soft" --seconds 0
expect_match 2 "^hone: sizes are given as M=1024,N=64, not 'M'" "$HONE" optimize "$soft" --dim M
expect_match 2 '^hone: .*nothing.hone' "$HONE" optimize nothing.hone
expect_match 2 "^hone: .*$TMP" "$HONE" optimize "$TMP"
: >empty.hone
expect_match 1 'empty.hone' "$HONE" optimize empty.hone
printf 'problem p\nin x : f32[4] ~ normal\nout y : f32[4]\ny = x +\n' >wrong.hone
expect_match 1 'wrong.hone:4:' "$HONE" optimize wrong.hone
printf 'problem p\0\n' >nul.hone
run "$HONE" optimize nul.hone
[ "$status" = 1 ] || [ "$status" = 2 ] || fail "NUL: $status $got"
head -c 10000000 /dev/zero | tr '\0' x >line.hone
run "$HONE" optimize line.hone
[ "$status" = 1 ] || fail "10 MB line: $status"
expect_match 3 '^hone: target cuda' env CUDA_HOME="$(dirname "$HONE")/fake" FAKE_CUDA=none "$HONE" optimize "$soft" --target cuda
expect_match 2 "^hone: unknown target 'cqu'; did you mean 'cpu'?" "$HONE" optimize "$soft" --target cqu
expect_match 2 "^hone: unknown target 'gpu'; did you mean 'cuda'?" "$HONE" optimize "$soft" --target gpu
expect_match 3 'no-such-cc' env HONE_BUILD_CC=no-such-cc "$HONE" optimize "$soft" --no-calibrate
[ ! -e .hone ] || fail 'a store was made for nothing'

for command in runs show report 'export -o d' 'optimize --resume'; do
    # shellcheck disable=SC2086
    expect_match 2 'there are no runs here or above' "$HONE" $command
done
expect 2 'hone: export: -o DIR is needed' "$HONE" export
