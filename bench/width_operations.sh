#!/bin/bash
# width_operations.sh HONE [TARGET]: a small problem for every operation and every type of
# docs/language.md: check, sol and emit take it, and its default kernel and plain are verified by the
# judge. Prints what is not ok, and a table of how many are.
#
# JOBS=8 does so many at once (kernels are verified, not timed), ONLY='types|windows' those groups
# alone. PACK=16 puts so many operations of a group into one problem, an output each, where opening a
# device takes longer than judging; a problem that is not ok is taken apart. With NVCC=nvcc the kernels emitted for sm_80, sm_90a and sm_100a are compiled too (half a
# second each).
set -u
hone=$(realpath "$1")
runtime=$(realpath "$(dirname "$0")/../runtime")
target=${2:-cpu}
dir=$(mktemp -d "${TMPDIR:-/tmp}/hone-operations-XXXXXX")
trap 'rm -rf "$dir"' EXIT

# group NAME: the operations that follow belong to it.
group() {
    group=$1
    groups+=("$1")
}
groups=()

# operation NAME OUTPUT EXPRESSION INPUT...: an output y of that type and shape.
operation() {
    local name=$1 output=$2 expression=$3 input
    shift 3
    {
        echo "problem p"
        for input; do
            echo "in $input"
        done
        echo "out y : $output"
        echo "y = $expression"
    } >"$dir/$name.hone"
    echo "$group" >"$dir/$name.group"
    # The same with names of its own, to stand among others.
    for input; do
        # shellcheck disable=SC2001  # whole words
        expression=$(sed "s/\\b${input%% *}\\b/${name}_${input%% *}/g" <<<"$expression")
        echo "in ${name}_$input"
    done >"$dir/$name.head"
    printf 'out y_%s : %s\n' "$name" "$output" >>"$dir/$name.head"
    printf 'y_%s = %s\n' "$name" "$expression" >"$dir/$name.body"
}
group 'by element'
x='x : f32[17, 33] ~ normal' z='z : f32[17, 33] ~ normal' u='x : f32[17, 33] ~ uniform(0.1, 0.9)'
for f in exp exp2 expm1 sin cos tan atan sinh cosh tanh erf erfc abs sign square floor ceil round trunc relu relu6 \
    elu selu celu gelu gelu_tanh sigmoid logsigmoid silu mish softplus softsign leaky_relu hardtanh hardsigmoid \
    hardswish hardshrink softshrink tanhshrink; do
    operation $f 'f32[17, 33]' "$f(x)" "$x"
done
for f in log log2 log10 log1p sqrt rsqrt asin acos reciprocal; do
    operation $f 'f32[17, 33]' "$f(x)" "$u"
done
for f in maximum minimum atan2 hypot logaddexp; do
    operation $f 'f32[17, 33]' "$f(x, z)" "$x" "$z"
done
operation pow 'f32[17, 33]' 'pow(x, z)' "$u" "$z"
operation xlogy 'f32[17, 33]' 'xlogy(x, x)' "$u"
operation lerp 'f32[17, 33]' 'lerp(x, z, 0.3)' "$x" "$z"
operation clamp 'f32[17, 33]' 'clamp(x, -0.5, 0.5)' "$x"
operation threshold 'f32[17, 33]' 'threshold(x, 0.1, 7)' "$x"
operation prelu 'f32[17, 33]' 'prelu(x, w)' "$x" 'w : f32[33]'
operation arithmetic 'f32[17, 33]' '-(x + z) * (x - z) / (abs(z) + 1)' "$x" "$z"
operation division 'i32[17, 33]' '(a // b) * 100 + a % b' 'a : i32[17, 33] ~ integers(-50, 50)' 'b : i32[33] ~ integers(1, 9)'
operation compare 'f32[17, 33]' 'where(logical_or(x < z, logical_and(x > 1, z != 0)), x, z)' "$x" "$z"
operation truth 'bool[17, 33]' 'logical_xor(logical_not(x <= z), isnan(x))' "$x" "$z"
operation infinite 'bool[17, 33]' 'logical_xor(isfinite(1 / a), isinf(1 / b))' 'a : f32[17, 33] ~ integers(-1, 1)' 'b : f32[33] ~ integers(-1, 1)'
operation bits 'i32[64]' 'bitxor(bitand(a, 13), bitor(shift_left(a, 2), shift_right(a, 1)))' 'a : i32[64] ~ integers(-99, 99)'
group reductions
for f in sum max min prod mean var std logsumexp norm norm1 norm_inf norm_p; do
    operation "$f" 'f32[17]' "$f(x, axis=1)" "$u"
    operation "${f}_all" 'f32' "$f(x)" 'x : f32[7, 9] ~ uniform(0.5, 1.5)'
