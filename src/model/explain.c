// The bound in words: what binds and by how much, what comes next, what would change it.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "model/bound.h"
#include "model/sheet.h"

struct words {
    struct arena *a;
    struct str out;
    const struct problem *p;
    const struct bound *b;
    const struct target *t;
};

static const char *duration(const struct words *w, double seconds) {
    return clock_duration(w->a, seconds * 1e9);
}

static double all_bytes(const struct work *w) {
    return w->bytes_read + w->bytes_again + w->bytes_written;
}

static const char *way_text(const struct words *w, const struct realisation *way) {
    if (way->products > 1)
        return arena_printf(w->a, "%s %s for each", way->products == 2 ? "two" : "three",
                            pipe_text(way->pipe));
    return pipe_text(way->pipe);
}

static void say_work(struct words *w) {
    const struct work *work = &w->b->work;
    double bytes = work->bytes_read + work->bytes_written;
    str_printf(
        &w->out, "least work: %s read, %s written, %s", bound_quantity(w->a, work->bytes_read, "B"),
        bound_quantity(w->a, work->bytes_written, "B"), bound_quantity(w->a, work->flops, "FLOP"));
    if (bytes > 0)
        str_printf(&w->out, " (%.3g FLOP per byte)", work->flops / bytes);
    str_puts(&w->out, "\n");
    if (work->chain_ops > 0)
        str_printf(&w->out,
                   "  step by step: %.0f operations that wait for one another, %s (in reach)\n",
                   work->chain_ops, duration(w, bound_chain_s(w->b, w->t)));
    if (work->depends_on_data)
        str_puts(&w->out, "  counted on one draw of the indices: least, not tight\n");
    if (work->is_collapsed)
        str_puts(&w->out,
                 "  a sum over a product is counted as a product of sums (the law collapse)\n");
    if (work->is_prepared)
        str_puts(&w->out,
                 "  values made of params alone count as prepared before the clock starts\n");
    if (work->bytes_again > 0)
        str_printf(
            &w->out,
            "  and %s read again for reach: one reduced group is larger than the %s that the "
            "chip keeps\n",
            bound_quantity(w->a, work->bytes_again, "B"),
            bound_quantity(w->a, target_on_chip_bytes(w->t), "B"));
}

// ---- reach

// One part of the arithmetic in words, with its time where it is not the only one.
struct compute_part {
    const char *text;
    double seconds;
};

enum { COMPUTE_PARTS = PIPE_COUNT + 2 };

// A bound that was stored has only the sum of them.
static double reach_flops(const struct bound *b, enum pipe pipe) {
    double all = 0;
    for (enum pipe i = 0; i < PIPE_COUNT; i++)
        all += b->reach_flops[i];
    return all > 0 ? b->reach_flops[pipe]
                   : (pipe == b->reach_way.pipe ? b->work.contract_flops : 0);
}

// "34.4 GFLOP by three TF32 products for each at the measured 400 TFLOP/s".
static struct compute_part products_part(const struct words *w, enum pipe pipe, double rate,
                                         double seconds) {
    const struct bound *b = w->b;
    double flops = reach_flops(b, pipe), times = seconds * rate / flops;
    struct realisation way = {.pipe = pipe, .products = (int)lround(times)};
    const char *by = fabs(times - way.products) < 0.005
                         ? way_text(w, &way)
                         : arena_printf(w->a, "%.3g %s for each", times, pipe_text(pipe));
    return (struct compute_part){arena_printf(w->a, "%s by %s at the measured %s",
                                              bound_quantity(w->a, flops, "FLOP"), by,
                                              bound_quantity(w->a, rate, "FLOP/s")),
                                 seconds};
}

// What reach_compute_s is the sum of: of the pipe that takes longest, or on a CPU, where all are
// the same vector units, of all of them.
static int compute_parts(const struct words *w, struct compute_part parts[COMPUTE_PARTS]) {
    const struct bound *b = w->b;
    const struct work *work = &b->work;
    enum pipe longest = bound_pipe(b), rest = b->light.rest_pipe;
    double rates[PIPE_COUNT];
    int n = 0;
    ceilings_rates(&w->t->ceilings, rates);
    bool has_functions = rates[PIPE_FUNCTION] > 0;
    double rate = rates[rest] > 0 ? rates[rest] : rates[PIPE_F32];
    double ops = work->vector_ops + (has_functions ? 0 : work->function_ops);
    for (enum pipe i = 0; i < PIPE_COUNT; i++) {
        double other = i == rest ? 2 * ops / rate : i == PIPE_FUNCTION ? b->reach_pipe_s[i] : 0;
        bool counts = !w->t->is_gpu || i == longest;
        if (counts && reach_flops(b, i) > 0)
            parts[n++] = products_part(w, i, rates[i] > 0 ? rates[i] : rates[PIPE_F32],
                                       b->reach_pipe_s[i] - other);
        if (!counts || !(other > 0))
            continue;
        const char *text =
            i == PIPE_FUNCTION
                ? arena_printf(w->a, "%s functions such as exp at the measured %s",
                               bound_quantity(w->a, work->function_ops, ""),
                               bound_quantity(w->a, rates[i], "/s"))
                : arena_printf(w->a, "%s vector operations at the measured %s",
                               bound_quantity(w->a, ops, ""), bound_quantity(w->a, rate / 2, "/s"));
        parts[n++] = (struct compute_part){text, other};
    }
    return n;
}

