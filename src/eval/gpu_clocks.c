// Readings of NVML at most every 20 ms; the pairs since the last one get its throttle bits.
#include "eval/gpu_clocks.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"

static const int64_t read_every_ns = 20000000;

void gpu_clocks_open(struct gpu_clocks *c, const char *uuid) {
    struct error err = {0};
    *c = (struct gpu_clocks){.bits = -1};
    c->is_watched = nvml_open(&c->nvml, &err) && nvml_find(&c->nvml, uuid, &c->device, &err) &&
                    nvml_throttle_check(&c->nvml, c->device, &err);
    snprintf(c->why_not, sizeof c->why_not, "%.*s", (int)sizeof c->why_not - 1, err.text);
}

void gpu_clocks_close(struct gpu_clocks *c) {
    nvml_close(&c->nvml);
    c->is_watched = false;
}

int64_t gpu_clocks_bits(struct gpu_clocks *c) {
    int64_t now = clock_now_ns();
    if (!c->is_watched || (c->read_ns && now - c->read_ns < read_every_ns))
        return c->bits;
    c->read_ns = now;
    c->bits = nvml_throttle_bits(&c->nvml, c->device);
    return c->bits;
}

const char *gpu_clocks_text(struct arena *a, const struct gpu_clocks *c,
                            const struct clock_counts *n) {
    if (!c->is_watched)
        return arena_printf(a, "not watched: %s", c->why_not);
    const char *words =
        n->n_capped ? arena_printf(a, "at the power cap in %d of %d pairs", n->n_capped, n->n_pairs)
                    : "free";
    if (n->n_slowed)
        words = arena_printf(a, "%s; slowed down by %s in %d, which are left out", words,
                             nvml_throttle_text(n->slowed_bits), n->n_slowed);
    return words;
}
