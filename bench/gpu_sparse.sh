#!/bin/sh
# bench/gpu_sparse.sh HONE: sums over posting lists (sparse retrieval, 100 000 documents, 500 queries, Zipf) against a
# Triton kernel written for it, in one process, by bridge/sparse.py; appends to docs/results/h200-sparse.md. Needs nvcc
# and python3 with Triton, and says so when they are absent. Half a minute.
set -eu
hone=$1
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"

if ! command -v nvcc >/dev/null || ! python3 -c 'import triton' 2>/dev/null; then
    row 'sparse retrieval against Triton' 'needs nvcc and python3 with Triton' 'absent'
    exit 0
fi
(cd "$root" && python3 bridge/sparse.py "$hone" default ordered) >lines
while read -r line; do
    row "sparse retrieval, ${line%%:*}" "\`bench/gpu_sparse.sh hone\`" "${line#*: }"
done <lines
