"""import_cases.py [--small] [--work N] REFERENCE DIR FILE...: files imported and compared with PyTorch, in one process.

REFERENCE is build/reference, which draws the inputs and interprets; DIR a directory for what it writes. What
is compared, and how, is bridge/import/import_verify.py, as in `hone import --verify`, where every file
costs two starts of PyTorch. With --small sizes are made small first; --work raises what is still
interpreted. Each file has a process of its own, and so many seconds.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "import"))

import torch  # noqa: E402

import import_model  # noqa: E402
import import_shims  # noqa: E402
import import_source  # noqa: E402
import import_verify  # noqa: E402

SECONDS = 600


def read(listing):
    """What build/reference says that it wrote: inputs and outputs."""
    found = {"in": [], "out": []}
    for line in listing.splitlines():
        word, *fields = line.split(" ")
        if word in found:
            name, kind, path, *shape = fields
            found[word].append({"name": name, "type": kind, "path": path, "shape": [int(s) for s in shape]})
        elif word == "fault":
            raise import_source.Problem(line)
    return found


def compare(reference, directory, request, is_small):
    """The verdict, and the sizes that were set for it."""
    if is_small:
        problem = import_verify.small(request)
    else:
        work = import_model.Import(request["file"], reserved=request["reserved"])
        problem = {"text": work.trace(), "inputs": work.inputs, "set": {}}
    source = os.path.join(directory, "problem.hone")
    with open(source, "w", encoding="utf-8") as f:
        f.write(problem["text"])
    done = subprocess.run([reference, source, directory], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise import_source.Problem(done.stdout.strip())
    case = read(done.stdout)
    origins = {i["name"]: i["origin"] for i in problem["inputs"]}
    inputs = [{**e, "origin": origins[e["name"]]} for e in case["in"]]
    verdict = import_verify.verify({**request, "set": problem["set"], "inputs": inputs, "outputs": case["out"]})
    if len(verdict["outputs"]) != len(case["out"]):
        raise import_source.Problem(f"{len(verdict['outputs'])} outputs of {len(case['out'])}")
    return verdict, problem["set"]


def judge(options, path, reserved):
    """One line about a file; is it equal?"""
    name = "/".join(path.split("/")[-2:])
    directory = os.path.join(options.directory, "case")
    os.makedirs(directory, exist_ok=True)
    try:
        verdict, sizes = compare(options.reference, directory, {"file": path, "reserved": reserved}, options.small)
    except import_model.Refused as r:
        return False, f"{name}: refused: {json.dumps(r.nodes)}"
    except (import_source.Problem, import_model.Refusal) as p:
        return False, f"{name}: {p}"
    except Exception:
        return False, f"{name}: {traceback.format_exc()}"
    finally:
        shutil.rmtree(directory)
    wrong = [f"{o['name']}: {o['why']}" for o in verdict["outputs"] if o["why"]]
    if wrong:
        return False, f"{name}: {'; '.join(wrong)}; with {sizes}"
    most = max(o["difference"] for o in verdict["outputs"])
    return True, f"{name}: equal ({most:.1e}, in {verdict['precision']})"


def apart(options, path, reserved):
    """In a process of its own, so that one file cannot disturb the next."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        ok, line = judge(options, path, reserved)
        print(line, flush=True)
        os._exit(0 if ok else 1)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        print(f"{path}: ended by signal {os.WTERMSIG(status)}")
    return status == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--work", type=float, default=import_verify.MOST_WORK)
    parser.add_argument("reference")
    parser.add_argument("directory")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    import_verify.MOST_WORK = options.work
    import_shims.install()
    torch.set_num_threads(1)  # threads do not outlive a fork
    reserved = subprocess.run([options.reference, "--names"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    equal = [apart(options, path, reserved) for path in options.files]
    print(f"{len(equal)} files, {sum(equal)} equal")
    sys.exit(0 if all(equal) else 1)


main()
