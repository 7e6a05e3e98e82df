#!/bin/sh
# hone mcp, as the real client of the Python package `mcp` sees it, in both eras of the protocol: tools, resources,
# prompts, a search that is cancelled, a verdict. The package is installed once, next to the build, by pip; where pip
# does not reach it, the test is left out, which the summary of the run tells.
. "$(dirname "$0")/lib.sh"

venv=$(dirname "$HONE")/mcp-venv
python=${HONE_MCP_PYTHON:-$venv/bin/python}
install() {
    python3 -m venv --without-pip "$venv" &&
        timeout 120 python3 -m pip --python "$venv/bin/python" --disable-pip-version-check --quiet \
            --retries 1 --timeout 10 install --no-compile 'mcp>=2,<3'
}
if ! "$python" -c 'import mcp' 2>/dev/null; then
    [ -z "${HONE_MCP_PYTHON:-}" ] && install >log 2>&1 ||
        skip "LEFT OUT, the real MCP client: the package mcp could not be installed into $venv: $(tail -1 log 2>/dev/null)"
fi
cp "$ROOT/problems/softmax.hone" .
"$python" "$ROOT/bridge/mcp_client.py" "$HONE" softmax.hone >out 2>&1 || fail "$(tail -20 out)"
for era in legacy 2026-07-28 auto; do
    grep -q "^$era: 14 tools\$" out || fail "no word of $era: $(cat out)"
done
