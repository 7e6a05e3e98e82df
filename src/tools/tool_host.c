// A kernel that reads or writes the memory of the host: over the bus, which is a hundred times
// slower than the card's own.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

enum { SECTOR = 32 };
// Of the sectors that the kernel touches; the profiler itself touches some ten thousand.
static const double MUCH = 0.1, BAD = 0.3, NOISE = 100000;

static const struct action near[] = {
    WORDS("copy the data to the device once, before the kernel (cudaMemcpyAsync on a stream)"),
    WORDS("managed memory: prefetch it (cudaMemPrefetchAsync), and keep the host from touching it "
          "in between"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double host = subject_get(s, METRIC_HOST_SECTORS);
    double all = subject_get(s, METRIC_LOAD_SECTORS) + subject_get(s, METRIC_STORE_SECTORS);
    double rate = host * SECTOR / subject_get(s, METRIC_TIME), share = fmin(1, host / all);
    if (!(host > NOISE) || !(share > MUCH))
        return false;
    f->severity = share > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "the kernel works on the host's memory, over the bus";
    f->evidence =
        arena_printf(a, "%.0f%% of the sectors it touches, %.3g GB/s", 100 * share, rate * 1e-9);
    if (s->target->peak_bytes_per_s > 0)
        f->expected_gain = fmax(1, s->target->peak_bytes_per_s * 0.8 / rate * share);
    tool_add_number(f, METRIC_HOST_SECTORS, host, MUCH * all);
    tool_add_number(f, METRIC_LOAD_SECTORS, subject_get(s, METRIC_LOAD_SECTORS), NAN);
    tool_add_actions(f, s, near, ARRAY_LEN(near));
    return true;
}

const struct tool tool_host = {
    .name = "host",
    .summary = "kernels that work on the memory of the host",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 4,
    .needs = {METRIC_HOST_SECTORS, METRIC_LOAD_SECTORS, METRIC_STORE_SECTORS, METRIC_TIME},
    .examine = examine,
};
