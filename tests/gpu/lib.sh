# shellcheck shell=sh
# Read by every test on a GPU. Compiled kernels and ceilings are kept in one place for all of them.
. "$(dirname "$0")/../cli/lib.sh"
XDG_CACHE_HOME=${GPU_CACHE:-$ROOT/build/gpu-cache}
export XDG_CACHE_HOME
mkdir -p "$XDG_CACHE_HOME"

# The architecture of the first GPU: sm_90a.
gpu_arch() {
    "$HONE" devices --json | sed -n 's/.*"isa": "\(sm_[0-9a-z]*\)".*/\1/p' | head -n 1
}
