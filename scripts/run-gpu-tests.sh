#!/bin/sh
# run-gpu-tests.sh HONE: the tests that need a GPU, one after the other; nothing to do without one.
export HONE="$1"
cd "$(dirname "$0")/.." || exit 1
if ! "$HONE" devices | grep -q '^cuda'; then
    echo "skipped: no GPU"
    exit 0
fi
failed=0
for test in tests/gpu/t*.sh; do
    sh "$test" && echo "$test: ok" && continue
    echo "$test: FAILED"
    failed=1
done
exit $failed
