// What was measured of a node, as text: for the author of its source, of which the tools know less
// than of a kernel block, and where they found nothing.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "family/source_plan.h"
#include "mind/team_private.h"
#include "record/plan.h"

static void put_rate(struct str *out, struct arena *a, const struct brief *b, double time_s) {
    const struct work *w = &b->bound->work;
    double bytes = w->bytes_read + w->bytes_written;
    if (!isfinite(time_s))
        return;
    str_printf(out, "- %s a call", clock_duration(a, time_s * 1e9));
    if (isfinite(b->bound->reach_s))
        str_printf(out, ", %.0f%% of reach", 100 * b->bound->reach_s / time_s);
    if (bytes > 0)
        str_printf(out, "; the least traffic, %s, at %s", bound_quantity(a, bytes, "B"),
                   bound_quantity(a, bytes / time_s, "B/s"));
    if (w->flops > 0)
        str_printf(out, "; %s", bound_quantity(a, w->flops / time_s, "FLOP/s"));
    str_puts(out, "\n");
}

// ---- launches

static int buffer_of(const struct plan *p, int arg) {
    return arg >= 0 ? arg : p->tensormaps[-1 - arg].buffer;
}

// Bytes of the buffers that a step names.
static double step_bytes(const struct plan *p, const struct plan_step *s) {
    double bytes = 0;
    if (s->kind == STEP_FILL)
        return (double)p->buffers[s->fill_buffer].size_bytes;
    for (int i = 0; i < s->n_args; i++)
        bytes += (double)p->buffers[buffer_of(p, s->args[i])].size_bytes;
    return bytes;
}

// The step of this name from `*next` on; profiles have clearings besides.
static const struct plan_step *find_step(const struct plan *p, const char *name, int *next) {
    bool is_fill = strncmp(name, "fill ", 5) == 0;
    for (int i = *next; i < p->n_steps; i++) {
        const struct plan_step *s = &p->steps[i];
        const char *step_name =
            s->kind == STEP_FILL ? p->buffers[s->fill_buffer].name : s->function;
        if ((s->kind == STEP_FILL) == is_fill && strcmp(name + 5 * is_fill, step_name) == 0) {
            *next = i + 1;
            return s;
        }
    }
    return NULL;
}

static void put_resources(struct str *out, const struct profile_launch *l) {
    static const struct {
        enum metric_id id;
        const char *words;
    } rows[] = {{METRIC_REGISTERS, "registers a thread"},
                {METRIC_LOCAL_BYTES, "bytes of local memory"},
                {METRIC_SHARED_BYTES, "bytes of shared memory a block"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (metrics_has(&l->metrics, rows[i].id))
            str_printf(out, ", %.0f %s", launch_get(l, rows[i].id), rows[i].words);
    if (metrics_has(&l->metrics, METRIC_OCCUPANCY))
        str_printf(out, ", occupancy %.0f%%", 100 * launch_get(l, METRIC_OCCUPANCY));
}

static void put_launch(struct str *out, struct arena *a, const struct profile_launch *l,
                       double total_s) {
    double time_s = launch_get(l, METRIC_TIME), blocks = launch_get(l, METRIC_BLOCKS);
    str_printf(out, "  - %s", l->name);
    if (isfinite(time_s) && total_s > 0)
        str_printf(out, ": %s, %.0f%% of them", clock_duration(a, time_s * 1e9),
                   100 * time_s / total_s);
    if (isfinite(blocks))
        str_printf(out, "; %.0f block%s", blocks, blocks == 1 ? "" : "s");
    if (metrics_has(&l->metrics, METRIC_BLOCK_THREADS))
        str_printf(out, " of %.0f threads", launch_get(l, METRIC_BLOCK_THREADS));
    put_resources(out, l);
}

static void put_launches(struct str *out, struct arena *a, const struct brief *b,
                         const struct profile *p, const struct plan *plan) {
    double total_s = 0;
    int next = 0;
    for (int i = 0; i < p->n_launches; i++)
        total_s += metrics_has(&p->launches[i].metrics, METRIC_TIME)
                       ? launch_get(&p->launches[i], METRIC_TIME)
                       : 0;
    if (p->n_launches > 0)
        str_printf(out, "- launches, in order%s%s:\n",
                   total_s > 0 ? ", each with its own time" : "",
                   total_s > 0 && p->n_launches > 1 && b->target->is_gpu
                       ? " (one by one, so that together they take longer than a call)"
                       : "");
    for (int i = 0; i < p->n_launches; i++) {
        const struct profile_launch *l = &p->launches[i];
        const struct plan_step *s = plan ? find_step(plan, l->name, &next) : NULL;
        put_launch(out, a, l, total_s);
        if (s) {
            double bytes = step_bytes(plan, s);
            str_printf(out, "; names buffers of %s", bound_quantity(a, bytes, "B"));
            double time_s = launch_get(l, METRIC_TIME);
            if (time_s > 0)
                str_printf(out, " (once each: %s)", bound_quantity(a, bytes / time_s, "B/s"));
        }
        str_puts(out, "\n");
    }
}

// A model of the traffic: every buffer that a launch names goes by once.
static void put_traffic(struct str *out, struct arena *a, const struct brief *b,
                        const struct plan *plan) {
    double least = b->bound->work.bytes_read + b->bound->work.bytes_written, bytes = 0;
    for (int i = 0; i < plan->n_steps; i++)
        bytes += step_bytes(plan, &plan->steps[i]);
    for (int i = 0; i < plan->n_buffers; i++)
        bytes += plan->buffers[i].is_zeroed ? (double)plan->buffers[i].size_bytes : 0;
    if (least > 0)
        str_printf(
            out,
            "- where each launch reads or writes each of its buffers once, %s are moved: %.2f "
            "times the least traffic\n",
            bound_quantity(a, bytes, "B"), bytes / least);
}

// ---- all of it

static void put_code(struct str *out, const struct profile *p) {
    double scalar = profile_get(p, METRIC_HOT_SCALAR), vector = profile_get(p, METRIC_HOT_VECTOR);
    double spilled = profile_get(p, METRIC_SPILL_BYTES), stack = profile_get(p, METRIC_STACK_BYTES);
    double busy = profile_get(p, METRIC_THREAD_BUSY);
    if (isfinite(scalar + vector))
        str_printf(out,
                   "- its innermost loops, as compiled, hold %.0f floating point instructions on "
                   "vectors and %.0f on single elements\n",
                   vector, scalar);
    if (isfinite(busy))
        str_printf(out, "- threads are busy %.0f%% of the time\n", 100 * busy);
    if (spilled > 0)
        str_printf(out, "- %.0f bytes a thread are spilled from registers\n", spilled);
    else if (isfinite(spilled))
        str_printf(out, "- nothing is spilled from registers%s\n",
                   stack > 0 ? "; arrays lie on the stack" : "");
}

void facts_put(struct str *out, const struct brief *b, const struct search_node *n) {
    struct arena a = {0};
    struct plan plan;
    struct error ignored = {0};
    bool has_plan = n->candidate.source &&
                    candidate_plan(&a, b->problem, b->target, &n->candidate, &plan, &ignored);
    if (metrics_count(&n->profile.call) > 0) {
        put_rate(out, &a, b, profile_get(&n->profile, METRIC_TIME));
        put_launches(out, &a, b, &n->profile, has_plan ? &plan : NULL);
        if (has_plan)
            put_traffic(out, &a, b, &plan);
        put_code(out, &n->profile);
    }
    arena_reset(&a);
}
