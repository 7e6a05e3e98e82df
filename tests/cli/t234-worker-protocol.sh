#!/bin/sh
# What a worker gets from others, and a problem that is larger than the machine: a clear error, never a crash or a
# hang, nor anybody else's fault.
. "$(dirname "$0")/lib.sh"
talk() { "$(dirname "$HONE")/worker-talk" "$HONE"; }

# opened PROBLEM THREADS [CACHE [LIMIT]]
opened() {
    printf '{"schema": "hone.open/1", "problem": "%s", "dims": {}, "threads": %s, "cc": "cc", "machine": "native", "cache": "", "lease": "", "llc_bytes": %s, "limit_s": %s, "reach_s": null, "seed": "0x1", "skip_scans": false, "gpu": false, "ordinal": 0}\n' \
        "$1" "$2" "${3:-1048576}" "${4:-null}"
}
# job SOURCE DEPTH SECONDS
job() {
    printf '{"schema": "hone.job/1", "candidate": {"schema": "hone.candidate/1", "tier": "C", "label": "f", "hash": "", "source": "%s", "kernel": null}, "baseline": null, "depth": "%s", "seconds": %s, "uses_all_time": false}\n' \
        "$1" "$2" "$3"
}
plain='problem p\ndim N = 64\nin x : f32[N] ~ normal\nout y : f32[N]\ny = x + 1\n'
code='#pragma hone launch f grid(1) args(x, y)\nvoid f(long b, const T *x, T *y) { for (int i = 0; i < N; i++) y[i] = x[i] + 1; }\n'
for n in 0 -1 257 4294967297; do
    run sh -c 'cat | "$@"' - "$(dirname "$HONE")/worker-talk" "$HONE" <<END
$(opened "$plain" $n)
END
    printf '%s\n' "$got" | grep -q 'threads, expected 1 to 256' || fail "$n threads: $got"
    [ "$status" = 0 ] || fail "$got"
done
got=$(opened "$plain" 1 -1 | talk) || fail "$got"
printf '%s\n' "$got" | grep -q 'a cache of -1 bytes' || fail "$got"
# Other types than f32.
for type in i32:int f64:double i8:'signed char'; do
    draw=$(case $type in i*) echo 'integers(0, 9)' ;; *) echo normal ;; esac)
    text=$(printf '%s' "$code" | sed "s/\<T\>/${type#*:}/g")
    type=${type%%:*}
    got=$({
        opened "problem p\\ndim N = 64\\nin x : ${type}[N] ~ $draw\\nout y : ${type}[N]\\ny = x + 1\\n" 1
        job "$text" verify 0
    } | talk) || fail "$type: $got"
    printf '%s\n' "$got" | grep -q '"kind":"ok"' || fail "$type: $got"
done
good=$(printf '%s' "$code" | sed 's/\<T\>/float/g')
# Nothing takes less than the physical limit, here one of a second.
got=$({
    opened "$plain" 1 1048576 1.0
    job "$good" screen 0
} | talk) || fail "$got"
printf '%s\n' "$got" | grep -q '"kind":"suspect","rule":"faster-than-light"' || fail "$got"
# Jobs that make no sense are refused, and the next one is judged.
got=$({
    opened "$plain" 1
    job "$good" verify -1
    job "$good" rank 1e300
    job "$good" sideways 1
    echo '{"schema": "hone.job/1"}'
    echo '{"schema": 7}'
    echo '[]'
    echo '{"schema": "hone.job/1", "candidate": 3, "baseline": [], "depth": "rank", "seconds": 1, "trials_s": [-5]}'
    job "$good" verify 0
} | talk) || fail "$got"
[ "$(printf '%s\n' "$got" | grep -c '"schema":"hone.error/1"')" = 7 ] || fail "$got"
printf '%s\n' "$got" | grep -q '"kind":"ok"' || fail "$got"
printf '%s\n' "$got" | grep -qx 'ended with status 0' || fail "$got"

# More than the machine has, in inputs, outputs, on the way, or to make an input; or in time.
refuse() { # WORDS PROBLEM
    printf '%b' "$2" >large.hone
    expect_match 3 "problem large: $1" "$HONE" eval large.hone plain --verify
}
dims='dim M = 1048576, N = 1048576'
refuse 'judging it takes about' "problem large\n$dims\nin x : f32[M, N]\nout y : f32[M]\ny = sum(x, axis=1)\n"
refuse 'judging it takes about|computing what' "problem large\n$dims\nin x : f32[M]\nin z : f32[N]\nout y : f32[M, N]\ny = x[:, None] * z[None, :]\n"
refuse 'judging it takes about|computing what' "problem large\n$dims\nin x : f32[M]\nin z : f32[N]\nout y : f32[M]\ny = sum(cumsum(x[:, None] * z[None, :], axis=1), axis=1)\n"
refuse 'judging it takes about|computing what' "problem large\n$dims\nin p : f32[M] = sum(u, axis=1) where u : f32[M, N] ~ normal\nout y : f32[M]\ny = p * 2\n"
refuse 'computing what is expected takes about [0-9.]+ hours' "problem large\ndim M = 65536, K = 65536\nin a : f32[M, K]\nin b : f32[K, M]\nout y : f32\ny = sum(sum(a[:256, :] @ b, axis=1)) + sum(a[:, :256] @ b[:256, :])\n"
