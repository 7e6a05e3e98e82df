#!/bin/sh
# bench/width_verdicts.sh HONE TARGET [small]: how long a verdict takes at the sizes of
# bench/width_table.sh, and where its seconds go: the default kernel as the search screens it, each
# by a command of its own. The judge's kernels are compiled and the ceilings measured before.
# ONLY='softmax|group_norm': these rows alone; DEPTH=: a full verdict, not a screening one.
set -u
export HONE_MEMORY_PATH=off
[ $# -ge 2 ] || {
    echo "usage: $0 HONE TARGET [small]" >&2
    exit 2
}
HONE=$(realpath "$1")
TARGET=$2
SMALL=${3:-}
DEPTH=${DEPTH---screen}
ROOT=$(cd "$(dirname "$0")/.." && pwd)
DIR=$(mktemp -d "${TMPDIR:-/tmp}/hone-width-XXXXXX")
trap 'rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM
cd "$DIR" || exit 4
# shellcheck disable=SC1091
. "$ROOT/bench/width_set.sh"
problem gelu_bf16 M=64,N=6144 <<'P'
dim M = 4096, N = 393216
in  x : bf16[M, N] ~ normal
out y : bf16[M, N]
y = gelu(x)
P
problem instance_norm B=2,C=16,H=64 <<'P'
dim B = 112, C = 64, H = 512
in  x : f32[B, C, H, H] ~ uniform(0, 1)
out y : f32[B, C, H, H]
y = instancenorm(x)
P

# "1.2 truth, 0.3 verify": the phases of a document that take a twentieth of a second or more.
phases() {
    awk '/"phases"/ { inside = 1; next }
         inside && /}/ { exit }
         inside { gsub(/[",:]/, ""); if ($2 >= 0.05) printf "%s%s %.2f", (n++ ? ", " : ""), $1, $2 }' "$1"
}

status=0
"$HONE" sol softmax.hone --target "$TARGET" >/dev/null 2>&1
printf '%-20s %-10s %8s  %s\n' problem verdict seconds 'of these'
while read -r name sizes; do
    set -- eval "$name.hone" default --target "$TARGET" --baseline default --json
    [ -z "$DEPTH" ] || set -- "$@" "$DEPTH"
    [ "$SMALL" = small ] && set -- "$@" --dim "$sizes"
    start=$(date +%s.%N)
    timeout -s INT -k 5 "${LIMIT:-60}" "$HONE" "$@" >json 2>said </dev/null
    took=$(echo "$(date +%s.%N) $start" | awk '{ printf "%.1f", $1 - $2 }')
    verdict=$(sed -n 's/^ *"kind": "\([a-z-]*\)".*/\1/p' json | head -n 1)
    [ "$verdict" = ok ] || status=1
    printf '%-20s %-10s %8s  %s\n' "$name" "${verdict:-$(tail -n 1 said | cut -c1-60)}" "$took" "$(phases json)"
done <rows
exit $status
