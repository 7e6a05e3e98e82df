// What a library computes, one element after the other, for programs run without one.
// Sums are in float64 and rounded once, which no library does worse than.
#include <assert.h>

#include "loop/execute_machine.h"
#include "loop/loop_call.h"

struct calling {
    struct machine *m;
    const struct loop_call *call;
    const int64_t *z;
};

static double get(const struct calling *c, int arg, int64_t i) {
    const struct loop_buffer *b = c->call->args[arg];
    struct memory *mem = &c->m->memory[b->id];
    if (i < 0 || i >= b->count)
        machine_fail(c->m, b, i, "is out of bounds");
    else if (mem->writer[i] == NOBODY)
        machine_fail(c->m, b, i, "is read before it is written");
    return c->m->failed ? 0 : dtype_get(b->dtype, mem->bytes, i);
}

static void put(const struct calling *c, int64_t i, double value) {
    const struct loop_buffer *b = c->call->args[CALL_OUT];
    if (i < 0 || i >= b->count)
        machine_fail(c->m, b, i, "is out of bounds");
    if (c->m->failed)
        return;
    dtype_put(b->dtype, c->m->memory[b->id].bytes, i, value);
    c->m->memory[b->id].writer[i] = BEFORE;
}

// What the epilogue makes of a sum; of a plain product the sum itself.
static double finish(const struct calling *c, const int64_t at[3], double sum) {
    const struct call *call = &c->call->call;
    double loaded[CALL_LOADS_MAX];
    int n = 0;
    if (call->kind != CALL_CUTLASS)
        return sum;
    for (int i = 0; i < call->epilogue.n_steps; i++) {
        const struct epilogue_step *s = &call->epilogue.steps[i];
        if (s->kind == EPILOGUE_LOAD)
            loaded[n++] = get(c, s->arg[0],
                              at[0] * s->stride[0] + at[1] * s->stride[1] + at[2] * s->stride[2]);
    }
    return epilogue_evaluate(&call->epilogue, sum, loaded);
}

static void gemm(const struct calling *c) {
    const int64_t *z = c->z, *l = z + GEMM_LHS, *r = z + GEMM_RHS, *o = z + GEMM_OUT;
    for (int64_t b = 0; b < z[GEMM_BATCH]; b++)
        for (int64_t i = 0; i < z[GEMM_M]; i++)
            for (int64_t j = 0; j < z[GEMM_N] && !c->m->failed; j++) {
                double sum = 0;
                for (int64_t k = 0; k < z[GEMM_K]; k++)
                    sum += get(c, CALL_LHS, i * l[0] + k * l[1] + b * l[2]) *
                           get(c, CALL_RHS, k * r[0] + j * r[1] + b * r[2]);
                put(c, i * o[0] + j * o[1] + b * o[2], finish(c, (const int64_t[]){i, j, b}, sum));
            }
}

// Of a window's axis: the place in the image that tap `tap` of result `at` reads; -1: none.
static int64_t place(const int64_t *z, int axis, int64_t at, int64_t tap) {
    int64_t offset = tap * z[CONV_DILATION + axis], stride = z[CONV_STRIDE + axis];
    if (!z[CONV_TRANSPOSED])
        return at * stride + offset - z[CONV_PADDING + axis];
    int64_t from = at + z[CONV_PADDING + axis] - offset;
    return from >= 0 && from % stride == 0 ? from / stride : -1;
}

// Digits of `flat` for three sizes.
static void split(int64_t flat, const int64_t *sizes, int64_t *at) {
    for (int i = 2; i >= 0; i--) {
        at[i] = flat % sizes[i];
        flat /= sizes[i];
    }
}

// One result: image `b`, group `g`, channel `o` of it, place `at`.
static double conv_at(const struct calling *c, int64_t b, int64_t g, int64_t o, const int64_t *at) {
    const int64_t *z = c->z, *image = z + CONV_IMAGE, *window = z + CONV_WINDOW;
    int64_t n_taps = window[0] * window[1] * window[2], tap[3];
    double sum = 0;
    for (int64_t t = 0; t < n_taps; t++) {
        int64_t flat = 0;
        bool is_inside = true;
        split(t, window, tap);
        for (int i = 0; i < 3; i++) {
            int64_t x = place(z, i, at[i], tap[i]);
            is_inside &= x >= 0 && x < image[i];
            flat = flat * image[i] + x;
        }
        for (int64_t k = 0; k < z[CONV_IN] && is_inside; k++) {
            int64_t channel = g * z[CONV_IN] + k;
            int64_t w = z[CONV_TRANSPOSED] ? channel * z[CONV_OUT] + o
                                           : (g * z[CONV_OUT] + o) * z[CONV_IN] + k;
            int64_t x = b * z[CONV_GROUPS] * z[CONV_IN] + channel;
            sum += get(c, CALL_LHS, x * image[0] * image[1] * image[2] + flat) *
                   get(c, CALL_RHS, w * n_taps + t);
        }
    }
    return sum;
}

static void conv(const struct calling *c) {
    const int64_t *z = c->z, *result = z + CONV_RESULT;
    int64_t places = result[0] * result[1] * result[2], at[3], n = 0;
    for (int64_t b = 0; b < z[CONV_BATCH]; b++)
        for (int64_t g = 0; g < z[CONV_GROUPS]; g++)
            for (int64_t o = 0; o < z[CONV_OUT]; o++)
                for (int64_t i = 0; i < places && !c->m->failed; i++) {
                    split(i, result, at);
                    put(c, n++, conv_at(c, b, g, o, at));
                }
}

void execute_call(struct machine *m, const struct loop_kernel *k) {
    struct calling c = {m, k->call, k->call->call.number};
    assert(k->call->n_args > CALL_OUT);
    if (k->call->call.kind == CALL_CONV)
        conv(&c);
    else
        gemm(&c);
}
