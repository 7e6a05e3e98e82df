#!/bin/sh
# Kernel blocks: what check shows, what it notes, and that lowering refuses what has no emitter.
. "$(dirname "$0")/lib.sh"

cat >attention.hone <<'END'
problem attend
dim B = 2, S = 64, D = 32
in  q : f32[B, S, D] ~ normal
in  k : f32[B, D, S] ~ normal
in  v : f32[B, S, D] ~ normal
out o : f32[B, S, D]
p = softmax(q @ k)
o = p @ v

kernel for attend on cpu
stage o : attention  laws online_softmax
END
expect 0 "attention.hone: ok: problem attend, 3 inputs, 1 output, 12 nodes; kernel for attend on cpu, 1 stage
attention.hone:11:11: note: stage o cannot be lowered yet: no emitter computes attention on cpu" \
    "$HONE" check attention.hone
expect_match 0 '^    form       attention: product, softmax of its rows, product$' \
    "$HONE" check -v attention.hone
expect 1 'attention.hone:11:11: stage o: no emitter computes attention on cpu
    stage o : attention  laws online_softmax
              ^' "$HONE" emit attention.hone

# A family that has emitters, but none for the target.
cat >groups.hone <<'END'
problem groups
in x : f32[64, 32] ~ normal
in w : f32[4, 32, 16] ~ normal
in o : i32[5] ~ offsets(64)
out y : f32[64, 16]
y = ragged_matmul(x, w, o)

kernel for groups on cpu
stage y : ragged
END
expect 1 'groups.hone:9:11: stage y: no emitter computes ragged on cpu: nest takes it
    stage y : ragged
              ^' "$HONE" emit groups.hone

# Several mistakes, each with its line and a caret.
sed 's/^stage.*/stage p.mix : rowwise\nstage o : atention combine atomc/' attention.hone >wrong.hone
expect 1 "wrong.hone:12:28: tiles do not combine by 'atomc': it is atomic, twopass, lastblock or cluster
    stage o : atention combine atomc
                               ^
    did you mean 'atomic'?" "$HONE" check wrong.hone
sed 's/^stage.*/stage p.mix : rowwise\nstage o : atention/' attention.hone >wrong.hone
expect 1 "wrong.hone:11:7: stage p.mix: the problem attend has no value 'p.mix'
    stage p.mix : rowwise
          ^
    did you mean 'p.max'?
wrong.hone:12:11: stage o: unknown family 'atention'
    stage o : atention
              ^
    did you mean 'attention'?" "$HONE" check wrong.hone

# Every kernel of the language has its canonical form.
cat >long.hone <<'END'
kernel for attend on sm_90a
stage p.exp,p.sum  as f32 layout B , S,1:rowwise vec 4 laws online_softmax,split_reduction combine twopass
END
expect 0 'long.hone' "$HONE" fmt long.hone
expect 0 'kernel for attend on sm_90a
stage p.exp, p.sum as f32 layout B,S,1 : rowwise  vec 4  combine twopass  laws online_softmax, split_reduction' \
    cat long.hone
expect 0 '' "$HONE" fmt long.hone

printf 'kernel for attend on sm_90a\nstage s:gemm  as   dot split 2\n' >emitter.hone
expect 0 'emitter.hone' "$HONE" fmt emitter.hone
expect 0 'kernel for attend on sm_90a
stage s : gemm as dot  split 2' cat emitter.hone

# JSON has the explanation and the notes.
valid check "$HONE" check --json attention.hone long.hone wrong.hone
grep -q '"explained": "kernel for attend on cpu' json || fail "no explanation"
grep -q '"notes": "attention.hone:11:11: note' json || fail "no notes"

# A file of kernel blocks alone: against the problems of the files before it, else it says that it was not.
printf 'kernel for gelu on cpu\nstage y : rowwse\n' >alone.hone
expect "0" "alone.hone: ok: kernel for gelu on cpu, 1 stage
alone.hone:1:1: note: not checked against problem gelu, which is not here: name its file before this one" \
    "$HONE" check alone.hone
expect_match 1 "^alone.hone:2:11: stage y: unknown family 'rowwse'$" "$HONE" check "$ROOT/problems/gelu.hone" alone.hone
