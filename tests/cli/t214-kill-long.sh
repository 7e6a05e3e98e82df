#!/bin/sh
# long
# As t213, a thousand.
KILLS=${KILLS:-1000} exec sh "$(dirname "$0")/t213-kill.sh"
