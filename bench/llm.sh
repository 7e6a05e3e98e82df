#!/bin/sh
# bench/llm.sh HONE: what hone itself adds to each exchange with a model, as rows for docs/results.
# A command plays the model in a run of 20 nodes; that run and one of the expert's are replayed, which
# takes everything but the provider's and the judge's time, and the difference is shared out over the
# exchanges. Writing each answer to the disk is part of it. What HTTP adds is seen against a server
# on this machine that answers at once (llm-server, next to HONE).
set -eu
hone=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$work/cache" HONE_MEMORY_PATH=off XDG_CONFIG_HOME="$work/config"
cd "$work"

cat >model.sh <<'END'
#!/bin/sh
# Plans the same again and again, and writes another block each time.
case $(cat) in
*'You plan'*)
    echo '{"hypotheses": [{"cause": "c", "finding": 0, "change": "another block", "form": "kernel",
      "spans": [{"name": "stage", "first": 2, "last": 2}], "speedup": 1.3,
      "risk_implementation": 1, "risk_performance": 2}]}'
    ;;
*)
    n=$(($(cat n 2>/dev/null || echo 0) + 1))
    echo $n >n
    set -- 1 2 4 8 16 32 64
    shift $((n % 7))
    rows=$1
    set -- 1 2 4 8
    shift $((n / 7 % 4))
    printf '<<<IMPROVE stage>>>\nstage y : rowwise  vec 4  rows %s  unroll %s\n<<<END stage>>>\n' "$rows" "$1"
    ;;
esac
END
chmod +x model.sh

# replay_ms RUN: the median of five replays, in milliseconds.
replay_ms() {
    for _ in 1 2 3 4 5; do
        begin=$(date +%s%N)
        "$hone" replay "$1" >replayed
        awk -v ns=$(($(date +%s%N) - begin)) 'BEGIN { printf "%.1f\n", ns / 1e6 }'
    done | sort -n | sed -n 3p
}
# cpu_ms RUN: processor time of five replays, in milliseconds each.
cpu_ms() {
    (
        for _ in 1 2 3 4 5; do "$hone" replay "$1" >/dev/null; done
        times
    ) | awk 'NR == 2 { split($0, t, /[ms ]+/); printf "%.1f\n", 200 * (60 * (t[1] + t[3]) + t[2] + t[4]) }'
}
soft="$root/problems/softmax.hone --dim M=96,N=128 --no-calibrate --evals 16"
# shellcheck disable=SC2086
"$hone" optimize $soft --llm exec:./model.sh >/dev/null
# shellcheck disable=SC2086
"$hone" optimize $soft >/dev/null
team=$(replay_ms 1)
n=$(sed -n 's/.* and \([0-9]*\) exchanges$/\1/p' replayed)
expert=$(replay_ms 2)
awk -v t="$team" -v e="$expert" -v n="$n" -v tc="$(cpu_ms 1)" -v ec="$(cpu_ms 2)" 'BEGIN {
    printf "| overhead of hone per exchange with a model: a run with %d of them replays in %.0f ms, one of as many nodes without in %.0f ms | %.1f ms, %.1f ms of them processor time | under 20 ms |\n", n, t, e, (t - e) / n, (tc - ec) / n }'

# The first request opens libcurl, which is paid once in a run.
cat >scenario <<'END'
repeat
match You plan
say {"hypotheses": [{"cause": "c", "finding": 0, "change": "another block", "form": "kernel", "spans": [], "speedup": 1.3, "risk_implementation": 1, "risk_performance": 2}]}
---
repeat
match You write
say no block
END
"$(dirname "$hone")/llm-server" scenario port requests &
server=$!
until [ -s port ]; do sleep 0.02; done
# shellcheck disable=SC2086
"$hone" optimize $soft --llm "vllm:m@http://127.0.0.1:$(cat port)" >/dev/null
"$hone" replay 3 -o rec.jsonl >/dev/null
sed -n 's/.*"wall_s":\([0-9.e-]*\).*/\1/p' rec.jsonl >walls
sort -g walls | awk -v first="$(head -n 1 walls)" '{ w[NR] = $1 } END {
    printf "| one request over HTTP to a server on this machine that answers at once, streamed: median of %d, and the first of a run, which opens libcurl | %.1f ms, %.1f ms | with the row above under 20 ms |\n", NR, 1e3 * w[int((NR + 1) / 2)], 1e3 * first }'
