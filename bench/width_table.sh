#!/bin/sh
# bench/width_table.sh HONE TARGET [small]: problems at sizes that people have (shapes of KernelBench,
# level 1), each with 30 s for `hone optimize` and a hard limit of 60 s, in one table: does every row
# end with a confirmed champion? A row is printed when it is there, so that what has come stays where
# a limit on the whole ends it: 9 minutes at most. `small`: sizes for a CPU, to try the script.
set -u
export HONE_MEMORY_PATH=off
[ $# -ge 2 ] || {
    echo "usage: $0 HONE TARGET [small]" >&2
    exit 2
}
case $1 in
/*) HONE=$1 ;;
*) HONE=$PWD/$1 ;;
esac
TARGET=$2
SMALL=${3:-}
SECONDS_EACH=${SECONDS_EACH:-30} LIMIT=${LIMIT:-60}
[ "$SMALL" = small ] && SECONDS_EACH=4
DIR=$(mktemp -d "${TMPDIR:-/tmp}/hone-width-XXXXXX")
trap 'rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM
cd "$DIR" || exit 4

# problem NAME SMALL-SIZES: its text comes in; SMALL-SIZES are for --dim.
problem() {
    { echo "problem $1" && cat; } >"$1.hone"
    echo "$1 $2" >>rows
}

problem softmax M=64,N=6144 <<'P'
dim M = 4096, N = 393216
in  x : f32[M, N] ~ uniform(0, 1)
out y : f32[M, N]
y = softmax(x)
P
problem layer_norm C=8,H=64 <<'P'
dim B = 16, C = 64, H = 256
in    x : f32[B, C, H, H] ~ uniform(0, 1)
param w : f32[C, H, H] ~ uniform(0, 1)
param b : f32[C, H, H] ~ uniform(0, 1)
out   y : f32[B, C, H, H]
y = layernorm(x, w, b, axis=(1, 2, 3))
P
problem matrix_vector M=32,K=16384 <<'P'
dim M = 2048, K = 1048576
in  a : f32[M, K] ~ uniform(0, 1)
in  b : f32[K, 1] ~ uniform(0, 1)
out c : f32[M, 1]
c = a @ b
P
problem mean_squared_error N=512 <<'P'
dim N = 32768
in  x : f32[N, N] ~ uniform(0, 1)
in  t : f32[N, N] ~ uniform(0, 1)
out y : f32
y = mse_loss(x, t)
P
problem frobenius_norm B=2,H=64 <<'P'
dim B = 112, C = 64, H = 512
in  x : f32[B, C, H, H] ~ uniform(0, 1)
out y : f32[B, C, H, H]
norm = sqrt(sum(x * x))
y = x / norm
P
problem batch_norm B=2,C=16,H=64 <<'P'
dim B = 64, C = 64, H = 512
in    x : f32[B, C, H, H] ~ uniform(0, 1)
param w : f32[C] ~ uniform(0, 1)
param b : f32[C] ~ uniform(0, 1)
out   y : f32[B, C, H, H]
y = batchnorm(x, w, b)
P
problem group_norm B=2,C=16,H=64 <<'P'
dim B = 112, C = 64, H = 512
in    x : f32[B, C, H, H] ~ uniform(0, 1)
param w : f32[C] ~ uniform(0, 1)
param b : f32[C] ~ uniform(0, 1)
out   y : f32[B, C, H, H]
y = groupnorm(x, w, b, groups=8)
P
problem kl_divergence N=512 <<'P'
dim N = 16384
in  p : f32[N, N] = softmax(u) where u ~ uniform(0, 1)
in  t : f32[N, N] = softmax(u) where u ~ uniform(0, 1)
out y : f32
y = sum(t * (log(t) - log(p))) / N
P

# "3 ok, 1 wrong": verdicts of the nodes, as the log has them.
verdicts() {
    sed -n 's/^ *[0-9]*\.[0-9]*[ *] \([a-z-]*\) .*/\1/p' "$1" | sort | uniq -c |
        awk '{ printf "%s%s %s", (NR > 1 ? ", " : ""), $1, $2 }'
}

# What hides behind a row that is not as it should be.
explain() {
    why=$(tr '\r' '\n' <"$1" | grep -v '^ *$' | tail -n 1)
    printf '%-20s %s\n' "$2" "$why" >>failures
    "$HONE" show last.0 2>/dev/null | grep -A3 -E 'wrong|suspect|timeout|evidence|allowed' | head -n 5 |
        sed 's/^/                     /' >>failures
}

: >failures
[ "$SMALL" = small ] || timeout -s INT -k 5 "$LIMIT" "$HONE" calibrate --target "$TARGET" >calibration 2>&1 ||
    tail -n 1 calibration
printf '%-20s %6s  %-16s %10s %9s %10s %8s\n' problem status verdicts champion 'of reach' speed-up seconds
while read -r name sizes; do
    set -- optimize "$name.hone" --target "$TARGET" --seconds "$SECONDS_EACH"
    [ "$SMALL" = small ] && set -- "$@" --dim "$sizes" --no-calibrate
    start=$(date +%s.%N)
    status=0
    timeout -s INT -k 5 "$LIMIT" "$HONE" "$@" >"$name.log" 2>&1 </dev/null || status=$?
    took=$(echo "$(date +%s.%N) $start" | awk '{ printf "%.1f", $1 - $2 }')
    champion=$(sed -n 's/^champion  [0-9]*\.[0-9]*: \([0-9.]* [^ ,]*\).*/\1/p' "$name.log")
    speedup=$(sed -n 's/^champion  .*, \([0-9.]*x\) over .*/\1/p' "$name.log")
    reach=$(sed -n '/^champion  /,$s/.*[ ;]\([0-9]*%\) of reach.*/\1/p' "$name.log" | head -n 1)
    printf '%-20s %6s  %-16s %10s %9s %10s %8s\n' "$name" "$status" "$(verdicts "$name.log")" \
        "${champion:-none}" "${reach:--}" "${speedup:-unknown}" "$took"
    if [ "$status" != 0 ] || [ -z "$champion" ] || [ -z "$speedup" ]; then
        explain "$name.log" "$name"
    fi
done <rows
[ -s failures ] || exit 0
printf '\nrows that are not as they should be, and the last that was said\n'
cat failures
exit 1
