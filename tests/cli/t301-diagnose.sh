#!/bin/sh
# Files of other programs explained: captures of a copy kernel on an H200, kernels in pairs of a sick
# and a healthy one, and files that are none.
. "$(dirname "$0")/lib.sh"
ncu=$ROOT/tests/fixtures/ncu cubin=$ROOT/tests/fixtures/cubin

diagnose() {
    "$HONE" diagnose "$@"
}

expect_match 0 '^ncu, raw page: 1 launch of 1 kernel on NVIDIA H200$' diagnose "$ncu/copy_raw.csv"
also '^  class     memory-bound .memory 89% busy'
also '^  findings  saturated .low, confidence 0.9.: near the limit of memory; worth up to 1.13x$'
also '^absent: machine code; name the cubin as well$'
expect_match 0 "^absent: machine code: the cubin has no kernel of the profile's$" diagnose "$ncu/copy_raw.csv" "$cubin/twins_90a.cubin"
printf '{"schema": "hone.diagnosis/1", "kernels": [{"name": "bare", "metrics": {"time_s": -1}}]}' >bare.json
expect_match 0 '^bare$' diagnose bare.json
printf '%s\n' "$got" | grep -A1 '^bare$' | grep -q '^  findings  none$' || fail "an empty line: $got"
expect_match 0 '^  time      498 µs each, 2 launches; 67% of the time' diagnose "$ncu/copy_raw_comma.csv"
expect_match 0 '^ncu, details page' diagnose "$ncu/copy_details.csv"
expect_match 0 '^machine code: 16 kernels on any sm_90a$' diagnose "$cubin/twins_90a.cubin"
expect_match 0 '^  findings  atomics .high, confidence 0.[0-9].: ' diagnose --top 0 "$cubin/twins_90a.cubin"
expect_match 0 '^14 more kernels; --top 0 shows all$' diagnose --top 2 "$cubin/twins_90a.cubin"
expect_match 0 '^machine code: 16 kernels on NVIDIA H200' diagnose --target h200 "$cubin/twins_90a.cubin"

# Code is added to the kernels of a profile by their names.
sed 's/k(const float4 \*, float4 \*, long)/void narrow_sick(const float *)/' "$ncu/copy_raw.csv" |
    sed 's/"88.58"/"20.5"/g; s/lts__throughput/of_another_card__throughput/' >slow.csv
expect_match 0 '4 bytes at once; 16 are possible' diagnose slow.csv "$cubin/twins_90a.cubin"

for file in "$ncu/copy_raw.csv" "$ncu/copy_details.csv" "$cubin/twins_80.cubin"; do
    valid diagnosis "$HONE" diagnose --json "$file"
done

# Files that are none, or not whole.
expect_match 2 'no-such-file' diagnose no-such-file
printf 'hello\n' >text
expect_match 2 'text: there is no table of ncu in it: print one with ncu --csv --page raw' diagnose text
printf '==ERROR== ERR_NVGPUCTRPERM\n' >refused.csv
expect_match 2 'the driver refused the counters' diagnose refused.csv
head -c 20000 "$cubin/twins_90a.cubin" >half.cubin
expect_match 2 'half.cubin: the cubin is damaged' diagnose half.cubin
expect_match 2 'a second profile' diagnose "$ncu/copy_raw.csv" "$ncu/copy_raw.csv"
expect_match 2 "unknown card 'h2000'" diagnose --target h2000 "$ncu/copy_raw.csv"
expect_match 2 'directory' diagnose .
: >empty
expect_match 2 'no table of ncu' diagnose empty

# A report in ncu's own form is read by ncu, where there is one.
: >report.ncu-rep
mkdir bin
[ -x /usr/local/cuda/bin/ncu ] || expect_match 3 'report.ncu-rep needs ncu, which is not here' \
    env PATH="$TMP/bin" CUDA_HOME="$TMP" CUDA_PATH="$TMP" "$HONE" diagnose report.ncu-rep
printf '#!/bin/sh\n[ "$1 $2 $3" = "--import report.ncu-rep --csv" ] && /bin/cat "%s"\n' \
    "$ncu/copy_raw.csv" >bin/ncu
chmod +x bin/ncu
expect_match 0 '^ncu, raw page: 1 launch' env PATH="$TMP/bin" "$HONE" diagnose report.ncu-rep
printf '#!/bin/sh\necho "a newer version made this report" >&2\nexit 1\n' >bin/ncu
expect_match 2 'ncu does not read it: a newer version made this report' \
    env PATH="$TMP/bin:/usr/bin:/bin" "$HONE" diagnose report.ncu-rep

# Cut off, edited, or saved by a spreadsheet: what is whole and possible is read, the rest is named.
tail -1 "$ncu/copy_raw.csv" | head -c 300 | cat "$ncu/copy_raw.csv" - >cut.csv
expect_match 0 '^ncu, raw page: 1 launch of 1 kernel' diagnose cut.csv
also '^absent: 1 row: cut off, the file is not whole$'
sed 's/"498.400"/"-5"/; s/"498,400"/"-5"/' "$ncu/copy_raw.csv" >edited.csv
expect_match 0 '^absent: 1 value out of range: gpu__time_duration.sum = -5$' diagnose edited.csv
printf '%s\n' "$got" | grep -qE 'nan|-5 ns' && fail "a time that cannot be: $got"
sed -n '/^"/p' "$ncu/copy_raw.csv" | sed 's/","/\t/g; s/^"//; s/"$//' >tabs.csv
expect_match 0 '^  time      498 µs; 100% of the time' diagnose tabs.csv
