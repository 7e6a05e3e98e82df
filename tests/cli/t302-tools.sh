#!/bin/sh
# The list of tools, with and without runs that say how right they were.
. "$(dirname "$0")/lib.sh"

expect_match 0 '^coalesce    gpu    global accesses that use little of what they fetch$' "$HONE" tools
also '^scalar      cpu '
valid tools "$HONE" tools --json
expect_match 0 '"runs": 0' cat json
expect_match 2 'no-such-store' "$HONE" tools --store no-such-store

# docs/tools.md has a row for each of them, as `hone tools` says it, and none for another.
"$HONE" tools --json >json || fail "no tools"
awk -F'"' '/^      "name": / { name = $4 } /^      "on": / { on = $4 } /^      "summary": / { print "| " name " | " on " | " $4 " |" }' json >have
sed -n '/^## All of them/,/^## Any program/s/^\(| [a-z]* | [a-z]* | [^|]* |\).*/\1/p' "$ROOT/docs/tools.md" | grep -v '^| tool ' >written
diff have written >difference || fail "docs/tools.md: $(cat difference)"
