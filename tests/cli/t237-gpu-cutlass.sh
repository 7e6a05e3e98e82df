#!/bin/sh
# no-asan
# slow
# a stage by CUTLASS: compiled by an nvcc of ours, loaded, called and judged over a driver that is not there
. "$(dirname "$0")/gpu_lib.sh"
export CUTLASS_PATH="$ROOT/tests/fake/cutlass"
ln -s "$CUTLASS_PATH/bin" cuda/bin
objects="$XDG_CACHE_HOME/hone/objects"

cat >layer.hone <<'P'
problem layer
precision tf32
in  x : f32[40, 32] ~ normal
in  w : f32[24, 32] ~ normal
in  b : f32[24]     ~ normal
out y : f32[40, 24]
y = relu(x @ w.T + b)
P
cat >block.hone <<'P'
kernel for layer on sm_90a
stage y : gemm as cutlass  tile 128x128x32  cluster 2x1  stages 3
P
cat >batch.hone <<'P'
problem batch
precision tf32
in  x : f32[3, 20, 16] ~ normal
in  w : f32[3, 12, 16] ~ normal
out y : f32[3, 20, 12]
y = einsum("bmk,bnk->bmn", x, w)

kernel for batch on sm_90a
stage y : gemm as cutlass
P
eval_layer() {
    "$HONE" eval layer.hone block.hone --target cuda --verify
}
expect_match 0 '^block.hone: ok$' eval_layer
# What nvcc was asked for, and with what text.
for argument in -shared -DNDEBUG -cudart "-I$CUTLASS_PATH/include" 'arch=compute_90a,code=sm_90a' cutlass.cu; do
    grep -qxF -e "$argument" "$objects/nvcc.arguments" || fail "nvcc was not given $argument: $(cat "$objects/nvcc.arguments")"
done
grep -q 'Sm90RowBroadcast<0, Tile, float' "$objects/nvcc.source" || fail "the text has no bias: $(cat "$objects/nvcc.source")"
# A second time it comes from the cache: nvcc is not run.
rm "$objects/nvcc.arguments"
expect_match 0 '^block.hone: ok$' eval_layer
[ ! -e "$objects/nvcc.arguments" ] || fail "nvcc was run again"
expect_match 0 'batch.hone: ok$' "$HONE" eval batch.hone batch.hone --target cuda --verify
# Timed, through the graph that a slot has.
expect_match 0 '^block.hone: ok$' "$HONE" eval layer.hone block.hone --baseline block.hone --screen --target cuda

# What nvcc or its object does wrong; every fault needs an object of its own.
sed -i 's/tile 128x128x32/tile 128x32x32/' block.hone
stages=2
fault() { # WHAT STATUS PATTERN
    sed -i "s/stages [0-9]*/stages $stages/" block.hone
    stages=$((stages + 1))
    echo "$1" >"$objects/nvcc.fault"
    expect_match "$2" "$3" eval_layer
    rm "$objects/nvcc.fault"
}
fault fail 1 'cutlass.cu.34.: error: no instance of CollectiveBuilder'
fault wrong 1 '^block.hone: wrong'
fault greedy 1 'CUTLASS wants 1099511627776 bytes to work in, and the plan has'
fault hollow 1 'lacks hone_cutlass_issue'
fault refuse 1 'CUTLASS: no algorithm of 1 runs'
fault silent 4 'nvcc made no object'

# Where there is no CUTLASS, or no compiler for it, it is said once, and nobody offers it.
absent='stage y: CUTLASS is absent: let CUTLASS_PATH name its directory'
expect_match 1 "$absent" env -u CUTLASS_PATH "$HONE" eval layer.hone block.hone --target cuda --verify
expect_match 1 "$absent" env CUTLASS_PATH="$TMP/none" "$HONE" eval layer.hone block.hone --target cuda --verify
expect_match 0 'cutlass *ok *4\.2\.0: .*/fake/cutlass/include, compiled by .*/bin/nvcc' "$HONE" doctor
expect_match 0 'cutlass *absent.*CUTLASS_PATH is not set' env -u CUTLASS_PATH "$HONE" doctor
# Source of somebody's has no such call, whatever it says.
{
    echo '#pragma hone scratch work u8[65536]'
    "$HONE" emit layer.hone --kernel block.hone | grep '^#pragma hone call'
} | sed 's/library_work/work/' >forged.cu
expect_match 1 'only a kernel block calls a library' "$HONE" eval layer.hone forged.cu --target cuda --verify

# The benchmark: a row for each case, blocks that are not legal for it left out.
mkdir -p repo/bench repo/docs/results
cp "$ROOT/bench/gpu_lib.sh" "$ROOT/bench/gpu_cutlass.sh" repo/bench
printf 'tf32 40 24 32\n' >cases
printf '\ntile 64x64x32 schedule cooperative\n' >blocks
bench() {
    env "$@" HONE_COMMIT=named CASES="$TMP/cases" BLOCKS="$TMP/blocks" CANDIDATES= \
        BASELINE=cutlass1.hone SECONDS_EACH=0.05 sh repo/bench/gpu_cutlass.sh "$HONE"
}
expect_match 0 '\| Fake 9000 \| 999\.1, CUDA 13\.0 \| named \| tf32 40x24x32, CUTLASS 4\.2\.0 \| `hone eval case.hone  cutlass1.hone --baseline cutlass1.hone --csv` \| 1,.*cutlass1.hone.* \|$' bench
expect_match 0 '^skipped: no CUTLASS \(CUTLASS_PATH is not set' bench -u CUTLASS_PATH
