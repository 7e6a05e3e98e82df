#!/bin/sh
# What hone says of the card itself: facts, ceilings, the bound of a problem. And the run goes on: a
# kernel that crashes, or never ends, costs the others nothing.
. "$(dirname "$0")/lib.sh"
P=$ROOT/problems/softmax.hone
D=$ROOT/tests/exploits/device/cheat

valid devices "$HONE" devices --json
expect_match 0 '^cuda:0 ' "$HONE" devices
printf '%s\n' "$got" | grep -Eq '^  sm_[0-9]+a?, [1-9][0-9]* multiprocessors, [1-9][0-9]* GiB, ' || fail "$got"
valid doctor "$HONE" doctor --target cuda --json
expect_match 0 '^gpu +ok +[1-9]' "$HONE" doctor --target cuda
printf '%s\n' "$got" | grep -Eq '^nvrtc +ok +1[2-9]\.[0-9]+: .*libnvrtc' || fail "$got"
printf '%s\n' "$got" | grep -q '^nvml ' || fail "$got"

# Every rate is one, times grow with the bytes, and no call is shorter than an empty one.
valid ceilings "$HONE" calibrate --target cuda --json
awk '
    { value = $0; sub(/^[^:]*: */, "", value); value += 0 }
    /"launch_s":/ { launch = value }
    /_per_s":/ && !/null/ { n_rates++ }
    /_per_s":/ && !/null/ && value <= 0 { print "no rate:" $0 }
    /"points": \[/ { is_point = 1; n_mixes++; bytes = seconds = 0 }
    is_point && /"bytes":/ && value <= bytes { print value " bytes behind " bytes }
    is_point && /"bytes":/ { bytes = value; n_points++ }
    is_point && /"seconds":/ && value < seconds { print value " s behind " seconds }
    is_point && /"seconds":/ { seconds = value; if (!n++ || value < least) least = value }
    /\]/ { is_point = 0 }
    END {
        if (!(launch > 0)) print "a launch takes " launch " s"
        if (launch > least) print "a launch takes " launch " s, a call " least
        if (n_mixes < 4 || n_points < 2 * n_mixes || n != n_points) print n_points " points of " n_mixes " mixes, " n " times"
        if (n_rates < 9) print n_rates " rates"
    }' json >mistakes
[ ! -s mistakes ] || fail "$(cat mistakes json)"

# With these ceilings there is a reach, and nothing is promised beyond the limit.
valid sol "$HONE" sol "$P" --target cuda --json
awk '
    { value = $0; sub(/^[^:]*: */, "", value); value += 0 }
    /"(limit|reach)": \{/ { part = $1 }
    /"seconds":/ && part != "" && !(part in time) { time[part] = value; part = "" }
    END { exit !(time["\"limit\":"] > 0 && time["\"limit\":"] <= time["\"reach\":"]) }' json ||
    fail "no reach, or one below the limit: $(cat json)"
expect_match 0 '^limit .*nothing honest is faster' "$HONE" sol "$P" --target cuda
printf '%s\n' "$got" | head -n 1 | grep -q '^softmax on cuda:0 (' || fail "$got"

cp "$D/wild_write.cu" crash.cu
cp "$D/endless.cu" endless.cu
run "$HONE" eval "$P" crash.cu default endless.cu default --target cuda --dim M=512,N=4096 --verify
[ "$status" = 1 ] || fail "$status: $got"
verdicts=$(printf '%s\n' "$got" | grep -E '^(crash\.cu|endless\.cu|default): ' | tr '\n' ' ')
[ "$verdicts" = 'crash.cu: crash default: ok endless.cu: timeout default: ok ' ] || fail "$got"
