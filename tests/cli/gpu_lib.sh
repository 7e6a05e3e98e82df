# shellcheck shell=sh
# Read by tests of what a GPU does, over a driver that is not there (tests/fake): the problem whose
# kernels it knows, and candidates that are known to it by name. The fault in cuda/fault is played.
. "$(dirname "$0")/lib.sh"
mkdir -p cuda none
ln -s "$(dirname "$HONE")/fake/lib64" cuda/lib64
export CUDA_HOME="$TMP/cuda"
: >cuda/fault

cat >affine.hone <<'P'
problem affine
dim N = 1000
in x : f32[N] ~ normal
out y : f32[N]
y = x * 2 + 1
P

# kernel NAME [CLAUSES [TEXT]]: NAME.cu launches the kernel of that name; its text only has to compile.
kernel() {
    printf '#pragma hone launch %s grid(4) block(256) %s args(x, y)\n' "$1" "${2:-}" >"$1.cu"
    printf '%s\nextern "C" __global__ void %s(const float *x, float *y) { *y = *x; }\n' "${3:-}" "$1" >>"$1.cu"
}

# Our own kernels take seconds to compile: what one test compiled serves the others.
compiled="$(dirname "$HONE")/gpu-objects"
mkdir -p "$XDG_CACHE_HOME/hone/objects" "$compiled"
cp "$compiled"/* "$XDG_CACHE_HOME/hone/objects/" 2>/dev/null || :

kernel right
run "$HONE" eval affine.hone right.cu --target cuda --verify
case $got in *'no CUDA compiler'*) skip "no NVRTC" ;; esac
[ "$status" = 0 ] || fail "not even the right one passes: $got"
for object in "$XDG_CACHE_HOME"/hone/objects/*; do
    [ -e "$compiled/${object##*/}" ] || { cp "$object" "$compiled/.$$" && mv "$compiled/.$$" "$compiled/${object##*/}"; }
done

# expect_verdicts "NAME: VERDICT
# ..." ARGUMENT...: several candidates by one judge; of what it says, these lines are the verdicts.
expect_verdicts() {
    want=$1
    shift
    run "$HONE" eval affine.hone "$@"
    verdicts=$(printf '%s\n' "$got" | grep -E '^[a-z_]+\.cu: ' | sed 's/\.cu: /: /')
    [ "$verdicts" = "$want" ] || fail "$* gave
$got
expected
$want"
}
