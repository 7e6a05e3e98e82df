// Remainder loops: rows that are no multiple of the vector end in elements computed one by one,
// which take as long each as a vector does.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Of the turns of a row's loop.
static const double WORTH = 0.1, BAD = 0.4;

static const struct action fit[] = {
    TURN("vec", -1, "narrower vectors, which leave fewer elements over"),
    TURN("unroll", -1, "unroll less: the rest of a row is shorter"),
};

// The last axis of what the stage computes; 0: not known.
static int64_t row_length(const struct problem *p, const char *value) {
    node_id id = graph_find(&p->graph, value);
    const struct shape *s = id >= 0 ? &p->graph.nodes[id].shape : NULL;
    return s && s->rank > 0 ? s->size[s->rank - 1] : 0;
}

// Turns for single elements, of all turns of a row.
static double share_of(int64_t row, int lanes) {
    double rest = (double)(row % lanes), whole = (double)(row / lanes);
    return rest + whole > 0 ? rest / (rest + whole) : 0;
}

// A map over all elements at once has no rows, and its code no loop for what is left over: so where
// nobody has looked at the code nothing is said of a map.
static bool may_have_rest(const struct tool_subject *s, const struct kernel_stage *stage) {
    double scalar = subject_get(s, METRIC_HOT_SCALAR);
    return isfinite(scalar) ? scalar > 0 : strcmp(stage->family, "map") != 0;
}

double subject_remainder(const struct tool_subject *s, int64_t *row, int *lanes) {
    double most = 0;
    for (int i = 0; s->kernel && s->in->problem && i < s->kernel->n_stages; i++) {
        const struct kernel_stage *stage = s->kernel->stages[i];
        if (!may_have_rest(s, stage))
            continue;
        struct kernel alone = {.stages = (struct kernel_stage **)&stage, .n_stages = 1};
        int vec = tool_knob(&alone, "vec");
        int64_t length = row_length(s->in->problem, stage->values[0]);
        if (vec < 2 || length < 1 || !(share_of(length, vec) > most))
            continue;
        most = share_of(length, vec);
        *row = length;
        *lanes = vec;
    }
    return most;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    int64_t row = 0;
    int lanes = 0;
    double most = subject_remainder(s, &row, &lanes);
    if (!(most > WORTH) || subject_is_near(s))
        return false;
    f->severity = most > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "rows end in elements that are computed one by one";
    f->evidence =
        arena_printf(a, "rows of %lld in vectors of %d leave %lld over: %.0f%% of the turns",
                     (long long)row, lanes, (long long)(row % lanes), 100 * most);
    // A rest done as one more vector.
    f->expected_gain = 1 / (1 - most + 1 / ((double)(row / lanes) + (double)(row % lanes)));
    tool_add_number(f, METRIC_TIME, subject_get(s, METRIC_TIME), NAN);
    tool_add_actions(f, s, fit, ARRAY_LEN(fit));
    return true;
}

const struct tool tool_tail = {
    .name = "tail",
    .summary = "remainder loops: rows that are no multiple of the vector",
    .devices = ON_CPU,
    .n_needs = 1,
    .needs = {METRIC_TIME},
    .examine = examine,
};