// Parts that make up less than a hundredth are left out.
static const char *compute_text(const struct words *w) {
    struct compute_part parts[COMPUTE_PARTS];
    struct str out = {0};
    int n = compute_parts(w, parts), said = 0, n_large = 0;
    for (int i = 0; i < n; i++)
        n_large += parts[i].seconds >= 0.01 * w->b->reach_compute_s;
    for (int i = 0; i < n; i++) {
        if (parts[i].seconds < 0.01 * w->b->reach_compute_s)
            continue;
        str_printf(&out, "%s%s", said == 0 ? "" : ",\n  ", parts[i].text);
        if (n_large > 1)
            str_printf(&out, " (%s)", duration(w, parts[i].seconds));
        said++;
    }
    return str_take(w->a, &out);
}

static void say_next(struct words *w) {
    const struct bound *b = w->b;
    double most = fmax(b->reach_memory_s, b->reach_compute_s);
    double other = fmin(b->reach_memory_s, b->reach_compute_s);
    if (b->side == BOUND_LAUNCH || b->side == BOUND_CHAIN) {
        str_printf(&w->out, "  next: %s, %s\n",
                   b->reach_memory_s >= b->reach_compute_s ? "its memory traffic"
                                                           : "its arithmetic",
                   duration(w, most));
        return;
    }
    str_printf(&w->out, "  next: %s, %s",
               b->side == BOUND_COMPUTE ? "its memory traffic" : "its arithmetic",
               duration(w, other));
    if (most > 0)
        str_printf(&w->out, " (%.0f%% of that)", 100 * other / most);
    if (b->side == BOUND_MEMORY && other > 0)
        str_printf(&w->out, ": %s", compute_text(w));
    str_puts(&w->out, "\n");
}

// Bytes of inputs and outputs that f32 stores and f16 would halve.
static double wide_bytes(const struct problem *p) {
    double bytes = 0;
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *n = &p->graph.nodes[p->inputs[i].node];
        if (n->dtype == DTYPE_F32)
            bytes += (double)dtype_size(n->dtype, shape_count(&n->shape));
    }
    for (int i = 0; i < p->n_outputs; i++) {
        const struct node *n = &p->graph.nodes[p->outputs[i].node];
        if (n->dtype == DTYPE_F32)
            bytes += (double)dtype_size(n->dtype, shape_count(&n->shape));
    }
    return bytes;
}

static void say_fewer_bytes(struct words *w) {
    const struct bound *b = w->b;
    double wide = fmin(wide_bytes(w->p), all_bytes(&b->work));
    str_puts(&w->out, "  what would change it: fewer bytes");
    if (wide > 0) {
        double memory = b->reach_memory_s * (1 - wide / 2 / all_bytes(&b->work));
        str_printf(&w->out, "; f16 in place of\n  f32 in memory would bring reach to %s",
                   duration(w, b->reach_fixed_s + fmax(memory, b->reach_compute_s)));
    }
    str_puts(&w->out, "\n");
}

// A faster pipe than the contraction's own that a weaker precision would admit.
static void say_faster_pipe(struct words *w) {
    static const struct {
        enum pipe pipe;
        const char *how;
    } steps[] = {{PIPE_TF32, "precision tf32"}, {PIPE_F16, "operands of f16 or bf16"}};
    const struct bound *b = w->b;
    double rates[PIPE_COUNT], own = b->reach_pipe_s[b->reach_way.pipe];
    ceilings_rates(&w->t->ceilings, rates);
    int said = 0;
    for (int i = 0; i < 2 && b->work.contract_flops > 0; i++) {
        double then = b->work.contract_flops / rates[steps[i].pipe];
        if (!(then > 0 && then < 0.9 * own))
            continue;
        str_printf(&w->out, "%s%s would take %s for the products",
                   said++ ? ", " : "  what would change it: ", steps[i].how, duration(w, then));
    }
    if (said)
        str_puts(&w->out, "\n");
    else if (bound_pipe(b) == PIPE_FUNCTION)
        str_puts(&w->out, "  what would change it: fewer or cheaper functions\n");
    else
        str_puts(&w->out,
                 "  what would change it: less arithmetic; nothing faster does the same\n");
}

