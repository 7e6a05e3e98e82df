#!/bin/sh
# The loop on a GPU: runs, ends, and its champion is confirmed.
. "$(dirname "$0")/lib.sh"
expect_match 0 'x over plain' "$HONE" optimize "$ROOT/problems/softmax.hone" --target cuda --dim M=2048,N=2048 --evals 6
