// Are the results of a call right whose inputs existed for that call alone, on a GPU? Where the
// kernels know the problem and rows are independent, some rows by chance are gathered, of the
// inputs and of the results, what is expected of them is computed by the same kernels as everything
// else, and both are compared; about twenty launches over a few rows. Where a single element takes
// longer than a call (a loss, a norm of everything), all of it is computed so, in as few calls as
// the host would look at. Else the host computes a few elements (spot_check.h), whose inputs are
// gathered word by word.
//
// Inputs are those in the slot, once their digest has shown that nobody changed them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/str.h"
#include "eval/device_gpu.h"
#include "ir/interpret.h"
#include "ir/work.h"
#include "oracle/gpu_derived.h"
#include "oracle/oracle_plan.h"

enum { ALIGNMENT = 256, ROWS = 4 };

// Where rows depend on one another all of them are computed, of problems with so few elements; or
// where there is much more to compute than to look at, up to this much.
static const int64_t few_elements = (int64_t)1 << 22, many_elements = (int64_t)1 << 27;
static const double few_flops = 1e11, flops_each = 256;

struct gpu_spot {
    struct judge *j;
    struct arena *a;
    struct subject *s;
    int slot;
    int64_t rows[ROWS];
    int n_rows;     // 0: all of them
    bool is_dear;   // takes longer than the call
    bool *carries;  // per node
    cuda_pointer row_numbers;
    cuda_pointer inputs[INPUTS_MAX];    // of these rows, or all
    cuda_pointer gathered[INPUTS_MAX];  // room for rows of those that carry them
    cuda_pointer results[OUTPUTS_MAX];
    struct judge_expected expected[OUTPUTS_MAX];
    struct error_stats stats[OUTPUTS_MAX];
};

static int64_t count_of(const struct gpu_spot *l, node_id id) {
    const struct shape *s = &l->j->problem->graph.nodes[id].shape;
    int64_t count = shape_count(s);
    return l->n_rows && l->carries[id] ? count / s->size[0] * l->n_rows : count;
}

static enum dtype type_of(const struct gpu_spot *l, node_id id) {
    return l->j->problem->graph.nodes[id].dtype;
}

static int64_t bytes_of(const struct gpu_spot *l, node_id id) {
    return dtype_size(type_of(l, id), count_of(l, id));
}

static bool is_few(const struct problem *p) {
    int64_t count = 0;
    for (int i = 0; i < p->n_inputs; i++)
        count += shape_count(&p->graph.nodes[p->inputs[i].node].shape);
    for (int i = 0; i < p->n_outputs; i++)
        count += shape_count(&p->graph.nodes[p->outputs[i].node].shape);
    double flops = 0;
    for (node_id i = 0; i < p->graph.n_nodes; i++)
        flops += work_flops(&p->graph, &p->graph.nodes[i]);
    return count <= few_elements ||
           (count <= many_elements && flops <= few_flops && flops >= flops_each * (double)count);
}

// ---- memory: one piece, kept from look to look