static void say_reach(struct words *w) {
    const struct bound *b = w->b;
    double bytes = all_bytes(&b->work);
    str_printf(&w->out, "reach %s: %s-bound.\n  ", duration(w, b->reach_s),
               bound_side_name(b->side));
    switch (b->side) {
    case BOUND_MEMORY:
        str_printf(&w->out, "%s at the measured %s take %s", bound_quantity(w->a, bytes, "B"),
                   bound_quantity(w->a, bytes / b->reach_memory_s, "B/s"),
                   duration(w, b->reach_memory_s));
        break;
    case BOUND_COMPUTE:
        str_printf(&w->out, "%s take %s", compute_text(w), duration(w, b->reach_compute_s));
        break;
    case BOUND_LAUNCH:
        str_puts(&w->out, "The work itself takes less than starting it");
        break;
    case BOUND_CHAIN:
        str_printf(&w->out, "%.0f operations that wait for one another take %s at the top clock",
                   b->work.chain_ops, duration(w, bound_chain_s(b, w->t)));
        break;
    }
    str_printf(&w->out, ", and a launch costs %s.\n", duration(w, b->reach_fixed_s));
    if (ceilings_are_unsure(&w->t->ceilings))
        str_printf(&w->out,
                   "  uncertain: the ceilings have a spread of %.0f%%; run hone calibrate when "
                   "nothing else runs\n",
                   100 * ceilings_spread(&w->t->ceilings));
    if (bound_reach_why(b))
        str_printf(&w->out, "  below the speed of light: %s\n", bound_reach_why(b));
    say_next(w);
    if (b->side == BOUND_MEMORY)
        say_fewer_bytes(w);
    else if (b->side == BOUND_COMPUTE)
        say_faster_pipe(w);
    else if (b->side == BOUND_CHAIN)
        str_puts(&w->out,
                 "  what would change it: fewer steps, or less that waits for the state\n");
    else
        str_puts(&w->out, "  what would change it: more work per launch\n");
}

static void say_no_reach(struct words *w) {
    if (w->t->source)
        str_puts(&w->out, "reach: not known without the card; run hone calibrate where it is\n");
    else
        str_puts(&w->out, "reach: not known until the ceilings are measured (hone calibrate)\n");
}

// ---- at stated rates

// "  34.4 GFLOP less 17.2 GFLOP by fast products", where a limit leaves `left` of all there is; a
// line for each cause.
static void say_left_out(struct words *w, const struct load *l, enum reason_side side,
                         double left) {
    const double *out = w->b->left_out[side];
    const char *unit = side == REASON_PRODUCTS ? "FLOP" : "B";
    double all = left, most = 0;
    for (enum limit_cause c = 0; c < CAUSE_COUNT; c++) {
        all += out[c];
        most = fmax(most, out[c]);
    }
    const char *whole = bound_quantity(w->a, all, unit);
    // Where the figures that are printed differ, so that each follows from the others.
    if (l != &w->b->limit || most < 0.0005 * all ||
        strcmp(whole, bound_quantity(w->a, left, unit)) == 0)
        return;
    str_printf(&w->out, "  %s", whole);
    const char *before = "";
    for (enum limit_cause c = 0; c < CAUSE_COUNT; c++)
        if (out[c] >= 0.0005 * all) {
            str_printf(&w->out, "%s less %s %s\n", before, bound_quantity(w->a, out[c], unit),
                       limit_cause_phrase(c));
            before = "   ";
        }
}

// "  2.15 GFLOP as 6.44 GFLOP of TF32 products at 495 TFLOP/s: 13 µs".
static void say_pipe(struct words *w, const struct load *l) {
    enum pipe pipe = load_longest(l);
    const struct pipe_load *p = &l->pipe[pipe];
    if (p->ops > 0) {
        say_left_out(w, l, REASON_PRODUCTS, p->flops);
        str_printf(&w->out, "  %s ", bound_quantity(w->a, p->flops, "FLOP"));
        if (p->ops > p->flops)
            str_printf(&w->out, "as %s ", bound_quantity(w->a, p->ops, "FLOP"));
        str_printf(&w->out, "of %s at %s: %s\n", pipe_text(pipe),
                   bound_quantity(w->a, p->per_s, "FLOP/s"), duration(w, p->ops / p->per_s));
    }
    if (l->rest.ops > 0)
        str_printf(&w->out, "  %s outside products at %s: %s\n",
                   bound_quantity(w->a, l->rest.ops, "FLOP"),
                   bound_quantity(w->a, l->rest.per_s, "FLOP/s"),
                   duration(w, l->rest.ops / l->rest.per_s));
}

static void say_bytes(struct words *w, const struct load *l) {
    say_left_out(w, l, REASON_BYTES, l->bytes);
    str_printf(&w->out, "  %s at %s%s: %s\n", bound_quantity(w->a, l->bytes, "B"),
               bound_quantity(w->a, l->bytes_per_s, "B/s"),
               w->t->is_gpu ? "" : ", the cores' own loads",
               duration(w, l->bytes / l->bytes_per_s));
}

