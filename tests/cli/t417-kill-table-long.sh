#!/bin/sh
# long
# As t416, at 500 moments.
KILLS=500 exec sh "$(dirname "$0")/t416-kill-table.sh"