done
operation count_nonzero 'i32[17]' 'count_nonzero(a, axis=1)' 'a : f32[17, 33] ~ integers(-1, 1)'
for f in argmax argmin; do
    operation $f 'i64[33]' "$f(x, axis=0)" "$x"
done
for f in any all; do
    operation $f 'bool[17]' "$f(a, axis=1)" 'a : bool[17, 5] ~ bernoulli(0.5)'
done
group composites
for f in softmax softmin log_softmax l2_normalize layernorm rmsnorm; do
    operation $f 'f32[17, 33]' "$f(x)" "$x"
done
image='x : f32[2, 4, 9, 11]'
operation batchnorm 'f32[2, 4, 9, 11]' 'batchnorm(x)' "$image"
operation instancenorm 'f32[2, 4, 9, 11]' 'instancenorm(x)' "$image"
operation groupnorm 'f32[2, 4, 9, 11]' 'groupnorm(x, groups=2)' "$image"
qkv=('q : f32[2, 7, 8]' 'k : f32[2, 9, 8]' 'v : f32[2, 9, 5]')
operation attention 'f32[2, 7, 5]' 'attention(q, k, v)' "${qkv[@]}"
operation causal_attention 'f32[2, 7, 5]' 'causal_attention(q, k, v)' "${qkv[@]}"
operation cosine_similarity 'f32[17]' 'cosine_similarity(x, z)' "$x" "$z"
for f in mse_loss l1_loss smooth_l1_loss huber_loss bce_with_logits_loss hinge_loss hinge_embedding_loss soft_margin_loss poisson_nll_loss; do
    operation $f 'f32' "$f(x, t)" "$x" 't : f32[17, 33] ~ sign'
