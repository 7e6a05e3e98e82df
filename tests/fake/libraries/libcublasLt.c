// cuBLASLt's functions as far as hone calls them, for products of f32. Of three algorithms that it
// proposes the first cannot run, and the last is right by itself only when it was asked for in f32.
#include "fake_library.h"

enum { R_32F = 0, COMPUTE_32F = 68, NOT_SUPPORTED = 15 };

struct object {
    int type, op[2];
    uint64_t rows, columns;
    int64_t lead, offset;
    int32_t batch;
};

struct algorithm {
    uint64_t data[8];
};

struct heuristic {
    struct algorithm algorithm;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

struct product {
    struct object desc, a, b, d;
    const float *left, *right;
    float *out;
};

static int make(void **out, struct object o) {
    *out = memcpy(malloc(sizeof o), &o, sizeof o);
    return 0;
}

static int drop(void *object) {
    free(object);
    return 0;
}

size_t cublasLtGetVersion(void) {
    return 990102;
}

int cublasLtCreate(void **handle) {
    return make(handle, (struct object){0});
}

int cublasLtMatmulDescCreate(void **desc, int compute, int scale) {
    return compute != COMPUTE_32F || scale != R_32F ? NOT_SUPPORTED
                                                    : make(desc, (struct object){0});
}

int cublasLtMatmulDescSetAttribute(struct object *desc, int attribute, const int *value, size_t n) {
    desc->op[attribute == 4] = *value;
    return n == sizeof *value && (attribute == 3 || attribute == 4) ? 0 : 7;
}

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns,
                               int64_t lead) {
    struct object o = {.type = type, .rows = rows, .columns = columns, .lead = lead, .batch = 1};
    return type != R_32F ? NOT_SUPPORTED : lead < (int64_t)rows ? 7 : make(layout, o);
}

int cublasLtMatrixLayoutSetAttribute(struct object *layout, int attribute, const void *value,
                                     size_t n) {
    if (attribute == 5 && n == 4)
        memcpy(&layout->batch, value, n);
    else if (attribute == 6 && n == 8)
        memcpy(&layout->offset, value, n);
    else
        return 7;
    return 0;
}

int cublasLtMatmulPreferenceCreate(void **preference) {
    return make(preference, (struct object){0});
}

int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const size_t *value,
                                         size_t n) {
    return attribute == 1 && n == sizeof *value && *value == (size_t)32 << 20 ? 0 : 7;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d,
                                   void *preference, int wanted, struct heuristic *found, int *n) {
    for (int i = 0; i < 3; i++) {
        memset(&found[i], 0, sizeof found[i]);
        found[i].algorithm.data[0] = 100 + (uint64_t)i;
    }
    *n = 3;
    return wanted < 3;
}

static float at(const float *data, const struct object *o, int is_turned, uint64_t row,
                uint64_t column, int batch) {
    uint64_t r = is_turned ? column : row, c = is_turned ? row : column;
    return data[batch * o->offset + (int64_t)c * o->lead + (int64_t)r];
}

static void run(const pointer *arguments) {
    const struct product *p = (const struct product *)(uintptr_t)arguments[0];
    uint64_t depth = p->desc.op[0] ? p->a.rows : p->a.columns;
    for (int b = 0; b < p->d.batch; b++)
        for (uint64_t i = 0; i < p->d.rows; i++)
            for (uint64_t j = 0; j < p->d.columns; j++) {
                double sum = 0;
                for (uint64_t k = 0; k < depth; k++)
                    sum += (double)at(p->left, &p->a, p->desc.op[0], i, k, b) *
                           at(p->right, &p->b, p->desc.op[1], k, j, b);
                p->out[b * p->d.offset + (int64_t)j * p->d.lead + (int64_t)i] = (float)sum;
            }
}

int cublasLtMatmul(void *handle, const struct object *desc, const float *alpha, const void *a,
                   const struct object *layout_a, const void *b, const struct object *layout_b,
                   const float *beta, const void *c, const struct object *layout_c, void *d,
                   const struct object *layout_d, const struct algorithm *algorithm, void *work,
                   size_t work_bytes, void *stream) {
    struct product p = {*desc, *layout_a, *layout_b, *layout_d, a, b, d};
    if (*alpha != 1 || *beta != 0 || !work || !work_bytes || !algorithm ||
        algorithm->data[0] == 100)
        return NOT_SUPPORTED;
    return into_stream(run, &p, sizeof p);
}

int cublasLtDestroy(void *handle) {
    return drop(handle);
}
int cublasLtMatmulDescDestroy(void *desc) {
    return drop(desc);
}
int cublasLtMatrixLayoutDestroy(void *layout) {
    return drop(layout);
}
int cublasLtMatmulPreferenceDestroy(void *preference) {
    return drop(preference);
}
