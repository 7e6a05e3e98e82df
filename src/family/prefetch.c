// Four KiB of f32 ahead (a KL loss of 2048 x 4096 on two cores of a Xeon: 3.3 ms, so 2.7 ms; half
// as far or twice as far is the same).
#include "family/prefetch.h"

enum { AHEAD = 1024, WORTH_BYTES = 16 << 20, LONG_BYTES = 4 << 20 };

bool prefetch_is_long(const struct region *r) {
    struct region_work w;
    region_count(r, &w);
    return w.bytes_read >= LONG_BYTES;
}

bool prefetch_is_worth(const struct region *r) {
    struct region_work w;
    region_count(r, &w);
    return w.slow_flops > 0 && w.bytes_read >= WORTH_BYTES;
}

static bool ask_leaf(void *ctx, node_id n, const struct axis_map *map) {
    struct scope *s = ctx;
    const struct lowering *l = s->lowering;
    const struct shape *shape = &l->region->graph->nodes[n].shape;
    if (l->region->is_leaf[n] && shape_count(shape) > AHEAD &&
        point_lane_stride(s, shape, map) == 1)
        loop_prefetch(s->builder, l->buffer[n], point_index(s, shape, map));
    return true;
}

void prefetch_value_by(struct scope *s, int group, int64_t distance, node_id n,
                       const struct axis_map *map) {
    struct arena *a = s->lowering->arena;
    struct scope later = *s;
    struct point_visit visit = {s->lowering->region, -1, ask_leaf, &later};
    if (s->lanes < 2)
        return;
    later.index[group] = loop_binary(a, LOOP_ADD, s->index[group], loop_int(a, distance));
    point_visit(&visit, n, map);
}

void prefetch_value(struct scope *s, node_id n, const struct axis_map *map) {
    prefetch_value_by(s, s->lane_group, AHEAD, n, map);
}
