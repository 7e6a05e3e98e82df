#include "model/bound.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "ir/detail.h"
#include "ir/work.h"
#include "model/again.h"
#include "model/demand.h"

// Algorithms of the Strassen kind need fewer multiplications than a plain contraction. At
// sizes that fit a memory, half is more than any of them saves.
static const double CONTRACT_SLACK = 0.5;

struct count {
    struct arena *a;
    const struct problem *p;
    const struct target *t;
    struct bound *b;
    struct demand least, usual;
};

static double larger(double a, double b) {
    return a > b ? a : b;
}

static double node_bytes(const struct node *n) {
    return (double)dtype_size(n->dtype, shape_count(&n->shape));
}

// A pipe that a device has no rate for is taken to be as fast as f32: in a limit that is safe, and
// in a reach it happens only to what was measured by an older version.
static double rate_of(const double rates[PIPE_COUNT], enum pipe pipe) {
    return rates[pipe] > 0 ? rates[pipe] : rates[PIPE_F32];
}

// ---- work

// Products that end in a sum take no instruction of their own.
static bool is_fused(const struct graph *g, const int *n_users, const struct node *sum, int arg) {
    bool adds = sum->op == OP_ADD || sum->op == OP_SUB || sum->op == OP_RSUM;
    return adds && g->nodes[sum->arg[arg]].op == OP_MUL && n_users[sum->arg[arg]] == 1;
}

static double vector_ops(struct count *c) {
    const struct graph *g = &c->p->graph;
    int *n_users = arena_array(c->a, int, g->n_nodes);
    double ops = 0;
    for (int i = 0; i < g->n_nodes; i++)
        for (int j = 0; j < g->nodes[i].n_args; j++)
            n_users[g->nodes[i].arg[j]]++;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        if (work_is_contraction(n) || op_infos[n->op].pipe != OP_PIPE_VECTOR)
            continue;
        double free = 0;
        for (int j = 0; j < n->n_args && free == 0; j++)
            if (is_fused(g, n_users, n, j))
                free = c->usual.flops[n->arg[j]];
        ops += c->usual.flops[i] - free;
    }
    return larger(ops, 0);
}

static void count_work(struct count *c) {
    const struct problem *p = c->p;
    struct work *w = &c->b->work;
    demand_compute(c->a, p, DEMAND_LEAST, &c->least);
    demand_compute(c->a, p, DEMAND_USUAL, &c->usual);
    for (int i = 0; i < p->graph.n_nodes; i++) {
        const struct node *n = &p->graph.nodes[i];
        w->flops += c->usual.flops[i];
        if (work_is_contraction(n))
            w->contract_flops += c->usual.flops[i];
        else if (op_infos[n->op].pipe == OP_PIPE_TRANSCENDENTAL)
            w->function_ops += c->usual.flops[i];
    }
    w->vector_ops = vector_ops(c);
    bool *is_again = arena_array(c->a, bool, p->n_inputs + 1);
    again_find(c->a, p, target_on_chip_bytes(c->t), is_again);
    for (int i = 0; i < p->n_inputs; i++) {
        w->bytes_read += c->usual.input_bytes[i];
        w->bytes_least += c->least.input_bytes[i];
        if (is_again[i])
            w->bytes_again += c->usual.input_bytes[i];
    }
    w->bytes_read += c->usual.prepared_bytes;
    w->bytes_least += c->least.prepared_bytes;
    for (int i = 0; i < p->n_outputs; i++)
        w->bytes_written += node_bytes(&p->graph.nodes[p->outputs[i].node]);
    w->hangs_on_data = c->usual.hangs_on_data;
    w->is_collapsed = c->usual.is_collapsed;
    w->is_prepared = c->usual.prepared_bytes > 0;
}

void work_count(const struct problem *p, const struct target *t, struct work *w) {
    struct arena a = {0};
    struct bound b = {0};
    struct count c = {.a = &a, .p = p, .t = t, .b = &b};
    count_work(&c);
    *w = b.work;
    arena_reset(&a);
}

// ---- limit

// Convolutions by transforms (Winograd, FFT) need as little as one product where the plain sum has
// one per element of the window.
static double transform_saving(const struct node *n) {
    double taps = 1;
    if (n->op == OP_CONV || n->op == OP_CONV_T)
        for (int i = 0; i < n->detail->window.n_axes; i++)
            taps *= (double)n->detail->window.size[i];
    return taps;
}

