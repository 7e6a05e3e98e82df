#!/bin/sh
# slow
# Every part: ok, absent with its price, broken with its cure. Machines differ, so only what
# the test itself arranged is expected in detail.
. "$(dirname "$0")/lib.sh"

doctor() {
    "$HONE" doctor "$@"
}

expect_match 0 '^compiler  ok ' doctor
also '^ceilings  absent  not measured'
also 'hone calibrate'
also '^store     ok      none yet'
also '^settings  ok'
also '^library   (ok      OpenBLAS|ok      lib|absent  not installed: OpenBLAS )'
also '^load      (ok|unsure) +[0-9.]+ over the last minute, [0-9]+ processor'
[ ! -e .hone ] || fail "looking must not make a store"
mkdir tmp
TMPDIR=$TMP/tmp "$HONE" doctor >out
rmdir tmp || fail "left something behind"

valid doctor "$HONE" doctor --json
expect_match 0 '"needed_absent": 0' cat json

# A missing compiler is status 3; the rest is still looked at.
expect_match 3 '^compiler  absent  no /no/such/cc$' env HONE_BUILD_CC=/no/such/cc "$HONE" doctor
expect_match 3 '^gpu ' env HONE_BUILD_CC=no-such-cc "$HONE" doctor
expect_match 3 '"needed_absent": 1' env HONE_BUILD_CC=no-such-cc "$HONE" doctor --json

# A compiler that cannot compile is broken: it refuses, lies, or crashes.
fake() {
    printf '#!/bin/sh\n%s\n' "$1" >fake-cc
    chmod +x fake-cc
}
broken() {
    expect_match 1 "$1" env HONE_BUILD_CC="$TMP/fake-cc" "$HONE" doctor
}
fake 'echo "no licence" >&2; exit 1'
broken '^compiler  broken  .*/fake-cc: no licence$'
fake 'echo "fake 1.0"'
broken '^compiler  broken  .*/fake-cc: it wrote no object$'
fake '[ "$1" = --version ] || kill -SEGV $$; echo fake'
broken '^compiler  broken  .*/fake-cc: signal 11$'
fake 'exit 5'
broken '^compiler  broken  .*/fake-cc: exit status 5$'
valid doctor env HONE_BUILD_CC="$TMP/fake-cc" "$HONE" doctor --json
expect_match 0 '"broken": 1' cat json

# No objdump along the path: absent, and only that.
mkdir bin
ln -s "$(command -v cc)" "$(command -v as)" "$(command -v ld)" bin
expect_match 0 '^objdump   absent' env PATH="$TMP/bin" "$HONE" doctor
printf '%s\n' "$got" | grep -q '^llvm-mca  absent  no llvm-mca along PATH$' || fail 'nothing of llvm-mca'
printf '%s\n' "$got" | grep -Eq '^perf      (ok      cpu_cycles|absent  .*(counters|refuses|perf events))' || fail 'nothing of perf'
printf '#!/bin/sh\nexit 1\n' >bin/objdump
chmod +x bin/objdump
expect_match 1 '^objdump   broken' env PATH="$TMP/bin" "$HONE" doctor

# What can be said of a GPU's kernels: the code always, a listing where the vendor's program is.
also '^cubin     ok      read by hone itself'
printf '#!/bin/sh\n' >bin/nvdisasm
chmod +x bin/nvdisasm
expect_match 1 '^nvdisasm  ok      .*bin/nvdisasm$' env PATH="$TMP/bin" "$HONE" doctor

# Places that cannot be written, settings that make no sense, a store that is none.
expect_match 1 '^cache     broken' env XDG_CACHE_HOME=/dev/null "$HONE" doctor
expect_match 1 '^cache     broken' env -u HOME -u XDG_CACHE_HOME "$HONE" doctor
expect_match 1 '^cpu       broken  .*run.threads' env HONE_RUN_THREADS=many "$HONE" doctor
expect_match 1 '^store     broken' env HONE_STORE_PATH=/dev/null/none "$HONE" doctor
mkdir .hone
echo 'nonsense' >.hone/config
expect_match 1 '^settings  broken  .*/.hone/config:1: ' doctor
rm .hone/config
echo 'this is no database, and long enough to be seen as none' >.hone/runs.db
expect_match 1 '^store     broken' doctor
expect_match 1 '^store     broken' env HONE_STORE_PATH="$TMP/.hone" "$HONE" doctor
expect_match 1 '^store     broken' env HONE_STORE_PATH="$TMP/.hone/runs.db" "$HONE" doctor
rm .hone/runs.db
expect_match 0 '^store     ok      none yet' env HONE_STORE_PATH="$TMP/.hone" "$HONE" doctor

# What difference is resolved: measured when asked for, kept, and told again.
expect_match 0 '^resolves  absent  not measured' "$HONE" doctor --target cpu
expect_match 0 '^resolves  ok .* on cpu: [0-9.]+% in 1 s, with calls of ' "$HONE" doctor --target cpu --measure 1
expect_match 0 '^resolves  ok .* on cpu: [0-9.]+% in 1 s, with calls of ' "$HONE" doctor --target cpu
expect_match 2 "unknown target 'gpu'" "$HONE" doctor --target gpu
