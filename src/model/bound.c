// Work (bytes, operations by unit) from demand.h and realise.h, then the three times from it: data
// sheet, measured ceilings, and what cannot be saved.
#include "model/bound.h"

#include <math.h>

#include "base/arena.h"
#include "ir/detail.h"
#include "ir/work.h"
#include "model/operations.h"
#include "model/reread.h"
#include "model/sheet.h"

// Algorithms of the Strassen kind need fewer multiplications than a plain contraction. At
// sizes that fit a memory, half is more than any of them saves.
static const double CONTRACT_SLACK = 0.5;

// Times that differ by less are the same to a reader of three digits.
static const double NEARLY = 0.995;

struct count {
    struct arena *a;
    const struct problem *p;
    const struct target *t;
    struct bound *b;
    struct demand least, usual;
    struct operations ops;
    // For the limit: the device's own, or its data sheet's where those are higher.
    double top_bytes_per_s, top_per_s[PIPE_COUNT];
    struct sheet sheet;
    bool has_sheet;
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
    const struct operation *list = c->ops.list;
    int *n_users = arena_array(c->a, int, c->ops.n + 1);
    double ops = 0;
    for (int i = 0; i < c->ops.n; i++)
        for (int j = 0; j < list[i].node->n_args; j++)
            n_users[list[i].first + list[i].node->arg[j]]++;
    for (int i = 0; i < c->ops.n; i++) {
        const struct node *n = list[i].node;
        if (work_is_contraction(n) || op_infos[n->op].pipe != OP_PIPE_VECTOR)
            continue;
        double free = 0;
        for (int j = 0; j < n->n_args && free == 0; j++)
            if (is_fused(&list[i].p->graph, n_users + list[i].first, n, j))
                free = list[list[i].first + n->arg[j]].flops;
        ops += list[i].flops - free;
    }
    return larger(ops, 0);
}

