// Is what a kernel made of data that exist for one call only right, on a GPU? The rows to look at
// are gathered, of the inputs and of the results, what is expected of them is computed by the same
// kernels as everything else, and both are compared; about twenty launches over a few rows.
//
// Inputs are the judge's own: those in the slot can be written to by device code.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "eval/device_gpu.h"
#include "eval/gpu_derived.h"
#include "eval/oracle_plan.h"
#include "ir/interpret.h"

enum { ALIGNMENT = 256 };

// Where rows depend on one another all of them are computed, of problems with so few elements.
static const int64_t few_elements = (int64_t)1 << 22;

struct looking {
    struct judge *j;
    struct arena *a;
    struct subject *s;
    int slot;
    int64_t rows[NOVEL_ROWS];
    int n_rows;     // 0: all of them
    bool *carries;  // per node
    cuda_pointer row_numbers;
    cuda_pointer inputs[INPUTS_MAX];    // of these rows, or all
    cuda_pointer gathered[INPUTS_MAX];  // room for rows of those that carry them
    cuda_pointer results[OUTPUTS_MAX];
    struct judge_expected expected[OUTPUTS_MAX];
    struct error_stats stats[OUTPUTS_MAX];
};

static int64_t count_of(const struct looking *l, node_id id) {
    const struct shape *s = &l->j->problem->graph.nodes[id].shape;
    int64_t count = shape_count(s);
    return l->n_rows && l->carries[id] ? count / s->size[0] * l->n_rows : count;
}

static bool is_few(const struct problem *p) {
    int64_t count = 0;
    for (int i = 0; i < p->n_inputs; i++)
        count += shape_count(&p->graph.nodes[p->inputs[i].node].shape);
    for (int i = 0; i < p->n_outputs; i++)
        count += shape_count(&p->graph.nodes[p->outputs[i].node].shape);
    return count <= few_elements;
}

// ---- memory: one piece, kept from look to look

