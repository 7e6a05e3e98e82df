// cuDNN's functions as far as hone calls them, for convolutions of f32 in two axes, plain or
// transposed. Of the algorithms that it finds the first rounds to TF32, so hone must not take it
// where the problem wants f32; the second does not run.
#include "fake_library.h"

enum { DEFAULT_MATH = 0, FMA_MATH = 3, NOT_SUPPORTED = 3000, ROUNDS = 7, FAILS = 8, RIGHT = 9 };

struct object {
    int dims[4], padding[2], stride[2], dilation[2], groups, math;
};

struct result {
    int algorithm, status;
    float time_ms;
    size_t memory_bytes;
    int determinism, math;
    int reserved[3];
};

struct work {
    struct object x, w, conv, y;
    const float *image, *window;
    float *out;
    int is_transposed;
};

static int make(void **out) {
    *out = calloc(1, sizeof(struct object));
    return 0;
}

static int drop(void *object) {
    free(object);
    return 0;
}

size_t cudnnGetVersion(void) {
    return 99801;
}
int cudnnCreate(void **handle) {
    return make(handle);
}
int cudnnCreateTensorDescriptor(void **tensor) {
    return make(tensor);
}
int cudnnCreateFilterDescriptor(void **filter) {
    return make(filter);
}
int cudnnCreateConvolutionDescriptor(void **conv) {
    return make(conv);
}
int cudnnDestroy(void *handle) {
    return drop(handle);
}
int cudnnDestroyTensorDescriptor(void *tensor) {
    return drop(tensor);
}
int cudnnDestroyFilterDescriptor(void *filter) {
    return drop(filter);
}
int cudnnDestroyConvolutionDescriptor(void *conv) {
    return drop(conv);
}
int cudnnSetStream(void *handle, void *stream) {
    return stream ? 0 : 3000;
}

int cudnnSetTensorNdDescriptor(struct object *tensor, int type, int rank, const int *dims,
                               const int *strides) {
    memcpy(tensor->dims, dims, sizeof tensor->dims);
    return type == 0 && rank == 4 && strides[3] == 1 && strides[2] == dims[3] ? 0 : NOT_SUPPORTED;
}

int cudnnSetFilterNdDescriptor(struct object *filter, int type, int format, int rank,
                               const int *dims) {
    memcpy(filter->dims, dims, sizeof filter->dims);
    return type == 0 && rank == 4 && format == 0 ? 0 : NOT_SUPPORTED;
}

int cudnnSetConvolutionNdDescriptor(struct object *conv, int n, const int *padding,
                                    const int *stride, const int *dilation, int mode, int compute) {
    for (int i = 0; i < 2; i++) {
        conv->padding[i] = padding[i];
        conv->stride[i] = stride[i];
        conv->dilation[i] = dilation[i];
    }
    return n == 2 && mode == 1 && compute == 0 ? 0 : NOT_SUPPORTED;
}

int cudnnSetConvolutionGroupCount(struct object *conv, int n) {
    conv->groups = n;
    return 0;
}

int cudnnSetConvolutionMathType(struct object *conv, int math) {
    conv->math = math;
    return 0;
}

static int find(const struct object *conv, int wanted, int *n, struct result *found) {
    const struct result all[] = {{ROUNDS, 0, 1, 0, 1, DEFAULT_MATH},
                                 {FAILS, 0, 2, 0, 1, conv->math},
                                 {RIGHT, 0, 3, 1 << 20, 1, conv->math}};
    memcpy(found, all, sizeof all);
    *n = 3;
    return wanted < 3;
}

int cudnnFindConvolutionForwardAlgorithmEx(void *handle, void *x, const void *x_data, void *w,
                                           const void *w_data, struct object *conv, void *y,
                                           void *y_data, int wanted, int *n, struct result *found,
                                           void *work, size_t work_bytes) {
    return find(conv, wanted, n, found);
}

int cudnnFindConvolutionBackwardDataAlgorithmEx(void *handle, void *w, const void *w_data, void *x,
                                                const void *x_data, struct object *conv, void *y,
                                                void *y_data, int wanted, int *n,
                                                struct result *found, void *work,
                                                size_t work_bytes) {
    return find(conv, wanted, n, found);
}

// Every product of an element of `from` (the larger image) with a window goes to, or comes from,
// one place of `to`.
static void run(const pointer *arguments) {
    const struct work *p = (const struct work *)(uintptr_t)arguments[0];
    const struct object *c = &p->conv, *big = p->is_transposed ? &p->y : &p->x;
    const struct object *small = p->is_transposed ? &p->x : &p->y;
    int groups = c->groups, out = small->dims[1] / groups, in = big->dims[1] / groups;
    memset(p->out, 0, sizeof(float) * p->y.dims[0] * p->y.dims[1] * p->y.dims[2] * p->y.dims[3]);
    for (int b = 0; b < small->dims[0]; b++)
        for (int o = 0; o < small->dims[1]; o++)
            for (int at = 0; at < small->dims[2] * small->dims[3]; at++) {
                float *low = NULL;
                double sum = 0;
                long s = ((long)b * small->dims[1] + o) * small->dims[2] * small->dims[3] + at;
                for (int k = 0; k < in; k++)
                    for (int t = 0; t < p->w.dims[2] * p->w.dims[3]; t++) {
                        int r = at / small->dims[3] * c->stride[0] - c->padding[0] +
                                t / p->w.dims[3] * c->dilation[0];
                        int q = at % small->dims[3] * c->stride[1] - c->padding[1] +
                                t % p->w.dims[3] * c->dilation[1];
                        if (r < 0 || q < 0 || r >= big->dims[2] || q >= big->dims[3])
                            continue;
                        long l = (((long)b * big->dims[1] + o / out * in + k) * big->dims[2] + r) *
                                     big->dims[3] +
                                 q;
                        float w = p->window[((long)o * in + k) * p->w.dims[2] * p->w.dims[3] + t];
                        if (p->is_transposed)
                            p->out[l] += p->image[s] * w;
                        else
                            sum += (double)p->image[l] * w;
                    }
                low = p->out + s;
                if (!p->is_transposed)
                    *low = (float)sum;
            }
}

static int convolve(struct work p, int algorithm) {
    if (algorithm != RIGHT || p.conv.math != FMA_MATH)
        return NOT_SUPPORTED;
    return into_stream(run, &p, sizeof p);
}

int cudnnConvolutionForward(void *handle, const float *alpha, const struct object *x,
                            const void *x_data, const struct object *w, const void *w_data,
                            const struct object *conv, int algorithm, void *work, size_t work_bytes,
                            const float *beta, const struct object *y, void *y_data) {
    return convolve((struct work){*x, *w, *conv, *y, x_data, w_data, y_data, 0}, algorithm);
}

int cudnnConvolutionBackwardData(void *handle, const float *alpha, const struct object *w,
                                 const void *w_data, const struct object *x, const void *x_data,
                                 const struct object *conv, int algorithm, void *work,
                                 size_t work_bytes, const float *beta, const struct object *y,
                                 void *y_data) {
    return convolve((struct work){*x, *w, *conv, *y, x_data, w_data, y_data, 1}, algorithm);
}
