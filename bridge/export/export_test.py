"""python3 test_@SYMBOL@.py, after make: the function as Python calls it, on the inputs of ./check and
judged by it. Arrays begin wherever an element may; NumPy, torch and CuPy are tried where they are."""
import ctypes
import os
import subprocess
import sys
import tempfile

import @SYMBOL@ as module

HERE = os.path.dirname(os.path.abspath(__file__))


class Array:
    """Memory that begins `shift` bytes after a multiple of 64."""

    def __init__(self, row, data=None, shift=0):
        shape = module._stored_shape(row[1], row[2])
        size = module._SIZES.get(row[1], 1)
        for n in shape:
            size *= n
        self.memory = (ctypes.c_char * (size + 192))()
        at = ctypes.addressof(self.memory)
        self.at, self.size = at + -at % 64 + shift, size
        if data is not None:
            ctypes.memmove(self.at, data, size)
        self.__array_interface__ = {"shape": shape, "typestr": module._TYPES[row[1]][0][-1],
                                    "data": (self.at, False), "version": 3}

    def bytes(self):
        return ctypes.string_at(self.at, self.size)


def read(directory, kind, i):
    with open(os.path.join(directory, "%s_%d.bin" % (kind, i)), "rb") as f:
        return f.read()


def judge(directory, outputs, what):
    for i, data in enumerate(outputs):
        with open(os.path.join(directory, "output_%d.bin" % i), "wb") as f:
            f.write(data)
    if subprocess.run([os.path.join(HERE, "check"), "--read", directory], cwd=HERE,
                      stdout=subprocess.DEVNULL).returncode:
        sys.exit("%s: WRONG" % what)
    print("%s: ok" % what)


def on_cpu(directory, inputs):
    for shift in sorted({0, 16} | {module._SIZES.get(row[1], 1) for row in module.INPUTS + module.OUTPUTS}):
        shifts = {row[0]: -(-shift // module._SIZES.get(row[1], 1)) * module._SIZES.get(row[1], 1)
                  for row in module.INPUTS + module.OUTPUTS}
        outs = [Array(row, shift=shifts[row[0]]) for row in module.OUTPUTS]
        module.@SYMBOL@(*[Array(row, d, shifts[row[0]]) for row, d in zip(module.INPUTS, inputs)], *outs)
        judge(directory, [o.bytes() for o in outs], "arrays %d bytes off" % shift)
    try:
        import numpy
    except ImportError:
        print("NumPy is not here")
        return
    arrays = [numpy.frombuffer(d, dtype=module._TYPES[row[1]][0][-1])
              .reshape(module._stored_shape(row[1], row[2])) for row, d in zip(module.INPUTS, inputs)]
    outs = module.@SYMBOL@(*arrays)
    judge(directory, [o.tobytes() for o in (outs if isinstance(outs, tuple) else (outs,))], "NumPy")
    try:
        module.@SYMBOL@(*[numpy.zeros((3, 5, 7, 9, 11), dtype=a.dtype) for a in arrays])
    except ValueError:
        print("another shape: refused")
    else:
        sys.exit("an array of another shape was taken")


def on_gpu(directory, inputs):
    try:
        import torch
    except ImportError:
        print("torch is not here: not tested")
        return
    for shift in (0, 1):
        tensors = []
        for row, d in zip(module.INPUTS, inputs):
            names = [n for n in module._TYPES[row[1]][1] if hasattr(torch, n)]
            kind = getattr(torch, names[0])
            flat = torch.frombuffer(bytearray(d), dtype=kind).cuda()
            there = torch.empty(flat.numel() + 64, dtype=kind, device="cuda")[shift:shift + flat.numel()]
            there.copy_(flat)
            tensors.append(there.view(module._stored_shape(row[1], row[2])))
        try:
            outs = module.@SYMBOL@(*tensors)
        except RuntimeError as refused:
            if shift == 0 or "716" not in str(refused):
                raise
            print("torch, one element off: refused (%s)" % refused)
            continue
        torch.cuda.synchronize()
        outs = outs if isinstance(outs, tuple) else (outs,)
        judge(directory, [o.reshape(-1).view(torch.uint8).cpu().numpy().tobytes() for o in outs],
              "torch, %d elements off" % shift)


with tempfile.TemporaryDirectory() as directory:
    subprocess.run([os.path.join(HERE, "check"), "--write", directory], cwd=HERE, check=True)
    inputs = [read(directory, "input", i) for i in range(len(module.INPUTS))]
    (on_gpu if module.IS_GPU else on_cpu)(directory, inputs)
print("ok")
