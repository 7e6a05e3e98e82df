#!/bin/sh
# bench/gpu_peers.sh HONE: champions of the three problems against PyTorch's best and cuBLAS, each pair
# in one process; appends to docs/results/h200-peers.md. Needs nvcc and python3 with PyTorch, and says
# so when they are absent. SECONDS_EACH (20) bounds each search. Ends within six minutes.
set -eu
export HONE_MEMORY_PATH=off
hone=$1
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"
budget=${SECONDS_EACH:-20}

if ! command -v nvcc >/dev/null || ! python3 -c 'import torch' 2>/dev/null; then
    row 'champions against PyTorch' 'needs nvcc and python3 with PyTorch' 'absent'
    exit 0
fi
arch=$(gpu_field isa)
field() {
    sed -n "s/.*\"$2\": \([-0-9.e+]*\).*/\1/p" "$1" | head -n 1
}

# peer NAME M N K DIMS
peer() {
    "$hone" optimize "$root/problems/$1.hone" --target cuda --dim "$5" --seconds "$budget" \
        --until 0.97 --store "$work/store-$1" --json >"$1.json"
    sed -n '/"reach": {/,/}/p' "$1.json" >"$1.reach"
    row "$1 $5: champion" \
        "\`hone optimize problems/$1.hone --target cuda --dim $5 --seconds $budget --until 0.97\`" \
        "$(awk -v f="$(field "$1.reach" fraction)" 'BEGIN { printf "%.0f%% of reach", 100 * f }')"
    "$hone" export --store "$work/store-$1" -o "$work/export-$1" >/dev/null
    pic='-Xcompiler -fPIC'
    make -s -C "export-$1" ARCH="$arch $pic" CFLAGS="-O2 $pic" >/dev/null
    (cd "export-$1" && ./check >/dev/null && nvcc -shared -o "lib$1.so" kernel.o "$1.o")
    python3 "$root/bridge/peers.py" "$1" "$work/export-$1/lib$1.so" "$2" "$3" "$4" | tee "$1.peers"
    while read -r line; do
        echo "$line" >line
        label=$(sed 's/.*"peer": "\([a-z-]*\)".*/\1/' line)
        row "$1 $5 exported, against PyTorch $label" \
            "\`python3 bridge/peers.py $1 lib$1.so $2 $3 $4\`" \
            "$(awk -v o="$(field line ours_ms)" -v p="$(field line peer_ms)" -v r="$(field line ratio)" \
                -v l="$(field line low)" -v h="$(field line high)" \
                'BEGIN { printf "%.4f ms, theirs %.4f ms: %.3fx their speed (90%% of blocks %.3f to %.3f)", o, p, r, l, h }')"
    done <"$1.peers"
}

peer softmax 16384 4096 1 M=16384,N=4096
peer gelu 16384 4096 1 M=16384,N=4096
peer gemm 4096 4096 4096 M=4096,N=4096,K=4096
