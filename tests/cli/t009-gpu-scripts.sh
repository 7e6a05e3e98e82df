#!/bin/sh
# The scripts around a card, over the driver that is not there (tests/fake): what the tests of a GPU
# came to, and from which tree a measured row is.
. "$(dirname "$0")/lib.sh"
CUDA_HOME=$(dirname "$HONE")/fake
export CUDA_HOME
unset RESULTS BENCH_SECONDS BENCH_IS_LIMITED HONE_COMMIT

# One that cannot run here is neither passed nor failed.
mkdir -p repo/scripts repo/tests/gpu repo/bench repo/docs/results
cp "$ROOT/scripts/run-gpu-tests.sh" repo/scripts
cp "$ROOT/bench/gpu_lib.sh" repo/bench
all() {
    sh repo/scripts/run-gpu-tests.sh "$HONE"
}
echo 'exit 0' >repo/tests/gpu/t1.sh
echo 'echo t2: skipped: no nvcc; exit 77' >repo/tests/gpu/t2.sh
expect 0 'tests/gpu/t1.sh: ok
t2: skipped: no nvcc
tests/gpu/t2.sh: skipped
gpu: 1 of 2 passed, 1 skipped' all
echo 'exit 1' >repo/tests/gpu/t3.sh
expect_match 1 '^tests/gpu/t3.sh: FAILED$' all
also '^gpu: 1 of 3 passed, 1 skipped$'
echo 'exit 130' >repo/tests/gpu/t0.sh
expect 130 '' all
expect 0 'skipped: no GPU' env FAKE_CUDA=none sh repo/scripts/run-gpu-tests.sh "$HONE"

# A test that needs NVRTC is left out, unless it must be there.
printf '. "%s/tests/cli/lib.sh"\nskip no NVRTC\n' "$ROOT" >needs.sh
expect 77 'needs.sh: skipped: no NVRTC' env HONE_NEED_NVRTC= sh needs.sh
expect 1 'needs.sh: HONE_NEED_NVRTC is set, but there is none: hone doctor' env HONE_NEED_NVRTC=1 sh needs.sh

# A row has its date, device, driver and commit; a file that is not there gets its head.
cat >repo/bench/gpu_y.sh <<'END_SCRIPT'
root=$1 hone=$2
. "$root/bench/gpu_lib.sh"
row 'a thing' '`a command`' "$3"
END_SCRIPT
one_row() {
    env HONE_COMMIT=named sh repo/bench/gpu_y.sh "$TMP/repo" "$HONE" "$1"
}
date='20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]Z'
expect_match 0 "^\\| $date \\| Fake 9000 \\| 999\\.1, CUDA 13\\.0 \\| named \\| a thing \\| \`a command\` \\| 3 s \\|\$" one_row '3 s'
expect_match 0 '\| 4 s \|$' one_row '4 s'
expect 0 '# h200-y

Rows are appended by bench/gpu_y.sh.

| date | device | driver | commit | what | command | result |
|---|---|---|---|---|---|---|' head -n 6 repo/docs/results/h200-y.md
expect 0 '2' grep -c '| Fake 9000 | 999.1, CUDA 13.0 | named | a thing |' repo/docs/results/h200-y.md
expect 0 'skipped: no GPU' env FAKE_CUDA=none sh repo/bench/gpu_y.sh "$TMP/repo" "$HONE" '5 s'

# One that does not end is ended.
cat >repo/bench/gpu_z.sh <<'END_SCRIPT'
root=$1 hone=$2
. "$root/bench/gpu_lib.sh"
mkfifo never
cat never
END_SCRIPT
expect_match 124 '^gpu_z.sh: stopped after 1 s; the rows so far are kept$' \
    env BENCH_SECONDS=1 sh repo/bench/gpu_z.sh "$TMP/repo" "$HONE"

# Reach at every size of two problems: a row each, over a hone that says what a run would.
cp "$ROOT/bench/reach.sh" repo/bench
cat >hone <<'END_SCRIPT'
#!/bin/sh
case $1 in
devices) exec "$REAL" "$@" ;;
optimize) printf '    1.0* ok 4.96 us 66%% - the default kernel\n    1.3* ok 3.97 us 83%% 1.25x vec\n'
    printf 'champion  1.3: 3.97 us, 1.2x\n  83%% of reach; more\n' ;;
