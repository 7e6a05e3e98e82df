#!/bin/sh
# hone mcp, as the real client of the Python package `mcp` sees it, in both eras of the protocol.
# long
. "$(dirname "$0")/lib.sh"

python=${HONE_MCP_PYTHON:-$(dirname "$HONE")/mcp-venv/bin/python}
[ -x "$python" ] || python=python3
"$python" -c 'import mcp' 2>/dev/null || skip "no package mcp for Python: python3 -m venv build/mcp-venv && build/mcp-venv/bin/pip install mcp"
cp "$ROOT/problems/softmax.hone" .
expect_match 0 '^legacy: 13 tools$' "$python" "$ROOT/bridge/mcp_client.py" "$HONE" softmax.hone
