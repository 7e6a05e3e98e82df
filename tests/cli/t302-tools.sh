#!/bin/sh
# The list of tools, with and without runs that say how right they were.
. "$(dirname "$0")/lib.sh"

expect_match 0 '^coalesce    gpu    global accesses that use little of what they fetch$' "$HONE" tools
also '^scalar      cpu '
valid tools "$HONE" tools --json
expect_match 0 '"runs": 0' cat json
expect_match 2 'no-such-store' "$HONE" tools --store no-such-store
