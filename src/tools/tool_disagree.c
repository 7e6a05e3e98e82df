// Busy with something else than the problem needs: a problem that memory bounds and whose kernel
// computes, or waits, has its first remedy there, not in faster traffic.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// What a kernel of the measured class can do about it, whatever the problem.
static const struct action compute_where_memory[] = {
    WORD("divide", "reciprocal", "multiply by a reciprocal instead of dividing"),
    TURN("vec", +1, "wider vectors: fewer instructions for the same data"),
    WORDS(
        "fewer instructions for each element: address arithmetic out of the loop, no divisions, no "
        "conversions that the problem does not ask for, wider loads and stores"),
};
static const struct action memory_where_compute[] = {
    TURN("tile", +1, "larger tiles, so that data are used more often while they are near"),
    TURN("micro", +1, "larger tiles per thread, so that registers are used more often"),
    WORDS("use each value more often once it is near: tiles in shared memory and registers"),
};
static const struct action waits[] = {
    TURN("stages", +1, "load the next slice while this one is used"),
    TURN("items", +1, "more vectors per thread, so that more is under way"),
    TURN("threads", +1, "more threads per row, so that more is under way"),
    TURN("minblocks", +1, "more blocks at a time"),
    WORDS("more independent work under way: several loads before the first is used, more warps, "
          "fewer "
          "barriers"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    const struct class_of *problem = &s->analytic, *kernel = &s->measured;
    if (!classes_disagree(problem, kernel) || subject_is_near(s))
        return false;
    f->severity = SEVERITY_MEDIUM;
    f->cause = arena_printf(a, "the problem is %s-bound, this kernel is %s-bound",
                            class_name(problem->kind), class_name(kernel->kind));
    f->evidence = class_text(a, kernel);
    f->expected_gain = s->gap;
    tool_add_number(f, METRIC_DRAM_BUSY, subject_get(s, METRIC_DRAM_BUSY), NAN);
    tool_add_number(f, METRIC_ISSUE_BUSY, subject_get(s, METRIC_ISSUE_BUSY), NAN);
    if (kernel->kind == CLASS_LATENCY)
        tool_add_actions(f, s, waits, ARRAY_LEN(waits));
    else if (kernel->kind == CLASS_COMPUTE)
        tool_add_actions(f, s, compute_where_memory, ARRAY_LEN(compute_where_memory));
    else if (kernel->kind == CLASS_MEMORY)
        tool_add_actions(f, s, memory_where_compute, ARRAY_LEN(memory_where_compute));
    return true;
}

const struct tool tool_disagree = {
    .name = "disagree",
    .summary = "a kernel that is busy with something else than its problem needs",
    .devices = ON_GPU,
    .of_launches = true,
    .is_symptom = true,
    .examine = examine,
};
