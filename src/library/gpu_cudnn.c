// Convolutions by cuDNN, in the layout as it is given (channels first); a transposed one is the
// gradient of a plain one by its image. Its own search times the algorithms; those that round the
// operands more than the call allows are left out.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gpu/library.h"
#include "library/gpu_calls.h"

// Numbers of the documented interface (cudnn_graph.h, cudnn_cnn.h).
enum { DATA_FLOAT = 0, DATA_HALF = 2, DATA_BFLOAT16 = 9 };
enum { DEFAULT_MATH = 0, TENSOR_OP_MATH = 1, FMA_MATH = 3 };
enum { TENSOR_NCHW = 0, CROSS_CORRELATION = 1 };
enum { ALGORITHMS_MAX = 16, KEPT = 4, DIMS = 5 };

struct result {
    int algorithm, status;
    float time_ms;
    size_t memory_bytes;
    int determinism, math;
    int reserved[3];
};

struct functions {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    int (*tensor_create)(void **tensor);
    int (*tensor_set)(void *tensor, int type, int rank, const int *dims, const int *strides);
    int (*tensor_destroy)(void *tensor);
    int (*filter_create)(void **filter);
    int (*filter_set)(void *filter, int type, int format, int rank, const int *dims);
    int (*filter_destroy)(void *filter);
    int (*conv_create)(void **conv);
    int (*conv_set)(void *conv, int n, const int *padding, const int *strides, const int *dilation,
                    int mode, int compute);
    int (*conv_groups)(void *conv, int n);
    int (*conv_math)(void *conv, int math);
    int (*conv_destroy)(void *conv);
    int (*find_plain)(void *handle, void *x, const void *x_data, void *w, const void *w_data,
                      void *conv, void *y, void *y_data, int wanted, int *n, struct result *found,
                      void *work, size_t work_bytes);
    int (*find_transposed)(void *handle, void *w, const void *w_data, void *x, const void *x_data,
                           void *conv, void *y, void *y_data, int wanted, int *n,
                           struct result *found, void *work, size_t work_bytes);
    int (*plain)(void *handle, const void *alpha, void *x, const void *x_data, void *w,
                 const void *w_data, void *conv, int algorithm, void *work, size_t work_bytes,
                 const void *beta, void *y, void *y_data);
    int (*transposed)(void *handle, const void *alpha, void *w, const void *w_data, void *x,
                      const void *x_data, void *conv, int algorithm, void *work, size_t work_bytes,
                      const void *beta, void *y, void *y_data);
};

struct gpu_call {
    struct functions dnn;
    const struct call *call;
    void *handle, *x, *w, *y, *conv;
    int math;
    size_t work_bytes;
    struct result found[ALGORITHMS_MAX];
    int n_found;
};

static bool find_functions(void *library, struct functions *f, struct error *err) {
    const struct library_symbol symbols[] = {
        {"cudnnCreate", NULL, (void **)&f->create, false},
        {"cudnnDestroy", NULL, (void **)&f->destroy, false},
        {"cudnnSetStream", NULL, (void **)&f->set_stream, false},
        {"cudnnCreateTensorDescriptor", NULL, (void **)&f->tensor_create, false},
        {"cudnnSetTensorNdDescriptor", NULL, (void **)&f->tensor_set, false},
        {"cudnnDestroyTensorDescriptor", NULL, (void **)&f->tensor_destroy, false},
        {"cudnnCreateFilterDescriptor", NULL, (void **)&f->filter_create, false},
        {"cudnnSetFilterNdDescriptor", NULL, (void **)&f->filter_set, false},
        {"cudnnDestroyFilterDescriptor", NULL, (void **)&f->filter_destroy, false},
        {"cudnnCreateConvolutionDescriptor", NULL, (void **)&f->conv_create, false},
        {"cudnnSetConvolutionNdDescriptor", NULL, (void **)&f->conv_set, false},
        {"cudnnSetConvolutionGroupCount", NULL, (void **)&f->conv_groups, false},
        {"cudnnSetConvolutionMathType", NULL, (void **)&f->conv_math, false},
        {"cudnnDestroyConvolutionDescriptor", NULL, (void **)&f->conv_destroy, false},
        {"cudnnFindConvolutionForwardAlgorithmEx", NULL, (void **)&f->find_plain, false},
        {"cudnnFindConvolutionBackwardDataAlgorithmEx", NULL, (void **)&f->find_transposed, false},
        {"cudnnConvolutionForward", NULL, (void **)&f->plain, false},
        {"cudnnConvolutionBackwardData", NULL, (void **)&f->transposed, false},
    };
    return library_fill(library, symbols, sizeof symbols / sizeof symbols[0], "cuDNN", err);
}

