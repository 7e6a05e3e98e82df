// Narrow accesses on a GPU: a memory-bound kernel that moves less than 16 bytes at once needs more
// instructions, and more of them under way, for the same traffic. The width is that of the
// instructions in the hot loop; before a kernel was compiled, its block's.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

enum { WIDEST_BYTES = 16, ELEMENT_BYTES = 4 };

static const struct action wider[] = {
    TURN("vec", +1, "load and store wider vectors"),
    TURN("items", +1, "more vectors per thread, so that more is under way"),
    WORDS("load and store 16 bytes a thread (float4), where addresses are multiples of that"),
};

// Bytes at once, loads or stores whichever are narrower; NAN: not known.
static double width_of(const struct tool_subject *s) {
    double load = subject_get(s, METRIC_HOT_LOAD_BYTES);
    double store = subject_get(s, METRIC_HOT_STORE_BYTES);
    int vec = tool_knob(s->kernel, "vec");
    if (isfinite(load) || isfinite(store))
        return fmin(load, store);
    return vec > 0 ? vec * ELEMENT_BYTES : NAN;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double width = width_of(s);
    bool is_full = s->measured.memory_busy > 0.85;
    bool is_idle = s->measured.memory_busy < 0.1 && !(s->analytic.kind == CLASS_MEMORY);
    if (!(width < WIDEST_BYTES) || subject_is_near(s) || is_full || is_idle ||
        !subject_awaits_memory(s))
        return false;
    bool is_known = s->analytic.kind != CLASS_UNKNOWN || s->measured.kind != CLASS_UNKNOWN;
    bool is_tiny = width < ELEMENT_BYTES && s->measured.memory_busy < 0.6;
    // Nobody counted, but there is nothing else in the code that could take the time.
    bool is_all = !is_known && width < ELEMENT_BYTES && metrics_only_moves(s->metrics);
    f->severity = is_all                           ? SEVERITY_MEDIUM
                  : !is_known || 1 / s->gap >= 0.8 ? SEVERITY_LOW
                  : is_tiny                        ? SEVERITY_HIGH
                                                   : SEVERITY_MEDIUM;
    if (isfinite(s->measured.memory_busy) || is_all)
        f->expected_gain = subject_cap_gain(s, sqrt(WIDEST_BYTES / width));
    f->cause = "accesses to memory are narrow";
    f->evidence = arena_printf(a, "%.3g byte%s at once; %d are possible", width,
                               width == 1 ? "" : "s", WIDEST_BYTES);
    tool_add_number(f, METRIC_HOT_LOAD_BYTES, subject_get(s, METRIC_HOT_LOAD_BYTES), WIDEST_BYTES);
    tool_add_number(f, METRIC_HOT_STORE_BYTES, subject_get(s, METRIC_HOT_STORE_BYTES),
                    WIDEST_BYTES);
    tool_add_actions(f, s, wider, ARRAY_LEN(wider));
    return true;
}

const struct tool tool_narrow = {
    .name = "narrow",
    .summary = "accesses to memory narrower than they could be",
    .devices = ON_GPU,
    .classes = CLASS_BIT(CLASS_MEMORY) | CLASS_BIT(CLASS_LATENCY),
    .of_launches = true,
    .examine = examine,
};
