#include "text_subject.h"

#include <math.h>

// Largest error in units of the spread. An element that the reference happens to get without
// rounding is not exact in another order of summation: the unit is at least the mean spread.
static double error_of(const struct text_subject *s, float *const *outputs) {
    const struct interpret_result *r = &s->expected.result;
    double worst = 0;
    for (int o = 0; o < r->n_outputs; o++) {
        double mean = 0;
        // Whole numbers have no f32 of their own to compare with: they are exact.
        if (!outputs[o])
            continue;
        for (int64_t i = 0; i < r->count[o]; i++)
            mean += r->spread[o][i] / (double)r->count[o];
        for (int64_t i = 0; i < r->count[o]; i++) {
            double want = r->value[o][i], unit = fmax(r->spread[o][i], mean);
            double error = fabs(outputs[o][i] - want) / (unit + fabs(want) * 0x1p-25 + 1e-30);
            worst = isnan(error) ? INFINITY : fmax(worst, error);
        }
    }
    return worst;
}

void text_expect(struct text_subject *s, uint64_t seed) {
    expect_open(&s->expected, &s->arena, s->problem, seed);
    s->limit = 4 * fmax(4, error_of(s, s->expected.result.honest));
}

void text_add(struct fibre_program *p, const struct text_subject *s) {
    const struct problem *q = s->problem;
    struct fibre_text *t = &p->texts[p->n_texts++];
    *t = (struct fibre_text){.source = s->candidate.source};
    for (int i = 0; i < q->n_inputs; i++) {
        const struct node *n = &q->graph.nodes[q->inputs[i].node];
        t->buffers[t->n_buffers++] =
            (struct fibre_buffer){n->name, shape_count(&n->shape), s->expected.inputs[i], n->dtype};
    }
    for (int i = 0; i < q->n_outputs; i++)
        t->buffers[t->n_buffers++] =
            (struct fibre_buffer){q->outputs[i].name, s->expected.result.count[i], NULL,
                                  q->graph.nodes[q->outputs[i].node].dtype};
}

// Run it; the error in spreads, or -1 and the fault.
static double run(struct text_subject *s, const struct fibre_program *p, struct fibre_run r,
                  const char **fault) {
    float *all, *outputs[OUTPUTS_MAX];
    if (!fibre_run(&s->arena, p, r, &all, fault))
        return -1;
    const char *bytes = (const char *)all;
    for (int i = 0; i < s->problem->n_outputs; i++) {
        enum dtype t = s->problem->graph.nodes[s->problem->outputs[i].node].dtype;
        int64_t count = s->expected.result.count[i];
        outputs[i] = arena_array(&s->arena, float, count);
        for (int64_t j = 0; j < count; j++)
            outputs[i][j] = (float)dtype_get(t, bytes, j);
        bytes += dtype_size(t, count);
    }
    *fault = "";
    return error_of(s, outputs);
}

bool text_is_right(struct text_subject *s, const struct fibre_program *p, struct fibre_run r,
                   const char **fault) {
    double error = run(s, p, r, fault);
    if (error >= 0 && error > s->limit)
        *fault = arena_printf(&s->arena, "error %g, at most %g", error, s->limit);
    return error >= 0 && error <= s->limit;
}

void text_close(struct text_subject *s) {
    expect_close(&s->expected);
    arena_reset(&s->arena);
}
