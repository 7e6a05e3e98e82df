#!/bin/sh
# A candidate's counters, over the driver and the CUPTI that are not there: of a file after its
# verdict, of a node, and in the loop, which goes on where there are none.
# slow
. "$(dirname "$0")/gpu_lib.sh"
kernel noop
has() {
    printf '%s\n' "$got" | grep -Eq -e "$1" || fail "no line '$1' in:
$got"
}
valid candidate_profile "$HONE" profile --target cuda --json --repeat 2 affine.hone right.cu
[ "$(grep -c '"dram_busy": 0.91' json)" = 2 ] || fail 'no counters in the profile, or not by the process that stays'
[ "$(sed -n '/"again_s"/,/]/p' json | grep -c '[0-9],*$')" = 3 ] || fail 'not counted three times'
expect_match 1 '^only what is correct is profiled$' "$HONE" profile --target cuda affine.hone noop.cu
expect_match 2 'there are no runs here' "$HONE" profile no-such.7
expect_match 3 'are for a GPU' "$HONE" profile --target cpu --repeat 2 affine.hone default
# What a candidate is written for decides, then what the machine has: here a CPU.
expect_match 0 '^affine, default, on .*: ok' "$HONE" profile affine.hone default
printf '%s\n' "$got" | grep -q '^affine, default, on Fake' && fail 'not on the CPU'
has '^(counters    .* cycles|absent: counters of the processor: )'
has '^(hot loop    .* cycles a turn by llvm-mca|absent: cycles of hot loops: )'
# llvm-mca that knows the processor, and one that does not: LLVM 14 has no model of AVX-512 on newer AMD processors.
mkdir knows not
printf '%s\n' '#!/bin/sh' 'echo Iterations: 100; echo Total Cycles: 411; echo Block RThroughput: 2.0' >knows/llvm-mca
printf '%s\n' '#!/bin/sh' 'echo error: found an unsupported instruction in the input assembly sequence. >&2; exit 1' >not/llvm-mca
chmod +x knows/llvm-mca not/llvm-mca
# Each with a cache of its own: what was found out about an object is kept with it.
expect_match 0 '^hot loop    4.1 cycles a turn by llvm-mca, 2.0 by its units$' \
    env PATH="$PWD/knows:$PATH" XDG_CACHE_HOME="$PWD/knows" "$HONE" profile affine.hone default
expect_match 0 '^absent: cycles of hot loops: llvm-mca has no model of this processor' \
    env PATH="$PWD/not:$PATH" XDG_CACHE_HOME="$PWD/not" "$HONE" profile affine.hone default
printf '%s\n' "$got" | grep -q '^runs:' && fail 'no run of its own'
valid candidate_profile "$HONE" profile --json affine.hone default
# A node of a run on a CPU, where no target is named: on what its run was on.
"$HONE" optimize affine.hone --target cpu --evals 1 --no-calibrate >out 2>&1 || fail "$(cat out)"
expect_match 0 '^affine, .*, on .* threads?: ok' "$HONE" profile last.0

# A table gets counters, and a search on it has them: what was cut off is counted again.
"$HONE" tabulate affine.hone --target cuda --limit 1 --seconds 0.01 --no-calibrate -o t.table >out 2>&1 || fail "$(cat out)"
expect_match 0 '^t.table: 1 of 1 blocks' "$HONE" tabulate --counters t.table
cp t.counters whole.counters
sed '$d' whole.counters >t.counters
truncate -s -20 t.counters
expect_match 0 '^t.table: 1 of 1 blocks' "$HONE" tabulate --counters t.table
cmp t.counters whole.counters || fail 'not the same again'
"$HONE" optimize affine.hone --target table:t.table --evals 1 >out 2>&1 || fail "$(cat out)"
"$HONE" show --json last.0 >node.json
grep -q '"dram_busy": 0.91' node.json || fail 'no counters from the table'
expect_match 2 'writes next to its table' "$HONE" tabulate --counters t.table -o x
sed '1s/ .*/ 0000000000000000/' whole.counters >t.counters
expect_match 2 'these are no counters of this table' "$HONE" optimize affine.hone --target table:t.table --evals 1

# In the loop: the node has counters, and can be profiled again.
"$HONE" optimize affine.hone --target cuda --evals 1 --no-calibrate >out 2>&1 || fail "$(cat out)"
"$HONE" show --json last.0 >node.json
grep -q '"dram_busy": 0.91' node.json || fail 'the loop read no counters'
expect_match 0 '^affine, .*, on Fake 9000: ok' "$HONE" profile last.0
has '^  class     memory-bound .memory 91% busy'
has '^  where     100% of the waiting at .* at 0xf0: waiting for global'
has '^findings '
# Its samples stay with the node, by lines of its own source: its page has them in place of the estimate.
valid node "$HONE" show --json last.0
line=$(sed -n '/"lines"/,/]/s/.*"line": \([0-9]*\).*/\1/p' json)
"$HONE" report --html page.html >out || fail "$(cat out)"
grep -q 'Hot lines: by 100 samples of the program counter' page.html || fail "no samples in the page: $(grep 'Hot lines' page.html)"
grep -q "<li>line $line, about 100%: .*, waiting for global" page.html || fail "not line $line: $(grep '<li>line' page.html)"
"$HONE" show --source last.0 | grep -q 'y_' || fail 'no source'
expect_match 2 'is a run; name a node of it' "$HONE" profile last
expect_match 0 '^y_[a-z]+: sm_90, .* instructions' "$HONE" sass last.0
expect_match 2 "there is no kernel 'z' in it" "$HONE" sass --kernel z last.0
valid sass "$HONE" sass --stalls --json last.0
grep -q '"pc": 240' json || fail "not sampled: $(cat json)"
# The lines are those of the code's own table, with their text; a disassembler that fails stands before a toolkit's.
mkdir bin
printf '#!/bin/sh\nexit 1\n' >bin/nvdisasm
chmod +x bin/nvdisasm
expect_match 0 ' 00f0 .*  <- 100% of the waiting: waiting for global' env PATH="$TMP/bin:$PATH" "$HONE" sass --stalls last.0
printf '%s\n' "$got" | grep -q '^ *[0-9]*: .*x' || fail "no source line: $got"
expect_match 0 'no hardware counters: counters: the driver gives counters to administrators' \
    env FAKE_CUDA=refused "$HONE" optimize affine.hone --target cuda --evals 1 --no-calibrate
# Not where the run's time is over: nobody would read them.
"$HONE" optimize affine.hone --target cuda --evals 1 --seconds 1 --no-calibrate >out 2>&1 || fail "$(cat out)"
"$HONE" show --json last.0 >node.json
grep -q '"dram_busy"' node.json && fail 'counters for nothing'
:
