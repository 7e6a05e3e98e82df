// The bound in words: what binds and by how much, what comes next, what would change it.
#include <math.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "model/bound.h"

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

static const char *way_words(const struct words *w, const struct realisation *way) {
    if (way->products > 1)
        return arena_printf(w->a, "%s %s for each", way->products == 2 ? "two" : "three",
                            pipe_words(way->pipe));
    return pipe_words(way->pipe);
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
    if (work->hangs_on_data)
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

static const char *compute_words(const struct words *w) {
    const struct bound *b = w->b;
    double rates[PIPE_COUNT];
    enum pipe pipe = bound_pipe(b);
    ceilings_rates(&w->t->ceilings, rates);
    if (pipe == PIPE_FUNCTION)
        return arena_printf(w->a, "%s functions such as exp at the measured %s",
                            bound_quantity(w->a, b->work.function_ops, ""),
                            bound_quantity(w->a, rates[pipe], "/s"));
    if (b->work.contract_flops > 0 && b->reach_way.pipe == pipe)
        return arena_printf(w->a, "%s by %s at the measured %s",
                            bound_quantity(w->a, b->work.contract_flops, "FLOP"),
                            way_words(w, &b->reach_way),
                            bound_quantity(w->a, rates[pipe], "FLOP/s"));
    return arena_printf(w->a, "%s vector operations at the measured %s",
                        bound_quantity(w->a, b->work.vector_ops, ""),
                        bound_quantity(w->a, rates[pipe] / 2, "/s"));
}

static void say_next(struct words *w) {
    const struct bound *b = w->b;
    double most = fmax(b->reach_memory_s, b->reach_compute_s);
    double other = fmin(b->reach_memory_s, b->reach_compute_s);
    if (b->side == BOUND_LAUNCH) {
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
        str_printf(&w->out, ": %s", compute_words(w));
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
        str_printf(&w->out, "%s take %s", compute_words(w), duration(w, b->reach_compute_s));
        break;
    case BOUND_LAUNCH:
        str_puts(&w->out, "The work itself takes less than starting it");
        break;
    }
    str_printf(&w->out, ", and a launch costs %s.\n", duration(w, b->reach_fixed_s));
    say_next(w);
    if (b->side == BOUND_MEMORY)
        say_fewer_bytes(w);
    else if (b->side == BOUND_COMPUTE)
        say_faster_pipe(w);
    else
        str_puts(&w->out, "  what would change it: more work per launch\n");
}

static void say_no_reach(struct words *w) {
    if (w->t->source)
        str_printf(&w->out,
                   "reach: not known without the card; run hone calibrate where it is\n"
                   "published figures:\n  %s\n",
                   w->t->source);
    else
        str_puts(&w->out, "reach: not known until the ceilings are measured (hone calibrate)\n");
}

// ---- limit

static void say_limit(struct words *w) {
    const struct bound *b = w->b;
    str_printf(&w->out, "limit %s: nothing honest is faster on this device.\n",
               duration(w, b->limit_s));
    if (b->limit_compute_s > b->limit_memory_s)
        str_printf(&w->out,
                   "  made of half the products (cleverer sums exist),\n  by %s\n"
                   "  at %s; its memory traffic alone: %s\n",
                   way_words(w, &b->limit_way),
                   bound_quantity(w->a, w->t->peak_per_s[b->limit_way.pipe], "FLOP/s"),
                   duration(w, b->limit_memory_s));
    else
        str_printf(&w->out, "  made of %s at %s%s",
                   bound_quantity(w->a, b->limit_memory_s * w->t->peak_bytes_per_s, "B"),
                   bound_quantity(w->a, w->t->peak_bytes_per_s, "B/s"),
                   w->t->is_gpu ? "" : ", the cores' own loads");
    if (b->limit_compute_s <= b->limit_memory_s && b->limit_compute_s > 0)
        str_printf(&w->out, "; its contractions alone: %s", duration(w, b->limit_compute_s));
    if (b->limit_compute_s <= b->limit_memory_s)
        str_puts(&w->out, "\n");
    if (w->t->top_clock_hz > 0)
        str_printf(&w->out, "  at a top clock of %.3g GHz%s\n", w->t->top_clock_hz / 1e9,
                   w->t->top_clock_known ? "" : ", assumed: the machine hides its own");
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
    if (isnan(b->reach_s))
        say_no_reach(&w);
    else
        say_reach(&w);
    say_limit(&w);
    return str_take(a, &w.out);
}