static void count_work(struct count *c) {
    const struct problem *p = c->p;
    struct work *w = &c->b->work;
    demand_compute(c->a, p, DEMAND_LEAST, &c->least);
    demand_compute(c->a, p, DEMAND_USUAL, &c->usual);
    operations_list(c->a, p, &c->least, &c->usual, &c->ops);
    for (int i = 0; i < c->ops.n; i++) {
        const struct operation *o = &c->ops.list[i];
        w->flops += o->flops;
        if (work_is_contraction(o->node))
            w->contract_flops += o->flops;
        else if (op_infos[o->node->op].pipe == OP_PIPE_TRANSCENDENTAL)
            w->function_ops += o->flops;
    }
    w->vector_ops = vector_ops(c);
    w->chain_ops = operations_chain(c->a, p, &c->usual);
    bool *is_again = arena_array(c->a, bool, p->n_inputs + 1);
    reread_find(c->a, p, target_on_chip_bytes(c->t), is_again);
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
    w->depends_on_data = c->usual.depends_on_data;
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

static void find_rates(struct count *c) {
    const struct target *t = c->t;
    c->has_sheet = sheet_of(t, &c->sheet);
    c->top_bytes_per_s = larger(t->peak_bytes_per_s, c->sheet.bytes_per_s);
    for (enum pipe i = 0; i < PIPE_COUNT; i++)
        c->top_per_s[i] = larger(t->peak_per_s[i], c->sheet.per_s[i]);
}

static bool is_f64(const struct problem *p) {
    for (int i = 0; i < p->n_outputs; i++)
        if (p->graph.nodes[p->outputs[i].node].dtype == DTYPE_F64)
            return true;
    return false;
}

double load_pipe_s(const struct load *l, enum pipe p) {
    double seconds = l->pipe[p].ops > 0 ? l->pipe[p].ops / l->pipe[p].per_s : 0;
    return l->rest_pipe == p && l->rest.ops > 0 ? seconds + l->rest.ops / l->rest.per_s : seconds;
}

enum pipe load_longest(const struct load *l) {
    enum pipe longest = 0;
    for (enum pipe p = 0; p < PIPE_COUNT; p++)
        if (load_pipe_s(l, p) > load_pipe_s(l, longest))
            longest = p;
    return longest;
}

static void add_load(struct load *l, const struct realisation *way, double flops, double per_s) {
    struct pipe_load *pipe = &l->pipe[way->pipe];
    pipe->flops += flops;
    pipe->ops += flops * way->products;
    pipe->per_s = per_s;
}

// Outputs that fit the last-level cache may still be there when the clock stops. Only
// contractions count as compute: elementwise work may be rearranged by honest algebra.
static void compute_limit(struct count *c) {
    struct bound *b = c->b;
    double largest = 0;
    b->limit.bytes =
        b->work.bytes_least + larger(0, b->work.bytes_written - (double)c->t->llc_bytes);
    b->limit.bytes_per_s = c->top_bytes_per_s;
    b->limit_memory_s = b->limit.bytes / b->limit.bytes_per_s;
    for (int i = 0; i < c->ops.n; i++) {
        const struct node *n = c->ops.list[i].node;
        double flops = c->ops.list[i].least;
        if (!work_is_contraction(n) || flops <= 0)
            continue;
        struct realisation way = realise(c->ops.list[i].p, n, c->top_per_s);
        add_load(&b->limit, &way, CONTRACT_SLACK * flops / transform_saving(n),
                 rate_of(c->top_per_s, way.pipe));
        if (flops > largest) {
            largest = flops;
            b->limit_way = way;
        }
    }
    b->limit_compute_s = load_pipe_s(&b->limit, load_longest(&b->limit));
    b->limit_s = larger(b->limit_memory_s, b->limit_compute_s);
}

// ---- speed of light

// A pipe that the data sheet leaves out is as fast as the device says.
static double sheet_rate(const struct count *c, enum pipe pipe) {
    return c->sheet.per_s[pipe] > 0 ? c->sheet.per_s[pipe] : rate_of(c->top_per_s, pipe);
}

// Contractions go the way of the limit, so that it is below pipe by pipe. Without a data sheet it
// is a time at the rates of the limit, which only the limit's reasons are told by.
static void compute_light(struct count *c) {
    struct bound *b = c->b;
    struct load *l = &b->light;
    for (int i = 0; i < c->ops.n; i++) {
        const struct node *n = c->ops.list[i].node;
        double flops = c->ops.list[i].textbook;
        if (work_is_contraction(n) && flops > 0) {
            struct realisation way = realise(c->ops.list[i].p, n, c->top_per_s);
            add_load(l, &way, flops, sheet_rate(c, way.pipe));
        } else {
            l->rest.flops += flops;
        }
    }
    l->rest_pipe = is_f64(c->p) ? PIPE_F64 : PIPE_F32;
    l->rest.ops = l->rest.flops;
    l->rest.per_s = l->rest_pipe == PIPE_F64 && c->sheet.vector_f64_per_s > 0
                        ? c->sheet.vector_f64_per_s
                        : sheet_rate(c, l->rest_pipe);
    l->bytes = b->work.bytes_read + b->work.bytes_written;
    l->bytes_per_s = c->has_sheet ? c->sheet.bytes_per_s : c->top_bytes_per_s;
    b->light_memory_s = l->bytes / l->bytes_per_s;
    b->light_compute_s = load_pipe_s(l, load_longest(l));
    b->light_s = larger(b->light_memory_s, b->light_compute_s);
}

static const char *name_of(const struct count *c, node_id n) {
    return c->p->graph.nodes[n].name;
}

// What the limit left out of the products of a pipe.
static void lose_products(const struct count *c, const struct need_cause *needs, enum pipe pipe,
                          struct losses *out) {
    const struct load *l = &c->b->light;
    for (int i = 0; i < c->ops.n; i++) {
        const struct operation *o = &c->ops.list[i];
        const struct node *n = o->node;
        double all = o->textbook, left = o->least, taps = transform_saving(n);
        if (!work_is_contraction(n) || all <= 0)
            continue;
        struct realisation way = realise(o->p, n, c->top_per_s);
        if (way.pipe != pipe)
            continue;
        double each = way.products / l->pipe[pipe].per_s;
        double top = way.products / rate_of(c->top_per_s, pipe);
        bool is_left_out = o->left < 1;
        enum limit_cause cause = is_left_out ? CAUSE_ALGEBRA : needs[o->id].cause;
        losses_add(out, cause != CAUSE_NONE ? cause : CAUSE_PART, all - left, each,
                   is_left_out || !needs[o->id].value ? n->name : needs[o->id].value, 0);
        losses_add(out, CAUSE_TRANSFORM, left * (1 - 1 / taps), each, n->name, taps);
        losses_add(out, CAUSE_FAST, left / taps * (1 - CONTRACT_SLACK), each, n->name, 0);
        losses_add(out, CAUSE_CLOCK, left / taps * CONTRACT_SLACK, each - top, NULL, 0);
    }
    if (l->rest_pipe == pipe && l->rest.ops > 0)
        losses_add(out, CAUSE_REST, l->rest.ops, 1 / l->rest.per_s, NULL, 0);
}

static void lose_bytes(const struct count *c, const struct need_cause *needs, struct losses *out) {
    const struct bound *b = c->b;
    double each = 1 / b->light.bytes_per_s, known = 0;
    for (int i = 0; i < c->p->n_inputs; i++) {
        const struct problem_input *in = &c->p->inputs[i];
        double lost = c->usual.input_bytes[i] - c->least.input_bytes[i];
        enum limit_cause cause = needs[in->node].cause;
        if (cause == CAUSE_NONE)
            cause = in->promise == PROMISE_SYMMETRIC ? CAUSE_PROMISE : CAUSE_PART;
        losses_add(out, cause, lost, each,
                   needs[in->node].value ? needs[in->node].value : name_of(c, in->node), 0);
        known += lost;
    }
    losses_add(out, CAUSE_PART, b->work.bytes_read - b->work.bytes_least - known, each, NULL, 0);
    losses_add(out, CAUSE_CACHE, fmin(b->work.bytes_written, (double)c->t->llc_bytes), each, NULL,
               0);
    losses_add(out, CAUSE_CLOCK, b->limit.bytes, each - 1 / b->limit.bytes_per_s, NULL, 0);
}

static void keep_amounts(const struct losses *l, double *left_out) {
    for (enum limit_cause i = 0; i < CAUSE_COUNT; i++)
        left_out[i] = i == CAUSE_CLOCK || i == CAUSE_REST ? 0 : l->amount[i];
}

// Either side of the speed of light that is above the limit was brought down by something.
static void find_reasons(struct count *c) {
    struct bound *b = c->b;
    struct losses products = {0}, limit_products = {0}, bytes = {0};
    const struct need_cause *needs = reason_needs(c->a, c->p, &c->least, &c->usual);
    lose_products(c, needs, load_longest(&b->light), &products);
    lose_products(c, needs, load_longest(&b->limit), &limit_products);
    lose_bytes(c, needs, &bytes);
    if (b->limit_s < NEARLY * b->light_compute_s)
        b->reason[REASON_PRODUCTS] = losses_reason(&products);
    if (b->limit_s < NEARLY * b->light_memory_s)
        b->reason[REASON_BYTES] = losses_reason(&bytes);
    keep_amounts(&limit_products, b->left_out[REASON_PRODUCTS]);
    keep_amounts(&bytes, b->left_out[REASON_BYTES]);
}

// ---- reach

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
    for (int i = 0; i < c->ops.n; i++) {
        const struct operation *o = &c->ops.list[i];
        double flops = o->flops;
        if (!work_is_contraction(o->node) || flops <= 0)
            continue;
        struct realisation way = realise(o->p, o->node, rates);
        c->b->reach_pipe_s[way.pipe] += flops * way.products / rate_of(rates, way.pipe);
        c->b->reach_flops[way.pipe] += flops;
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
    b->reach_s = b->reach_fixed_s +
                 larger(larger(b->reach_memory_s, b->reach_compute_s), bound_chain_s(b, c->t));
}

// Cycles until the result of a multiply-add can be used: 4 on every GPU since Volta, and on x86
// cores of the last ten years 4 or 5.
static const double LATENCY_CYCLES = 4;

// It binds reach and not the limit: a kernel that guesses the states and corrects them all at once,
// again and again (Newton's method over the sequence), goes faster than step by step, at the price
// of work.
double bound_chain_s(const struct bound *b, const struct target *t) {
    return t->top_clock_hz > 0 ? b->work.chain_ops * LATENCY_CYCLES / t->top_clock_hz : 0;
}

static void forget_light(struct bound *b) {
    b->light = (struct load){.rest_pipe = b->light.rest_pipe};
    b->light_s = b->light_memory_s = b->light_compute_s = NAN;
}

void bound_init(struct bound *b) {
    *b = (struct bound){.light_s = NAN,
                        .light_memory_s = NAN,
                        .light_compute_s = NAN,
                        .reach_s = NAN,
                        .reach_fixed_s = NAN,
                        .reach_memory_s = NAN,
                        .reach_compute_s = NAN};
}

void bound_compute(const struct problem *p, const struct target *t, struct bound *b) {
    struct arena a = {0};
    struct count c = {.a = &a, .p = p, .t = t, .b = b};
    bound_init(b);
    count_work(&c);
    find_rates(&c);
    compute_limit(&c);
    compute_light(&c);
    find_reasons(&c);
    if (!c.has_sheet)
        forget_light(b);
    b->side = b->limit_compute_s > b->limit_memory_s ? BOUND_COMPUTE : BOUND_MEMORY;
    if (c.has_sheet)
        b->side = b->light_compute_s > b->light_memory_s ? BOUND_COMPUTE : BOUND_MEMORY;
    if (t->ceilings.present) {
        compute_reach(&c);
        b->side = b->reach_compute_s > b->reach_memory_s ? BOUND_COMPUTE : BOUND_MEMORY;
        double most = larger(b->reach_compute_s, b->reach_memory_s), chain = bound_chain_s(b, t);
        if (chain > most)
            b->side = BOUND_CHAIN;
        if (b->reach_fixed_s > larger(most, chain))
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
    static const char *const names[] = {"memory", "compute", "launch", "chain"};
    return names[s];
}
