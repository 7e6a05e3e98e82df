#!/bin/bash
# lint.sh HONE: the rules that are checked by a program and not by a reviewer.
set -u
hone=$1
cd "$(dirname "$0")/.." || exit 1
status=0
complain() {
    echo "lint: $*"
    status=1
}
sources() {
    git ls-files -co --exclude-standard "$@" | while read -r file; do
        [ -e "$file" ] && echo "$file"
    done
}

# The table in CONTRIBUTING.md is the rule: "| dir | may include |".
layers() {
    local dir may header
    declare -A rule
    while IFS='|' read -r _ dir may _; do
        rule[${dir// /}]=" $may "
    done < <(sed -n '/^| directory | may include |/,/^$/p' CONTRIBUTING.md | tail -n +3 | grep '^|')
    [ ${#rule[@]} -ge 10 ] || complain "CONTRIBUTING.md has no table of layers"
    for dir in main.c src/*/; do
        dir=$(basename "$dir")
        [ -n "${rule[$dir]:-}" ] || {
            complain "src/$dir is not in the table of CONTRIBUTING.md"
            continue
        }
        while read -r header; do
            case "${rule[$dir]} $dir " in
            *" $header "*) ;;
            *) complain "src/$dir must not include $header/" ;;
            esac
        done < <(if [ "$dir" = main.c ]; then cat src/main.c; else cat src/"$dir"/*.[ch]; fi |
            sed -n 's/^ *# *include "\([a-z]*\)\/.*/\1/p' | sort -u)
    done
}

names() {
    local name
    for name in $(sources 'src/*.[ch]' | xargs -n1 basename | sort | uniq -d); do
        complain "two files are called $name"
    done
    for name in $(sources 'src/*.h' | xargs sed -n 's/^struct \([a-z_]*\) {.*/\1/p' | sort | uniq -d); do
        complain "two headers define struct $name"
    done
}

# What a file is for stands at its head, or at that of its header where there is no more to say;
# docs/architecture.md has only directories.
heads() {
    local file
    for file in $(sources 'src/*.[ch]'); do
        [[ $(head -c 3 "$file") == "// " ]] || [[ $(head -c 3 "${file%.c}.h" 2>/dev/null) == "// " ]] ||
            complain "$file does not say at its head what it is for"
    done
}

banned() {
    local found
    found=$(sources 'src/*.[ch]' 'tests/*.[ch]' | xargs grep -nE \
        '\<(strcpy|strcat|v?sprintf|strncpy|strtok|gmtime|localtime|atoi)[[:space:]]*\(')
    [ -z "$found" ] || complain "banned function: $found"
    found=$(sources 'src/*.[ch]' | xargs grep -nE '^ *# *include [<"](cuda|nvml|nvrtc|cupti|cudnn|cublas)')
    [ -z "$found" ] || complain "a CUDA header (they are not there on most machines): $found"
    found=$(sources 'src/*.[ch]' | xargs grep -nE 'switch \(.*(op_infos.*class|class_of)')
    [ -z "$found" ] || complain "a switch over classes of operations, which belong into a table: $found"
    found=$(sources '*.py' | grep -v '^bridge/')
    [ -z "$found" ] || complain "Python outside bridge/: $found"
    found=$(sources | xargs grep -nIE '(^|[^[:alnum:]_.~}-])/(work|root|home)/')
    [ -z "$found" ] || complain "a path of somebody's machine: $found"
}

format() {
    sources '*.c' '*.h' | xargs clang-format --dry-run -Werror 2>&1 | grep error |
        head -10 | grep . && complain "not formatted; run clang-format -i"
}

# pmccabe prints: complexity, its older form, statements, line, lines, place.
size() {
    local file
    sources 'src/*.c' | xargs pmccabe >"$scratch/functions"
    [ -s "$scratch/functions" ] || complain "pmccabe found no functions"
    echo "longest functions:"
    sort -k5,5nr "$scratch/functions" | head -10 | awk '{ printf "  %4d lines  %s %s\n", $5, $6, $7 }'
    awk '$1 > 20 { print "  complexity " $1 ": " $6, $7 }' "$scratch/functions" | grep . &&
        complain "a function is too complex (at most 20)"
    awk '$5 > 100 { print "  " $5 " lines: " $6, $7 }' "$scratch/functions" | grep . &&
        complain "a function is too long (at most 100 lines)"
    for file in $(sources '*.c'); do
        [ "$(wc -l <"$file")" -le 1000 ] || complain "$file has more than 1000 lines"
    done
    for file in $(sources 'src/*.h'); do
        [ "$(wc -l <"$file")" -le 150 ] || complain "$file has more than 150 lines"
    done
    [ "$(wc -l <Makefile)" -le 150 ] || complain "Makefile has more than 150 lines"
}

generated() {
    "$hone" _docs "$scratch/cli" || complain "hone _docs failed"
    diff -r "$scratch/cli" docs/cli | head -20 | grep . &&
        complain "docs/cli is out of date; run make bless"
}

# The page for developers names every directory and some files; what was moved must move there too.
walk() {
    local file dir n=0
    for dir in src/*/; do
        grep -q "^| \`$(basename "$dir")\` |" docs/architecture.md ||
            complain "docs/architecture.md has no row for $dir"
    done
    for file in $(grep -oE '`[a-z]+/[a-z_]+\.[ch]`' docs/architecture.md | tr -d '`' | sort -u); do
        n=$((n + 1))
        [ -e "src/$file" ] || [ -e "$file" ] || complain "docs/architecture.md names $file"
    done
    [ $n -ge 20 ] || complain "docs/architecture.md names only $n files"
}

# Tests are named by their numbers.
numbers() {
    local twice
    twice=$(sources 'tests/cli/t*.sh' | sed 's,.*/\(t[0-9]*\)-.*,\1,' | sort | uniq -d)
    [ -z "$twice" ] || complain "two tests in tests/cli have one number:" $twice
}

shell() {
    command -v shellcheck >/dev/null || {
        echo "lint: no shellcheck here, left out"
        return
    }
    sources scripts .ci bench | grep '\.sh$\|/run$' | xargs shellcheck -S warning ||
        complain "shellcheck"
    # $got and $status come from lib.sh, which also sets -e.
    sources 'tests/*.sh' | xargs shellcheck -S warning -e SC2154,SC2164 || complain "shellcheck"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
layers
names
heads
banned
format
size
generated
walk
numbers
shell
[ $status = 0 ] && echo "lint: ok"
exit $status