// Outputs that fit the last-level cache may still be there when the clock stops. Only
// contractions count as compute: elementwise work may be rearranged by honest algebra.
static void compute_limit(struct count *c) {
    struct bound *b = c->b;
    const struct target *t = c->t;
    double bytes = b->work.bytes_least + larger(0, b->work.bytes_written - (double)t->llc_bytes);
    double pipe_s[PIPE_COUNT] = {0}, largest = 0;
    b->limit_memory_s = bytes / t->peak_bytes_per_s;
    for (int i = 0; i < c->p->graph.n_nodes; i++) {
        const struct node *n = &c->p->graph.nodes[i];
        double flops = c->least.flops[i];
        if (!work_is_contraction(n) || flops <= 0)
            continue;
        struct realisation way = realise(c->p, n, t->peak_per_s);
        pipe_s[way.pipe] += CONTRACT_SLACK * flops / transform_saving(n) * way.products /
                            rate_of(t->peak_per_s, way.pipe);
        if (flops > largest) {
            largest = flops;
            b->limit_way = way;
        }
    }
    for (int i = 0; i < PIPE_COUNT; i++)
        b->limit_compute_s = larger(b->limit_compute_s, pipe_s[i]);
    b->limit_s = larger(b->limit_memory_s, b->limit_compute_s);
}

// ---- reach

static bool is_f64(const struct problem *p) {
    for (int i = 0; i < p->n_outputs; i++)
        if (p->graph.nodes[p->outputs[i].node].dtype == DTYPE_F64)
            return true;
    return false;
}

// Work outside contractions: an instruction where a multiply-add counts two.
static void charge_rest(struct count *c, const double rates[PIPE_COUNT]) {
    const struct work *w = &c->b->work;
    enum pipe pipe = is_f64(c->p) ? PIPE_F64 : PIPE_F32;
    c->b->reach_pipe_s[pipe] += 2 * w->vector_ops / rate_of(rates, pipe);
    if (rates[PIPE_FUNCTION] > 0)
        c->b->reach_pipe_s[PIPE_FUNCTION] += w->function_ops / rates[PIPE_FUNCTION];
    else
        c->b->reach_pipe_s[pipe] += 2 * w->function_ops / rate_of(rates, pipe);
}

static void charge_contractions(struct count *c, const double rates[PIPE_COUNT]) {
    double largest = 0;
    for (int i = 0; i < c->p->graph.n_nodes; i++) {
        double flops = c->usual.flops[i];
        if (!work_is_contraction(&c->p->graph.nodes[i]) || flops <= 0)
            continue;
        struct realisation way = realise(c->p, &c->p->graph.nodes[i], rates);
        c->b->reach_pipe_s[way.pipe] += flops * way.products / rate_of(rates, way.pipe);
        if (flops > largest) {
            largest = flops;
            c->b->reach_way = way;
        }
    }
}

static void compute_reach(struct count *c) {
    struct bound *b = c->b;
    const struct work *w = &b->work;
    const struct ceilings *ceilings = &c->t->ceilings;
    double rates[PIPE_COUNT], read = w->bytes_read + w->bytes_again,
                              bytes = read + w->bytes_written;
    double mix = bytes > 0 ? read / bytes : 1;
    ceilings_rates(ceilings, rates);
    charge_contractions(c, rates);
    charge_rest(c, rates);
    b->reach_fixed_s = ceilings->launch_s;
    b->reach_memory_s = ceilings_seconds(ceilings, mix, bytes) - b->reach_fixed_s;
    b->reach_compute_s = 0;
    // The pipes of a GPU work side by side; on a CPU they are the same vector units.
    for (int i = 0; i < PIPE_COUNT; i++)
        b->reach_compute_s = c->t->is_gpu ? larger(b->reach_compute_s, b->reach_pipe_s[i])
                                          : b->reach_compute_s + b->reach_pipe_s[i];
    b->reach_s = b->reach_fixed_s + larger(b->reach_memory_s, b->reach_compute_s);
}

void bound_compute(const struct problem *p, const struct target *t, struct bound *b) {
    struct arena a = {0};
    struct count c = {.a = &a, .p = p, .t = t, .b = b};
    *b = (struct bound){
        .reach_s = NAN, .reach_fixed_s = NAN, .reach_memory_s = NAN, .reach_compute_s = NAN};
    count_work(&c);
    compute_limit(&c);
    b->side = b->limit_compute_s > b->limit_memory_s ? BOUND_COMPUTE : BOUND_MEMORY;
    if (t->ceilings.present) {
        compute_reach(&c);
        b->side = b->reach_compute_s > b->reach_memory_s ? BOUND_COMPUTE : BOUND_MEMORY;
        if (b->reach_fixed_s > larger(b->reach_compute_s, b->reach_memory_s))
            b->side = BOUND_LAUNCH;
    }
    arena_reset(&a);
}

enum pipe bound_pipe(const struct bound *b) {
    enum pipe longest = 0;
    for (enum pipe i = 0; i < PIPE_COUNT; i++)
        if (b->reach_pipe_s[i] > b->reach_pipe_s[longest])
            longest = i;
    return longest;
}

const char *bound_side_name(enum bound_side s) {
    static const char *const names[] = {"memory", "compute", "launch"};
    return names[s];
}

// ---- JSON

static json_t *way_to_json(const struct bound *b, const struct realisation *way) {
    if (b->work.contract_flops <= 0)
        return json_null();
    return json_pack("{s:s, s:i}", "pipe", pipe_name(way->pipe), "products",
                     way->products > 0 ? way->products : 1);
}

