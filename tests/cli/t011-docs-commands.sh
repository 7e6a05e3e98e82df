#!/bin/sh
# Commands that README.md and docs/ tell people to type: each names a command that there is, with options that it
# has, and those that take no time and nothing of the machine are run as they stand, in a copy of the problems.
. "$(dirname "$0")/lib.sh"

# One command a line: in backticks, or a line of its own, with what continues it; pipes and `&&` end it.
cat "$ROOT/README.md" "$ROOT"/docs/*.md "$ROOT"/docs/results/*.md |
    sed -e ':a' -e '/\\$/N; s/\\\n *//; ta' |
    awk '{ line = $0
           if (line ~ /^(\$ )?hone [a-z]/) { sub(/^\$ /, "", line); print line; next }
           while (match(line, /`hone [^`]*`/)) {
               print substr(line, RSTART + 1, RLENGTH - 2)
               line = substr(line, RSTART + RLENGTH)
           } }' | sed -e 's/ *[|&;#].*//' -e 's/ -- .*//' | sort -u >commands
[ "$(wc -l <commands)" -gt 100 ] || fail "only $(wc -l <commands) commands were found"

# Scripts that measured the figures: each is there and can be run as it stands. One without `#!` is read by others.
n=0
for script in $(grep -Eoh '(bench|scripts)/[a-z_0-9]+\.sh' "$ROOT/README.md" "$ROOT"/docs/*.md "$ROOT"/docs/results/*.md | sort -u); do
    [ -e "$ROOT/$script" ] || fail "docs name $script, which is not there"
    [ -x "$ROOT/$script" ] || ! head -n 1 "$ROOT/$script" | grep -q '^#!' || fail "$script cannot be run"
    n=$((n + 1))
done
[ "$n" -gt 20 ] || fail "only $n scripts were looked at"

"$HONE" help >overview
mkdir help
n=0
while read -r _ command rest; do
    case $command in COMMAND | compare | --* | _*) continue ;; esac
    grep -q "^  $command " overview || fail "docs say 'hone $command $rest', and there is no such command"
    [ -e "help/$command" ] || "$HONE" help "$command" >"help/$command"
    # shellcheck disable=SC2086  # words
    for option in $(printf '%s\n' $rest | sed -n 's/^\[*\(--[a-z-]*\).*/\1/p'); do
        grep -Eq "^  ($option|-[a-z], $option)[ =]" "help/$command" ||
            fail "docs say 'hone $command $rest', and it has no $option"
        n=$((n + 1))
    done
done <commands
[ "$n" -gt 60 ] || fail "only $n options were looked at"

# Those that are quick, whose files are here, as they stand. What they say is other tests' matter.
mkdir work
cp -r "$ROOT/problems" "$ROOT/examples" work
cd work || exit 1
PATH=$(dirname "$HONE"):$PATH
export PATH
n=0
grep -E '^hone ((check|sol|emit|fmt|scaffold) .*\.hone|(help|init|version|completion|config|tools|devices|doctor)( |$))' ../commands |
    grep -Ev '[A-Z]{2}|\[|\.\.\.|--target cuda' >../quick
while read -r line; do
    # shellcheck disable=SC2086  # words
    set -- $line
    run "$@" </dev/null
    [ "$status" = 0 ] || fail "'$line' of the docs gave $status: $got"
    n=$((n + 1))
done <../quick
[ "$n" -ge 7 ] || fail "only $n were run"

# The table at the head of docs/families.md has every family and each of its emitters.
"$HONE" help families >families
n=0
while IFS= read -r line; do
    # shellcheck disable=SC2086  # words
    set -- $line
    case $line in
    "    "*)
        printf '%s\n' "$row" | grep -q "\`$1\`" || fail "docs/families.md does not say that $family has the emitter '$1'"
        n=$((n + 1))
        ;;
    [a-z]*)
        family=$1
        row=$(grep "^| \`$family\` |" "$ROOT/docs/families.md" | head -n 1) ||:
        [ -n "$row" ] || fail "the table of docs/families.md has no row for $family"
        ;;
    esac
done <families
[ "$n" -ge 30 ] || fail "only $n emitters were looked at"
