#include "eval/derived.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "ir/relations.h"

bool derived_exists(const struct oracle *o, enum oracle_set set) {
    struct relations_scaling scaling;
    bool moves[INPUTS_MAX];
    return set == SET_SCALED     ? relations_find_scaling(o->problem, &scaling)
           : set == SET_PERMUTED ? relations_find_permutation(o->problem, moves)
                                 : false;
}

static void *allocate(size_t count, size_t size) {
    void *p = malloc((count ? count : 1) * size);
    if (!p)
        abort();
    return p;
}

static int64_t input_count(const struct oracle *o, int input) {
    return shape_count(&o->problem->graph.nodes[o->problem->inputs[input].node].shape);
}

static int64_t n_rows(const struct oracle *o) {
    return o->problem->graph.nodes[o->problem->outputs[0].node].shape.size[0];
}

static void scale(float *values, int64_t count, int exponent) {
    float factor = ldexpf(1, exponent);
    for (int64_t i = 0; exponent && i < count; i++)
        values[i] *= factor;
}

// Which row stands in each place: the same whenever it is asked for.
static int64_t *draw_order(const struct oracle *o) {
    int64_t rows = n_rows(o), *order = allocate((size_t)rows, sizeof *order);
    struct rng r;
    rng_init(&r, o->seed ^ UINT64_C(0x726f7773));
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = (int64_t)rng_below(&r, (uint64_t)i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    return order;
}

static void permute(float *values, int64_t count, const int64_t *order, int64_t rows) {
    size_t length = (size_t)(count / rows), bytes = (size_t)count * sizeof *values;
    float *before = allocate((size_t)count, sizeof *before);
    memcpy(before, values, bytes);
    for (int64_t i = 0; i < rows; i++)
        memcpy(values + (size_t)i * length, before + (size_t)order[i] * length,
               length * sizeof *values);
    free(before);
}

void derived_change(const struct oracle *o, enum oracle_set set, int input, float *values) {
    struct relations_scaling scaling;
    bool moves[INPUTS_MAX];
    if (set == SET_SCALED && relations_find_scaling(o->problem, &scaling))
        scale(values, input_count(o, input), scaling.input[input]);
    if (set == SET_PERMUTED && relations_find_permutation(o->problem, moves) && moves[input]) {
        int64_t *order = draw_order(o);
        permute(values, input_count(o, input), order, n_rows(o));
        free(order);
    }
}

static float *copy(const float *from, int64_t count) {
    float *to = allocate((size_t)count, sizeof *to);
    memcpy(to, from, (size_t)count * sizeof *to);
    return to;
}

// Beyond the type, or so small that steps are absolute there: nothing is claimed.
static void forgive_edges(struct oracle_output *e) {
    for (int64_t i = 0; i < e->count; i++)
        if (!isfinite(e->high[i]) || (e->high[i] != 0 && fabsf(e->high[i]) < 1e-30F))
            e->spread[i] = NAN;
}

void derived_learn(struct oracle *o, enum oracle_set set) {
    struct relations_scaling scaling = {0};
    int64_t *order = set == SET_PERMUTED ? draw_order(o) : NULL;
    if (set == SET_SCALED)
        relations_find_scaling(o->problem, &scaling);
    for (int i = 0; i < o->problem->n_outputs; i++) {
        const struct oracle_output *from = &o->sets[SET_DECLARED].outputs[i];
        struct oracle_output *e = &o->sets[set].outputs[i];
        *e = (struct oracle_output){.count = from->count,
                                    .stats = from->stats,
                                    .high = copy(from->high, from->count),
                                    .low = copy(from->low, from->count),
                                    .spread = copy(from->spread, from->count)};
        float *const parts[] = {e->high, e->low, e->spread};
        for (int k = 0; k < 3; k++) {
            scale(parts[k], e->count, scaling.output[i]);
            if (order)
                permute(parts[k], e->count, order, n_rows(o));
        }
        if (set == SET_SCALED)
            forgive_edges(e);
    }
    free(order);
}
