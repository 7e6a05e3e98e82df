#!/bin/sh
# bench/gpu_forms.sh HONE: kernels that were written while no card was at hand, each against the form
# that it would replace, in one run: verified, timed in pairs, ranked. What loses here should be the
# default no longer. Appends to docs/results/h200-forms.md, a row for each case; a case that has a
# row is not measured again ($AGAIN: it is), so a run that was stopped goes on where it ended.
# ONLY='gru|lstm' are those cases alone, EMIT=1 lowers every candidate for sm_90a and needs no card.
set -eu
hone=$1
root=$(cd "$(dirname "$0")/.." && pwd)
if [ -n "${EMIT:-}" ]; then
    hone=$(cd "$(dirname "$hone")" && pwd)/$(basename "$hone") results=/dev/null
    work=$(mktemp -d "${TMPDIR:-/tmp}/hone-forms-XXXXXX")
    trap 'rm -rf "$work"' EXIT
    cd "$work"
else
    # shellcheck disable=SC1091
    . "$root/bench/gpu_lib.sh"
fi

# A case: a problem, then its candidates, the new form first. `worked NAME` takes a problem of
# problems/, `problem NAME` one of its own. A candidate is a file, or `default` or `plain`.
names='' name='' candidates=''
case_ends() {
    [ -z "$name" ] || printf '%s\n' "$candidates" >"$name.candidates"
    candidates=
}
begins() { # CASE
    case_ends
    name=$1 names="$names $1"
}
worked() { # PROBLEM [CASE]
    begins "${2:-$1}"
    problem=$1
    cp "$root/problems/$1.hone" "$name.hone"
}
problem() { # CASE: the rest of its text comes in
    begins "$1"
    problem=$1
    { echo "problem $1" && cat; } >"$name.hone"
}
block() { # CANDIDATE STAGES: separated by semicolons
    { echo "kernel for $problem on sm_90a" && printf '%s\n' "$2" | tr ';' '\n'; } >"$name-$1.hone"
    candidates="$candidates $name-$1.hone"
}
also() { # default | plain | library
    candidates="$candidates $1"
}
# The default's text, whose launches do not overlap.
apart() {
    "$hone" emit "$name.hone" --target sm_90a | sed '/^#pragma hone launch/s/ programmatic / /' >"$name-apart.cu"
    candidates="$candidates $name-apart.cu"
}

# Recurrences by blocks that stay, against a kernel that reads all weights in every step.
worked gru
also default
block nest 'stage xw : gemm;stage there : nest;stage xw2 : gemm;stage back : nest;stage y : map'
worked lstm
also default
block nest 'stage xw : gemm;stage cn, hn, y : nest'
# Splitting passes that overlap the product.
for size in 2048 4096; do
    for precision in tf32 f32; do
        problem "overlap_${precision}_$size" <<P
precision $precision
dim M = $size, N = $size, K = $size
in  a : f32[M, K] ~ normal
in  b : f32[K, N] ~ normal
out c : f32[M, N]
c = a @ b
P
        also default
        apart
    done
done
# A long product by a vector.
for k in 1048576 1048575; do
    problem "vector_$k" <<P
dim M = 2048, K = $k
in  a : f32[M, K] ~ uniform(0, 1)
in  b : f32[K, 1] ~ uniform(0, 1)
out c : f32[M, 1]
c = a @ b
P
    also default
    block rows1 'stage c : gemm as dot rows 1'
    block rows2 'stage c : gemm as dot rows 2'
    block simt 'stage c : gemm as simt'
done
# Rings of slices by asynchronous copies, where only f32 multiply-adds are allowed.
problem exact_4096 <<'P'
precision f32 exact
dim M = 4096, N = 4096, K = 4096
in  a : f32[M, K] ~ normal
in  b : f32[K, N] ~ normal
out c : f32[M, N]
c = a @ b
P
block ring3 'stage c : gemm as simt stages 3'
block ring4 'stage c : gemm as simt stages 4'
also default
also library
# Rows of a product folded without storing it.
for n in 512 4096; do
    problem "rows_of_product_$n" <<P
dim M = 4096, N = 8192, K = $n
in  x : bf16[M, K] ~ normal
in  w : bf16[N, K] ~ normal(0, 0.02)
out y : f32[M]
y = logsumexp(x @ w.T, axis=1)
P
    block rowgemm 'stage y : rowgemm'
    also default
done
# Operands that are computed on their way to the tensor cores.
worked swiglu_down
also default
block mma 'stage y : gemm as mma'
block materialised 'stage h : map;stage y : gemm as wgmma'
problem relu_product <<'P'
dim M = 4096, N = 4096, K = 4096
in  x : bf16[M, K] ~ normal
in  w : bf16[N, K] ~ normal(0, 0.02)
out y : bf16[M, N]
h : bf16 = relu(x)
y = h @ w.T
P
also default
block mma 'stage y : gemm as mma'
block materialised 'stage h : map;stage y : gemm as wgmma'
case_ends

for name in $names; do
    [ -z "${ONLY:-}" ] || printf '%s\n' "$name" | grep -qxE "$ONLY" || continue
    candidates=$(cat "$name.candidates")
    if [ -n "${EMIT:-}" ]; then
        for candidate in $candidates; do
            case $candidate in
            default) "$hone" emit "$name.hone" --target sm_90a >/dev/null ;;
            *.hone) "$hone" emit "$name.hone" --kernel "$candidate" --target sm_90a >/dev/null ;;
            esac || { echo "$name: $candidate is not lowered"; exit 1; }
        done
        echo "$name:$candidates"
        continue
    fi
    [ -n "${AGAIN:-}" ] || ! grep -qs "| $name |" "$results" || continue
    # The last one is what the others are timed against.
    baseline=${candidates##* }
    # shellcheck disable=SC2086
    "$hone" eval "$name.hone" ${candidates% *} --baseline "$baseline" --csv --target cuda \
        --seconds "${SECONDS_EACH:-2}" >out 2>err || true
    result=$(tail -n +2 out | tr '\n' ';')
    row "$name" "\`hone eval${candidates% *} --baseline $baseline --csv\`" "${result:-$(head -n 3 err | tr '\n' ' ')}"
done
