#!/bin/sh
# Programs with one known fault and their twins (tests/gpu/pathologies), compiled here and never run: what the machine
# code says, and the shape of the launch where it takes that. The right tool speaks of the sick one and is silent
# about its twin, about which nothing is said loudly. Faults that only a run shows have t308.
# slow
. "$(dirname "$0")/lib.sh"
PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin
command -v nvcc >/dev/null || skip 'no nvcc'
programs=$ROOT/tests/gpu/pathologies

compile() {
    nvcc -O3 -arch="$3" -DTWIN="$2" -cubin -o "$1-$2.cubin" "$programs/$1.cu" 2>log || fail "$1-$2: $(tail -3 log)"
}
# launch BLOCKS THREADS SHARED: a launch of that shape on an H200, as a timeline has it.
launch() {
    printf '{"schema": "hone.diagnosis/1", "device": "NVIDIA H200", "launches": 1, "kernels": [{"name": "work", "metrics":
        {"time_s": 0.001, "blocks": %s, "threads_per_block": %s, "shared_bytes": %s}}]}' "$1" "$2" "$3" >launch.json
}
says() {
    printf '%s\n' "$got" | grep -Eq -e "^ *(findings +)?$1 \\((high|medium)," || fail "no $1:
$got"
}
silent() {
    ! printf '%s\n' "$got" | grep -Eq -e "^ *(findings +)?($1 \\((high|medium),|[a-z]+ \\(high,)" || fail "not still:
$got"
}
# pair TOOL NUMBER [ARCHITECTURE]: by the code alone.
pair() {
    compile "$2" 0 "${3:-sm_90a}"
    compile "$2" 1 "${3:-sm_90a}"
    run "$HONE" diagnose --top 0 "$2-0.cubin"
    says "$1"
    run "$HONE" diagnose --top 0 "$2-1.cubin"
    silent "$1"
}
# launched TOOL NUMBER "SHAPE OF SICK" "SHAPE OF TWIN": by code and launch.
launched() {
    compile "$2" 0 sm_90a
    compile "$2" 1 sm_90a
    # shellcheck disable=SC2086 # three numbers
    launch $3
    run "$HONE" diagnose launch.json "$2-0.cubin"
    says "$1"
    # shellcheck disable=SC2086
    launch $4
    run "$HONE" diagnose launch.json "$2-1.cubin"
    silent "$1"
}

pair coalesce 01
printf '%s\n' "$got" | grep -qx 'work(float const\*, float\*)' || fail "the kernel's name is not as people write it: $got"
pair coalesce 31
pair banks 02
pair banks 32
pair spill 03
pair spill 25
pair spill 42
pair atomics 08
pair atomics 20
pair atomics 34
pair slow 09
pair slow 19
pair slow 36
pair precision 10
pair precision 37
pair tensor 15
pair constant 26
pair fence 28
pair convert 49
pair path 52
# Other architectures write the same otherwise.
for sm in sm_80 sm_100a; do
    pair coalesce 01 $sm
    pair banks 32 $sm
    pair fence 28 $sm
    pair constant 26 $sm
    pair atomics 20 $sm
done
launched occupancy 04 '8448 128 163840' '8448 128 0'
launched waves 05 '24 512 0' '2112 512 0'
launched waves 06 '284 1024 0' '264 1024 0'
launched flight 11 '264 128 0' '528 512 0'
launched narrow 21 '8448 256 0' '8448 256 0'
launched chain 23 '132 256 0' '132 256 0'
launched waves 33 '8 512 0' '528 512 0'
launched narrow 40 '8448 256 0' '8448 256 0'
launched flight 41 '528 256 0' '528 256 0'
:
