// Finds which laws a problem has, draws what a law leaves open (factors, an order of rows), and
// applies it: to inputs when a set is filled, to expected outputs in place of computing them.
#include "oracle/derived.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/str.h"
#include "hone_inputs.h"

enum { ORDER_MANY = 1 << 16 };

// Are small whole numbers drawn for it, so that two of them are added without rounding?
static bool is_whole(const struct oracle *o, int input) {
    return !o->problem->inputs[input].maker &&
           oracle_source(o, SET_INTEGERS, input).kind == HONE_INTEGERS;
}

static bool find_sums(const struct oracle *o, bool moves[INPUTS_MAX]) {
    const struct problem *p = o->problem;
    const int64_t longest = 1 << 16;  // beyond that sums of whole numbers are no longer exact
    bool ok = p->precision.operand == PRECISION_STORED && relations_find_permutation(p, moves) &&
              relations_is_linear(p, moves) && relations_longest_sum(p) <= longest;
    for (int i = 0; ok && i < p->n_inputs; i++)
        ok = !moves[i] || is_whole(o, i);
    return ok;
}

bool derived_exists(const struct oracle *o, enum oracle_set set) {
    struct relations_scaling scaling;
    bool moves[INPUTS_MAX];
    if (set == SET_SUMMED)
        return find_sums(o, moves);
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

static int64_t *draw_order(const struct oracle *o, int64_t rows) {
    int64_t *order = allocate((size_t)rows, sizeof *order);
    struct rng r;
    rng_init_secret(&r, o->seed, UINT64_C(0x726f7773));
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = (int64_t)rng_below(&r, (uint64_t)i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    return order;
}

bool derived_find(const struct oracle *o, enum oracle_set set, struct derived_law *law) {
    const struct problem *p = o->problem;
    *law = (struct derived_law){0};
    if (set == SET_SCALED)
        return relations_find_scaling(p, &law->scaling);
    law->is_sum = set == SET_SUMMED;
    bool ok = law->is_sum           ? find_sums(o, law->moves)
              : set == SET_PERMUTED ? relations_find_permutation(p, law->moves)
                                    : false;
    if (!ok)
        return false;
    law->n_rows = p->graph.nodes[p->outputs[0].node].shape.size[0];
    while (law->n_rows > ORDER_MANY && law->n_rows % 2 == 0)
        law->n_rows /= 2;
    law->order = draw_order(o, law->n_rows);
    return true;
}

void derived_reset(struct derived_law *law) {
    free(law->order);
    *law = (struct derived_law){0};
}

static const struct node *input_node(const struct oracle *o, int input) {
    return &o->problem->graph.nodes[o->problem->inputs[input].node];
}

static void scale(float *values, int64_t count, int exponent) {
    float factor = ldexpf(1, exponent);
    for (int64_t i = 0; exponent && i < count; i++)
        values[i] *= factor;
}

// Rows in their new order; where rows are summed (of f32 alone), added to what was there.
static void permute(void *values, int64_t bytes, const struct derived_law *law) {
    size_t length = (size_t)(bytes / law->n_rows);
    char *before = allocate((size_t)bytes, 1);
    float *sums = values;
    memcpy(before, values, (size_t)bytes);
    for (int64_t i = 0; i < law->n_rows; i++)
        memcpy((char *)values + (size_t)i * length, before + (size_t)law->order[i] * length,
               length);
    for (int64_t i = 0; law->is_sum && i < bytes / (int64_t)sizeof *sums; i++)
        sums[i] += ((const float *)(const void *)before)[i];
    free(before);
}

// What is expected of two rows added up.
static void add_rows(struct oracle_output *e, const struct oracle_output *from,
                     const struct derived_law *law) {
    int64_t length = e->count / law->n_rows;
    for (int64_t i = 0; i < e->count; i++) {
        int64_t k = law->order[i / length] * length + i % length;
        double sum = (double)from->high[i] + from->low[i] + ((double)from->high[k] + from->low[k]);
        e->high[i] = (float)sum;
        e->low[i] = isfinite(e->high[i]) ? (float)(sum - e->high[i]) : 0;
        e->spread[i] = hypotf(from->spread[i], from->spread[k]);
    }
}

void derived_change(const struct oracle *o, enum oracle_set set, int input, void *values) {
    struct derived_law law;
    const struct node *n = input_node(o, input);
    int64_t count = shape_count(&n->shape);
    if (!derived_find(o, set, &law))
        return;
    if (law.scaling.input[input])  // of f32 alone
        scale(values, count, law.scaling.input[input]);
    if (law.moves[input])
        permute(values, dtype_size(n->dtype, count), &law);
    derived_reset(&law);
}

static void *copy(const void *from, int64_t count, size_t size) {
    void *to = from ? allocate((size_t)count, size) : NULL;
    if (to)
        memcpy(to, from, (size_t)count * size);
    return to;
}

bool derived_is_edge(float high) {
    return !isfinite(high) || (high != 0 && fabsf(high) < 1e-30F);
}

static void store_output(struct oracle_output *e, const struct oracle_output *from,
                         const struct derived_law *law, int exponent) {
    *e = (struct oracle_output){.type = from->type,
                                .count = from->count,
                                .stats = from->stats,
                                .n_threads = from->n_threads,
                                .high = copy(from->high, from->count, sizeof(float)),
                                .low = copy(from->low, from->count, sizeof(float)),
                                .spread = copy(from->spread, from->count, sizeof(float)),
                                .truth = copy(from->truth, from->count, sizeof(double)),
                                .unit = copy(from->unit, from->count, sizeof(double))};
    void *const parts[] = {e->high, e->low, e->spread, e->truth, e->unit};
    const size_t sizes[] = {sizeof(float), sizeof(float), sizeof(float), sizeof(double),
                            sizeof(double)};
    if (law->is_sum)
        add_rows(e, from, law);
    for (int k = 0; k < 5 && !law->is_sum; k++) {
        if (parts[k] && exponent)  // of f32 alone
            scale(parts[k], e->count, exponent);
        if (parts[k] && law->order)
            permute(parts[k], e->count * (int64_t)sizes[k], law);
    }
}

void derived_compute(struct oracle *o, enum oracle_set set) {
    struct derived_law law;
    derived_find(o, set, &law);
    for (int i = 0; i < o->problem->n_outputs; i++) {
        struct oracle_output *e = &o->sets[set].outputs[i];
        store_output(e, &o->sets[law.is_sum ? SET_INTEGERS : SET_DECLARED].outputs[i], &law,
                     law.scaling.output[i]);
        for (int64_t k = 0; set == SET_SCALED && e->high && k < e->count; k++)
            if (derived_is_edge(e->high[k]))
                e->spread[k] = NAN;
    }
    derived_reset(&law);
}

static void put_factor(struct str *s, const char *name, int exponent) {
    if (s->len)
        str_puts(s, ", ");
    if (exponent < 0)
        str_printf(s, "%s divided by %d", name, 1 << -exponent);
    else
        str_printf(s, "%s times %d", name, 1 << exponent);
}

const char *derived_text(struct arena *a, const struct oracle *o, enum oracle_set set) {
    const struct problem *p = o->problem;
    struct derived_law law;
    struct str in = {0}, out = {0};
    const char *words = "";
    if (!derived_find(o, set, &law))
        return words;
    for (int i = 0; i < p->n_inputs; i++) {
        const char *name = p->graph.nodes[p->inputs[i].node].name;
        if (law.scaling.input[i])
            put_factor(&in, name, law.scaling.input[i]);
        else if (law.moves[i])
            str_printf(&in, "%s%s", in.len ? ", " : "", name);
    }
    for (int i = 0; i < p->n_outputs; i++)
        put_factor(&out, p->outputs[i].name, law.scaling.output[i]);
    if (law.is_sum)
        words = arena_printf(a,
                             "whole numbers, to each row of %s another one added, so the results "
                             "must be sums, too",
                             str_text(&in));
    else if (law.order)
        words = arena_printf(a,
                             "the rows of %s stand in another order than in the declared data, so "
                             "those of the results must too",
                             str_text(&in));
    else
        words = arena_printf(a, "the declared data with %s, so the results must be %s",
                             str_text(&in), str_text(&out));
    str_reset(&in);
    str_reset(&out);
    derived_reset(&law);
    return words;
}
