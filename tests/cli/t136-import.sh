#!/bin/sh
# slow
# hone import: what comes out, that it equals PyTorch, and what is told where nothing can. Without
# Debian's python3-torch only what needs none is tested, and the rest is skipped; where CI is set it
# fails.
. "$(dirname "$0")/lib.sh"
python=/usr/bin/python3
cases=$ROOT/bridge/import/cases

# ---- Python that does not answer, or not as it should
expect 2 'hone: none.py: there is no such file' "$HONE" import none.py
cp "$cases/convnet.py" net.py
expect 2 'hone: --python no-such-python: there is no such program' "$HONE" import net.py --python no-such-python
# fake NAME: a program in place of Python, from standard input; $6 is where its answer goes.
fake() {
    { echo '#!/bin/sh' && cat; } >"$1" && chmod +x "$1"
}
echo 'exit 7' | fake seven
expect 1 'hone: net.py ended Python with status 7' "$HONE" import net.py --python ./seven
printf 'echo one >&2\nkill -9 $$\n' | fake dies
expect 4 'net.py: Python was ended by signal 9:
one' "$HONE" import net.py --python ./dies
echo 'exit 0' | fake silent
expect 1 'hone: net.py ended Python before it could be traced' "$HONE" import net.py --python ./silent
# shellcheck disable=SC2016
echo 'echo "{\"status\": \"absent\", \"message\": \"No module named torch\"}" >"$6"' | fake bare
expect 3 'hone: ./bare has no PyTorch (No module named torch); install the package python3-torch, or name a Python that has it with --python' \
    "$HONE" import net.py --python ./bare
# shellcheck disable=SC2016
echo 'echo "{}" >"$6"' | fake empty
expect 4 'hone: ./empty gave an answer without a status' "$HONE" import net.py --python ./empty
# shellcheck disable=SC2016
echo 'echo "no JSON" >"$6"' | fake mumbles
expect 4 'hone: ./mumbles gave an answer that is no JSON' "$HONE" import net.py --python ./mumbles
# shellcheck disable=SC2016
echo 'echo "{\"status\": \"ok\"}" >"$6"' | fake mute
expect 4 'hone: ./mute gave an answer without a problem' "$HONE" import net.py --python ./mute
# shellcheck disable=SC2016
echo 'echo "{\"status\": \"ok\", \"text\": \"problem p\"}" >"$6"' | fake wrong
expect_match 1 'the language does not take what was imported' "$HONE" import net.py --python ./wrong
# shellcheck disable=SC2016
echo 'echo "{\"status\": \"misuse\", \"message\": \"not there\"}" >"$6"' | fake asks
expect 2 'hone: net.py: not there' "$HONE" import net.py --python ./asks
# shellcheck disable=SC2016
echo 'echo "{\"status\": \"raised\", \"message\": \"ValueError: x\"}" >"$6"' | fake raises
expect 1 'net.py: Python raised
ValueError: x' "$HONE" import net.py --python ./raises
echo 'exec sleep 1000' | fake slow
expect 4 'hone: net.py was still running after 0.01 s; --seconds gives it more' "$HONE" import net.py --python ./slow --seconds 0.01
echo >there.hone
expect 2 'hone: there.hone exists already; --force writes over it' "$HONE" import net.py -o there.hone
expect 2 "hone: --set takes NAME=NUMBER,..., not 'batch_size'" "$HONE" import net.py --python ./silent --set batch_size
mkdir empty-path
[ -e "$python" ] || expect_match 3 'there is no python3; install the package python3-torch' env PATH="$TMP/empty-path" "$HONE" import net.py

if ! "$python" -c 'import torch' 2>/dev/null; then
    [ -z "${CI:-}" ] || fail "CI is set, and $python has no torch"
    skip "$python has no torch"
fi