static json_t *reach_to_json(const struct bound *b) {
    if (isnan(b->reach_s))
        return json_null();
    json_t *pipes = json_object();
    for (enum pipe i = 0; i < PIPE_COUNT; i++)
        if (b->reach_pipe_s[i] > 0)
            json_object_set_new(pipes, pipe_name(i), json_real(b->reach_pipe_s[i]));
    return json_pack("{s:f, s:f, s:f, s:f, s:o, s:o}", "seconds", b->reach_s, "fixed_s",
                     b->reach_fixed_s, "memory_s", b->reach_memory_s, "compute_s",
                     b->reach_compute_s, "pipes_s", pipes, "contraction",
                     way_to_json(b, &b->reach_way));
}

json_t *bound_to_json(const struct bound *b) {
    const struct work *w = &b->work;
    json_t *work = json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:b, s:b}", "bytes_read", w->bytes_read,
        "bytes_written", w->bytes_written, "bytes_again", w->bytes_again, "bytes_least",
        w->bytes_least, "flops", w->flops, "contract_flops", w->contract_flops, "vector_ops",
        w->vector_ops, "function_ops", w->function_ops, "hangs_on_data", w->hangs_on_data,
        "is_prepared", w->is_prepared, "is_collapsed", w->is_collapsed);
    json_t *limit =
        json_pack("{s:f, s:f, s:f, s:o}", "seconds", b->limit_s, "memory_s", b->limit_memory_s,
                  "compute_s", b->limit_compute_s, "contraction", way_to_json(b, &b->limit_way));
    return json_pack("{s:s, s:o, s:o, s:o, s:s}", "schema", "hone.bound/1", "work", work, "limit",
                     limit, "reach", reach_to_json(b), "side", bound_side_name(b->side));
}

static enum bound_side read_side(struct json_reader *r, const json_t *json) {
    const char *name = json_string_value(json_object_get(json, "side"));
    for (enum bound_side s = BOUND_MEMORY; s <= BOUND_LAUNCH; s++)
        if (name && strcmp(name, bound_side_name(s)) == 0)
            return s;
    json_reader_fail(r, "side is none of memory, compute, launch");
    return BOUND_MEMORY;
}

static void read_way(const json_t *json, struct realisation *way) {
    const char *name = json_string_value(json_object_get(json, "pipe"));
    for (enum pipe i = 0; name && i < PIPE_COUNT; i++)
        if (strcmp(name, pipe_name(i)) == 0)
            way->pipe = i;
    way->products = (int)json_integer_value(json_object_get(json, "products"));
}

// What the first version did not have is optional: runs of the past are read too.
static void read_work(struct json_reader *r, const json_t *json, struct work *w) {
    w->bytes_read = json_read_number(r, json, "bytes_read");
    w->bytes_written = json_read_number(r, json, "bytes_written");
    w->bytes_again = json_number_value(json_object_get(json, "bytes_again"));
    w->bytes_least = json_number_value(json_object_get(json, "bytes_least"));
    w->flops = json_read_number(r, json, "flops");
    w->contract_flops = json_read_number(r, json, "contract_flops");
    w->vector_ops = json_number_value(json_object_get(json, "vector_ops"));
    w->function_ops = json_number_value(json_object_get(json, "function_ops"));
    w->hangs_on_data = json_is_true(json_object_get(json, "hangs_on_data"));
    w->is_prepared = json_is_true(json_object_get(json, "is_prepared"));
    w->is_collapsed = json_is_true(json_object_get(json, "is_collapsed"));
}

bool bound_from_json(const json_t *json, struct bound *b, struct error *err) {
    struct json_reader r = {.where = "bound"};
    *b = (struct bound){
        .reach_s = NAN, .reach_fixed_s = NAN, .reach_memory_s = NAN, .reach_compute_s = NAN};
    json_read_schema(&r, json, "hone.bound/1");
    read_work(&r, json_read_object(&r, json, "work"), &b->work);
    const json_t *limit = json_read_object(&r, json, "limit");
    b->limit_s = json_read_number(&r, limit, "seconds");
    b->limit_memory_s = json_read_number(&r, limit, "memory_s");
    b->limit_compute_s = json_read_number(&r, limit, "compute_s");
    read_way(json_object_get(limit, "contraction"), &b->limit_way);
    const json_t *reach = json_object_get(json, "reach");
    if (json_is_object(reach)) {
        b->reach_s = json_read_number(&r, reach, "seconds");
        b->reach_fixed_s = json_read_number(&r, reach, "fixed_s");
        b->reach_memory_s = json_read_number(&r, reach, "memory_s");
        b->reach_compute_s = json_read_number(&r, reach, "compute_s");
        const json_t *pipes = json_object_get(reach, "pipes_s");
        for (enum pipe i = 0; i < PIPE_COUNT; i++)
            b->reach_pipe_s[i] = json_number_value(json_object_get(pipes, pipe_name(i)));
        read_way(json_object_get(reach, "contraction"), &b->reach_way);
    }
    b->side = read_side(&r, json);
    return json_reader_done(&r, err);
}
