#!/bin/sh
# The judge of a GPU, in other types than f32, over a driver that is not there: data of every width,
# buffers that end within a word, fills, inputs that are computed.
. "$(dirname "$0")/gpu_lib.sh"

# typed NAME TYPE COUNT EXPRESSION [DECLARATION]
typed() {
    cat >"$1.hone" <<P
problem $1
dim N = $3
in x : $2[N]${5:-}
out y : $2[N]
y = $4
P
}
judge() {
    problem=$1 file=$2
    shift 2
    "$HONE" eval "$problem.hone" "$file.cu" --target cuda --verify "$@"
}
for name in bf16_right bf16_cut i8_right i8_over i8_mutate i8_partial i4_right f64_right f64_single noop; do
    kernel $name
done

typed bf16 bf16 1000 'x * 2 + 1'
expect_match 0 '^bf16_right.cu: ok$' judge bf16 bf16_right
expect_match 1 '^bf16_cut.cu: wrong$' judge bf16 bf16_cut
expect_match 1 '^noop.cu: wrong \(unwritten\)$' judge bf16 noop
expect_match 1 'y\[[0-9]+\] is [-0-9.e]+, expected [-0-9.e]+' judge bf16 bf16_cut

typed i8 i8 999 'i8(x * 2 + 1)'
expect_match 0 '^i8_right.cu: ok$' judge i8 i8_right
expect_match 1 "wrote beyond the ends of 'y'" judge i8 i8_over
expect_match 1 '^i8_mutate.cu: cheat \(input-mutated\)$' judge i8 i8_mutate
expect_match 1 '^i8_partial.cu: wrong \(partial\)$' judge i8 i8_partial

# The half byte that holds no element is nobody's: it may hold anything, each time something else.
typed i4 i4 999 'i4(x * 2 + 1)'
expect_match 0 '^i4_right.cu: ok$' judge i4 i4_right

typed f64 f64 1000 'x * 2 + 1'
expect_match 0 '^f64_right.cu: ok$' judge f64 f64_right
expect_match 1 '^f64_single.cu: wrong$' judge f64 f64_single

# Computed inputs, and data that exist for one call.
typed made bf16 1000 'x * 2 + 1' ' = softmax(u) where u ~ normal'
expect_match 0 '^bf16_right.cu: ok$' judge made bf16_right
expect_match 1 '^bf16_cut.cu: wrong$' judge made bf16_cut
for p in bf16 made; do
    expect_match 0 '^bf16_right.cu: ok$' "$HONE" eval $p.hone bf16_right.cu --target cuda --screen --baseline bf16_right.cu
done
expect_match 0 '^i8_right.cu: ok$' "$HONE" eval i8.hone i8_right.cu --target cuda --screen --baseline i8_right.cu
expect_match 0 '^i4_right.cu: ok$' "$HONE" eval i4.hone i4_right.cu --target cuda --screen --baseline i4_right.cu

# In f32 the card computes inputs itself.
typed made32 f32 1000 'x * 2 + 1' ' = softmax(u) where u ~ normal'
expect_match 0 '^right.cu: ok$' judge made32 right
expect_match 0 '^right.cu: ok$' "$HONE" eval made32.hone right.cu --target cuda --screen --baseline right.cu
printf 'no-oracle\n' >cuda/fault
expect_match 0 '^right.cu: ok$' judge made32 right
: >cuda/fault

# Fills write what the type stores, to the last byte.
for row in 'f16 1.5' 'bf16 -3' 'i8 -7' 'i4 5' 'u8 200' 'i64 -70000000000' 'f64 1.25' 'i32 77' 'f8e4m3 1.75' 'bool 1'; do
    # shellcheck disable=SC2086
    set -- $row
    value="i32(x * 0) + $2"
    case $1 in
    bool) value='x == x' ;;
    f*|b*) value="f32(x) * 0 + $2" ;;
    *) value="$1(i64(x) * 0 + $2)" ;;
    esac
    cat >filled.hone <<P
problem filled
dim N = 1003
in x : i8[N]
out y : $1[N]
y = $value
P
    printf '#pragma hone fill y %s\n' "$2" | cat - noop.cu >filled.cu
    expect_match 0 '^filled.cu: ok, on a degenerate problem$' judge filled filled
done