// It knows windows of two axes and of three: a single one gets one of size 1 in front.
static int spatial(const int64_t *z, int first, int filler, int *out) {
    int axes = (int)z[CONV_AXES], n = axes < 2 ? 2 : axes;
    for (int i = 0; i < n; i++)
        out[i] = axes == 1 && i == 0 ? filler : (int)z[first + (axes == 1 ? 0 : i)];
    return n;
}

static int set_tensor(struct gpu_call *c, void *tensor, int type, int64_t channels, int first) {
    int dims[DIMS] = {(int)c->call->number[CONV_BATCH], (int)channels}, strides[DIMS];
    int rank = 2 + spatial(c->call->number, first, 1, dims + 2);
    int step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= dims[i];
    }
    return c->dnn.tensor_set(tensor, type, rank, dims, strides);
}

static int set_filter(struct gpu_call *c, int type) {
    const int64_t *z = c->call->number;
    int64_t all = z[CONV_GROUPS] * (z[CONV_TRANSPOSED] ? z[CONV_IN] : z[CONV_OUT]);
    int dims[DIMS] = {(int)all, (int)(z[CONV_TRANSPOSED] ? z[CONV_OUT] : z[CONV_IN])};
    int rank = 2 + spatial(z, CONV_WINDOW, 1, dims + 2);
    return c->dnn.filter_set(c->w, type, TENSOR_NCHW, rank, dims);
}

static int set_conv(struct gpu_call *c) {
    const int64_t *z = c->call->number;
    int padding[3], stride[3], dilation[3];
    int n = spatial(z, CONV_PADDING, 0, padding);
    spatial(z, CONV_STRIDE, 1, stride);
    spatial(z, CONV_DILATION, 1, dilation);
    int code =
        c->dnn.conv_set(c->conv, n, padding, stride, dilation, CROSS_CORRELATION, DATA_FLOAT);
    code = code ? code : c->dnn.conv_groups(c->conv, (int)z[CONV_GROUPS]);
    return code ? code : c->dnn.conv_math(c->conv, c->math);
}

static int make(struct gpu_call *c, enum dtype type) {
    const int64_t *z = c->call->number;
    int data = type == DTYPE_F16 ? DATA_HALF : type == DTYPE_BF16 ? DATA_BFLOAT16 : DATA_FLOAT;
    // The default takes TF32 for f32.
    c->math = type != DTYPE_F32            ? TENSOR_OP_MATH
              : c->call->math == CALL_TF32 ? DEFAULT_MATH
                                           : FMA_MATH;
    int code = c->dnn.create(&c->handle);
    code = code ? code : c->dnn.tensor_create(&c->x);
    code = code ? code : c->dnn.tensor_create(&c->y);
    code = code ? code : c->dnn.filter_create(&c->w);
    code = code ? code : c->dnn.conv_create(&c->conv);
    code = code ? code : set_tensor(c, c->x, data, z[CONV_GROUPS] * z[CONV_IN], CONV_IMAGE);
    code = code ? code : set_tensor(c, c->y, data, z[CONV_GROUPS] * z[CONV_OUT], CONV_RESULT);
    code = code ? code : set_filter(c, data);
    return code ? code : set_conv(c);
}

static void close_call(struct gpu_call *c) {
    if (c->conv)
        c->dnn.conv_destroy(c->conv);
    if (c->w)
        c->dnn.filter_destroy(c->w);
    if (c->x)
        c->dnn.tensor_destroy(c->x);
    if (c->y)
        c->dnn.tensor_destroy(c->y);
    if (c->handle)
        c->dnn.destroy(c->handle);
    free(c);
}

