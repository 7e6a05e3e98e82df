#!/bin/sh
# bench/gpu_cutlass.sh HONE: products by CUTLASS as a peer, where CUTLASS_PATH names it: the default
# kernel, and several configurations of `gemm as cutlass`, against `library` (cuBLASLt's best), all
# judged by hone in one run: verified in full, timed in pairs on fresh inputs from cold caches.
# Appends to docs/results/h200-tensor.md, a row for each case with the ranking. An object serves all
# shapes of a configuration, so compiling takes half a minute for each of them once: BENCH_SECONDS=900
# for all. CASES names a file with other cases (TYPE M N K [gelu]), BLOCKS one with other knobs (a
# line each), CANDIDATES other candidates than `default`, BASELINE another than `library`.
set -eu
hone=$1
root=$(cd "$(dirname "$0")/.." && pwd)
export RESULTS="${RESULTS:-$root/docs/results/h200-tensor.md}"
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"

"$hone" doctor >doctor 2>/dev/null || true
version=$(sed -n 's/^cutlass  *ok  *\([0-9.]*\):.*/\1/p' doctor)
if [ -z "$version" ]; then
    echo "skipped: no CUTLASS ($(sed -n 's/^cutlass  *absent  *//p' doctor))"
    exit 0
fi

cat >cases <<'END_CASES'
bf16 4096 4096 4096
bf16 8192 8192 8192
bf16 4096 4096 16384
bf16 8192 8192 512
bf16 4096 4096 4096 gelu
f16 4096 4096 4096
tf32 4096 4096 4096
END_CASES
# Illegal ones (of a type, say) are left out before anything is compiled.
cat >blocks <<'END_BLOCKS'

tile 128x256x64 cluster 2x1 schedule cooperative swizzle 8
tile 128x128x64 cluster 2x1 schedule pingpong
tile 64x256x64 cluster 2x1 schedule pingpong
tile 256x128x64 cluster 2x1 schedule cooperative
tile 128x256x64 cluster 2x1 schedule cooperative scheduler stream_k
tile 128x256x32 cluster 2x1 schedule cooperative
tile 128x128x32 cluster 2x1 schedule pingpong
END_BLOCKS

product() { # TYPE M N K [gelu]
    stored=$1 value='x @ w.T'
    [ "$1" != tf32 ] || stored=f32
    [ "${5:-}" != gelu ] || value='gelu(x @ w.T + b)'
    echo "problem product"
    [ "$1" != tf32 ] || echo "precision tf32"
    printf 'dim M = %s, N = %s, K = %s\n' "$2" "$3" "$4"
    printf 'in  x : %s[M, K] ~ normal\nin  w : %s[N, K] ~ normal(0, 0.02)\n' "$stored" "$stored"
    [ -z "${5:-}" ] || printf 'in  b : %s[N] ~ normal\n' "$stored"
    printf 'out y : %s[M, N]\ny = %s\n' "$stored" "$value"
}

# Files of the blocks that are legal for case.hone, named by their line.
legal_blocks() {
    n=0
    while IFS= read -r knobs; do
        n=$((n + 1))
        printf 'kernel for product on sm_90a\nstage y : gemm as cutlass  %s\n' "$knobs" >"cutlass$n.hone"
        "$hone" emit case.hone --kernel "cutlass$n.hone" --target sm_90a >/dev/null 2>&1 && printf '%s ' "cutlass$n.hone"
    done <"${BLOCKS:-blocks}"
    :
}

while read -r type m n k what; do
    product "$type" "$m" "$n" "$k" "$what" >case.hone
    blocks=$(legal_blocks)
    # shellcheck disable=SC2086
    "$hone" eval case.hone ${CANDIDATES-default} $blocks --baseline "${BASELINE:-library}" --csv \
        --target cuda --seconds "${SECONDS_EACH:-1}" >out 2>err || true
    result=$(tail -n +2 out | tr '\n' ';')
    row "$type ${m}x${n}x${k}${what:+ $what}, CUTLASS $version" \
        "\`hone eval case.hone ${CANDIDATES-default} ${blocks}--baseline ${BASELINE:-library} --csv\`" \
        "${result:-$(head -n 3 err | tr '\n' ' ')}"
done <"${CASES:-cases}"