static cuda_pointer cut(cuda_pointer *at, int64_t bytes) {
    cuda_pointer here = *at;
    *at += (cuda_pointer)(bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return here;
}

// Lay everything out from `at` on; where it ends.
static cuda_pointer lay_out(struct looking *l, cuda_pointer at) {
    const struct problem *p = l->j->problem;
    l->row_numbers = cut(&at, sizeof l->rows);
    for (int i = 0; i < p->n_inputs; i++)
        if (l->n_rows && l->carries[p->inputs[i].node])
            l->gathered[i] = cut(&at, 4 * count_of(l, p->inputs[i].node));
    for (int i = 0; i < p->n_outputs; i++) {
        int64_t bytes = 4 * count_of(l, p->outputs[i].node);
        l->expected[i].high = cut(&at, bytes);
        l->expected[i].low = cut(&at, bytes);
        l->expected[i].spread = cut(&at, bytes);
        l->results[i] = cut(&at, bytes);
    }
    return at;
}

static bool take_memory(struct looking *l) {
    struct judge_gpu *g = l->j->gpu;
    int64_t bytes = (int64_t)lay_out(l, 0);
    if (bytes > g->novel_bytes) {
        gpu_forget_novel(l->j);
        if (!gpu_check(l->j, g->bench.cu.allocate(&g->novel, (size_t)bytes), "take memory"))
            return false;
        g->novel_bytes = bytes;
    }
    lay_out(l, g->novel);
    return true;
}

// ---- looking

// Change the judge's own declared data, or take that back.
static bool change_own(struct judge *j, const struct novelty *n, bool is_back) {
    for (int i = 0; i < j->problem->n_inputs; i++)
        for (int k = 0; k < n->n[i]; k++)
            if (!gpu_put_element(j, i, j->gpu->sets[SET_DECLARED].inputs[i], &n->patches[i][k],
                                 is_back))
                return false;
    return true;
}

static bool gather(struct looking *l, struct error *err) {
    struct judge *j = l->j;
    const struct problem *p = j->problem;
    struct gpu_oracle *o = &j->gpu->oracle;
    struct gpu_rows r = {l->row_numbers, l->n_rows, 0};
    if (!gpu_check(j, j->gpu->bench.cu.copy_to(l->row_numbers, l->rows, sizeof l->rows),
                   "name rows"))
        return false;
    for (int i = 0; i < p->n_inputs; i++) {
        l->inputs[i] = j->gpu->sets[SET_DECLARED].inputs[i];
        if (!l->gathered[i])
            continue;
        r.length = count_of(l, p->inputs[i].node) / l->n_rows;
        if (!gpu_take_rows(o, &r, l->inputs[i], l->gathered[i], err))
            return false;
        l->inputs[i] = l->gathered[i];
    }
    for (int i = 0; i < p->n_outputs; i++) {
        cuda_pointer from = gpu_output_at(j, l->s, l->slot, i);
        r.length = l->n_rows ? count_of(l, p->outputs[i].node) / l->n_rows : 0;
        if (!l->n_rows)
            l->results[i] = from;
        else if (!gpu_take_rows(o, &r, from, l->results[i], err))
            return false;
    }
    return true;
}

static const float *fetch(struct looking *l, cuda_pointer from, int64_t count) {
    float *to = arena_array(l->a, float, (int)count);
    gpu_check(l->j, l->j->gpu->bench.cu.copy_from(to, from, 4 * (size_t)count), "copy results");
    return to;
}

static void list_wrong(struct looking *l, int output, struct novel_look *look) {
    struct judge_expected *e = &l->expected[output];
    int64_t count = count_of(l, l->j->problem->outputs[output].node);
    struct oracle_output expected = {.count = count,
                                     .high = (float *)fetch(l, e->high, count),
                                     .low = (float *)fetch(l, e->low, count),
                                     .spread = (float *)fetch(l, e->spread, count),
                                     .stats = l->stats[output]};
    struct oracle_listing listing = {.expected = &expected,
                                     .values = fetch(l, l->results[output], count),
                                     .output = output,
                                     .above = l->stats[output].limit_max,
                                     .rows = l->n_rows ? l->rows : NULL};
    struct str words = {0};
    oracle_list(&words, &l->j->oracle, &listing);
    look->elements = str_take(l->a, &words);
}

static bool compare(struct looking *l, int output, struct novel_look *look, struct error *err) {
    struct judge_part sum = {0};
    struct error_stats *s = &l->stats[output];
    oracle_widen(s, &l->j->oracle, output);
    l->expected[output].limit = s->limit_max;
    struct gpu_results r = {.at = l->results[output],
                            .n = count_of(l, l->j->problem->outputs[output].node),
                            .poison = 0x7f800001};  // not a number, so wrong in any case
    if (!gpu_bench_compare(&l->j->gpu->bench, &r, &l->expected[output], &sum, err))
        return false;
    if (sum.max <= s->limit_max)
        return true;
    look->output = output;
    look->comparison = (struct comparison){.n_wrong = (int64_t)sum.n_wrong, .stats = *s};
    list_wrong(l, output, look);
    return true;
}

static bool look_at(struct looking *l, struct novel_look *look, struct error *err) {
    struct gpu_oracle_request request = {.problem = l->j->problem,
                                         .inputs = l->inputs,
                                         .expected = l->expected,
                                         .stats = l->stats,
                                         .n_rows = l->n_rows};
    if (!gather(l, err) || !gpu_oracle_compute(&l->j->gpu->oracle, &request, err))
        return false;
    for (int i = 0; i < l->j->problem->n_outputs && look->output < 0; i++)
        if (!compare(l, i, look, err))
            return false;
    return true;
}

// Problems whose truth the host computes: it looks at fewer rows, since a row may take it long.
static void look_by_host(struct looking *l, const struct novelty *n, struct novel_look *look) {
    enum { ROWS_OF_HOST = 2 };
    struct judge *j = l->j;
    struct novel_data d = {.rows = l->rows,
                           .most = NOVEL_SMALL,
                           .n_rows = l->n_rows < ROWS_OF_HOST ? l->n_rows : ROWS_OF_HOST};
    void *inputs[INPUTS_MAX], *outputs[OUTPUTS_MAX];
    for (int i = 0; i < j->problem->n_inputs; i++) {
        d.inputs[i] = inputs[i] = malloc((size_t)j->context.buffers[i].size_bytes);
        if (!inputs[i])
            abort();
        oracle_fill(&j->oracle, SET_DECLARED, i, inputs[i]);
        for (int k = 0; k < n->n[i]; k++)
            dtype_put(j->context.buffers[i].type, inputs[i], n->patches[i][k].index,
                      n->patches[i][k].after);
    }
    for (int i = 0; i < j->problem->n_outputs; i++) {
        size_t bytes = (size_t)j->context.buffers[j->problem->n_inputs + i].size_bytes;
        d.outputs[i] = outputs[i] = malloc(bytes);
        if (!outputs[i])
            abort();
        gpu_check(j,
                  j->gpu->bench.cu.copy_from(outputs[i], gpu_output_at(j, l->s, l->slot, i), bytes),
                  "copy results");
    }
    novelty_compare(l->a, &j->oracle, &d, look);
    for (int i = 0; i < j->problem->n_inputs; i++)
        free(inputs[i]);
    for (int i = 0; i < j->problem->n_outputs; i++)
        free(outputs[i]);
}

void gpu_compare_novel(struct judge *j, struct arena *a, struct subject *s,
                       const struct novel_call *call, struct novel_look *look) {
    const struct problem *p = j->problem;
    struct error err = {0};
    struct looking l = {.j = j, .a = a, .s = s, .slot = call->slot};
    *look = (struct novel_look){.output = -1, .elements = ""};
    l.n_rows = novelty_rows(p, call->changes, &j->rng, l.rows);
    l.carries = arena_array(a, bool, p->graph.n_nodes);
    interpret_carriers(p, l.carries);
    if (!j->gpu->has_oracle) {
        look_by_host(&l, call->changes, look);
        return;
    }
    if ((!l.n_rows && !is_few(p)) || !gpu_declared_is_ready(j) || !take_memory(&l))
        return;
    if (change_own(j, call->changes, false) && !look_at(&l, look, &err))
        gpu_fail(j, &err);
    change_own(j, call->changes, true);
}
