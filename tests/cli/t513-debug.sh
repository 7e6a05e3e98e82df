#!/bin/sh
# Whoever repairs is told what the judge saw: wrong elements with what was expected, the buffer that was
# overrun. After three rounds a node is dead, and the search goes on elsewhere.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/cli/llm_lib.sh"

soft="$ROOT/problems/softmax.hone --dim M=96,N=128 --no-calibrate --seconds 300"
"$HONE" scaffold "$ROOT/problems/softmax.hone" --dim M=96,N=128 >source.c
hypothesis 'by hand' source '' >plan.txt
cat >model.sh <<'END'
#!/bin/sh
# Keeps every question. Source that is wrong, writes too far, does not compile; never repaired.
n=$(($(cat n 2>/dev/null || echo 0) + 1))
echo $n >n
cat >"question$n"
if grep -q 'You plan' "question$n"; then
    cat plan.txt
    exit
fi
printf '```c\n// %d\n' $n
case $n in
2) sed 's/y\[block \* N + j\] = /&1.001f * /' source.c ;;
3) sed 's/^    float y_max_rest;/&\n    y[M * N] = 1;/' source.c ;;
*) sed 's/float y_max_rest;/& missing();/' source.c ;;
esac
printf '```\n'
END
chmod +x model.sh
# shellcheck disable=SC2086
run "$HONE" optimize $soft --evals 6 --llm exec:./model.sh
survived
said ' 1\.1  wrong .*by hand$'
said ' 1\.2  crash .*repair node 1$'
said ' 1\.3  no-compile .*repair node 2$'
said ' 1\.4  no-compile .*repair node 3$'
# Four in a row did not pass: nobody repairs the last.
printf '%s\n' "$got" | grep -q 'repair node 4' && fail "repaired once too often: $got"
said ' 1\.5[* ] '

told() { # QUESTION PATTERN
    grep -q 'You repair' "question$1" || fail "question $1 is not the debugger's"
    grep -Eq -e "$2" "question$1" || fail "question $1 says nothing of '$2': $(cat "question$1")"
}
told 3 '^Node 1, "by hand": wrong$'
told 3 '^12288 of 12288 elements of y are wrong$'
told 3 '^  y\[0, 1\] is [0-9.e-]+, expected [0-9.e-]+$'
told 4 'rule out-of-bounds$'
told 4 "(past the end|beyond the ends) of 'y'"
told 5 'missing'
for n in 3 4 5; do
    told $n '^<<<DATA evidence>>>$'
done
