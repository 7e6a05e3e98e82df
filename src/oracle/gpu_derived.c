// The laws as launches: scaled copies and permuted rows of device arrays.
#include "oracle/gpu_derived.h"

#include <math.h>

#include "base/error.h"

bool gpu_law_open(struct gpu_law *g, struct gpu_oracle *on, const struct oracle *o,
                  enum oracle_set set, struct error *err) {
    const struct cuda *cu = &on->bench->cu;
    *g = (struct gpu_law){.oracle = on};
    if (!derived_find(o, set, &g->law) || !g->law.order)
        return true;
    size_t bytes = sizeof *g->law.order * (size_t)g->law.n_rows;
    if (cuda_ok(cu, cu->allocate(&g->order, bytes), "take memory", err) &&
        cuda_ok(cu, cu->copy_to(g->order, g->law.order, bytes), "copy to the GPU", err))
        return true;
    gpu_law_close(g);
    return false;
}

void gpu_law_close(struct gpu_law *g) {
    if (g->order)
        g->oracle->bench->cu.release(g->order);
    derived_reset(&g->law);
    *g = (struct gpu_law){0};
}

bool gpu_take_rows(struct gpu_oracle *o, const struct gpu_rows *r, cuda_pointer from,
                   cuda_pointer to, struct error *err) {
    struct gpu_rows rows = *r;
    uint64_t unit = 8;
    while ((uint64_t)r->bytes % unit)
        unit /= 2;
    uint64_t length = (uint64_t)r->bytes / unit;
    void *arguments[] = {&from, &to, &rows.rows, &rows.n, &length, &unit};
    return gpu_oracle_launch(o, o->rows, rows.n * (int64_t)length, arguments, err);
}

static bool scale(struct gpu_oracle *o, const struct gpu_copy *c, int exponent, struct error *err) {
    struct gpu_copy copy = *c;
    float factor = ldexpf(1, exponent);
    int64_t count = copy.bytes / (int64_t)sizeof(float);  // of f32 alone
    if (exponent == 0)
        return cuda_ok(&o->bench->cu, o->bench->cu.copy(copy.to, copy.from, (size_t)copy.bytes),
                       "copy on the GPU", err);
    void *arguments[] = {&copy.from, &copy.to, &factor, &count};
    return gpu_oracle_launch(o, o->scale, count, arguments, err);
}

static bool permute(const struct gpu_law *g, const struct gpu_copy *c, struct error *err) {
    struct gpu_rows r = {g->order, g->law.n_rows, c->bytes / g->law.n_rows};
    return gpu_take_rows(g->oracle, &r, c->from, c->to, err);
}

bool gpu_law_input(const struct gpu_law *g, int input, const struct gpu_copy *c,
                   struct error *err) {
    return g->law.moves[input] ? permute(g, c, err)
                               : scale(g->oracle, c, g->law.scaling.input[input], err);
}

bool gpu_law_output(const struct gpu_law *g, int output, const struct gpu_copy parts[3],
                    struct error *err) {
    for (int i = 0; i < 3; i++)
        if (parts[i].bytes &&
            !(g->order ? permute(g, &parts[i], err)
                       : scale(g->oracle, &parts[i], g->law.scaling.output[output], err)))
            return false;
    struct gpu_copy high = parts[0], spread = parts[2];
    int64_t count = spread.bytes / (int64_t)sizeof(float);
    void *arguments[] = {&high.to, &spread.to, &count};
    return g->order || gpu_oracle_launch(g->oracle, g->oracle->edges, count, arguments, err);
}