static cuda_pointer cut(cuda_pointer *at, int64_t bytes) {
    cuda_pointer here = *at;
    *at += (cuda_pointer)(bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return here;
}

// Lay everything out from `at` on; where it ends.
static cuda_pointer lay_out(struct gpu_spot *l, cuda_pointer at) {
    const struct problem *p = l->j->problem;
    l->row_numbers = cut(&at, sizeof l->rows);
    for (int i = 0; i < p->n_inputs; i++)
        if (l->n_rows && l->carries[p->inputs[i].node])
            l->gathered[i] = cut(&at, bytes_of(l, p->inputs[i].node));
    for (int i = 0; i < p->n_outputs; i++) {
        node_id id = p->outputs[i].node;
        bool is_f32 = type_of(l, id) == DTYPE_F32;
        int64_t bytes = count_of(l, id) * (int64_t)(is_f32 ? sizeof(float) : sizeof(double));
        l->expected[i].high = cut(&at, bytes);
        l->expected[i].low = cut(&at, is_f32 ? bytes : 0);
        l->expected[i].spread = cut(&at, bytes);
        l->results[i] = cut(&at, l->n_rows ? bytes_of(l, id) : 0);
    }
    return at;
}

static bool take_memory(struct gpu_spot *l) {
    struct judge_gpu *g = l->j->gpu;
    int64_t bytes = (int64_t)lay_out(l, 0);
    if (!gpu_take_spots(l->j, bytes))
        return false;
    lay_out(l, g->spots);
    return true;
}

// ---- looking

static bool gather(struct gpu_spot *l, struct error *err) {
    struct judge *j = l->j;
    const struct problem *p = j->problem;
    struct gpu_oracle *o = &j->gpu->oracle;
    struct gpu_rows r = {l->row_numbers, l->n_rows, 0};
    if (!gpu_check(j, j->gpu->bench.cu.copy_to(l->row_numbers, l->rows, sizeof l->rows),
                   "name rows"))
        return false;
    for (int i = 0; i < p->n_inputs; i++) {
        l->inputs[i] = gpu_input_at(j, l->slot, i);
        if (!l->gathered[i])
            continue;
        r.bytes = bytes_of(l, p->inputs[i].node) / l->n_rows;
        if (!gpu_take_rows(o, &r, l->inputs[i], l->gathered[i], err))
            return false;
        l->inputs[i] = l->gathered[i];
    }
    for (int i = 0; i < p->n_outputs; i++) {
        cuda_pointer from = gpu_output_at(j, l->s, l->slot, i);
        r.bytes = l->n_rows ? bytes_of(l, p->outputs[i].node) / l->n_rows : 0;
        if (!l->n_rows)
            l->results[i] = from;
        else if (!gpu_take_rows(o, &r, from, l->results[i], err))
            return false;
    }
    return true;
}

static void list_wrong(struct gpu_spot *l, int output, struct spot_result *look) {
    struct judge *j = l->j;
    node_id id = j->problem->outputs[output].node;
    struct oracle_output expected = {
        .type = type_of(l, id), .count = count_of(l, id), .stats = l->stats[output]};
    gpu_fetch_expected(j, &l->expected[output], &expected);
    void *values = arena_array(l->a, char, bytes_of(l, id));
    gpu_check(j, j->gpu->bench.cu.copy_from(values, l->results[output], (size_t)bytes_of(l, id)),
              "copy results");
    struct oracle_listing listing = {.expected = &expected,
                                     .values = values,
                                     .output = output,
                                     .above = l->stats[output].limit_max,
                                     .rows = l->n_rows ? l->rows : NULL};
    struct str words = {0};
    oracle_list(&words, &j->oracle, &listing);
    look->elements = str_take(l->a, &words);
    oracle_output_reset(&expected);
}

static bool compare(struct gpu_spot *l, int output, struct spot_result *look, struct error *err) {
    struct judge_part sum = {0};
    struct error_stats *s = &l->stats[output];
    double limit_rms = s->limit_rms;
    spot_limits(s, &l->j->oracle, output, l->is_dear);
    l->expected[output].limit = s->limit_max;
    struct gpu_results r = {.at = l->results[output],
                            .n = count_of(l, l->j->problem->outputs[output].node),
                            .poison = 0x7f800001,  // not a number, so wrong in any case
                            .type = type_of(l, l->j->problem->outputs[output].node)};
    if (!gpu_bench_compare(&l->j->gpu->bench, &r, &l->expected[output], &sum, err))
        return false;
    struct spot_mean m = {output, sqrt(sum.sum / (double)r.n), limit_rms, l->s->own_rms[output]};
    look->is_rough |= spot_is_rough(&l->j->oracle, &m);
    if (sum.max <= s->limit_max)
        return true;
    look->output = output;
    look->comparison = (struct comparison){.n_wrong = (int64_t)sum.n_wrong, .stats = *s};
    list_wrong(l, output, look);
    return true;
}

static bool look_at(struct gpu_spot *l, struct spot_result *look, struct error *err) {
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

// ---- by the host

struct called {
    struct judge *j;
    struct subject *s;
    int slot;
};

// The words of four bytes that hold the elements of a box, one after the other, and on the host the
// elements out of them. Elements of 8 bytes take two words each.
static bool gather_words(struct judge *j, cuda_pointer from, const struct node *n,
                         const struct box *b, void *out) {
    int64_t count = box_count(b, n->shape.rank);
    int bits = dtype_infos[n->dtype].bits, per_element = bits == 64 ? 2 : 1;
    int64_t n_words = count * per_element;
    struct arena a = {0};
    struct error err = {0};
    int64_t *numbers = arena_array(&a, int64_t, n_words);
    uint32_t *words = arena_array(&a, uint32_t, n_words);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = box_place(b, &n->shape, i);
        for (int k = 0; k < per_element; k++)
            numbers[i * per_element + k] = at * bits / 32 + k;
    }
    cuda_pointer at = gpu_take_spots(j, 12 * n_words + ALIGNMENT);
    cuda_pointer gathered = at + (cuda_pointer)(8 * n_words);
    struct gpu_rows r = {at, n_words, 4};
    const struct cuda *cu = &j->gpu->bench.cu;
    bool ok = at && gpu_check(j, cu->copy_to(at, numbers, 8 * (size_t)n_words), "name elements");
    if (ok && !gpu_take_rows(&j->gpu->oracle, &r, from, gathered, &err)) {
        gpu_fail(j, &err);
        ok = false;
    }
    ok = ok && gpu_check(j, cu->copy_from(words, gathered, 4 * (size_t)n_words), "copy elements");
    for (int64_t i = 0; ok && i < count; i++) {
        int64_t first = box_place(b, &n->shape, i) * bits % 32 / bits;
        const uint32_t *word = words + i * per_element;
        dtype_put(n->dtype, out, i, dtype_get(n->dtype, word, bits == 64 ? 0 : first));
    }
    arena_reset(&a);
    return ok;
}

// All of a buffer, and the box out of that: where our kernels could not be loaded.
static bool copy_all(struct judge *j, cuda_pointer from, const struct node *n, const struct box *b,
                     void *out) {
    size_t bytes = (size_t)dtype_size(n->dtype, shape_count(&n->shape));
    void *all = malloc(bytes + 8);
    if (!all)
        abort();
    bool ok = gpu_check(j, j->gpu->bench.cu.copy_from(all, from, bytes), "copy data");
    if (ok)
        box_gather(b, &n->shape, n->dtype, all, out);
    free(all);
    return ok;
}

static void fetch_part(void *ctx, bool is_output, int number, const struct box *b, void *out) {
    const struct called *c = ctx;
    struct judge *j = c->j;
    const struct problem *p = j->problem;
    const struct node *n =
        &p->graph.nodes[is_output ? p->outputs[number].node : p->inputs[number].node];
    cuda_pointer from =
        is_output ? gpu_output_at(j, c->s, c->slot, number) : gpu_input_at(j, c->slot, number);
    int64_t last = shape_count(&n->shape) * dtype_infos[n->dtype].bits;
    // A last word that is not whole cannot be read as one.
    bool is_whole = last % 32 == 0;
    if (!j->gpu->has_kernels || !is_whole || box_count(b, n->shape.rank) == shape_count(&n->shape))
        copy_all(j, from, n, b, out);
    else
        gather_words(j, from, n, b, out);
}

// Is there room on the card for all that is expected, and for computing it? Of the declared set
// only the limits are needed.
static bool has_room(struct gpu_spot *l) {
    const struct problem *p = l->j->problem;
    int64_t data = 0;
    if (!l->j->oracle.sets[SET_DECLARED].is_known && !gpu_declared_is_ready(l->j))
        return false;
    for (int i = 0; i < p->n_inputs; i++)
        data += 4 * shape_count(&p->graph.nodes[p->inputs[i].node].shape);
    for (int i = 0; i < p->n_outputs; i++)
        data += 4 * shape_count(&p->graph.nodes[p->outputs[i].node].shape);
    return gpu_make_room(l->j, (int64_t)lay_out(l, 0) + 2 * data);
}

static int choose_rows(struct gpu_spot *l) {
    const struct shape *s = &l->j->problem->graph.nodes[l->j->problem->outputs[0].node].shape;
    int n = 0;
    if (!oracle_plan_has_rows(l->j->problem) || !interpret_carriers(l->j->problem, l->carries))
        return 0;
    for (int i = 0; i < ROWS; i++) {
        int64_t row = (int64_t)rng_below(&l->j->hidden, (uint64_t)s->size[0]);
        bool is_new = true;
        for (int k = 0; k < n; k++)
            is_new = is_new && l->rows[k] != row;
        if (is_new)
            l->rows[n++] = row;
    }
    return n;
}

void gpu_spot_check(struct judge *j, struct arena *a, struct subject *s, int slot,
                    const struct spot_call *call, struct spot_result *r) {
    struct error err = {0};
    struct gpu_spot l = {.j = j, .a = a, .s = s, .slot = slot};
    *r = (struct spot_result){.output = -1, .elements = ""};
    l.carries = arena_array(a, bool, j->problem->graph.n_nodes);
    l.n_rows = choose_rows(&l);
    bool by_card = j->gpu->has_oracle && (l.n_rows || is_few(j->problem));
    if (j->gpu->has_oracle && !by_card) {
        enum spot_cost cost = spot_cost(&j->oracle, call, &j->hidden);
        if (cost == SPOT_SKIPPED)
            return;
        by_card = l.is_dear = cost == SPOT_DEAR && has_room(&l);
    }
    if (by_card && (l.is_dear || gpu_declared_is_ready(j)) && take_memory(&l)) {
        bool ok = look_at(&l, r, &err);
        if (!ok && err.kind != ERROR_UNSUPPORTED)
            gpu_fail(j, &err);
        for (int i = 0; i < j->problem->n_outputs; i++)
            r->n_checked += count_of(&l, j->problem->outputs[i].node);
        if (l.is_dear) {
            gpu_oracle_release(&j->gpu->oracle);
            gpu_forget_spots(j);
        }
        if (ok || j->broken.kind != ERROR_NONE)
            return;
        *r = (struct spot_result){.output = -1, .elements = ""};
    }
    struct called c = {j, s, slot};
    spot_check(a, &j->oracle, &(struct spot_source){fetch_part, &c}, call, &j->hidden, r);
}