done
operation bce_loss 'f32' 'bce_loss(x, t)' "$u" 't : f32[17, 33] ~ bernoulli(0.5)'
operation kl_div_loss 'f32' 'kl_div_loss(log(x), t)' "$u" 't : f32[17, 33] ~ uniform(0.1, 1)'
operation cross_entropy 'f32' 'cross_entropy(x, t)' "$x" 't : i64[17] ~ index(33)'
operation nll_loss 'f32' 'nll_loss(log_softmax(x), t)' "$x" 't : i32[17] ~ index(33)'
operation margin_ranking_loss 'f32' 'margin_ranking_loss(x, z, t)' "$x" "$z" 't : f32[17, 33] ~ sign'
operation cosine_embedding_loss 'f32' 'cosine_embedding_loss(x, z, t)' "$x" "$z" 't : f32[17] ~ sign'
operation triplet_margin_loss 'f32' 'triplet_margin_loss(x, z, n)' "$x" "$z" 'n : f32[17, 33]'
operation gaussian_nll_loss 'f32' 'gaussian_nll_loss(x, z, w)' "$x" "$z" 'w : f32[17, 33] ~ uniform(0.5, 2)'
group 'moving data'
operation transpose 'f32[33, 17]' 'transpose(x)' "$x"
operation reshape 'f32[11, 51]' 'reshape(x, (11, 51)) * 2' "$x"
operation broadcast_to 'f32[3, 17, 33]' 'broadcast_to(x, (3, 17, 33)) * 2' "$x"
operation concat 'f32[17, 66]' 'concat(x, z, axis=1)' "$x" "$z"
operation stack 'f32[17, 2, 33]' 'stack(x, z, axis=1)' "$x" "$z"
operation pad 'f32[17, 36]' 'pad(x, ((0, 0), (1, 2)), value=3)' "$x"
operation flip 'f32[17, 33]' 'flip(x, axis=(0, 1))' "$x"
operation repeat 'f32[17, 66]' 'repeat(x, 2)' "$x"
operation tile 'f32[34, 99]' 'tile(x, (2, 3))' "$x"
operation slice 'f32[8, 11]' 'x[1::2, ::-3]' "$x"
operation arange 'f32[17, 33]' 'x * f32(arange(33))' "$x"
operation triu 'f32[17, 33]' 'triu(x, k=1) - tril(x, k=-1)' "$x"
group contractions
operation matmul 'f32[17, 5]' 'x @ w' "$x" 'w : f32[33, 5]'
operation batched 'f32[3, 4, 6]' 'a @ b' 'a : f32[3, 4, 5]' 'b : f32[5, 6]'
operation einsum 'f32[4, 3]' 'einsum("ij,kj->ik", a, b)' 'a : f32[4, 5]' 'b : f32[3, 5]'
operation qmatmul 'f32[5, 6]' 'qmatmul(a, w, s, group=4)' 'a : f32[5, 8]' 'w : i4[6, 8]' 's : f32[6, 2]'
operation ragged_matmul 'f32[9, 5]' 'ragged_matmul(a, w, o)' 'a : f32[9, 4]' 'w : f32[3, 4, 5]' 'o : i32[4] ~ offsets(9)'
operation ragged_outer 'f32[3, 4, 5]' 'ragged_outer(a, g, o)' 'a : f32[9, 4]' 'g : f32[9, 5]' 'o : i32[4] ~ offsets(9)'
operation ragged_scatter 'f32[2, 10]' 'ragged_scatter(d, w, o, l, f, 10)' 'd : i32[30] ~ index(10)' 'w : f32[30]' 'o : i32[6] ~ offsets(30)' 'l : i32[2, 3] ~ index(5)' 'f : f32[2, 3]'
group windows
for n in 1 2 3; do
    s=$(printf ', 7%.0s' $(seq $n)) k=$(printf ', 3%.0s' $(seq $n)) half=$(printf ', 4%.0s' $(seq $n)) wide=$(printf ', 15%.0s' $(seq $n))
    operation conv${n}d "f32[2, 6$half]" "conv${n}d(x, w, stride=2, padding=1, groups=2)" "x : f32[2, 4$s]" "w : f32[6, 2$k]"
    operation conv_transpose${n}d "f32[2, 6$wide]" "conv_transpose${n}d(x, w, stride=2)" "x : f32[2, 4$s]" "w : f32[4, 6$k]"
    operation max_pool${n}d "f32[2, 4$half]" "max_pool${n}d(x, 3, stride=2, padding=1)" "x : f32[2, 4$s]"
    operation avg_pool${n}d "f32[2, 4$half]" "avg_pool${n}d(x, 3, stride=2, padding=1)" "x : f32[2, 4$s]"
    operation adaptive_avg_pool${n}d "f32[2, 4${s//7/1}]" "adaptive_avg_pool${n}d(x, 1)" "x : f32[2, 4$s]"
done
group 'looking up and scattering'
operation take 'f32[17, 4]' 'take(x, i, axis=1)' "$x" 'i : i32[4] ~ index(33)'
operation embedding 'f32[4, 33]' 'embedding(x, i)' "$x" 'i : i64[4] ~ index(17)'
operation take_along_axis 'f32[17, 4]' 'take_along_axis(x, i)' "$x" 'i : i64[17, 4] ~ index(33)'
operation one_hot 'f32[4, 9]' 'f32(one_hot(i, 9)) * w' 'i : i32[4] ~ index(9)' 'w : f32[9]'
operation scatter_add 'f32[17, 33]' 'scatter_add(x, i, z)' "$x" "$z" 'i : i32[17, 33] ~ index(17)'
operation index_add 'f32[17, 33]' 'index_add(x, i, w)' "$x" 'w : f32[4, 33]' 'i : i32[4] ~ index(17)'
group 'along an axis'
for f in cumsum cumprod sort; do
    operation $f 'f32[17, 33]' "$f(x)" "$x"
done
operation topk 'f32[17, 4]' 'topk(x, 4)' "$x"
operation topk_index 'i64[4, 33]' 'topk_index(x, 4, axis=0, largest=false)' "$x"
group types
for t in f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i8 u8 i4; do
    operation "type_$t" "${t}[7, 9]" "$t(a + b)" "a : ${t}[7, 9]" "b : ${t}[9]"
    operation "sum_$t" "f64" "f64(sum(a))" "a : ${t}[7, 9]"
    operation "product_$t" "f32[7, 5]" "f32(a @ b)" "a : ${t}[7, 9]" "b : ${t}[9, 5]"
