// Threads of a warp that touch scattered addresses: each 32-byte sector is fetched whole, and the
// rest of it is thrown away.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

enum { SECTOR = 32, WIDEST = 16 };
// Below USED of the bytes of a sector there is something to gain; ncu draws the line at 3.5 of 4.
static const double USED = 0.8, BAD = 0.5;

static const struct action together[] = {
    WORDS("let neighbouring threads access neighbouring addresses: exchange the roles of the "
          "indices, or lay the data out in the order in which it is read"),
    WORDS("where the order is given, bring tiles through shared memory: read along rows, use along "
          "columns"),
};

// The share of what is fetched that is used. A warp of 32 threads that access w bytes each needs w
// sectors; without a width only more than the widest says something.
static double used_of(const struct tool_subject *s, bool is_store) {
    double bytes = subject_get(s, is_store ? METRIC_STORE_SECTOR_BYTES : METRIC_LOAD_SECTOR_BYTES);
    double sectors = subject_get(s, is_store ? METRIC_STORE_SECTORS : METRIC_LOAD_SECTORS);
    double requests = subject_get(s, is_store ? METRIC_STORE_REQUESTS : METRIC_LOAD_REQUESTS);
    double width = subject_get(s, is_store ? METRIC_HOT_STORE_BYTES : METRIC_HOT_LOAD_BYTES);
    if (isfinite(bytes))
        return sectors == 0 || bytes == 0 ? NAN : fmin(1, bytes / SECTOR);
    if (!(requests > 0))
        return NAN;
    return fmin(1, (isfinite(width) ? width : WIDEST) / (sectors / requests));
}

// What the code says of it where nobody counted: by the distance of a warp's addresses. What of the
// rest is used later, from L1, it does not say.
static bool examine_code(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double load = subject_get(s, METRIC_CODE_LOAD_USED);
    double store = subject_get(s, METRIC_CODE_STORE_USED);
    bool is_store = store < load || isnan(load);
    double used = is_store ? store : load;
    if (!(used < USED) || s->measured.kind == CLASS_COMPUTE)
        return false;
    f->severity = used < BAD ? SEVERITY_MEDIUM : SEVERITY_LOW;
    f->cause = arena_printf(a, "global %s of a warp are scattered", is_store ? "stores" : "loads");
    f->evidence = arena_printf(a,
                               "by the addresses in the code %.0f%% of the bytes that a warp %s at "
                               "a time are used",
                               100 * used, is_store ? "writes" : "fetches");
    tool_add_number(f, is_store ? METRIC_CODE_STORE_USED : METRIC_CODE_LOAD_USED, used, USED);
    tool_add_actions(f, s, together, ARRAY_LEN(together));
    return true;
}

static double gain_of(double busy, double spared) {
    return 1 / (1 - (isfinite(busy) ? busy : 1) * (isfinite(spared) ? spared : 0));
}

// Of sectors that are written in part tool_writes speaks: order is not what they lack.
static bool is_for_writes(const struct tool_subject *s, bool is_store) {
    return is_store && subject_fills(s) > 0;
}

static bool examine_counters(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double load = used_of(s, false), store = used_of(s, true);
    bool is_store = store < load || isnan(load);
    double used = is_store ? store : load;
    if (!(used < USED) || is_for_writes(s, is_store))
        return false;
    double sectors = subject_get(s, is_store ? METRIC_STORE_SECTORS : METRIC_LOAD_SECTORS);
    double other = subject_get(s, is_store ? METRIC_LOAD_SECTORS : METRIC_STORE_SECTORS);
    double spared = (1 - used) * sectors / (sectors + (isfinite(other) ? other : 0));
    double busy = s->measured.memory_busy;
    // Scattered accesses hold up the path to memory long before memory itself is busy.
    bool is_idle = busy < 0.3 && !(subject_awaits_memory(s) && busy > 0.1);
    f->severity = used < BAD && !is_idle ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    if (busy < 0.6 && s->measured.kind == CLASS_LATENCY && !is_idle)
        busy = 1;
    f->cause = arena_printf(a, "global %s of a warp are scattered", is_store ? "stores" : "loads");
    f->evidence = arena_printf(a, "%.0f%% of the bytes that are %s are used", 100 * used,
                               is_store ? "written" : "fetched");
    f->expected_gain = gain_of(busy, spared);
    tool_add_number(f, is_store ? METRIC_STORE_SECTOR_BYTES : METRIC_LOAD_SECTOR_BYTES,
                    used * SECTOR, USED * SECTOR);
    tool_add_number(f, is_store ? METRIC_STORE_SECTORS : METRIC_LOAD_SECTORS, sectors, NAN);
    tool_add_actions(f, s, together, ARRAY_LEN(together));
    return true;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    bool is_counted = isfinite(used_of(s, false)) || isfinite(used_of(s, true)) ||
                      metrics_has(s->metrics, METRIC_LOAD_SECTORS);
    return is_counted ? examine_counters(a, s, f) : examine_code(a, s, f);
}

const struct tool tool_coalesce = {
    .name = "coalesce",
    .summary = "global accesses that use little of what they fetch",
    .devices = ON_GPU,
    .of_launches = true,
    .examine = examine,
};
