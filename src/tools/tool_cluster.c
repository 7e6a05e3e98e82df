// Blocks that each fetch the same tiles from L2, which is what limits: in a cluster one fetch can
// serve several of them (multicast), and blocks can read one another's shared memory.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

enum { SECTOR = 32 };
// How often L2 delivers what memory gave once, and how busy it must be with that: of the sectors
// that its slices could look up, its ports deliver no more than about 0.6.
static const double SHARED_TILES = 4, BUSY = 0.45, BAD = 0.55;
// Two blocks that share one of two operands fetch three tiles where there were four.
static const double SPARED = 0.25;

static const struct action together[] = {
    WORD("meet", "cluster", "let the blocks of a row meet in a cluster"),
    TURN("tile", +1, "larger tiles: each is fetched by fewer blocks"),
    WORDS("clusters of two or four blocks that fetch a tile once for all of them (cp.async.bulk "
          "with .multicast::cluster), each its part"),
    WORDS("larger tiles: fewer blocks fetch the same"),
};

// Does the hot loop work on tiles in shared memory, however they came there?
static bool uses_tiles(const struct tool_subject *s) {
    static const enum metric_id ways[] = {METRIC_HOT_SHARED_LOADS, METRIC_HOT_MATRIX_LOADS,
                                          METRIC_HOT_TENSOR_GROUP, METRIC_HOT_BULK_COPIES};
    for (int i = 0; i < ARRAY_LEN(ways); i++)
        if (subject_get(s, ways[i]) > 0)
            return true;
    return false;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double delivered = SECTOR * subject_get(s, METRIC_L2_READ_SECTORS);
    double held = subject_get(s, METRIC_FOOTPRINT), read = subject_get(s, METRIC_DRAM_READ_BYTES);
    double busy = subject_get(s, METRIC_L2_BUSY);
    double once = isfinite(held) ? fmin(held, fmax(read, 1)) : read, times = delivered / once;
    if (!target_has_clusters(s->target) || subject_get(s, METRIC_CLUSTER_BLOCKS) > 1 ||
        !uses_tiles(s) || !(times > SHARED_TILES) || !(busy > BUSY) ||
        s->measured.part == PART_DRAM || subject_is_near(s))
        return false;
    f->severity = busy > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "blocks fetch the same tiles from L2, each for itself";
    f->evidence = arena_printf(a, "L2 is %.0f%% busy and delivers %s, %.0f times what %s",
                               100 * busy, bound_quantity(a, delivered, "B"), times,
                               once < read ? "the launch can touch" : "memory gave");
    f->expected_gain = 1 / (1 - SPARED * fmin(1, busy));
    tool_add_number(f, METRIC_L2_BUSY, busy, BUSY);
    tool_add_number(f, METRIC_L2_READ_SECTORS, delivered / SECTOR, SHARED_TILES * once / SECTOR);
    tool_add_actions(f, s, together, ARRAY_LEN(together));
    return true;
}

const struct tool tool_cluster = {
    .name = "cluster",
    .summary = "blocks that could fetch a tile once for all of a cluster",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 4,
    .needs = {METRIC_L2_READ_SECTORS, METRIC_L2_BUSY, METRIC_DRAM_READ_BYTES,
              METRIC_HOT_SHARED_LOADS},
    .examine = examine,
};