# ---- every case equals PyTorch
mkdir cases
"$python" -W ignore "$ROOT/bridge/import_cases.py" "$(dirname "$HONE")/reference" cases "$cases"/*.py >out || fail "$(cat out)"
[ "$(grep -c ': equal (' out)" -ge 12 ] || fail "$(cat out)"

# ---- a problem in a file; the system's Python is found where the first one has no PyTorch
mv bare empty-path/python3
expect_match 0 '^net.hone: problem net, 1 input, 7 parameters, 1 output, [0-9]+ nodes$' \
    env PATH="$TMP/empty-path:$PATH" "$HONE" import net.py -o net.hone --verify
also '^equal to PyTorch, which computed in f64'
expect 0 '' "$HONE" fmt --check net.hone
expect_match 0 'net.hone: ok: problem net' "$HONE" check net.hone
grep -q '^dim BATCH_SIZE = 4, CHANNELS = 3, FEATURES = 6$' net.hone || fail "$(cat net.hone)"
grep -Eq '^param norm_weight +: f32\[FEATURES\] +~ uniform\(0.9, 1.1\)$' net.hone || fail "$(cat net.hone)"
grep -q '^norm = batchnorm(conv, norm_weight, norm_bias)$' net.hone || fail "$(cat net.hone)"

# ---- sizes from outside, gigabytes of them; eval(); words of C and of the language are no names
cat >names.py <<'P'
import torch


class Other(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.default = torch.nn.BatchNorm1d(4)
        self.block, self.drop = torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)

    def forward(self, max, double):
        return self.drop(self.default(max)) @ self.block(double).T


class Model(Other):
    pass


n = 8


def get_inputs():
    print("what a file prints is nobody's answer")
    return torch.rand(n, 4), torch.randn(n, 4)
P
valid import "$HONE" import names.py --python "$python" --class Other --set n=1000000 --eval --json
expect_match 0 'dim N = 1000000' cat json
also 'default_running_var +: f32\[4\] +~ uniform\(0.9, 1.1\)'
expect_match 0 '^# Not as in PyTorch: dropout \(p = 0.5\) is left out, as in eval\(\)\.$' "$HONE" import names.py --python "$python"
# ---- what is refused is named, all of it, and nothing is written
cat >odd.py <<'P'
import torch


class Inner(torch.nn.Module):
    def forward(self, x):
        y = torch.special.i0(x)
        return y + torch.erfinv(x)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        y = self.inner(x)
        if x.sum() > 0:
            return y
        return y + 1


example_inputs = torch.rand(3, 4)
P
expect_match 1 '^odd.py: 3 operations without a counterpart:$' "$HONE" import odd.py --python "$python" -o odd.hone
also '^  line 6: special_i0 in inner: has no counterpart$'
also '^  line 7: erfinv in inner: has no counterpart$'
also '^  line 17: __bool__: Python asks for an element, which depends on data$'
also '^  what comes behind it was not looked at$'
[ ! -e odd.hone ] || fail 'odd.hone was written'
valid import "$HONE" import odd.py --python "$python" --json
expect_match 0 '"line": 6' cat json

# ---- what tracing cannot see is found by --verify, and nothing is written
cat >sly.py <<'P'
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2 if type(x) is torch.Tensor else x


example_inputs = torch.rand(3, 4)
P
expect_match 1 '^NOT equal to PyTorch' "$HONE" import sly.py --python "$python" -o sly.hone --verify
also '^  y: at \[[0-9], [0-9]\]: .* in PyTorch, .* here$'
[ ! -e sly.hone ] || fail 'sly.hone was written'

# ---- files that are not what they should be: PyTorch is started once for all of them
printf 'import torch\nraise ValueError("broken on purpose")\n' >raises.py
printf 'import torch\nclass Model(torch.nn.Module):\n    pass\n' >bare.py
printf 'example_inputs = 3\n' >none.py
printf 'import torch\nmodel = torch.nn.ReLU()\nexample_inputs = torch.rand(2, dtype=torch.complex64)\n' >complex.py
cat >requests <<'R'
names.py m ""
names.py "" Modle
raises.py "" ""
bare.py "" ""
none.py "" ""
complex.py "" ""
R
PYTHONPATH=$ROOT/bridge/import "$python" -B -W ignore -c '
import import_main, shlex
for line in open("requests"):
    file, size, name = shlex.split(line)
    a = import_main.answer_of({"file": file, "set": {size: 3} if size else {}, "class": name})
    print(a["status"], a.get("message") or a["nodes"][0]["why"])
' >told || fail "$(cat told)"
grep -q '^misuse --set m: the file assigns no number to it at its top$' told || fail "$(cat told)"
grep -q "^misuse no class or module is called 'Modle'; there are: Other, Model$" told || fail "$(cat told)"
grep -q '^ValueError: broken on purpose$' told || fail "$(cat told)"
grep -q 'raises.py", line 2' told || fail "$(cat told)"
grep -q '^unfit no get_inputs() and no example_inputs, so the shapes of the inputs are unknown$' told || fail "$(cat told)"
grep -q '^unfit no class Model(nn.Module) and no module called model$' told || fail "$(cat told)"
grep -q '^refused type complex64 is none of the language' told || fail "$(cat told)"
