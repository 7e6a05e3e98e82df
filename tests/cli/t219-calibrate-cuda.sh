#!/bin/sh
# Ceilings of a GPU, measured on a card that is not there (tests/fake) and takes the time it says:
# the line, the single sizes next to it, and a reach that asks for no more time than they took.
. "$(dirname "$0")/lib.sh"
mkdir -p cuda
ln -s "$(dirname "$HONE")/fake/lib64" cuda/lib64
export CUDA_HOME="$TMP/cuda"
: >cuda/fault
P=$ROOT/problems/softmax.hone

run "$HONE" calibrate --target cuda
case $got in *'libnvrtc'*'not installed'*) skip "no NVRTC" ;; esac
[ "$status" = 0 ] || fail "calibrate gave $status: $got"
printf '%s\n' "$got" | grep -Eq '^  write +4000.0 GB/s +\(spread 0.0%\) after 3.0' || fail "$got"
valid ceilings "$HONE" calibrate --target cuda --json
[ "$(grep -c '"seconds": 1.977[0-9]*e-5' json)" -ge 4 ] || fail "not every mix has its 64 MiB: $(cat json)"

# 134.2 MB at 4 TB/s and 3 us would be 36.6 us: that very copy took 35.3. Where nothing was below
# the line, nothing changes.
sol() {
    "$HONE" sol "$P" --target cuda --dim "$1"
}
expect_match 0 '^reach 35\.3 ' sol M=4096,N=4096
expect_match 0 '^reach 1[34][0-9] ' sol M=16384,N=4096
valid sol "$HONE" sol "$P" --target cuda --dim M=4096,N=4096 --json

# They are the card's with that driver: with another they are not known, and the old one finds them again.
echo other-driver >cuda/fault
expect_match 0 '999\.2' "$HONE" devices --json
expect_match 0 '^reach: not known until the ceilings are measured' sol M=4096,N=4096
: >cuda/fault
expect_match 0 '^reach 35\.3 ' sol M=4096,N=4096

# Without points there is the line.
sed -i 's/"points": \[/"older": [/' "$XDG_CACHE_HOME"/hone/ceilings/*.json
expect_match 0 '^reach 36\.' sol M=4096,N=4096

# A card that is full, or lost: one message, and nothing is kept.
rm "$XDG_CACHE_HOME"/hone/ceilings/*.json
echo full >cuda/fault
expect_match 4 'calibrate Fake 9000: allocate on the GPU: .*CUDA_ERROR_OUT_OF_MEMORY' "$HONE" calibrate --target cuda
echo image >cuda/fault
expect_match 3 'load the micro-kernels' "$HONE" calibrate --target cuda
[ -z "$(ls "$XDG_CACHE_HOME"/hone/ceilings/*.json 2>/dev/null)" ] || fail "ceilings of a failed calibration were kept"