esac
END_SCRIPT
chmod +x hone
expect_match 0 '\| named \| gelu 8192 x 1024, 65536 kB: champion \| .*reach.sh build/hone cuda 2. \| 3.97 us, 83% of reach; suspect: 0; ceilings measured again: 0 \|$' \
    env REAL="$HONE" HONE_COMMIT=named sh repo/bench/reach.sh "$TMP/hone" cuda 2
expect 0 14 grep -c '| Fake 9000 | 999.1, CUDA 13.0 | named |' repo/docs/results/h200-reach.md

# A set of problems is measured in parts: what has a row is not measured again.
cp "$ROOT/bench/gpu_memory.sh" "$ROOT/bench/memory_set.sh" repo/bench
part() {
    env REAL="$HONE" HONE_COMMIT=named PEERS= "$@" sh repo/bench/gpu_memory.sh "$TMP/hone" softmax.bf16 relu
}
expect_match 0 '^gpu_memory.sh: 3 of 3 are left for another call$' part FOR_S=0
expect_match 0 '\| softmax bf16 \| `hone optimize --target cuda --seconds 15 --race 1` \| 3.97 us, 83% of reach, first kernel 80% \|$' part OPTIONS='--race 1'
expect 0 '' part
mkdir bin
printf '#!/bin/sh\ncat >>"%s/asked"\necho relu.f32 eager 0.00794\n' "$TMP" >bin/python3
chmod +x bin/python3
expect_match 0 '\| relu f32 \|.* 3.97 us, 83% of reach, first kernel 80%, 2.00x eager \|' part AGAIN=1 PEERS=eager PATH="$TMP/bin:$PATH"
expect 0 'softmax.bf16,relu.f32,relu.bf16' cat asked
expect 0 6 grep -c '| Fake 9000 | 999.1, CUDA 13.0 | named |' repo/docs/results/h200-memory.md

# Forms of a kernel against each other: every candidate can still be lowered, a case that has a row is left out.
mkdir repo/problems
cp "$ROOT"/problems/*.hone repo/problems
cp "$ROOT/bench/gpu_forms.sh" repo/bench
expect_match 0 '^lstm: default lstm-nest.hone$' env EMIT=1 sh repo/bench/gpu_forms.sh "$HONE"
cat >hone <<'END_SCRIPT'
#!/bin/sh
case $1 in
devices) exec "$REAL" "$@" ;;
eval) printf 'rank,candidate\n1,"%s against %s"\n' "$3" "$5" ;;
esac
END_SCRIPT
forms() {
    env REAL="$HONE" HONE_COMMIT=named ONLY=lstm sh repo/bench/gpu_forms.sh "$TMP/hone"
}
expect_match 0 '\| lstm \| `hone eval default --baseline lstm-nest.hone --csv` \| 1,"default against lstm-nest.hone"; \|$' forms
expect 0 '' forms

# The commit of a row, and a + behind it where the tree is another; rows of results do not count.
[ -x "$(command -v git)" ] || skip 'no git'
cat >repo/bench/gpu_x.sh <<'END_SCRIPT'
root=$1 hone=$2
. "$root/bench/gpu_lib.sh"
echo "commit $commit"
END_SCRIPT
commit_of() {
    sh repo/bench/gpu_x.sh "$TMP/repo" "$HONE"
}
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export GIT_CEILING_DIRECTORIES="$TMP" GIT_CONFIG_NOSYSTEM=1
expect_match 0 '^commit unknown$' commit_of
{
    echo a row >repo/docs/results/h200-x.md
    git init -q repo
    git -C repo add .
    git -C repo -c user.name=t -c user.email=t@localhost commit -q -m t
} >out 2>&1 || fail "$(cat out)"
expect_match 0 '^commit [0-9a-f]+$' commit_of
echo another row >>repo/docs/results/h200-x.md
echo scratch >repo/untracked
expect_match 0 '^commit [0-9a-f]+$' commit_of
echo '# changed' >>repo/bench/gpu_x.sh
expect_match 0 '^commit [0-9a-f]+\+$' commit_of
expect_match 0 '^commit named$' env HONE_COMMIT=named sh repo/bench/gpu_x.sh "$TMP/repo" "$HONE"
