#!/bin/sh
# A candidate that is named wrong: what it may be is said, and the word that was meant; before anything is judged.
. "$(dirname "$0")/lib.sh"
P=$ROOT/tests/exploits/softmax.hone
may="it may be a file, 'default', 'plain', 'library', or a kernel of a stored run: RUN.NODE (3.7), RUN or 'last'"

expect 2 "hone: no candidate 'misspelt'; $may" "$HONE" eval "$P" misspelt
expect 2 "hone: no candidate 'defalt' (did you mean 'default'?); $may" "$HONE" eval "$P" defalt --verify
expect 2 "hone: no candidate '1.x'; $may" "$HONE" eval "$P" 1.x
# As one of several, and as a baseline, of a search too.
expect 2 "hone: no candidate 'libary' (did you mean 'library'?); $may" "$HONE" eval "$P" plain libary
expect 2 "hone: no candidate 'libary' (did you mean 'library'?); $may" "$HONE" eval "$P" plain default libary
expect 2 "hone: no candidate 'plian' (did you mean 'plain'?); $may" "$HONE" eval "$P" default --baseline plian
expect 2 "hone: no candidate 'plian' (did you mean 'plain'?); $may" "$HONE" optimize "$P" --baseline plian
expect 2 "hone: no candidate 'plian' (did you mean 'plain'?); $may" "$HONE" optimize "$P" --start plian
# What looks like a file is one, and what is one is taken as one.
expect 2 'hone: mine.c: No such file or directory' "$HONE" eval "$P" mine.c
expect 2 'hone: no/where: No such file or directory' "$HONE" eval "$P" no/where
expect_match 1 '^defalt: illegal' sh -c ': >defalt; "$0" eval "$1" defalt --verify' "$HONE" "$P"
