#!/bin/sh
# long
# As t404, at many more moments.
ROUNDS=30 exec sh "$(dirname "$0")/t404-kill.sh"
