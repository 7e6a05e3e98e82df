#include "model/bound.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "ir/work.h"

// Algorithms of the Strassen kind need fewer multiplications than a plain contraction. At
// sizes that fit a memory, half is more than any of them saves.
static const double CONTRACT_SLACK = 0.5;

static double node_bytes(const struct node *n) {
    return (double)dtype_size(n->dtype, shape_count(&n->shape));
}

void work_count(const struct problem *p, struct work *w) {
    const struct graph *g = &p->graph;
    *w = (struct work){0};
    for (int i = 0; i < g->n_nodes; i++) {
        double flops = work_flops(g, &g->nodes[i]);
        w->flops += flops;
        if (work_is_contraction(&g->nodes[i]))
            w->contract_flops += flops;
    }
    for (int i = 0; i < p->n_inputs; i++)
        w->bytes_read += node_bytes(&g->nodes[p->inputs[i].node]);
    for (int i = 0; i < p->n_outputs; i++)
        w->bytes_written += node_bytes(&g->nodes[p->outputs[i].node]);
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

// Outputs that fit the last-level cache may still be there when the clock stops. Only
// contractions count as compute: elementwise work may be rearranged by honest algebra.
static void compute_limit(const struct target *t, struct bound *b) {
    double bytes = b->work.bytes_read + larger(0, b->work.bytes_written - (double)t->llc_bytes);
    b->limit_memory_s = bytes / t->peak_bytes_per_s;
    b->limit_compute_s = CONTRACT_SLACK * b->work.contract_flops / t->peak_contract_flops_per_s;
    b->limit_s = larger(b->limit_memory_s, b->limit_compute_s);
}

// f32 results may be had from three TF32 products, where the tensor cores make that faster.
static double contract_rate(const struct ceilings *c) {
    double split = c->tf32_flops_per_s / 3;
    return split > c->f32_flops_per_s ? split : c->f32_flops_per_s;
}

// Work outside contractions cannot use both halves of a multiply-add: half the rate.
static void compute_reach(const struct ceilings *c, struct bound *b) {
    const struct work *w = &b->work;
    double bytes = w->bytes_read + w->bytes_written;
    b->reach_fixed_s = c->launch_s;
    b->reach_memory_s = bytes / ceilings_bandwidth(c, bytes > 0 ? w->bytes_read / bytes : 1);
    b->reach_compute_s = w->contract_flops / contract_rate(c) +
                         2 * (w->flops - w->contract_flops) / c->f32_flops_per_s;
    b->reach_s = b->reach_fixed_s + larger(b->reach_memory_s, b->reach_compute_s);
}

void bound_compute(const struct problem *p, const struct target *t, struct bound *b) {
    *b = (struct bound){
        .reach_s = NAN, .reach_fixed_s = NAN, .reach_memory_s = NAN, .reach_compute_s = NAN};
    work_count(p, &b->work);
    compute_limit(t, b);
    b->side = b->limit_compute_s > b->limit_memory_s ? BOUND_COMPUTE : BOUND_MEMORY;
    if (!t->ceilings.present)
        return;
    compute_reach(&t->ceilings, b);
    b->side = b->reach_compute_s > b->reach_memory_s ? BOUND_COMPUTE : BOUND_MEMORY;
    if (b->reach_fixed_s > larger(b->reach_compute_s, b->reach_memory_s))
        b->side = BOUND_LAUNCH;
}

const char *bound_side_name(enum bound_side s) {
    static const char *const names[] = {"memory", "compute", "launch"};
    return names[s];
}

json_t *bound_to_json(const struct bound *b) {
    json_t *work = json_pack("{s:f, s:f, s:f, s:f}", "bytes_read", b->work.bytes_read,
                             "bytes_written", b->work.bytes_written, "flops", b->work.flops,
                             "contract_flops", b->work.contract_flops);
    json_t *limit = json_pack("{s:f, s:f, s:f}", "seconds", b->limit_s, "memory_s",
                              b->limit_memory_s, "compute_s", b->limit_compute_s);
    json_t *reach = json_null();
    if (!isnan(b->reach_s))
        reach =
            json_pack("{s:f, s:f, s:f, s:f}", "seconds", b->reach_s, "fixed_s", b->reach_fixed_s,
                      "memory_s", b->reach_memory_s, "compute_s", b->reach_compute_s);
    return json_pack("{s:s, s:o, s:o, s:o, s:s}", "schema", "hone.bound/1", "work", work, "limit",
                     limit, "reach", reach, "side", bound_side_name(b->side));
}

static enum bound_side read_side(struct json_reader *r, const json_t *json) {
    const char *name = json_string_value(json_object_get(json, "side"));
    for (enum bound_side s = BOUND_MEMORY; s <= BOUND_LAUNCH; s++)
        if (name && strcmp(name, bound_side_name(s)) == 0)
            return s;
    json_reader_fail(r, "side is none of memory, compute, launch");
    return BOUND_MEMORY;
}

bool bound_from_json(const json_t *json, struct bound *b, struct error *err) {
    struct json_reader r = {.where = "bound"};
    json_read_schema(&r, json, "hone.bound/1");
    const json_t *work = json_read_object(&r, json, "work");
    b->work.bytes_read = json_read_number(&r, work, "bytes_read");
    b->work.bytes_written = json_read_number(&r, work, "bytes_written");
    b->work.flops = json_read_number(&r, work, "flops");
    b->work.contract_flops = json_read_number(&r, work, "contract_flops");
    const json_t *limit = json_read_object(&r, json, "limit");
    b->limit_s = json_read_number(&r, limit, "seconds");
    b->limit_memory_s = json_read_number(&r, limit, "memory_s");
    b->limit_compute_s = json_read_number(&r, limit, "compute_s");
    b->reach_s = b->reach_fixed_s = b->reach_memory_s = b->reach_compute_s = NAN;
    const json_t *reach = json_object_get(json, "reach");
    if (json_is_object(reach)) {
        b->reach_s = json_read_number(&r, reach, "seconds");
        b->reach_fixed_s = json_read_number(&r, reach, "fixed_s");
        b->reach_memory_s = json_read_number(&r, reach, "memory_s");
        b->reach_compute_s = json_read_number(&r, reach, "compute_s");
    }
    b->side = read_side(&r, json);
    return json_reader_done(&r, err);
}

// A quantity with three digits and a prefix: "134 MB", "2.15 GFLOP".
static const char *quantity(struct arena *a, double value, const char *unit) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    int i = 0;
    while (value >= 999.5 && i < 5) {
        value /= 1e3;
        i++;
    }
    return arena_printf(a, "%.3g %s%s", value, prefixes[i], unit);
}

