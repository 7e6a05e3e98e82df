#!/bin/sh
# front.sh HONE [WORKDIR]: what docs/results/first-ten-minutes.md says of hone mcp and of a run's page.
#
# MCP: 15 servers, from the start of the process to the answer to initialize; 150 checks of problems/softmax.hone by
# one server; 200 checks sent at once. Medians and the largest. The page: a run on a table (no device) whose nodes
# are put into the store again and again, until there are 1000 and 100 000: time of hone report --html, and size.
set -eu
hone=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
work=${2:-$(mktemp -d "${TMPDIR:-/tmp}/hone-bench-XXXXXX")}
[ -n "${2:-}" ] || trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$root/problems/softmax.hone" .
python3 - "$hone" <<'END'
import json, subprocess, sys, time
hone = sys.argv[1]

def ms(since):
    return 1e3 * (time.perf_counter() - since)

def tell(what, times):
    times = sorted(times)
    print("%s: %.2f ms by the median of %d, %.2f at most" % (what, times[len(times) // 2], len(times), times[-1]))

class Server:
    def __init__(self):
        self.process = subprocess.Popen([hone, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.n = 0

    def send(self, method, params):
        self.n += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params}) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        return self.n

    def answer(self):
        while True:
            message = json.loads(self.process.stdout.readline())
            if "id" in message and "method" not in message:
                assert "result" in message, message
                return message["id"]

    def begin(self):
        self.send("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                 "clientInfo": {"name": "bench", "version": "1"}})
        self.answer()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0

check = {"name": "check", "arguments": {"problem": "softmax.hone"}}
starts = []
for _ in range(15):
    begun = time.perf_counter()
    s = Server()
    s.begin()
    starts.append(ms(begun))
    s.end()
tell("mcp, start to the answer to initialize", starts)
s = Server()
s.begin()
checks = []
for _ in range(150):
    begun = time.perf_counter()
    s.send("tools/call", check)
    s.answer()
    checks.append(ms(begun))
tell("mcp, a check", checks)
begun = time.perf_counter()
wanted = {s.send("tools/call", check) for _ in range(200)}
got = [s.answer() for _ in range(200)]
assert set(got) == wanted and len(got) == 200
print("mcp, 200 checks at once: %.0f ms, each answered once" % ms(begun))
s.end()
END
table=$root/tests/tables/cpu-softmax.table
sizes=$(sed -n 2p "$table" | sed 's/.*dim \(M = [0-9]*, N = [0-9]*\).*/\1/; s/ //g')
HONE_MEMORY_PATH=off "$hone" optimize "$root/problems/softmax.hone" --dim "$sizes" --target "table:$table" --until 1 \
    --policy random --evals 99 --store runs.db >out 2>&1 || { cat out && exit 1; }
for n in 1000 100000; do
    cp runs.db more.db
    python3 - "$n" <<'END'
import json, sqlite3, sys
db = sqlite3.connect("more.db")
nodes = db.execute("select number, parent, verdict, time_s, record from node where run = 1 order by number").fetchall()
for number in range(len(nodes), int(sys.argv[1])):
    _, parent, verdict, time_s, record = nodes[1 + number % (len(nodes) - 1)]
    record = json.loads(record)
    record["number"] = number
    db.execute("insert into node values (1, ?, ?, ?, ?, ?)", (number, parent, verdict, time_s, json.dumps(record)))
run = json.loads(db.execute("select record from run where id = 1").fetchone()[0])
run["nodes"] = int(sys.argv[1])
db.execute("update run set record = ? where id = 1", (json.dumps(run),))
db.commit()
END
    begin=$(date +%s%N)
    "$hone" report --store more.db --html page.html >out
    end=$(date +%s%N)
    echo "page of a run with $n nodes: $(((end - begin) / 1000000)) ms, $(($(wc -c <page.html) / 1024)) KB"
done
