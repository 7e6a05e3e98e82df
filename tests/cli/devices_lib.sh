# shellcheck shell=sh
# Read by tests of several devices, over a driver that is not there.
. "$(dirname "$0")/gpu_lib.sh"
echo two >cuda/fault

# shellcheck disable=SC2034
search="affine.hone --target cuda --seconds 60 --no-calibrate --no-counters"
# check RUN: every ranking, game and confirmation is of the run's own device, nothing was left to nobody, and it
# comes out again from its record. Its judgements are in the file of that name.
check() {
    "$HONE" replay "$1" -o recording >/dev/null
    grep -E '"schema": ?"hone.judgement/1"' recording >judgements
    ! grep -E '"depth": ?"(rank|confirm)"' judgements | grep -q '"device": *"cuda:1' || fail "run $1: ranked elsewhere"
    ! grep -Eq '"kind": ?"infra"' judgements || fail "run $1: infra"
    expect_match 0 '^the same tree, champion node [0-9]+$' env CUDA_HOME="$TMP/none" "$HONE" replay "$1"
}
