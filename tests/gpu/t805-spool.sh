#!/bin/sh
# A folder of jobs, prepared as on a machine without a card, is carried to the card and drained there;
# then a search through a spool.
. "$(dirname "$0")/lib.sh"
P=$ROOT/problems/softmax.hone
D=M=512,N=768
arch=$(gpu_arch)
case $arch in sm_80 | sm_90a | sm_100a) ;; *) skip "no folder can be prepared for '$arch'" ;; esac

# Without the card in sight.
away() { CUDA_VISIBLE_DEVICES='' "$HONE" "$@"; }
"$HONE" scaffold "$P" --tier D --dim $D >k.cu
for candidate in k.cu plain default; do
    expect_match 0 'waits in jobs$' away eval "$P" $candidate --target "$arch" --dim $D --screen --spool jobs --detach
done
cp -r jobs card
expect_match 0 '^3 jobs done$' "$HONE" worker --spool card --once --target cuda
cp -r card/. jobs
for candidate in k.cu plain default; do
    expect_match 0 ": ok$" away eval "$P" $candidate --target "$arch" --dim $D --screen --spool jobs --wait 1
    printf '%s\n' "$got" | grep -q "on cuda:0 (NVIDIA" || fail "not by the card: $got"
done
[ -z "$(find jobs/queue jobs/claimed jobs/done jobs/wanted jobs/tmp -type f)" ] || fail "left: $(find jobs)"

# A search from here on that card, with its bound.
"$HONE" worker --spool live --target cuda >worker.out 2>&1 &
worker=$!
expect_match 0 'x over plain' away optimize "$P" --dim M=2048,N=2048 --evals 4 --spool live
expect_match 0 '"device": "NVIDIA' "$HONE" show --json
kill -TERM $worker
status=0
wait $worker || status=$?
[ $status = 130 ] || fail "worker: $status: $(cat worker.out)"
