// Memory's time that writing wastes. A sector of 32 bytes that is written in part must be read
// first: memory then delivers bytes that no load has asked for. And a memory that is read and
// written in turns of a few bytes loses time at each turn.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Bytes read for writing, of those written; turns: of the throughput that a plain copy reaches.
static const double BAD = 0.5, SLOW = 0.94;

static const struct action whole[] = {
    WORDS("write whole sectors: fill the gaps of padded structures too, or store fields in arrays "
          "of their own"),
    WORDS("where only some elements are written, write all of them (the old value where nothing "
          "changes), or collect them and write them next to one another"),
};
static const struct action longer[] = {
    TURN("items", +1, "more vectors per thread: all loads, then all stores"),
    TURN("vec", +1, "load and store wider vectors"),
    WORD("store", "stream", "write past the caches: the result is not read again"),
    WORDS("longer runs of either kind: several loads of 16 bytes, then as many stores"),
};

static bool find_turns(struct arena *a, const struct tool_subject *s, double read, double written,
                       struct finding *f) {
    double share = read / (read + written), busy = s->measured.busy;
    double occupied = subject_get(s, METRIC_ACHIEVED_OCCUPANCY), full = subject_memory_full(s);
    if (!(share > 0.3 && share < 0.7) || s->measured.kind != CLASS_MEMORY ||
        s->measured.part != PART_DRAM || !(busy < full) || !(occupied > 0.6) ||
        !subject_awaits_memory(s) || subject_is_near(s) || subject_get(s, METRIC_HOT_LOCAL) > 0)
        return false;  // what lies in local memory is tool_spill's
    f->severity = busy < SLOW * full ? SEVERITY_MEDIUM : SEVERITY_LOW;
    f->cause = "memory loses time between short runs of reading and of writing";
    f->evidence = arena_printf(a, "%.0f%% of the traffic is reads, and memory is busy %.0f%%",
                               100 * share, 100 * busy);
    f->expected_gain = full / busy;
    tool_add_number(f, METRIC_DRAM_BUSY, busy, full);
    tool_add_number(f, METRIC_DRAM_READ_BYTES, read, NAN);
    tool_add_number(f, METRIC_DRAM_WRITE_BYTES, written, NAN);
    tool_add_actions(f, s, longer, ARRAY_LEN(longer));
    return true;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double read = subject_get(s, METRIC_DRAM_READ_BYTES);
    double written = subject_get(s, METRIC_DRAM_WRITE_BYTES), fills = subject_fills(s);
    if (!(fills > 0))
        return find_turns(a, s, read, written, f);
    double busy = s->measured.memory_busy, spare = fills / (read + written);
    f->severity = fills > BAD * written && busy > 0.4 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "sectors are written in part, and memory has to be read for the rest of them";
    f->evidence =
        arena_printf(a, "%s read from memory, of which loads asked for %s at most; %s written",
                     bound_quantity(a, read, "B"), bound_quantity(a, read - fills, "B"),
                     bound_quantity(a, written, "B"));
    f->expected_gain = 1 / (1 - (isfinite(busy) ? fmin(1, busy) : 1) * spare);
    tool_add_number(f, METRIC_DRAM_READ_BYTES, read, read - fills);
    tool_add_number(f, METRIC_DRAM_WRITE_BYTES, written, NAN);
    tool_add_actions(f, s, whole, ARRAY_LEN(whole));
    return true;
}

const struct tool tool_writes = {
    .name = "writes",
    .summary = "partial writes, and turns between reading and writing memory",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 3,
    .needs = {METRIC_DRAM_READ_BYTES, METRIC_DRAM_WRITE_BYTES, METRIC_LOAD_SECTORS},
    .examine = examine,
};
