"""@NAME@, found and verified by hone: see README.txt.

    from @SYMBOL@ import @SYMBOL@
    @EXAMPLE@

@DEVICE_TEXT@ Arrays are contiguous, with the last axis fastest, and are used in place.
Outputs that are not given are made, of the kind of the first input.
"""
import ctypes
import os

IS_GPU = @IS_GPU@
# Name, type, shape; inputs first.
INPUTS = @INPUTS@
OUTPUTS = @OUTPUTS@

# What a type is called: by array interfaces, by torch, by DLPack (code, bits). The second names are
# for those that have no such type: the same bits as unsigned integers.
_TYPES = {
    "f64": (("<f8",), ("float64",), ((2, 64),)),
    "f32": (("<f4",), ("float32",), ((2, 32),)),
    "f16": (("<f2",), ("float16",), ((2, 16),)),
    "bf16": (("<V2", "<u2"), ("bfloat16", "uint16"), ((4, 16), (1, 16))),
    "f8e4m3": (("|V1", "|u1"), ("float8_e4m3fn", "uint8"), ((10, 8), (1, 8))),
    "f8e5m2": (("|V1", "|u1"), ("float8_e5m2", "uint8"), ((12, 8), (1, 8))),
    "i64": (("<i8",), ("int64",), ((0, 64),)),
    "i32": (("<i4",), ("int32",), ((0, 32),)),
    "i8": (("|i1",), ("int8",), ((0, 8),)),
    "u8": (("|u1",), ("uint8",), ((1, 8),)),
    "i4": (("|u1",), ("uint8",), ((1, 8),)),  # two to a byte
    "bool": (("|b1", "|u1"), ("bool",), ((6, 8), (1, 8))),
}
_SIZES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2}

_here = os.path.dirname(os.path.abspath(__file__))
_file = os.path.join(_here, "lib@SYMBOL@.so")
if not os.path.exists(_file):
    raise ImportError(f"{_file} is not built yet: make -C {_here}")
_library = ctypes.CDLL(_file)
_function = _library.@SYMBOL@
_function.restype = ctypes.c_int if IS_GPU else None
_function.argtypes = [ctypes.c_void_p] * (len(INPUTS) + len(OUTPUTS) + (2 if IS_GPU else 0))
_WORKSPACE = 0
if IS_GPU:
    _library.@SYMBOL@_workspace_bytes.restype = ctypes.c_size_t
    _WORKSPACE = _library.@SYMBOL@_workspace_bytes()


class _Tensor(ctypes.Structure):  # DLPack's DLTensor, the first member of what its capsules hold
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


def _is_dense(shape, strides, unit):
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != unit:
            return False
        unit *= size
    return True


def _stored_shape(dtype, shape):
    """How an array of that type is shaped: packed types are bytes."""
    if dtype != "i4":
        return tuple(shape)
    count = 1
    for size in shape:
        count *= size
    return ((count + 1) // 2,)


def _from_dlpack(x):
    """Pointer, shape, whether dense, type, whether on the GPU."""
    capsule = x.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    t = ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(_Tensor)).contents
    shape = tuple(t.shape[i] for i in range(t.ndim))
    dense = not t.strides or _is_dense(shape, [t.strides[i] for i in range(t.ndim)], 1)
    return (t.data or 0) + t.offset, shape, dense, (t.code, t.bits), t.device_type != 1


def _facts(x, size):
    """The same, and where in a row of _TYPES the type's name is found; x may be of any library."""
    if hasattr(x, "data_ptr"):
        return (x.data_ptr(), tuple(x.shape), x.is_contiguous(), str(x.dtype).replace("torch.", ""),
                x.device.type != "cpu"), 1
    for name, on_gpu in (("__cuda_array_interface__", True), ("__array_interface__", False)):
        about = getattr(x, name, None)
        if about:
            strides = about.get("strides")
            dense = strides is None or _is_dense(about["shape"], strides, size)
            return (about["data"][0], tuple(about["shape"]), dense, about["typestr"], on_gpu), 0
    if hasattr(x, "__dlpack__"):
        return _from_dlpack(x), 2
    raise TypeError("no array: %s" % type(x).__name__)


