// Near what the card can do: only less work helps, and little of what other tools say.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Of the peak that counters state; memory has its own line.
static const double FULL = 0.85;

static const struct action less[] = {
    WORDS(
        "this kernel does its work about as fast as the card can: do less of it. Fuse it with what "
        "comes before or after, move fewer bytes (narrower types), or compute less"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    const struct class_of *c = &s->measured;
    bool is_one = c->part == PART_DRAM || c->part == PART_TENSOR || c->part == PART_ARITHMETIC;
    // With a bound, reach says how near the call is to what its problem needs.
    // Units that other instructions get more out of are not at their limit.
    is_one &= c->part != PART_TENSOR || !subject_is_on_slow_path(s);
    double full = c->part == PART_DRAM ? subject_memory_full(s) : FULL;
    if (s->in->bound || !is_one || !(c->busy >= full))
        return false;
    f->severity = SEVERITY_LOW;
    f->cause = arena_printf(a, "near the limit of %s", class_part_name(c->part));
    f->evidence = class_text(a, c);
    f->expected_gain = 1 / c->busy;
    if (c->part == PART_DRAM)
        tool_add_number(f, METRIC_DRAM_BUSY, subject_get(s, METRIC_DRAM_BUSY), NAN);
    if (c->part == PART_TENSOR)
        tool_add_number(f, METRIC_PIPE_TENSOR_BUSY, subject_get(s, METRIC_PIPE_TENSOR_BUSY), NAN);
    tool_add_actions(f, s, less, ARRAY_LEN(less));
    return true;
}

const struct tool tool_saturated = {
    .name = "saturated",
    .summary = "as near as it gets to the limit of the card",
    .devices = ON_GPU,
    .of_launches = true,
    .examine = examine,
};
