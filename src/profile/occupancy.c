// A multiprocessor hands out registers by 256 to a warp, warps to four parts, and 1 KiB of shared
// memory to each block besides its own (compute capability 8.0 and later).
#include "profile/occupancy.h"

#include <math.h>

enum { WARP = 32, REGISTER_UNIT = 256, PARTS = 4, SHARED_RESERVED = 1024 };

struct occupancy occupancy_of(const struct target *t, const struct metrics *m) {
    double threads = metrics_get(m, METRIC_BLOCK_THREADS), warps = ceil(threads / WARP);
    double per_warp = ceil(metrics_get(m, METRIC_REGISTERS) * WARP / REGISTER_UNIT) * REGISTER_UNIT;
    double shared = metrics_get(m, METRIC_SHARED_BYTES) + SHARED_RESERVED;
    struct occupancy o = {.by = LIMIT_REGISTERS};
    o.fits[LIMIT_REGISTERS] = floor(floor(t->registers_per_sm / per_warp / PARTS) * PARTS / warps);
    o.fits[LIMIT_SHARED] = floor((double)t->shared_per_sm / shared);
    o.fits[LIMIT_BLOCKS] = t->blocks_per_sm > 0 ? t->blocks_per_sm : INFINITY;
    o.fits[LIMIT_THREADS] = floor(t->threads_per_sm / (warps * WARP));
    for (int i = 1; i < LIMIT_COUNT; i++)
        if (o.fits[i] < o.fits[o.by])
            o.by = (enum occupancy_limit)i;
    bool is_known = t->registers_per_sm > 0 && t->shared_per_sm > 0 && t->threads_per_sm > 0 &&
                    isfinite(threads + per_warp + shared) && threads > 0;
    o.blocks = is_known ? o.fits[o.by] : NAN;
    o.share = o.blocks * warps * WARP / t->threads_per_sm;
    return o;
}

void occupancy_complete(const struct target *t, struct metrics *m) {
    struct occupancy o = occupancy_of(t, m);
    if (!metrics_has(m, METRIC_BLOCKS_PER_SM))
        metrics_set(m, METRIC_BLOCKS_PER_SM, o.blocks);
    if (!metrics_has(m, METRIC_OCCUPANCY))
        metrics_set(m, METRIC_OCCUPANCY, o.share);
    double per_sm = metrics_get(m, METRIC_BLOCKS_PER_SM);
    if (!metrics_has(m, METRIC_WAVES) && t->sms > 0 && per_sm > 0)
        metrics_set(m, METRIC_WAVES, metrics_get(m, METRIC_BLOCKS) / (per_sm * t->sms));
}
