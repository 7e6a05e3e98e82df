// What nvcc would make of a product by CUTLASS, as plain loops over the driver that is not there:
// out = max(lhs rhs^T + bias, 0) of f32, the bias along columns, or the product alone where nothing
// is loaded.
#include "../libraries/fake_library.h"

struct product {
    int64_t rows, columns, terms, batch;
    const float *lhs, *rhs, *bias;
    float *out;
};

static void run(const pointer *arguments) {
    const struct product *p = (const struct product *)(uintptr_t)arguments[0];
    for (long b = 0; b < p->batch; b++)
        for (long i = 0; i < p->rows; i++)
            for (long j = 0; j < p->columns; j++) {
                double sum = 0;
                for (long k = 0; k < p->terms; k++)
                    sum += (double)p->lhs[(b * p->rows + i) * p->terms + k] *
                           p->rhs[(b * p->columns + j) * p->terms + k];
                if (p->bias)
                    sum = sum + p->bias[j] > 0 ? sum + p->bias[j] : 0;
#ifdef FAULT_wrong
                sum += j == p->columns - 1 && i == 0;
#endif
                p->out[(b * p->rows + i) * p->columns + j] = (float)sum;
            }
}

int64_t hone_cutlass_work_bytes(const int64_t *z) {
#ifdef FAULT_greedy
    return (int64_t)1 << 40;
#endif
    return 256;
}

#ifndef FAULT_hollow
int hone_cutlass_issue(const int64_t *z, void *const *args, void *stream) {
    struct product p = {z[0], z[1], z[2], z[3], args[0], args[1], args[4], args[2]};
    if (!args[3])
        return 1;  // no memory to work in
#ifdef FAULT_refuse
    return 7;
#endif
    return into_stream(run, &p, sizeof p);
}
#endif
