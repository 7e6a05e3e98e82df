#!/bin/sh
# run-gpu-tests.sh HONE: the tests that need a GPU, one after the other; nothing to do without one.
# One that ends with 77 has said why it is left out.
export HONE="$1"
cd "$(dirname "$0")/.." || exit 1
if ! "$HONE" devices | grep -q '^cuda'; then
    echo "skipped: no GPU"
    exit 0
fi
n=0 failed=0 skipped=0
for test in tests/gpu/t*.sh; do
    n=$((n + 1)) status=0
    sh "$test" || status=$?
    case $status in
    0) echo "$test: ok" ;;
    77)
        echo "$test: skipped"
        skipped=$((skipped + 1))
        ;;
    130) exit 130 ;;
    *)
        echo "$test: FAILED"
        failed=$((failed + 1))
        ;;
    esac
done
echo "gpu: $((n - failed - skipped)) of $n passed, $skipped skipped"
[ $failed = 0 ]
