"""import_keep.py [--jobs N] REFERENCE DIR FILE...: KernelBench's files as problems, many in a minute.

Of every file two problems go into DIR: LEVEL-NAME.hone at its own sizes, as `hone import` makes it, and
small/LEVEL-NAME.hone at the sizes that `hone import --verify` would choose. PyTorch is loaded once; each file has
a process of its own. REFERENCE is build/reference, which knows the words that cannot be names. A file that is
there already is left alone. bench/kernelbench.sh sweeps what comes out.
"""

import argparse
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "import"))

import torch  # noqa: E402

import import_model  # noqa: E402
import import_shims  # noqa: E402
import import_verify  # noqa: E402

SECONDS = 300


def keep(path, text):
    """Written whole or not at all."""
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.rename(path + ".new", path)


def make(directory, path, reserved):
    level = os.path.basename(os.path.dirname(path))
    name = f"{level}-{os.path.splitext(os.path.basename(path))[0]}.hone"
    own, small = os.path.join(directory, name), os.path.join(directory, "small", name)
    if not os.path.exists(own):
        keep(own, import_model.Import(path, reserved=reserved).trace())
    if not os.path.exists(small):
        request = {"file": path, "reserved": reserved}
        try:
            keep(small, import_verify.small(request)["text"])
        except Exception as e:  # a network that no number at its top makes small
            print(f"{name}: no small sizes: {str(e)[:160]}", flush=True)


def child(options, path, reserved):
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    signal.alarm(SECONDS)
    status = 1
    try:
        make(options.directory, path, reserved)
        status = 0
    except import_model.Refused as r:
        print(f"{path}: refused: {str(r.nodes)[:300]}", flush=True)
    except Exception as e:
        print(f"{path}: {type(e).__name__}: {str(e)[:300]}", flush=True)
    os._exit(status)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("reference")
    parser.add_argument("directory")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    os.makedirs(os.path.join(options.directory, "small"), exist_ok=True)
    import_shims.install()
    torch.set_num_threads(1)  # threads do not outlive a fork
    reserved = subprocess.run([options.reference, "--names"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    running, failed = set(), 0
    for path in options.files:
        while len(running) >= options.jobs:
            pid, status = os.wait()
            running.discard(pid)
            failed += status != 0
        running.add(child(options, path, reserved))
    while running:
        pid, status = os.wait()
        running.discard(pid)
        failed += status != 0
    print(f"{len(options.files)} files, {failed} not imported")
    sys.exit(failed > 0)


main()
