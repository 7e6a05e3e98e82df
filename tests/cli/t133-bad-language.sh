#!/bin/sh
# Texts that are too large, too deep, too many or not text: every command that reads a problem
# refuses them with a few lines, in bounded memory; what is only unusual is taken.
. "$(dirname "$0")/lib.sh"

MEMORY_KB=400000

# many COUNT TEXT: so often, without a newline.
many() {
    awk -v n="$1" -v s="$2" 'BEGIN { while (n-- > 0) printf "%s", s }'
}

head='problem p
dim N = 8
in x : f32[N]
out y : f32[N]'

# Files that do not parse: no command takes them.
refused=
# Files that parse and mean nothing possible: fmt takes them.
impossible=
refused() {
    refused="$refused $1.hone"
    cat >"$1.hone"
}
impossible() {
    impossible="$impossible $1.hone"
    cat >"$1.hone"
}

refused parens <<P
$head
y = $(many 100000 '(')x$(many 100000 ')')
P
refused calls <<P
$head
y = $(many 100000 'exp(')x$(many 100000 ')')
P
refused lists <<P
$head
y = reshape(x, $(many 100000 '(')
P
refused brackets <<P
$head
y = x$(many 100000 '[')
P
refused signs <<P
$head
y = $(many 100000 '-')x
P
refused powers <<P
$head
y = $(many 100000 'x ** ')x
P
refused wheres <<P
$head
y = $(many 100000 'where(x < 0, x, ')
P
refused chain <<P
$head
y = $(many 100000 'x + ')x
P
refused draws <<P
problem p
in x : f32[8] = v where v ~ normal$(many 100000 ', v ~ normal')
P
{
    printf '%s\ny = x' "$head"
    many 2500000 ' + x'
} | refused long_line
many 10000000 x | refused long_name
{
    printf '%s\ny = x * ' "$head"
    many 100000 9
} | refused long_number
{
    printf '%s\ny = einsum("' "$head"
    many 100000 i
    printf '", x)\n'
} | refused long_string
{
    printf '# '
    many 10000000 c
    printf '\n%s\ny = x * 2\n' "$head"
} | refused long_comment
printf '%s\ny = x * \000 2\n' "$head" | refused nul
printf '%s\ny = x * \377\376\n' "$head" | refused utf8
printf '# \300\200 \355\240\200\n%s\ny = x * 2\n' "$head" | refused utf8_comment
printf '\377\376p\000r\000o\000b\000' | refused utf16
printf 'problem p\rdim N = 8\r' | refused only_returns
refused rank33 <<P
problem p
in x : f32[$(many 32 '1, ')1]
out y : f32
y = sum(x)
P
refused many_dims <<P
problem p
dim $(many 100000 'A = 2, ')B = 3
P

impossible overflow <<'P'
problem p
dim A = 2147483648, B = 2147483648, C = 4
in x : f32[A, B, C]
out y : f32[A, B, C]
y = x * 2
P
impossible overflow_size <<'P'
problem p
dim A = 2147483648 * 2147483648 * 4
in x : f32[A]
out y : f32[A]
y = x * 2
P
impossible overflow_broadcast <<'P'
problem p
dim N = 1048576
in x : f32[N]
out y : f32[N]
z = x[:, None, None, None] * x[:, None, None] * x[:, None] * x
y = sum(z, axis=(0, 1, 2))
P
impossible overflow_pad <<'P'
problem p
in x : f32[8]
out y : f32
z = pad(x, 9223372036854775807)
y = sum(z)
P
impossible overflow_slice <<'P'
problem p
in x : f32[8]
out y : f32
z = x[9223372036854775807:-9223372036854775807:-9223372036854775807]
y = sum(z)
P
impossible overflow_repeat <<'P'
problem p
in x : f32[2147483648]
out y : f32
y = sum(tile(x, (2147483648, 2147483648, 2147483648)))
P
impossible shapes <<'P'
problem p
in x : f32[8]
in z : f32[9]
out y : f32[8]
y = x + z
P
impossible function <<P
$head
y = softmux(x)
P
impossible huge_number <<P
$head
y = x * 1e999
P
impossible huge_range <<'P'
problem p
in x : i32[8] ~ integers(-99999999999999999999, 99999999999999999999)
out y : i32[8]
y = x
P
impossible no_size <<'P'
problem p
dim N = 0
in x : f32[N]
out y : f32[N]
y = x
P
impossible twice <<P
$head
y = x * 2
$head
y = x * 3
P
impossible no_output <<'P'
problem p
in x : f32[8]
P
# Far more mistakes than are shown.
awk -v head="$head" 'BEGIN { print head; for (i = 0; i < 100000; i++) print "v" i " = w" i }' |
    impossible mistakes
awk -v head="$head" 'BEGIN { print head; for (i = 0; i < 30000; i++) print "in x" i " : f32" }' |
    impossible inputs

# Run in bounded memory, except under AddressSanitizer, which maps terabytes.
bounded() {
    # shellcheck disable=SC3045  # every sh of Linux has it
    [ -n "${ASAN_OPTIONS:-}" ] || ulimit -v $MEMORY_KB
    "$@"
}

# few_lines WHAT: the mistakes of a file are 20 at most, of three or four lines.
few_lines() {
    [ -n "$got" ] || fail "$1: no message"
    lines=$(printf '%s\n' "$got" | wc -l)
    bytes=$(printf '%s' "$got" | wc -c)
    if [ "$lines" -gt 81 ] || [ "$bytes" -gt 8000 ]; then
        fail "$1: $lines lines, $bytes bytes"
    fi
    case $got in
    *"$TMP"* | *assert* | *src/*) fail "$1: $got" ;;
    esac
}

ends() {
    want=$1
    shift
    run bounded "$@"
    [ "$status" = "$want" ] || fail "$* gave $status, expected $want:
$got"
}

printf 'kernel for p on cpu\nstage y : map\n' >k.hone
for file in $refused $impossible; do
    for command in check sol emit; do
        ends 1 "$HONE" $command "$file"
        few_lines "$command $file"
    done
    ends 1 "$HONE" eval "$file" k.hone
    few_lines "eval $file"
done
for file in $refused; do
    cp "$file" before
    ends 1 "$HONE" fmt "$file"
    few_lines "fmt $file"
    cmp -s "$file" before || fail "fmt changed $file, which does not parse"
done
for file in $impossible; do
    # Many words are refused by fmt as well; what it takes it need not take twice.
    run bounded "$HONE" fmt "$file"
    [ "$status" -le 1 ] || fail "fmt $file gave $status: $got"
    [ "$status" = 1 ] || expect 0 '' "$HONE" fmt --check "$file"
done

# What each says, the words that matter.
says() {
    expect_match 1 "$2" "$HONE" check "$1.hone"
}
says parens '^parens.hone:5:[0-9]+: nested more than 200 deep'
says chain 'more than 1000 operations in a row'
says draws 'more than 4096 words'
says long_line ':5:[0-9]+: '
says long_name 'this name is too long'
says long_number 'this number is too long'
says long_string 'this string is too long'
says long_comment 'this comment is too long'
says nul 'NUL byte: this is not a text file'
says utf8 '5:9: invalid UTF-8'
says utf8_comment '1:1: invalid UTF-8 in this comment'
says rank33 'no value has more than 8 axes'
says overflow '2\^40 elements'
says overflow_size 'does not fit in 63 bits'
says overflow_broadcast '\[N, N, N, 1\] has more than 2\^40 elements'
says shapes 'shapes \[8\] and \[9\] do not fit'
says function "did you mean 'softmax'"
says huge_number '1e999 is too large'
says no_size 'a size is from 1 to 2\^31'
says twice "problem 'p' is given twice"
says mistakes 'more than 20 mistakes; the rest is not shown'

# Mistakes of several statements come in one pass, in order.
cat >several.hone <<'P'
problem p
dim N = 8, M = N + Q
in x : f23[N]
in z : f32[N] ~ norml
out y : f32[N]
y = softmx(z)
P
expect 1 "several.hone:2:20: nothing is named 'Q'
    dim N = 8, M = N + Q
                       ^
several.hone:3:8: no type is named 'f23'
    in x : f23[N]
           ^
    did you mean 'f32'?
several.hone:4:17: no distribution is named 'norml'
    in z : f32[N] ~ norml
                    ^
    did you mean 'normal'?
several.hone:6:5: no function is named 'softmx'
    y = softmx(z)
        ^
    did you mean 'softmax'?" "$HONE" check several.hone

# Where no name is near, those that there are; case and swapped letters are near.
names() {
    printf 'problem p\ndim Size = 8\nin x : %s\nout y : f32[Size]\ny = %s\n' "$1" "$2" >name.hone
    expect_match 1 "$3" "$HONE" check name.hone
}
names 'float[Size]' x 'types are f32, .*bf16, '
names 'F32[Size]' x "did you mean 'f32'"
names 'f32[Size] ~ gauss' x 'there are normal, uniform, '
names 'f32[Size] ~ unifrom(0, 1)' x "did you mean 'uniform'"
names 'f32[size]' x "did you mean 'Size'"
names 'f32[Size]' 'X + 1' "did you mean 'x'"
names 'f32[Size]' 'realu(x)' "did you mean 'relu'"
names 'f32[Size]' 'conv2d(x, x, strid=2)' "did you mean 'stride'"
names 'f32[Size]' 'sum(x, axs=0)' "did you mean 'axis'"
names 'f32[Size]' 'where(x > 0, x, -infty)' "nothing is named 'infty'"
printf 'problm p\n' >name.hone
expect_match 1 "did you mean 'problem'" "$HONE" check name.hone

# Unusual, and fine: a byte order mark, CRLF, a scalar, an empty list of axes, long lists of wheres,
# no newline at the end, 100 000 blank lines.
printf '\357\273\277%s\ny = x * 2\n' "$head" >mark.hone
printf 'problem p\r\ndim N = 8\r\nin x : f32[N]\r\nout y : f32[N]\r\ny = x * 2 # two\r\n' >crlf.hone
printf 'problem p\nin x : f32[]\nout y : f32\ny = x * 2' >scalar.hone
printf '%s\ny = %sx%s\n' "$head" "$(many 150 'where(x < 0, x, ')" "$(many 150 ')')" >deep.hone
{
    many 100000 '
'
    printf '%s\ny = x * 2\n' "$head"
} >blank.hone
for file in mark crlf scalar deep blank; do
    for command in check sol emit fmt; do
        ends 0 "$HONE" $command $file.hone
    done
    expect 0 '' "$HONE" fmt --check $file.hone
    ends 0 "$HONE" check $file.hone
done
! grep -q "$(printf '\r')" crlf.hone || fail "fmt left a carriage return"
grep -q '# two$' crlf.hone || fail "fmt lost a comment"
[ "$(head -c 7 mark.hone)" = problem ] || fail "fmt left the byte order mark"
[ "$(wc -l <blank.hone)" -lt 10 ] || fail "fmt left 100 000 blank lines"

# 100 000 statements are read as fast as their bytes; no problem has that many operations.
awk -v head="$head" 'BEGIN {
    print head "\nv0 = x * 2"
    for (i = 1; i < 100000; i++) print "v" i " = v" i - 1
    print "y = v99999"
}' >statements.hone
run "$HONE" check statements.hone
[ "$status" -le 1 ] || fail "100 000 statements gave $status: $got"
few_lines statements

# A cache that cannot be made is no reason to stop.
: >file
export XDG_CACHE_HOME="$TMP/file"
for command in 'sol scalar.hone' 'emit scalar.hone' 'eval scalar.hone k.hone --screen'; do
    # shellcheck disable=SC2086  # several words
    ends 0 "$HONE" $command
done
