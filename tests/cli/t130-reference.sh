#!/bin/sh
# slow
# The interpreter against NumPy and PyTorch: every operation, in float64. Needs Debian's
# python3-numpy and python3-torch; without them the test is skipped, except where CI is set.
. "$(dirname "$0")/lib.sh"
python=/usr/bin/python3
reference=$(dirname "$HONE")/reference
if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
    [ -z "${CI:-}" ] || fail "CI is set, and $python has no numpy or torch"
    skip "$python has no numpy or torch"
fi
mkdir cases
"$python" -W ignore "$ROOT/bridge/reference/compare.py" "$reference" cases "$ROOT"/bridge/reference/cases_*.py >out ||
    fail "$(cat out)"
grep -Eq '^[0-9]+ cases, 0 differ$' out || fail "$(cat out)"
