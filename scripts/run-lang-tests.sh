#!/bin/bash
# run-lang-tests.sh HONE: files of the language that must be accepted or rejected.
#
# tests/lang/accept/*.hone and problems/*.hone: check passes; formatting gives a file with
# the same graph, and formatting that changes nothing. (test_lang.c reads the same files for
# what cannot be seen from outside: the canonical text gives the same graph.)
# tests/lang/reject/*.hone: check fails with exactly the mistakes that the file expects,
# each a line `# expect error 3:7: expected ')'`, with `(did you mean 'x'?)` after it where
# a hint is expected.
# tests/lang/emit/*.hone: emit prints exactly the .c (for GPUs: the .cu) next to it. A first line
# `# plain` or `# plain TARGET` asks for the baseline. With BLESS=1 the text is written instead.
# tests/lang/cutlass/*.hone: the same, where CUTLASS is there.
# tests/lang/kernel/*.hone: check -v prints exactly the .txt next to it.
# What is emitted must compile, CUDA as C over dev_cpu.h (test_nvrtc.c compiles it as CUDA).
set -u
hone=$1
export HONE_TARGET=cpu  # where there is a GPU too
cd "$(dirname "$0")/.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0 n=0
complain() {
    echo "lang: $*"
    failed=1
}

# The graphs of a file without the lines that name it.
graphs() {
    "$hone" check --verbose "$1" | grep -v ': ok: \|: note: '
}

accept() {
    local file=$1 copy=$scratch/copy.hone
    "$hone" check "$file" >/dev/null || {
        complain "$file is rejected"
        return
    }
    cp "$file" "$copy"
    "$hone" fmt "$copy" >/dev/null || complain "$file: fmt failed"
    "$hone" fmt --check "$copy" || complain "$file: formatting twice changes it"
    cmp -s <(graphs "$file") <(graphs "$copy") || complain "$file: formatting changes the graph"
}

# Headlines of the report as "3:7: message", a hint on the same line.
mistakes() {
    "$hone" check "$1" 2>&1 | awk -v file="$1:" '
        index($0, file) == 1 { if (line) print line; line = substr($0, length(file) + 1); next }
        /^    did you mean/ { sub(/^ */, ""); line = line " (" $0 ")" }
        END { if (line) print line }'
}

reject() {
    local file=$1 status=0
    "$hone" check "$file" >/dev/null 2>&1 || status=$?
    [ $status = 1 ] || complain "$file: exit status is not 1"
    grep -a '^# expect error' "$file" | sed 's/^# expect error //' >"$scratch/want"
    [ -s "$scratch/want" ] || complain "$file expects nothing"
    mistakes "$file" >"$scratch/got"
    diff "$scratch/want" "$scratch/got" >"$scratch/diff" || complain "$file:
$(cat "$scratch/diff")"
}

emit() {
    local file=$1 golden=${1%.hone}.c options='' target
    target=$(sed -n '1s/^# plain \(sm_.*\)/\1/p; s/^kernel for .* on \(sm_.*\)/\1/p' "$file")
    [ -z "$target" ] || golden=${1%.hone}.cu
    case $(head -1 "$file") in
    '# plain') options=--plain ;;
    '# plain '*) options="--plain --target $target" ;;
    esac
    # shellcheck disable=SC2086
    "$hone" emit "$file" $options >"$scratch/raw" || {
        complain "$file: emit failed"
        return
    }
    sed '1s/, by hone .*/, by hone VERSION./' "$scratch/raw" >"$scratch/emitted"
    [ -z "${BLESS:-}" ] || cp "$scratch/emitted" "$golden"
    diff "$golden" "$scratch/emitted" >"$scratch/diff" || complain "$file:
$(cat "$scratch/diff")"
    # CC may have words of its own ("ccache gcc").
    # shellcheck disable=SC2086
    ${CC:-cc} -std=gnu17 -fsyntax-only -Wall -Werror -Wno-unknown-pragmas -Wno-unused-function \
        -Iruntime ${target:+-DHONE_DEV_CPU} -x c "$scratch/raw" ||
        complain "$file: what is emitted does not compile"
}

explain() {
    local file=$1 golden=${1%.hone}.txt
    "$hone" check --verbose "$file" >"$scratch/explained" || complain "$file is rejected"
    [ -z "${BLESS:-}" ] || cp "$scratch/explained" "$golden"
    diff "$golden" "$scratch/explained" >"$scratch/diff" || complain "$file:
$(cat "$scratch/diff")"
}

for file in tests/lang/accept/*.hone problems/*.hone; do
    accept "$file"
    n=$((n + 1))
done
for file in tests/lang/reject/*.hone; do
    reject "$file"
    n=$((n + 1))
done
for file in tests/lang/kernel/*.hone; do
    accept "$file"
    explain "$file"
    n=$((n + 1))
done
for file in tests/lang/emit/*.hone; do
    emit "$file"
    n=$((n + 1))
done
# A CUTLASS that is not there, which is enough to emit for it.
export CUTLASS_PATH=$PWD/tests/fake/cutlass PATH=$PWD/tests/fake/cutlass/bin:$PATH
for file in tests/lang/cutlass/*.hone; do
    emit "$file"
    n=$((n + 1))
done
echo "lang: $n files"
[ $n -gt 20 ] || complain "too few files were found"
exit $failed
