#!/bin/sh
# Blocks of code in README.md and docs/ do what the text around them says: problems and kernel blocks are checked,
# a candidate in C is judged, commands on a run are run on one as they stand, scripts that read JSON read it, tools
# of a user's own are asked. What needs a GPU, a model or PyTorch is other tests' matter (t136, t702), and t011 has
# the commands' names and options.
. "$(dirname "$0")/lib.sh"

# blocks FILE PATTERN: writes each fenced block of it with a line like that to block.1, block.2, ...; their number
# in $n.
blocks() {
    rm -f block.*
    awk -v pattern="$2" '
        /^```/ { if (inside && hit) printf "%s", text >("block." ++n); inside = !inside; hit = 0; text = ""; next }
        inside { text = text $0 "\n"; if ($0 ~ pattern) hit = 1 }' "$ROOT/$1"
    n=$(find . -maxdepth 1 -name 'block.*' | wc -l)
}

# Problems.
total=0
for page in README.md docs/language.md docs/families.md docs/candidates.md docs/import.md docs/tables.md docs/llm.md; do
    blocks "$page" '^problem [a-z_]+$'
    total=$((total + n))
    for block in block.*; do
        [ -e "$block" ] || continue
        grep -v '^\$ ' "$block" >page.hone
        expect_match 0 '^page\.hone: ok: problem' "$HONE" check page.hone
    done
done
[ "$total" -ge 4 ] || fail "only $total problems were checked"

# What README.md shows of a file is the file.
blocks README.md '^problem softmax$'
grep -v '^\$ ' block.1 >page.hone
cmp page.hone "$ROOT/problems/softmax.hone" || fail 'README.md shows another problems/softmax.hone'

# Kernel blocks, behind the problem that they are for. What is written in capitals stands for something.
total=0
for page in docs/families.md docs/agents.md docs/language.md; do
    blocks "$page" '^kernel for [a-z]'
    for block in block.*; do
        [ -e "$block" ] || continue
        name=$(sed -n 's/^kernel for \([a-z_]*\) on.*/\1/p' "$block")
        grep -q '^problem ' "$block" || cp "$ROOT/problems/$name.hone" page.hone
        grep -q '^problem ' "$block" && : >page.hone
        cat "$block" >>page.hone
        expect_match 0 "kernel for $name on cpu, [0-9]+ stage" "$HONE" check page.hone
        total=$((total + 1))
    done
done
[ "$total" -ge 3 ] || fail "only $total kernel blocks were checked"

# The run that the commands below are about; and the kernel of a user's own.
mkdir -p work/bin
cp -r "$ROOT/problems" work
cd work || exit 1
ln -s "$HONE" bin/hone
PATH=$PWD/bin:$PATH
blocks docs/candidates.md '^#pragma hone launch'
[ "$n" = 1 ] || fail 'docs/candidates.md has no kernel of its own'
cp block.1 mine.c
expect_match 0 '^mine\.c: ok' hone eval problems/softmax.hone mine.c --verify --dim M=64,N=256
sed 's/grid(M \/ 16)/grid(M \/ R)/' mine.c >macro.c
expect_match 1 "unknown size 'R'" hone eval problems/softmax.hone macro.c --verify --dim M=64,N=256
export HONE_MEMORY_PATH="$TMP/memory.db"
run hone optimize problems/softmax.hone --dim M=16,N=16 --no-calibrate --evals 5 --race 1 --seconds 100
[ "$status" = 0 ] || fail "$got"

# Commands on a run, as they stand. A node that the page made up may not be there.
cat "$ROOT"/README.md "$ROOT"/docs/*.md "$ROOT"/docs/schema/README.md |
    awk '{ line = $0
           while (match(line, /`hone [^`]*`/)) {
               print substr(line, RSTART + 1, RLENGTH - 2)
               line = substr(line, RSTART + RLENGTH)
           } }' |
    grep -E '^hone (runs|show|report|export|replay|memory|gc)( |$)' | grep -Ev '[A-Z]{3}|--re-evaluate|--html$' |
    sed 's/ 1\.4$/ 1.1/' | sort -u >../commands
n=0
while read -r line; do
    line=$(printf '%s\n' "$line" | sed 's/ DIR$/ pages/; s/-o DIR/-o kernel/')
    # shellcheck disable=SC2086  # words
    run $line </dev/null
    [ "$status" = 0 ] || fail "'$line' of the docs gave $status: $got"
    n=$((n + 1))
done <../commands
[ "$n" -ge 8 ] || fail "only $n commands on a run were run"
[ -s run.html ] || fail 'hone report --html run.html wrote nothing'

# Scripts that read JSON: both list the nodes that were judged.
blocks docs/schema/README.md '^hone show'
if command -v jq >/dev/null; then
    sh ./block.1 >by-jq || fail 'the script of docs/schema/README.md'
    [ "$(cut -f 1,2 by-jq | head -n 1)" = "$(printf '0\tok')" ] || fail "$(cat by-jq)"
fi
python=$(command -v python3) || skip 'no python3: scripts in Python were not run'
blocks docs/schema/README.md '^import json'
"$python" block.1 >by-python || fail 'the Python of docs/schema/README.md'
head -n 1 by-python | grep -q '^0 ok ' || fail "$(cat by-python)"
blocks docs/agents.md '^import asyncio'
"$python" -c 'import sys; compile(open(sys.argv[1]).read(), "block", "exec")' block.1 || fail 'the client of docs/agents.md'

# Settings of clients are JSON.
grep -o '`{"[^`]*}`' "$ROOT/docs/agents.md" | tr -d '`' >settings
[ "$(wc -l <settings)" -ge 2 ] || fail 'docs/agents.md has no settings'
while read -r line; do
    printf '%s' "$line" | "$python" -c 'import json, sys; json.load(sys.stdin)' || fail "no JSON: $line"
done <settings

# Tools of a user's own, in shell and in Python: both say what they want, and find what they look for.
awk '/^    #!/ { n++ } /^    / && n { print substr($0, 5) >("tool." n) } /^and in Python/ { next }' "$ROOT/docs/tools.md"
chmod +x tool.1 tool.2
input='{"schema": "hone.tool_input/1", "kernels": [{"kernel": 0, "metrics": {"l2_hit": 0.2, "waves": 0.5}}]}'
for tool in ./tool.1 ./tool.2; do
    command -v jq >/dev/null || [ "$tool" = ./tool.2 ] || continue
    "$tool" --describe </dev/null | "$python" -c 'import json, sys; json.load(sys.stdin)["name"]' || fail "$tool --describe"
    printf '%s' "$input" | "$tool" |
        "$python" -c 'import json, sys; assert len(json.load(sys.stdin)["findings"]) == 1' || fail "$tool found nothing"
done
