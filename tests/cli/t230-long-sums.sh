#!/bin/sh
# slow
# sums of many terms: what is lowered, and the baseline, are as precise as honest arithmetic
. "$(dirname "$0")/lib.sh"

cat >vector.hone <<'END'
problem vector
dim M = 4, K = 262144
in  a : f32[M, K] ~ uniform(0, 1)
in  v : f32[K, 1] ~ uniform(0, 1)
out y : f32[M, 1]
y = a @ v
END
cat >row.hone <<'END'
problem row
dim K = 262144, N = 3
in  a : f32[1, K] ~ uniform(0, 1)
in  b : f32[K, N] ~ uniform(0, 1)
out y : f32[1, N]
y = a @ b
END
cat >all.hone <<'END'
problem all
dim N = 1024
in  a : f32[N, N] ~ uniform(0, 1)
in  b : f32[N, N] ~ uniform(0, 1)
out y : f32
y = mean((a - b) * (a - b))
END
cat >channels.hone <<'END'
problem channels
dim B = 65536, C = 3, D = 8
in  x : f32[B, C, D] ~ uniform(0, 1)
out y : f32[C]
y = sum(x, axis=(0, 2))
END
cat >columns.hone <<'END'
problem columns
dim M = 262144, N = 4
in  x : f32[M, N] ~ uniform(0, 1)
out y : f32[N]
y = sum(x, axis=0)
END
cat >norm.hone <<'END'
problem norm
dim N = 524288
in  x : f32[N] ~ uniform(0, 1)
out y : f32[N]
n = sqrt(sum(x * x))
y = x / n
END
cat >softmax.hone <<'END'
problem softmax
dim M = 2, N = 393216
in  x : f32[M, N] ~ uniform(0, 1)
out y : f32[M, N]
y = softmax(x)
END
for p in vector row all channels columns norm softmax; do
    for c in default plain; do
        expect_match 0 'ok' "$HONE" eval --verify --seed 1 $p.hone $c
    done
done

# A sum over everything is shared by blocks, in the baseline as well.
expect_match 0 'grid\([0-9]+\) args\(a, b, y_sum_parts\)' "$HONE" emit all.hone
expect_match 0 'grid\([0-9]+\) args\(a, b, y_sum_parts\)' "$HONE" emit --plain all.hone
expect_match 0 'grid\([0-9]+\) args\(a, b, y_parts\)' "$HONE" emit --plain row.hone
# On a GPU too: matrices by vectors, and few rows.
expect_match 0 'grid\(M \* [0-9]+\) block\(256\) args\(a, v, y_parts\)' \
    "$HONE" emit --plain --target sm_90a vector.hone
expect_match 0 'grid\(M \* [0-9]+\) block\(512\) args\(x, y_max_parts\)' \
    "$HONE" emit --plain --target sm_90a softmax.hone