_torch_rows = {}  # by the name of an argument, what a tensor must be; filled when one is seen


def _quick_pointer(x, row):
    """That of a torch tensor which is as it should be, for a launch that takes microseconds; else None."""
    known = _torch_rows.get(row[0])
    if known is None:
        import torch
        names = [n for n in _TYPES[row[1]][1] if hasattr(torch, n)]
        known = _torch_rows[row[0]] = ([getattr(torch, n) for n in names], _stored_shape(row[1], row[2]))
    ok = x.dtype in known[0] and x.shape == known[1] and x.is_contiguous() and x.is_cuda == IS_GPU
    return x.data_ptr() if ok and (IS_GPU or x.device.type == "cpu") else None


def _pointer(x, row, is_output):
    name, dtype, shape = row
    if type(x).__module__.startswith("torch"):
        pointer = _quick_pointer(x, row)
        if pointer is not None:
            return pointer
    (pointer, got, dense, kind, on_gpu), column = _facts(x, _SIZES.get(dtype, 1))
    flat = _stored_shape(dtype, shape)
    if kind not in _TYPES[dtype][column]:
        names = [n[1][0] for n in _TYPES.values() if kind in n[column]]
        raise TypeError("%s is %s, not %s" % (name, names[0] if names else kind, _TYPES[dtype][1][0]))
    if got != flat:
        raise ValueError("%s has the shape %s, not %s" % (name, got, flat))
    if not dense:
        raise ValueError("%s is not contiguous" % name)
    if on_gpu != IS_GPU:
        raise ValueError("%s is not in the memory of the %s" % (name, "GPU" if IS_GPU else "CPU"))
    if is_output and getattr(x, "__array_interface__", {}).get("data", (0, False))[1]:
        raise ValueError("%s is read-only" % name)
    return pointer


def _new_output(like, row):
    name, dtype, shape = row
    flat = _stored_shape(dtype, shape)
    module = type(like).__module__.split(".")[0]
    if module == "torch":
        import torch
        names = [n for n in _TYPES[dtype][1] if hasattr(torch, n)]
        return torch.empty(flat, dtype=getattr(torch, names[0]), device=like.device)
    if module == "cupy":
        import cupy
        return cupy.empty(flat, dtype=_TYPES[dtype][0][-1])
    if module == "numpy":
        import numpy
        return numpy.empty(flat, dtype=_TYPES[dtype][0][-1])
    raise TypeError("%s: give an array for it; arrays of %s cannot be made here" % (name, module))


def _torch_stream(device):
    import torch
    quick = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return quick(device.index) if quick else torch.cuda.current_stream(device).cuda_stream


def _stream_and_workspace(like, stream, workspace):
    size = _WORKSPACE
    module = type(like).__module__.split(".")[0]
    if stream is None and module == "torch":
        stream = _torch_stream(like.device)
    elif stream is None and module == "cupy":
        import cupy
        stream = cupy.cuda.get_current_stream().ptr
    if workspace is None and size:
        if module == "torch":
            import torch
            workspace = torch.empty(size, dtype=torch.uint8, device=like.device)
        elif module == "cupy":
            import cupy
            workspace = cupy.empty(size, dtype="u1")
        else:
            raise TypeError("give a workspace of %d bytes in device memory" % size)
    return stream or 0, workspace, _facts(workspace, 1)[0][0] if size else None


def @SYMBOL@(@PARAMETERS@):
    inputs, outputs = [@INPUT_LIST@], [@OUTPUT_LIST@]
    outputs = [_new_output(inputs[0], row) if o is None else o for o, row in zip(outputs, OUTPUTS)]
    pointers = [_pointer(x, row, False) for x, row in zip(inputs, INPUTS)]
    pointers += [_pointer(x, row, True) for x, row in zip(outputs, OUTPUTS)]
    if IS_GPU:
        stream, keep, at = _stream_and_workspace(inputs[0], stream, workspace)
        code = _function(*pointers, at, stream)
        if code:
            raise RuntimeError("@SYMBOL@: cudaError %d" % code)
        del keep  # its memory is used in the stream's order
    else:
        _function(*pointers)
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
