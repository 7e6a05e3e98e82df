#!/bin/sh
# Any program profiled, over a driver and a CUPTI that are not there (tests/fake): what it prints and
# how it ends stay, what goes wrong is named, and the rest still works.
. "$(dirname "$0")/lib.sh"
mkdir cuda none
if [ -e /usr/local/cuda/lib64/libcupti.so.13 ] && ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
    expect_match 1 '^no kernel: .*libcuda.so.1 is not installed, so no program can launch one' env CUDA_HOME="$TMP/none" \
        CUDA_PATH=/usr/local/cuda "$HONE" profile -- true
fi
ln -s "$(dirname "$HONE")/fake/lib64" cuda/lib64
export CUDA_HOME="$TMP/cuda"
program=$(dirname "$HONE")/cuda-program cubin=$ROOT/tests/fixtures/cubin/twins_90a.cubin

# profile FAULT HOW [OPTIONS]: the program with 8 launches that ends like that.
profile() {
    fault=$1 how=$2
    shift 2
    FAKE_CUDA=$fault "$HONE" profile "$@" -- "$program" "$cubin" 8 "$how"
}

expect_match 0 '^8 launches of 2 kernels on Fake 9000$' profile - 0
has() {
    printf '%s\n' "$got" | grep -Eq -e "$1" || fail "no line '$1' in:
$got"
}
has '^8 launches$'
has '^  kernels   75.0%  100 µs x 6  flight_sick$'
has '^  class     memory-bound .memory 91% busy'
has '^  roofline  .*matrix units .*: [0-9]+ FLOP a byte at most, the ridge is at 2[0-9][0-9]$'
has '^  where     100% of the waiting at some source.cu:42, .* at 0xf0: waiting for global'
has '^runs: .* with counters .3 passes., .* with samples$'
[ "$(printf '%s\n' "$got" | grep -c '^8 launches$')" = 1 ] || fail "the program's output came more than once"
expect_match 0 '^narrow_sick$' profile - 0 --kernel '^narrow' --top 1
printf '%s\n' "$got" | grep -q '^flight_sick' && fail 'a kernel that does not match'
expect_match 0 '^8 launches of 2 kernels' profile - 0 --timeline
printf '%s\n' "$got" | grep -q 'counters' && fail 'counters in a timeline'
valid program profile - 0 --json
grep -q '"hot_load_bytes": 4.0' json || fail 'no machine code'
grep -q '"footprint_bytes": 3145728.0' json || fail 'not what the program holds'

cp json kept.json
expect_match 0 '^hone, profile: 8 launches of 2 kernels on Fake 9000$' "$HONE" diagnose kept.json
has '^  class     memory-bound .memory 91% busy'
printf '{"schema": "hone.plan/1"}' >other.json
expect_match 2 'other.json: this is no profile of hone' "$HONE" diagnose other.json

# How programs end.
expect_match 3 '^the program ended with status 3$' profile - 3
has '^8 launches of 2 kernels'
expect_match 5 '^8 launches of 2 kernels' profile - _exit
expect_match 139 '^the program ended by signal 11 ' profile - segv
has '^8 launches of 2 kernels'
expect_match 124 '^the program did not end in time' profile - hang --timeout 1.5
expect_match 0 '^16 launches of 4 kernels on Fake 9000, by 2 processes$' profile - fork
expect_match 1 'started CUDA.s driver but launched nothing' profile - none
expect_match 1 'never started CUDA.s driver' profile - static
echo 'int main(void) { return 7; }' >linked.c
if cc -static -o linked linked.c 2>err; then
    expect_match 7 'never started CUDA.s driver' "$HONE" profile -- ./linked
fi
expect_match 2 './no-such-program cannot be run: No such file' "$HONE" profile -- ./no-such-program
expect_match 2 'put -- before it: hone profile -- /bin/true' "$HONE" profile /bin/true
expect_match 2 "'.' is no regular expression" profile - 0 --kernel '('

# What CUPTI refuses is named; a timeline and machine code are there still.
expect_match 0 '^absent: counters: the driver gives counters to administrators only: run as root' profile refused 0
has '^absent: samples: the driver gives counters to administrators only'
has '^8 launches of 2 kernels'
expect_match 0 '^absent: counters: another process is reading' profile counters-busy 0
expect_match 0 '^absent: counters: CUPTI_ERROR_UNKNOWN .range_decode: 999.$' profile no-data 0
expect_match 0 '^absent: counters: the chip is not known$' profile no-chip 0
expect_match 1 '^absent: the timeline: the program uses CUPTI itself' profile subscribed 0
expect_match 1 '^absent: the timeline: .*activity_enable: 27' profile no-activity 0
expect_match 1 '^absent: the timeline: CUPTI and the driver do not go together: use a newer toolkit$' profile old 0
has '^8 launches$'
ln -s "$(dirname "$HONE")/fake/lib64/libcuda.so.1" none/libcuda.so.1
[ -e /usr/local/cuda/lib64/libcupti.so.13 ] ||
    expect_match 3 'a program cannot be profiled without CUPTI' env CUDA_HOME="$TMP/none" CUDA_PATH="$TMP/none" \
        "$HONE" profile -- true

# By ncu, which runs the program and whose table is read; its way of ending is the program's.
mkdir bin
cat >bin/ncu <<'N'
#!/bin/sh
echo "$@" >ncu.args
while [ "$1" != "$STOP" ]; do
    [ "$1" = --log-file ] && log=$2
    shift
done
"$@"
status=$?
cat "$TABLE" >"$log"
[ $status = 0 ] || { echo "==ERROR== The application returned an error code ($status)." >>"$log"; exit 1; }
N
chmod +x bin/ncu
by_ncu() {
    env PATH="$TMP/bin:$PATH" STOP=sh TABLE="$table" "$HONE" profile --by ncu "$@" -- sh -c "echo hello; exit $how"
}
table=$ROOT/tests/fixtures/ncu/copy_raw.csv how=0
expect_match 0 '^hello$' by_ncu
has '^1 launch of 1 kernel on NVIDIA H200$'
has '^  class     memory-bound '
has '^absent: timeline .gaps, copies. and samples: ncu does not print them'
has '^runs: .* s by ncu$'
valid program by_ncu --json
how=3 expect_match 3 '^the program ended with status 3$' by_ncu --kernel copy
grep -q -- '--csv --page raw .*--kernel-name regex:copy sh -c' ncu.args || fail "$(cat ncu.args)"
echo '==ERROR== ERR_NVGPUCTRPERM - no permission' >refused
how=0 table=refused expect_match 1 '^absent: counters: the driver refused the counters .ERR_NVGPUCTRPERM' by_ncu
expect_match 2 "[-]-by is cupti or ncu, not 'nsys'" "$HONE" profile --by nsys -- true
[ -x /usr/local/cuda/bin/ncu ] || expect_match 3 '[-]-by ncu needs ncu' "$HONE" profile --by ncu -- true

# A million launches, and nothing is left behind.
FAKE_CUDA=- run "$HONE" profile --timeline -- "$program" "$cubin" 1000000 0
has '^1000000 launches of 2 kernels'
[ -z "$(find "$XDG_CACHE_HOME" -name ask)" ] || fail 'files were left'
