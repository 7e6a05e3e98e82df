#!/bin/sh
# hone mcp: calls and their answers, what is no message, a cancelled optimisation, a client that goes.
. "$(dirname "$0")/lib.sh"

initialize='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
call() {
    printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s,"_meta":{"progressToken":%s}}}\n' "$1" "$2" "$3" "$1"
}
# answers PATTERN...: the file `out` has a line that matches each.
answers() {
    for pattern; do
        grep -Eq -e "$pattern" out || fail "no answer matches $pattern: $(cut -c1-300 out | head -20)"
    done
}

cp "$ROOT/problems/softmax.hone" .
many=200
[ -z "${ASAN_OPTIONS:-}" ] || many=20 # each is a process, which takes its time to start with a sanitizer
echo 'problem' >bad.hone
# What is read from a file that ends is answered to the end.
{
    echo "$initialize"
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    call 1 check '{"problem":"softmax.hone"}'
    call 2 check '{"problem":"bad.hone"}'
    call 3 sol '{"problem":"softmax.hone","target":"h200","format":"json"}'
    call 4 check '{"problem":"/etc/passwd"}'
    call 5 runs '{}'
    call 6 emit '{"problem":"softmax.hone","target":"sm_90a"}'
    call 7 eval '{"problem":"softmax.hone"}'
    call 8 nothing '{}'
    call 12 check '{"problem":"pipe.hone"}'
    echo 'this is no JSON'
    echo '{"jsonrpc":"2.0","id":9,"method":"nothing/list"}'
    printf '{"x":"%05000000d"}\n' 0
    echo '{"jsonrpc":"2.0","id":10,"method":"resources/read","params":{"uri":"hone://run/1/report"}}'
    i=100
    while [ $i -lt $((100 + many)) ]; do
        call $i check '{"problem":"softmax.hone"}'
        i=$((i + 1))
    done
    echo '{"jsonrpc":"2.0","id":11,"method":"ping"}'
} >in
mkfifo pipe.hone
"$HONE" mcp <in >out || fail "status $?"
rm pipe.hone
answers '"id":12,.*pipe.hone is neither a file nor a directory.*"isError":true' \
    '"id":1,.*softmax.hone: ok: problem softmax.*"isError":false' \
    '"id":2,.*bad.hone:1.*"isError":false' '"id":3,.*"structuredContent":.*"hone.sol/1"' \
    '"id":4,.*lies outside of the roots.*"isError":true' '"id":5,.*"isError":true' \
    '"id":6,.*kernel for softmax on sm_90a' "\"id\":7,.*'candidate' is missing.*\"isError\":true" \
    '"code":-32602,.*"id":8' '"code":-32700' '"code":-32601,.*"id":9' '"a message has at most' \
    '"code":-32002,.*"id":10' '"id":11,"result":\{\}'
[ "$(grep -c '"id":[12][0-9][0-9],.*softmax.hone: ok' out)" = $many ] || fail "of $many calls: $(wc -l <out) lines"

# A cancelled optimisation gets no answer, its run is kept, nothing of it is left.
mkfifo requests
: >out  # what the server before has answered; the next one opens it when it gets to it
"$HONE" mcp <requests >out 2>errors &
server=$!
exec 3>requests
echo "$initialize" >&3
children() {
    ps -o pid= --ppid "$server" || true
}
call 1 optimize '{"problem":"softmax.hone","dim":"M=64,N=64","seconds":300}' >&3
until_true grep -q 'notifications/progress' out
[ -n "$(children)" ] || fail "no child: $(cat out)"
echo '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}' >&3
until_gone children
call 2 show '{}' >&3
until_true grep -q '"id":2,' out
! grep -q '"id":1,' out || fail "a cancelled call was answered: $(cat out)"

# A client that goes takes along what it had started.
call 3 optimize '{"problem":"softmax.hone","dim":"M=64,N=64","seconds":300}' >&3
until_true grep -q '"progressToken":3' out
child=$(children)
exec 3>&-
wait $server || fail "status $?: $(cat errors)"
until_gone echo "$child"
