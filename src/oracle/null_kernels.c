// Three guesses per output (zeros, a constant, a copy of an input), each dropped at the first set
// that refutes it.
#include "oracle/null_kernels.h"

#include <stdlib.h>

#include "oracle/oracle_compare.h"

enum { UNUSED_POISON = 0x7fedcba9 };

static bool passes(const struct oracle_output *e, const void *values) {
    struct comparison c;
    return oracle_compare(e, values, UNUSED_POISON, &c);
}

static bool copy_passes(const struct oracle *o, const struct oracle_output *e, int input,
                        const void *data, void *values) {
    const struct node *n = &o->problem->graph.nodes[o->problem->inputs[input].node];
    int64_t count = shape_count(&n->shape);
    for (int64_t i = 0; i < e->count; i++)
        dtype_put(e->type, values, i, count ? dtype_get(n->dtype, data, i % count) : 0);
    return passes(e, values);
}

void null_kernels_start(struct null_kernels *t) {
    *t = (struct null_kernels){.passing = (1U << NULL_COUNT) - 1};
}

const char *null_kernels_text(const struct null_kernels *t) {
    static const char *const words[NULL_COUNT] = {"writing zeros", "copying an input",
                                                  "writing one constant"};
    return t->passing ? words[__builtin_ctz(t->passing)] : NULL;
}

static double mean_of(const struct oracle_output *e) {
    double sum = 0;
    for (int64_t k = 0; k < e->count; k++)
        sum += oracle_truth(e, k);
    return e->count ? dtype_round(e->type, sum / (double)e->count) : 0;
}

void null_kernels_try(const struct oracle *o, enum oracle_set set, const void *const *inputs,
                      struct null_kernels *t) {
    for (int i = 0; i < o->problem->n_outputs; i++) {
        const struct oracle_output *e = &o->sets[set].outputs[i];
        void *values = calloc((size_t)dtype_size(e->type, e->count) + 1, 1);
        if (!values)
            abort();
        if (!passes(e, values))
            t->passing &= ~(1U << NULL_ZEROS);
        if (!t->has_constants)
            t->constants[i] = mean_of(e);
        for (int64_t k = 0; k < e->count; k++)
            dtype_put(e->type, values, k, t->constants[i]);
        if (!passes(e, values))
            t->passing &= ~(1U << NULL_CONSTANT);
        bool any = false;
        for (int in = 0; in < o->problem->n_inputs && !any; in++)
            any = copy_passes(o, e, in, inputs[in], values);
        if (!any)
            t->passing &= ~(1U << NULL_COPY);
        free(values);
    }
    t->has_constants = true;
}