static void say_light(struct words *w) {
    const struct bound *b = w->b;
    const struct pipe_load *p = &b->light.pipe[load_longest(&b->light)];
    struct sheet sheet;
    if (isnan(b->light_s) || !sheet_of(w->t, &sheet)) {
        str_printf(&w->out, "speed of light: not known; %s\n", sheet_absent());
        return;
    }
    str_printf(
        &w->out, "speed of light %s: %s-bound at the data sheet's peaks.\n",
        duration(w, b->light_s),
        bound_side_name(b->light_compute_s > b->light_memory_s ? BOUND_COMPUTE : BOUND_MEMORY));
    say_pipe(w, &b->light);
    if (p->ops > p->flops)
        str_printf(&w->out, "  (by %s alone, at %s: %s)\n", pipe_text(PIPE_F32),
                   bound_quantity(w->a, sheet.per_s[PIPE_F32], "FLOP/s"),
                   duration(w, p->flops / sheet.per_s[PIPE_F32]));
    say_bytes(w, &b->light);
    str_printf(&w->out, "  by %s\n", sheet_source(w->t));
}

// ---- limit

static void say_reasons(struct words *w) {
    const struct limit_reason *r = w->b->reason;
    bool both = r[REASON_PRODUCTS].cause != CAUSE_NONE && r[REASON_BYTES].cause != CAUSE_NONE;
    for (enum reason_side s = 0; s < REASON_SIDES; s++)
        if (r[s].cause != CAUSE_NONE)
            str_printf(&w->out, "  %s %s\n", both && s > 0 ? "and" : "since",
                       limit_cause_text(w->a, &r[s]));
}

static void say_limit(struct words *w) {
    const struct bound *b = w->b;
    str_printf(&w->out, "limit %s: nothing honest is faster on this device.\n",
               duration(w, b->limit_s));
    say_reasons(w);
    say_pipe(w, &b->limit);
    say_bytes(w, &b->limit);
    if (w->t->top_clock_hz > 0)
        str_printf(&w->out, "  at a top clock of %.3g GHz%s\n", w->t->top_clock_hz / 1e9,
                   w->t->top_clock_known ? "" : ", assumed: the machine hides its own");
}

const char *bound_limit_why(struct arena *a, const struct bound *b) {
    const struct limit_reason *r = b->reason;
    bool has[REASON_SIDES] = {r[REASON_PRODUCTS].cause != CAUSE_NONE,
                              r[REASON_BYTES].cause != CAUSE_NONE};
    if (!has[0] && !has[1])
        return NULL;
    if (has[0] && has[1])
        return arena_printf(a, "%s, and %s", limit_cause_text(a, &r[0]),
                            limit_cause_text(a, &r[1]));
    return limit_cause_text(a, has[0] ? &r[0] : &r[1]);
}

const char *bound_reach_why(const struct bound *b) {
    if (!(b->reach_s < 0.995 * b->light_s))
        return NULL;
    if (b->light_memory_s >= b->light_compute_s || b->reach_s < b->light_memory_s)
        return "calls of this size find some of their data in the caches";
    return b->work.is_collapsed ? "a sum over a product counts as a product of sums"
                                : "the measured rate is above the data sheet's";
}

const char *bound_line(struct arena *a, const struct bound *b) {
    const char *light = isnan(b->light_s) ? "not known" : clock_duration(a, b->light_s * 1e9);
    const char *reach = isnan(b->reach_s) ? "not known" : clock_duration(a, b->reach_s * 1e9);
    const char *why = bound_limit_why(a, b), *reach_why = bound_reach_why(b);
    return arena_printf(
        a, "%s-bound; speed of light %s, reach %s%s%s%s, limit %s%s%s%s", bound_side_name(b->side),
        light, reach, reach_why ? " (" : "", reach_why ? reach_why : "", reach_why ? ")" : "",
        clock_duration(a, b->limit_s * 1e9), why ? " (" : "", why ? why : "", why ? ")" : "");
}

const char *bound_quantity(struct arena *a, double value, const char *unit) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    int i = 0;
    while (value >= 999.5 && i < 5) {
        value /= 1e3;
        i++;
    }
    return arena_printf(a, "%.3g %s%s", value, prefixes[i], unit);
}

const char *bound_explain(struct arena *a, const struct problem *p, const struct bound *b,
                          const struct target *t) {
    struct words w = {.a = a, .p = p, .b = b, .t = t};
    say_work(&w);
    say_light(&w);
    if (isnan(b->reach_s))
        say_no_reach(&w);
    else
        say_reach(&w);
    say_limit(&w);
    return str_take(a, &w.out);
}
