// Any small problem that is accepted can be evaluated: every index stays inside its array
// (AddressSanitizer looks), several threads give the bits that one gives, an output holds only
// what its type can, and the bound of the problem is a number.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "ir/inputs.h"
#include "ir/interpret.h"
#include "ir/recurrence.h"
#include "ir/types.h"
#include "ir/work.h"
#include "lang/lang.h"
#include "model/bound.h"
#include "mutate_lang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ELEMENTS_MAX = 1 << 14, FLOPS_MAX = 1 << 20, STEPS_MAX = 100 };

static void require(bool condition) {
    if (!condition)
        abort();
}

// The problems that computed inputs come from count too.
static bool is_small(const struct problem *p) {
    double elements = 0, flops = 0;
    for (node_id n = 0; n < p->graph.n_nodes; n++) {
        elements += (double)shape_count(&p->graph.nodes[n].shape);
        const struct recurrence *r = recurrence_of(&p->graph.nodes[n]);
        if (r && (!is_small(r->body) || r->n_steps > STEPS_MAX))
            return false;
        flops += work_flops(&p->graph, &p->graph.nodes[n]);
    }
    for (int i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].maker && !is_small(p->inputs[i].maker))
            return false;
    return elements <= ELEMENTS_MAX && flops <= FLOPS_MAX;
}

static void check_range(const struct problem *p, const struct interpret_result *r) {
    for (int o = 0; o < r->n_outputs; o++) {
        enum dtype t = p->graph.nodes[p->outputs[o].node].dtype;
        for (int64_t i = 0; i < r->count[o]; i++) {
            double v = r->value[o][i], s = r->spread[o][i];
            require(isnan(s) || s >= 0);
            if (!dtype_is_float(t) && !isnan(v))
                require(v == trunc(v) && v >= dtype_min(t) && v <= dtype_max(t));
            require(!isnan(v) || dtype_is_float(t) || r->fault[0]);
        }
    }
}

static bool same(const void *x, const void *y, int64_t count, size_t size) {
    return !x == !y && (!x || memcmp(x, y, (size_t)count * size) == 0);
}

static void evaluate(struct arena *a, const struct problem *p, enum input_set set) {
    struct interpret_data data = {{NULL}};
    struct interpret_result one = {0}, several = {0};
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *n = &p->graph.nodes[p->inputs[i].node];
        void *room = arena_array(a, char, dtype_size(n->dtype, shape_count(&n->shape)));
        inputs_fill_set(p, i, set, 7, room);
        data.inputs[i] = room;
    }
    interpret(p, &data, &one);
    interpret_parallel(p, &data, 2, &several);
    check_range(p, &one);
    for (int o = 0; o < one.n_outputs; o++) {
        require(one.count[o] == several.count[o]);
        require(same(one.value[o], several.value[o], one.count[o], sizeof(double)));
        require(same(one.spread[o], several.spread[o], one.count[o], sizeof(double)));
        require(same(one.honest[o], several.honest[o], one.count[o], sizeof(float)));
        require(same(one.wide[o], several.wide[o], one.count[o], sizeof(double)));
    }
    interpret_reset(&one);
    interpret_reset(&several);
}

static void bound(struct arena *a, const struct problem *p) {
    struct target t;
    struct bound b;
    if (!target_of_arch("sm_90a", &t))
        return;
    bound_compute(p, &t, &b);
    require(b.limit_s >= 0 && b.work.bytes_read >= 0 && b.work.flops >= 0);
    require(bound_explain(a, p, &b, &t)[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a = {0};
    struct lang_file file;
    const char *diagnostics;
    struct error err = {0};
    char *text = malloc(size ? size : 1);
    if (size)
        memcpy(text, data, size);
    struct lang_source source = {.file = "f.hone", .text = text, .len = size};
    if (lang_parse(&a, &source, &file, &diagnostics, &err))
        for (int i = 0; i < file.n_problems && i < 4; i++) {
            if (!is_small(file.problems[i]))
                continue;
            bound(&a, file.problems[i]);
            evaluate(&a, file.problems[i], INPUT_SET_DECLARED);
            evaluate(&a, file.problems[i], (enum input_set)(size % INPUT_SET_COUNT));
        }
    free(text);
    arena_reset(&a);
    return 0;
}
