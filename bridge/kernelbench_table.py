"""kernelbench_table.py OUT DIR: the tables of bench/kernelbench.sh, of what it kept in OUT and of the files in DIR."""

import collections
import glob
import json
import os
import sys

LEVELS = ("level1", "level2", "level3")


def read(path):
    """What the step found; None where it was not done."""
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        return None
    except ValueError:
        return {"error": "no JSON"}


def number(name):
    return int(name.split("-")[1].split("_")[0])


def row(cells):
    print("| " + " | ".join(str(c) for c in cells) + " |")


def verdict(found):
    """Of `hone eval --json`: ok, wrong, ...; of what ended before that, why."""
    if found is None:
        return None
    if "error" in found:
        return found["error"]
    return found.get("verdict", {}).get("kind", "no verdict")


def ranges(values):
    values = sorted(values)
    return f"{values[0]} / {values[len(values) // 2]} / {values[-1]}" if values else "-"


def main():
    out, source = sys.argv[1:3]
    names = {level: [] for level in LEVELS}
    found = collections.defaultdict(dict)
    for path in sorted(glob.glob(os.path.join(out, "problems", "*.hone"))):
        name = os.path.basename(path)[: -len(".hone")]
        names[name.split("-")[0]].append(name)
        for step in ("sm_90a", "sm_80", "plain", "cpu"):
            found[step][name] = read(os.path.join(out, "found", f"{name}.{step}.json"))
    print("| level | files | imported | lowered for sm_90a | sm_80 | plain | compiled by NVRTC | legal launches | no spills | CPU verdict ok, small sizes |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    failed = []
    for level in LEVELS:
        files = len(glob.glob(os.path.join(source, level, "*.py")))
        all_of = {s: [found[s][n] for n in names[level] if found[s][n]] for s in found}
        lowered = {s: sum("launches" in f for f in all_of[s]) for s in ("sm_90a", "sm_80", "plain")}
        compiled = [f for f in all_of["sm_90a"] if "spills" in f]
        ok = sum(verdict(f) == "ok" for f in all_of["cpu"])
        row([level[5:], files, len(names[level]), *(f"{lowered[s]} of {len(all_of[s])}" for s in lowered), f"{len(compiled)} of {len(all_of['sm_90a'])}",
             sum("launches" in f and "illegal" not in f for f in all_of["sm_90a"]), sum(not f["spills"] for f in compiled), f"{ok} of {len(all_of['cpu'])}"])
        for n in names[level]:
            for step in ("sm_90a", "sm_80", "plain"):
                f = found[step][n] or {}
                failed += [f"{n}, {step}: {f[k][:200]}" for k in ("error", "illegal") if k in f]
                failed += [f"{n}, {step}: {s['kernel']} spills {s['spilled']:.0f} bytes" for s in f.get("spills", [])]
            if verdict(found["cpu"][n]) not in (None, "ok"):
                failed.append(f"{n}, cpu: {verdict(found['cpu'][n])}")
    print("\nDefault kernel for sm_90a: least / median / most.\n")
    print("| level | launches | ms of lowering | seconds of NVRTC | MiB of hone | estimate over speed of light | planned over least bytes |")
    print("|---|---|---|---|---|---|---|")
    for level in LEVELS:
        of = [f for f in (found["sm_90a"][n] for n in names[level]) if f and "stages" in f and "launches" in f]
        seconds = [sum(s["seconds"] or 0 for s in f["stages"] if not s["prepare"]) for f in of]
        row([level[5:], ranges([f["launches"] for f in of]), ranges([round(1e3 * (f["default_s"] + f["lower_s"]), 1) for f in of]),
             ranges([round(f["nvrtc_s"], 1) for f in of if "nvrtc_s" in f]), ranges([round(f["peak_bytes"] / 2**20) for f in of]),
             ranges([round(s / f["light_s"], 1) for f, s in zip(of, seconds) if f["light_s"]]), ranges([round(f["planned_bytes"] / f["least_bytes"], 1) for f in of])])
    count = {level: collections.Counter() for level in LEVELS}
    for level in LEVELS:
        for n in names[level]:
            for s in (found["sm_90a"][n] or {}).get("stages", []):
                count[level][f"{s['family']} as {s['emitter']}"] += 1
    print("\nShare of its stages by emitter, %.\n")
    print("| emitter | " + " | ".join(level[5:] for level in LEVELS) + " |\n|---|---|---|---|")
    for emitter in sorted(set().union(*count.values()), key=lambda e: -sum(c[e] for c in count.values())):
        row([emitter, *(f"{100 * c[emitter] / max(1, sum(c.values())):.1f}" for c in count.values())])
    print()
    for line in sorted(failed, key=lambda f: (f[:6], number(f.split(",")[0]))):
        print("- " + line)


main()
