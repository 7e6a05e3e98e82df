"""import_main.py REQUEST ANSWER: what `hone import` runs. Both are files of JSON.

The model's file may print what it likes; the answer is a file, so that nothing of it gets mixed up.
"""

import json
import os
import sys
import traceback


def answer_of(request):
    try:
        import torch
    except ImportError as e:
        return {"status": "absent", "message": str(e)}
    import import_model
    import import_shims
    import import_source
    import import_verify

    import_shims.install()

    version = torch.__version__
    path = request["file"]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    given = request.get("set", {})
    try:
        if request.get("do") == "verify":
            return import_verify.verify(request)
        work = import_model.Import(path, request.get("class", ""), given, request.get("eval", False), request.get("reserved", []))
        text = work.trace()
        small = import_verify.small(request) if request.get("small") else None
    except import_model.Refused as r:
        return {"status": "refused", "nodes": r.nodes, "torch": version}
    except import_source.Misuse as p:
        return {"status": "misuse", "message": str(p), "torch": version}
    except (import_source.Problem, import_model.Refusal) as p:
        return {"status": "unfit", "message": str(p), "torch": version}
    except Exception:
        return {"status": "raised", "message": last_lines(path), "torch": version}
    return {"status": "ok", "text": text, "notes": work.tracer.notes, "small": small, "torch": version}


def last_lines(path):
    """The end of the traceback, from where the user's file comes into it."""
    kind, error, trace = sys.exc_info()
    frames = traceback.extract_tb(trace)
    mine = [i for i, f in enumerate(frames) if f.filename == os.path.abspath(path)]
    if os.environ.get("HONE_IMPORT_TRACE"):
        traceback.print_exc()
    shown = frames[mine[0] :] if mine else frames
    hidden = ("import_", "overrides.py")
    shown = [f for f in shown if not os.path.basename(f.filename).startswith(hidden)]
    lines = traceback.format_list(shown[-4:]) + traceback.format_exception_only(kind, error)
    return "".join(lines).rstrip()


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        request = json.load(f)
    answer = answer_of(request)
    with open(sys.argv[2] + ".part", "w", encoding="utf-8") as f:
        json.dump(answer, f)
    os.rename(sys.argv[2] + ".part", sys.argv[2])


if __name__ == "__main__":
    main()
