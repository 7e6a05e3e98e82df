#!/bin/sh
# long
# As t209, many more.
KILLS=${KILLS:-350} exec sh "$(dirname "$0")/t209-spool-kill.sh"