done
operation type_bool 'bool[7, 9]' 'logical_and(a, b)' 'a : bool[7, 9]' 'b : bool[9]'
group recurrence
echo "$group" >"$dir/for.group"
cat >"$dir/for.hone" <<'P'
problem p
in x : f32[3, 6, 4]
in w : f32[5, 4]
in u : f32[5, 5] ~ normal(0, 0.3)
out y : f32[3, 6, 5]
for t in 6 with h : f32[3, 5] = 0:
    h = tanh(x[:, t] @ w.T + h @ u.T)
    y[:, t] = h
P

# taken FILE OUT: do check, sol and emit take it, and does the compiler what is emitted for GPUs? What they say
# goes to OUT.
taken() {
    local command arch
    for command in check sol "emit --target $target"; do
        # shellcheck disable=SC2086
        "$hone" $command "$1" >"$2" 2>&1 || return 1
    done
    [ -n "${NVCC:-}" ] || return 0
    for arch in sm_80 sm_90a sm_100a; do
        "$hone" emit --target $arch "$1" >"$2.cu" 2>"$2" || return 1
        "$NVCC" -arch=$arch -cubin -I"$runtime" -o "$2.cubin" "$2.cu" >"$2" 2>&1 || return 1
    done
}

# judge FILE: a word for each check that it stands, to NAME.passed.
judge() {
    local name=${1%.hone} check
    taken "$1" "$name.out" && echo taken >>"$name.passed"
    timeout "${OPERATION_LIMIT:-60}" "$hone" eval "$1" default plain --verify --target "$target" >"$name.verdicts" 2>&1
    for check in default plain; do
        grep -qx "$check: ok" "$name.verdicts" && echo $check >>"$name.passed"
    done
    [ "$(wc -l <"$name.passed")" = 3 ] 2>/dev/null
}

# try FILE: judge it, alone; what did not pass is printed.
try() {
    local name=${1%.hone}
    judge "$1" && return
    grep -qx taken "$name.passed" 2>/dev/null && : >"$name.out"
    echo "$(basename "$name"): $(cat "$name.out" "$name.verdicts" | grep -vE '^ *$|: ok' | head -3 | tr '\n' ' ' | cut -c1-300)"
    : >"$dir/failed"
}

# try_all NAME...: in one problem; where that does not pass, one by one.
try_all() {
    local pack=./pack.${1#./} name
    [ $# = 1 ] || { echo "problem p" && cat "${@/%/.head}" "${@/%/.body}"; } >"$pack.hone"
    if [ $# -gt 1 ] && judge "$pack.hone"; then
        for name; do
            cp "$pack.passed" "$name.passed"
        done
        return
    fi
    [ $# = 1 ] || echo "taken apart: $(grep -vhE '^ *$|: ok' "$pack.verdicts" | head -3 | tr '\n' ' ' | cut -c1-200)"
    for name; do
        try "$name.hone"
    done
}

running=0
# later COMMAND...: when a place is free.
later() {
    [ $running -lt "${JOBS:-1}" ] || wait -n
    running=$((running < ${JOBS:-1} ? running + 1 : running))
    "$@" &
}

cd "$dir" || exit 4
for group in "${groups[@]}"; do
    [ -z "${ONLY:-}" ] || grep -qxE "$ONLY" <<<"$group" || continue
    mapfile -t names < <(grep -lxF "$group" ./*.group | sed 's/\.group$//')
    for ((i = 0; i < ${#names[@]}; i += ${PACK:-1})); do
        later try_all "${names[@]:i:${PACK:-1}}"
    done
done
wait
echo "| operations | problems | check, sol, emit | default | plain |"
echo "|---|---|---|---|---|"
for group in "${groups[@]}"; do
    [ -z "${ONLY:-}" ] || grep -qxE "$ONLY" <<<"$group" || continue
    members=$(grep -lxF "$group" ./*.group)
    # shellcheck disable=SC2086
    passed=$(cat ${members//.group/.passed} 2>/dev/null)
    printf '| %s | %s' "$group" "$(wc -l <<<"$members")"
    for check in taken default plain; do
        printf ' | %s' "$(grep -cx $check <<<"$passed")"
    done
    echo ' |'
done
[ ! -e "$dir/failed" ]
