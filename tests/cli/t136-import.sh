#!/bin/sh
# hone import: what comes out, that it equals PyTorch, and what is told where nothing can. Without
# Debian's python3-torch only what needs none is tested, and the rest is skipped; where CI is set it
# fails.
. "$(dirname "$0")/lib.sh"
python=/usr/bin/python3

# ---- without PyTorch
expect 2 'hone: none.py: there is no such file' "$HONE" import none.py
cp "$ROOT/bridge/import/cases/block.py" .
expect 2 'hone: --python no-such-python: there is no such program' "$HONE" import block.py --python no-such-python
printf '#!/bin/sh\nexit 7\n' >seven && chmod +x seven
expect 1 'hone: block.py ended Python with status 7' "$HONE" import block.py --python ./seven
printf '#!/bin/sh\necho one >&2\nkill -9 $$\n' >dies && chmod +x dies
expect 4 'block.py: Python was ended by signal 9:
one' "$HONE" import block.py --python ./dies
printf '#!/bin/sh\nexit 0\n' >silent && chmod +x silent
expect 1 'hone: block.py ended Python before it could be traced' "$HONE" import block.py --python ./silent
printf '#!/bin/sh\necho "{\\"status\\": \\"absent\\", \\"message\\": \\"No module named torch\\"}" >"$6"\n' >bare && chmod +x bare
expect 3 'hone: ./bare has no PyTorch (No module named torch); install the package python3-torch, or name a Python that has it with --python' \
    "$HONE" import block.py --python ./bare
printf '#!/bin/sh\nexec sleep 1000\n' >slow && chmod +x slow
expect 4 'hone: block.py was still running after 0.01 s; --seconds gives it more' "$HONE" import block.py --python ./slow --seconds 0.01
echo >there.hone
expect 2 'hone: there.hone exists already; --force writes over it' "$HONE" import block.py -o there.hone
expect 2 "hone: --set takes NAME=NUMBER,..., not 'batch_size'" "$HONE" import block.py --set batch_size

if ! "$python" -c 'import torch' 2>/dev/null; then
    [ -z "${CI:-}" ] || fail "CI is set, and $python has no torch"
    skip "$python has no torch"
fi

# ---- a problem, equal to PyTorch
expect_match 0 '^block.hone: problem block, 1 input, 7 parameters, 1 output, [0-9]+ nodes$' \
    "$HONE" import block.py --python "$python" -o block.hone --verify
also '^equal to PyTorch, which computed in f64'
expect 0 '' "$HONE" fmt --check block.hone
expect_match 0 'block.hone: ok: problem block' "$HONE" check block.hone
grep -q '^dim BATCH_SIZE = 4, CHANNELS = 3, FEATURES = 6$' block.hone || fail "$(cat block.hone)"
grep -Eq '^param norm_weight +: f32\[FEATURES\] +~ uniform\(0.9, 1.1\)$' block.hone || fail "$(cat block.hone)"
grep -q '^norm = batchnorm(conv, norm_weight, norm_bias)$' block.hone || fail "$(cat block.hone)"
valid import "$HONE" import block.py --python "$python" --set batch_size=1000000 --json
grep -q 'BATCH_SIZE = 1000000' json || fail "$(cat json)"

# ---- what is refused is named, all of it, and nothing is written
cat >odd.py <<'P'
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        y = torch.special.i0(x)
        z = torch.fft.fft(x).real
        return y + torch.erfinv(x) + z


example_inputs = torch.rand(3, 4)
P
expect_match 1 '^odd.py: [0-9] operations without a counterpart:$' "$HONE" import odd.py --python "$python" -o odd.hone
also '^  line 6: special_i0: has no counterpart$'
also '^  line 7: '
[ ! -e odd.hone ] || fail 'odd.hone was written'
valid import "$HONE" import odd.py --python "$python" --json
expect_match 0 '"line": 6' cat json

# ---- files that are not what they should be
printf 'import torch\nraise ValueError("broken on purpose")\n' >raises.py
expect_match 1 '^ValueError: broken on purpose$' "$HONE" import raises.py --python "$python"
also 'raises.py", line 2'
