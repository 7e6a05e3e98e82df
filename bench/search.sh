#!/bin/sh
# search.sh HONE [SEEDS]: the figures of docs/results/search.md: policies on the tables of tests/tables,
# and the store's times next to the disk's.
set -eu
hone=$1 seeds=${2:-1000}
here=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$hone" suite "$here"/tests/tables/*.table --seeds "$seeds" --markdown \
    --vary "policy=$("$hone" help policies | sed -n 's/^\([a-z]\{1,\}\) .*/\1/p' | grep -v '^random$' | tr '\n' ,)random"
printf '\n| store | |\n|---|---|\n'
"$(dirname "$hone")/store-times" "$tmp" | while read -r what time unit more; do
    case $what in
    open) echo "| opening one of 100 000 evaluations, with its list of runs | $time $unit (aim: under 100 ms) |" ;;
    record) echo "| a record: a node and its run, one transaction | $time $unit |" ;;
    select) echo "| $time: selecting a node in a tree of 100 000 | $unit $more (aim: under 1 ms) |" ;;
    decide) echo "| $time: a whole decision there | $unit $more |" ;;
    peak) echo "| most memory that the process had: $time | $unit $more |" ;;
    fsync) echo "| write and fsync of 4 KiB next to it, in turns | $time $unit |" ;;
    esac
done
