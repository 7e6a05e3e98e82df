#!/bin/sh
# emit: every kind of wrong input has one clear message and the right status
. "$(dirname "$0")/lib.sh"

cat > p.hone <<'P'
problem scale
dim M = 64, N = 32
in  x : f32[M, N] ~ normal
out y : f32[M, N]
y = exp(x) * 2
P
kernel() {
    printf 'kernel for %s on %s\nstage %s\n' "$1" "$2" "$3" > k.hone
}

kernel scale cpu 'y : map  vex 4'
expect 1 "k.hone:2:16: stage y: map as cpu has no knob 'vex': did you mean 'vec'?
    stage y : map  vex 4
                   ^" \
    "$HONE" emit p.hone --kernel k.hone
kernel scale cpu 'y : mapp'
expect 1 "k.hone:2:11: stage y: unknown family 'mapp': did you mean 'map'?
    stage y : mapp
              ^" \
    "$HONE" emit p.hone --kernel k.hone
kernel scale cpu 'y : map  vec 3'
expect 1 "k.hone:2:16: stage y: vec has no value 3: the nearest is 4
    stage y : map  vec 3
                   ^" \
    "$HONE" emit p.hone --kernel k.hone
cat p.hone k.hone > both.hone
expect 1 "both.hone:7:16: stage y: vec has no value 3: the nearest is 4
    stage y : map  vec 3
                   ^" "$HONE" check both.hone
kernel other cpu 'y : map'
expect 1 'k.hone:1:1: the kernel is for other, not for scale
    kernel for other on cpu
    ^' "$HONE" emit p.hone --kernel k.hone
kernel scale sm_99 'y : map'
expect 1 'k.hone:1:1: the kernel is for the target sm_99, not for cpu
    kernel for scale on sm_99
    ^' \
    "$HONE" emit p.hone --kernel k.hone
expect 1 'hone: p.hone: 0 kernel blocks where one is wanted' "$HONE" emit p.hone --kernel p.hone

expect_match 2 'missing.hone' "$HONE" emit missing.hone
expect_match 2 'missing.hone' "$HONE" emit p.hone --kernel missing.hone
mkdir dir
expect_match 2 'dir' "$HONE" emit dir
expect_match 2 'dir' "$HONE" emit p.hone --kernel dir
: > empty.hone
expect_match 1 'empty.hone' "$HONE" emit empty.hone
expect_match 1 'empty.hone' "$HONE" emit p.hone --kernel empty.hone
printf 'problem p\0\n' > nul.hone
expect_match 1 'nul.hone:1' "$HONE" emit nul.hone
expect_match 1 'nul.hone:1' "$HONE" emit p.hone --kernel nul.hone
head -c 10000000 /dev/zero | tr '\0' x > long.hone
expect_match 1 'long.hone:1' "$HONE" emit long.hone
expect_match 1 'long.hone:1' "$HONE" emit p.hone --kernel long.hone
expect_match 2 "'--plan'.*'--plain'" "$HONE" emit p.hone --plan
expect 2 'hone: emit: --plain and --kernel exclude each other' \
    "$HONE" emit p.hone --plain --kernel k.hone
expect_match 2 'FILE' "$HONE" emit
expect_match 2 'M=1024' "$HONE" emit p.hone --dim M:3