static void explain_reach(struct arena *a, struct str *out, const struct bound *b,
                          const struct target *t) {
    const struct work *w = &b->work;
    double bytes = w->bytes_read + w->bytes_written;
    double rate = ceilings_bandwidth(&t->ceilings, bytes > 0 ? w->bytes_read / bytes : 1);
    str_printf(out, "reach %s: ", clock_duration(a, b->reach_s * 1e9));
    switch (b->side) {
    case BOUND_MEMORY:
        str_printf(out, "memory-bound. %s at the measured %s take %s", quantity(a, bytes, "B"),
                   quantity(a, rate, "B/s"), clock_duration(a, b->reach_memory_s * 1e9));
        break;
    case BOUND_COMPUTE:
        str_printf(out, "compute-bound. %s at the measured %s take %s",
                   quantity(a, w->flops, "FLOP"),
                   quantity(a, contract_rate(&t->ceilings), "FLOP/s"),
                   clock_duration(a, b->reach_compute_s * 1e9));
        break;
    case BOUND_LAUNCH:
        str_printf(out, "launch-bound. The work itself takes less than starting it");
        break;
    }
    str_printf(out, ", and a launch costs %s.\n", clock_duration(a, b->reach_fixed_s * 1e9));
    double other = b->side == BOUND_COMPUTE ? b->reach_memory_s : b->reach_compute_s;
    str_printf(out, "%s would take %s.\n",
               b->side == BOUND_COMPUTE ? "Its memory traffic alone" : "Its arithmetic alone",
               clock_duration(a, other * 1e9));
}

const char *bound_explain(struct arena *a, const struct bound *b, const struct target *t) {
    struct str out = {0};
    const struct work *w = &b->work;
    str_printf(&out, "least work: %s read, %s written, %s", quantity(a, w->bytes_read, "B"),
               quantity(a, w->bytes_written, "B"), quantity(a, w->flops, "FLOP"));
    str_printf(&out, " (%.3g FLOP per byte)\n", w->flops / (w->bytes_read + w->bytes_written));
    if (!isnan(b->reach_s))
        explain_reach(a, &out, b, t);
    else
        str_printf(&out, "reach: not known until the ceilings are measured (hone calibrate)\n");
    str_printf(&out, "limit %s: nothing honest is faster on this device at %.1f GHz%s.\n",
               clock_duration(a, b->limit_s * 1e9), t->top_clock_hz / 1e9,
               t->top_clock_known ? "" : " (assumed: the machine hides its top clock)");
    return str_take(a, &out);
}