// It counts elements with 32 bits.
static bool is_small(const struct call *call) {
    const int64_t *z = call->number;
    const int first[] = {CONV_IMAGE, CONV_RESULT};
    for (int i = 0; i < 2; i++) {
        int64_t n = z[CONV_BATCH] * z[CONV_GROUPS] * z[i ? CONV_OUT : CONV_IN];
        for (int k = 0; k < 3 && n <= INT32_MAX; k++)
            n *= z[first[i] + k];
        if (n > INT32_MAX)
            return false;
    }
    return true;
}

static struct gpu_call *open_call(void *library, const struct plan *p, const struct plan_step *s,
                                  struct error *err) {
    if (!is_small(s->call)) {
        error_set(err, ERROR_UNSUPPORTED, "cuDNN counts elements with 32 bits");
        return NULL;
    }
    struct gpu_call *c = calloc(1, sizeof *c);
    c->call = s->call;
    c->work_bytes = s->n_args > CALL_WORK ? (size_t)p->buffers[s->args[CALL_WORK]].size_bytes : 0;
    bool ok = find_functions(library, &c->dnn, err);
    int code = ok ? make(c, p->buffers[s->args[CALL_LHS]].type) : 0;
    if (ok && code == 0)
        return c;
    if (ok)
        error_set(err, ERROR_UNSUPPORTED, "cuDNN cannot describe this convolution: its status %d",
                  code);
    close_call(c);
    return NULL;
}

// Its best few are timed again as all others are.
static int propose(struct gpu_call *c, cuda_stream stream, const cuda_pointer *args,
                   struct error *err) {
    struct result all[ALGORITHMS_MAX];
    int n = 0, code = c->dnn.set_stream(c->handle, stream);
    void *x = (void *)(uintptr_t)args[CALL_LHS], *w = (void *)(uintptr_t)args[CALL_RHS];
    void *y = (void *)(uintptr_t)args[CALL_OUT], *work = (void *)(uintptr_t)args[CALL_WORK];
    if (code == 0 && c->call->number[CONV_TRANSPOSED])
        code = c->dnn.find_transposed(c->handle, c->w, w, c->x, x, c->conv, c->y, y, ALGORITHMS_MAX,
                                      &n, all, work, c->work_bytes);
    else if (code == 0)
        code = c->dnn.find_plain(c->handle, c->x, x, c->w, w, c->conv, c->y, y, ALGORITHMS_MAX, &n,
                                 all, work, c->work_bytes);
    for (int i = 0; i < n && code == 0 && c->n_found < KEPT; i++)
        if (all[i].status == 0 && all[i].memory_bytes <= c->work_bytes &&
            (c->math != FMA_MATH || all[i].math == FMA_MATH))
            c->found[c->n_found++] = all[i];
    if (c->n_found == 0)
        error_set(err, ERROR_UNSUPPORTED,
                  "cuDNN has no algorithm for this convolution: its status %d", code);
    return c->n_found;
}

static int issue(struct gpu_call *c, int algorithm, cuda_stream stream, const cuda_pointer *args) {
    static const float one = 1, zero = 0;
    // Before anything was proposed: implicit products, which take every convolution.
    struct result how = {.algorithm = 1, .math = c->math};
    if (algorithm < c->n_found)
        how = c->found[algorithm];
    void *x = (void *)(uintptr_t)args[CALL_LHS], *w = (void *)(uintptr_t)args[CALL_RHS];
    void *y = (void *)(uintptr_t)args[CALL_OUT], *work = (void *)(uintptr_t)args[CALL_WORK];
    int code = c->dnn.set_stream(c->handle, stream);
    code = code ? code : c->dnn.conv_math(c->conv, how.math);
    if (code)
        return code;
    if (c->call->number[CONV_TRANSPOSED])
        return c->dnn.transposed(c->handle, &one, c->w, w, c->x, x, c->conv, how.algorithm, work,
                                 c->work_bytes, &zero, c->y, y);
    return c->dnn.plain(c->handle, &one, c->x, x, c->w, w, c->conv, how.algorithm, work,
                        c->work_bytes, &zero, c->y, y);
}

static const char *const sonames[] = {"libcudnn.so.9", "libcudnn.so.8", NULL};

const struct gpu_library gpu_cudnn = {
    .name = "cuDNN",
    .sonames = sonames,
    .version_symbol = "cudnnGetVersion",
    .open = open_call,
    .propose = propose,
    .issue = issue,
    .close = close_call,
};
