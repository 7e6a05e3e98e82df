#!/bin/sh
# long
# no-asan
# the same at every size, ten times: sums of up to 65536 terms
SIZES='1024 4096 16384 65536' TRIALS=10
export SIZES TRIALS
. "$(dirname "$0")/t232-numerics.sh"
