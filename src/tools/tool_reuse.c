// Too little arithmetic for each value read from shared memory. A multiprocessor reads 128 bytes a
// clock from it and does 128 multiply-adds: a thread that reads more than four bytes for each of
// its multiply-adds waits for shared memory, unless threads read the same address, which costs one
// read.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Bytes for each multiply-add. Half of the reads of a product are the same for many threads.
static const double MUCH = 3;

static const struct action more_per_read[] = {
    TURN("micro", +1, "a larger tile per thread: more multiply-adds for each value read"),
    WORDS("a tile of results per thread (4x4, 8x8): each value read serves several multiply-adds"),
    WORDS("read 16 bytes at a time (float4)"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double loads = subject_get(s, METRIC_HOT_SHARED_LOADS), fma = subject_get(s, METRIC_HOT_FMA);
    double width = subject_get(s, METRIC_HOT_SHARED_LOAD_BYTES), bytes = loads * width / fma;
    if (!(fma >= 4) || !(bytes > MUCH) || s->measured.part == PART_DRAM || subject_is_near(s))
        return false;
    f->severity = bytes > 2 * MUCH ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "each value read from shared memory serves too few multiply-adds";
    f->evidence = arena_printf(a, "%.0f reads of %.0f bytes for %.0f multiply-adds in the hot loop",
                               loads, width, fma);
    f->expected_gain = fmin(bytes / MUCH, 4);
    tool_add_number(f, METRIC_HOT_SHARED_LOADS, loads, MUCH * fma / width);
    tool_add_number(f, METRIC_HOT_FMA, fma, NAN);
    tool_add_actions(f, s, more_per_read, ARRAY_LEN(more_per_read));
    return true;
}

const struct tool tool_reuse = {
    .name = "reuse",
    .summary = "too little arithmetic for each read from shared memory",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 3,
    .needs = {METRIC_HOT_SHARED_LOADS, METRIC_HOT_FMA, METRIC_HOT_SHARED_LOAD_BYTES},
    .examine = examine,
};
