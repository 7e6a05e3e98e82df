#!/bin/sh
# The scripts around a card, over the driver that is not there (tests/fake): what the tests of a GPU
# came to, and from which tree a measured row is.
. "$(dirname "$0")/lib.sh"
CUDA_HOME=$(dirname "$HONE")/fake
export CUDA_HOME

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
expect_match 1 '^gpu: 1 of 3 passed, 1 skipped$' all
echo 'exit 130' >repo/tests/gpu/t0.sh
expect 130 '' all
expect 0 'skipped: no GPU' env FAKE_CUDA=none sh repo/scripts/run-gpu-tests.sh "$HONE"

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
