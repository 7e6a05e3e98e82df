#!/bin/sh
# bench/gpu_energy.sh HONE [NAME...]: energy of calls on the first GPU, by its own counter. First the same kernel
# measured again and again (the spread of equal kernels), then for each of six problems ($SECONDS_EACH seconds of
# `hone optimize --objective energy`) the champion by energy against the fastest, both figures. With NAMEs only
# those; "repeats" is the first part. Appends to docs/results/h200-energy.md. tests/gpu/energy_trace.cu records what the
# counter itself does.
set -eu
export HONE_MEMORY_PATH=off
hone=$1
shift
only=" $* "
root=$(cd "$(dirname "$0")/.." && pwd)
[ -z "${BENCH_IS_LIMITED:-}" ] || only=$BENCH_ONLY
export BENCH_ONLY="$only"
set -- "$hone"
# shellcheck disable=SC1091
. "$root/bench/gpu_lib.sh"
seconds=${SECONDS_EACH:-12} repeats=${REPEATS:-4}

is_wanted() {
    case $only in "  " | *" $1 "*) return 0 ;; esac
    return 1
}

problem() {
    { echo "problem $1" && cat; } >"$1.hone"
    if is_wanted "$1"; then echo "$1" >>names; fi
}
: >names
problem rms <<'P'
dim M = 65536, N = 4096
in  x : f32[M, N] ~ normal
out y : f32[M, N]
y = x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 0.00001)
P
problem softmax <<'P'
dim M = 16384, N = 8192
in  x : f32[M, N] ~ normal
out y : f32[M, N]
y = softmax(x)
P
problem gelu <<'P'
dim M = 16384, N = 16384
in  x : bf16[M, N] ~ normal
out y : bf16[M, N]
y = gelu(x)
P
problem column_sum <<'P'
dim B = 128, M = 4096, N = 2048
in  x : f32[B, M, N] ~ normal
out y : f32[B, N]
y = sum(x, axis=1)
P
problem transpose <<'P'
dim N = 16384
in  x : f32[N, N] ~ uniform(0, 1)
out y : f32[N, N]
y = x.T
P
problem gemm <<'P'
dim M = 4096, N = 4096, K = 4096
in  x : bf16[M, K] ~ normal
in  w : bf16[K, N] ~ normal
out y : bf16[M, N]
y = x @ w
P

# energy_of FILE...: "355 mJ" of what eval or show printed there.
energy_of() {
    sed -n 's/^ *energy  *\([0-9.]* [^ ]*J\) a call.*/\1/p' "$@" | head -n 1
}
millijoules() {
    awk '{ print $2 == "J" ? $1 * 1000 : $2 == "mJ" ? $1 : $1 / 1000 }'
}

if is_wanted repeats; then
    command="hone eval rms.hone default --target cuda --baseline default --seconds 0.3 --energy 2.2"
    i=0
    : >repeats
    while [ $i -lt "$repeats" ]; do
        "$hone" eval rms.hone default --target cuda --baseline default --seconds 0.3 --energy 2.2 >log 2>&1 || :
        energy_of log | millijoules >>repeats
        grep -E '^  energy' log || tail -n 3 log
        i=$((i + 1))
    done
    result=$(awk '{ if (NR == 1 || $1 < low) low = $1; if ($1 > high) high = $1; all = all " " $1; sum += $1 }
        END { printf "%s mJ a call: they differ by %.1f%%", substr(all, 2), 100 * (high - low) / (sum / NR) }' repeats)
    row "rms, $repeats times" "\`$command\`" "$result"
fi

while read -r name; do
    command="hone optimize $name.hone --target cuda --seconds $seconds --until 1 --objective energy --no-counters"
    # shellcheck disable=SC2086
    timeout -s INT -k 5 $((3 * seconds + 20)) "$hone" ${command#hone } --store store --json >result.json 2>log </dev/null || :
    run=$(sed -n 's/^  "run": \([0-9]*\),*$/\1/p' result.json)
    node=$(sed -n 's/^    "node": \([0-9]*\),*$/\1/p' result.json | head -n 1)
    if [ -z "$run" ] || [ -z "$node" ]; then
        row "$name" "\`$command\`" "none: $(tail -n 1 log)"
        continue
    fi
    took=$(sed -n 's/^  "elapsed_s": \([0-9.]*\),*$/\1/p' result.json)
    "$hone" report "$run" --store store >story
    # Of the fastest its energy in the finale; node by node what the finale measured.
    fastest=$(sed -n 's/^ *objective  *energy: less than node \([0-9]*\), .*/\1/p' story)
    fastest=${fastest:-$node}
    for n in $fastest $node; do
        "$hone" show "$run.$n" --store store >"node$n"
    done
    time_of() { sed -n 's/^time  *\([0-9.]* [^ ,]*\),.*/\1/p' "node$1"; }
    of_fastest=$(energy_of "node$fastest") of_node=$(energy_of "node$node")
    confirmed=$(sed -n 's/^Energy: \([0-9.]* [^ ]*J\) a call.*/\1/p' story)
    if [ "$fastest" = "$node" ]; then
        result="the fastest $(time_of "$node"), ${confirmed:-energy not measured}: ${of_fastest:+no finalist was thriftier}"
        [ -n "$of_fastest" ] || result="$result no other came near it"
    else
        result=$(printf '%s\n%s\n' "$of_fastest" "$of_node" | millijoules |
            awk 'NR == 1 { a = $1 } NR == 2 { printf "%.3f of its energy", $1 / a }')
        result="the fastest $(time_of "$fastest"), $of_fastest; by energy $(time_of "$node"), $of_node, $result; confirmed ${confirmed:--}"
    fi
    row "$name" "\`$command\`" "$result; $(printf '%.0f' "$took") s"
done <names
