#!/bin/sh
# bench/gpu_static.sh GPU_STATIC [ARCH]: what NVRTC makes of the kernels that hone begins with, without a card: every
# worked problem and the cases of gpu_tensor.sh and gpu_memory.sh, as a Markdown table on standard output
# (build/gpu-static has what the columns are). GPU_STATIC is build/gpu-static, ARCH sm_90a unless told otherwise. Takes
# minutes; NVRTC is needed. docs/results/static.md says what was found.
set -eu
static=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
arch=${2:-sm_90a}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-static-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

# problem NAME TYPES: as bench/gpu_memory.sh has it.
problem() {
    cat >text
    for type in $2; do
        { echo "problem $1" && sed "s/\\bT\\[/${type}[/" text; } >"memory-$1.$type.hone"
    done
}
# shellcheck disable=SC1091
. "$root/bench/memory_set.sh"

# The lines between two words of a script: its cases.
cases() {
    sed -n "/<<'$2'/,/^$2/p" "$root/bench/$1" | sed '1d;$d'
}
# product TYPE LAYOUT M N K, with the precision that the type's name stands for.
product() {
    a='M, K' b='K, N' x=a w=b draw=normal precision='' stored=$1 result=$1
    case $2 in t?) a='K, M' x=a.T ;; esac
    case $2 in ?t) b='N, K' w=b.T ;; esac
    case $1 in
    tf32) precision='precision tf32' stored=f32 result=f32 ;;
    f16-f32) stored=f16 result=f32 ;;
    i8) result=i32 draw='integers(-128, 127)' ;;
    esac
    printf 'problem product\n%s\ndim M = %s, N = %s, K = %s\nin a : %s[%s] ~ %s\nin b : %s[%s] ~ %s\nout c : %s[M, N]\nc = %s @ %s\n' \
        "$precision" "$3" "$4" "$5" "$stored" "$a" "$draw" "$stored" "$b" "$draw" "$result" "$x" "$w" >"product-$1-$2-$3x$4x$5.hone"
}
cases gpu_tensor.sh END_CASES >products
while read -r type layout m n k _; do
    product "$type" "$layout" "$m" "$n" "$k"
done <products
"$static" "$arch" "$root"/problems/*.hone product-*.hone memory-*.hone
