#!/bin/sh
# long
# As t411, at 500 moments.
KILLS=500 exec sh "$(dirname "$0")/t411-kill-table.sh"
