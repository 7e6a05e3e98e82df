// Knobs that all emitters by wgmma have alike, as rows of their tables: what a block works on, who
// multiplies, how much is on its way, and in which order tiles are walked.
#pragma once

#include "family/emitter.h"

// Grids are literals of file scope, so that an emitter has those of the rows it takes.
#define WGMMA_GRID(...) ((const int[]){__VA_ARGS__, -1})

#define WGMMA_KNOB_TILE                                                                    \
    {                                                                                      \
        .name = "tile", .summary = "rows and columns that a block works on", .n_parts = 2, \
        .grid = {                                                                          \
            WGMMA_GRID(64, 128, 256),                                                      \
            WGMMA_GRID(64, 128, 192, 256)                                                  \
        }                                                                                  \
    }
#define WGMMA_KNOB_WARPGROUPS                                                                 \
    {                                                                                         \
        .name = "warpgroups",                                                                 \
        .summary = "warpgroups that multiply, each with its share of the rows", .n_parts = 1, \
        .grid = {                                                                             \
            WGMMA_GRID(1, 2)                                                                  \
        }                                                                                     \
    }
#define WGMMA_KNOB_STAGES                                                               \
    {                                                                                   \
        .name = "stages", .summary = "slices in shared memory", .n_parts = 1, .grid = { \
            WGMMA_GRID(2, 3, 4, 5, 6, 7, 8)                                             \
        }                                                                               \
    }
#define WGMMA_KNOB_GROUP                                                                    \
    {                                                                                       \
        .name = "group", .summary = "rows of tiles that are walked together", .n_parts = 1, \
        .grid = {                                                                           \
            WGMMA_GRID(1, 4, 8, 16)                                                         \
        }                                                                                   \
    }
#define WGMMA_KNOB_APART                                                                      \
    {                                                                                         \
        .name = "apart", .summary = "1: each warpgroup that multiplies has tiles of its own", \
        .n_parts = 1, .grid = {                                                               \
            WGMMA_GRID(0, 1)                                                                  \
        }                                                                                     \
    }
#define WGMMA_KNOB_CLUSTER                                                                    \
    {                                                                                         \
        .name = "cluster",                                                                    \
        .summary = "blocks with tiles side by side, which read what they share once for all", \
        .n_parts = 1, .grid = {                                                               \
            WGMMA_GRID(1, 2, 4)                                                               \
        }                                                                                     \
    }
