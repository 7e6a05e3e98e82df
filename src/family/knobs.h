// Knobs that several emitters have with the same meaning, as rows for their tables (emitter.h).
// A summary stands here once, so that a knob of one name is explained in one way.
#pragma once

#include "family/emitter.h"

extern const int knob_cpu_vec_grid[];               // 1, 4, 8, 16
extern const char *const knob_store_words[];        // cached, stream
extern const char *const knob_divide_words[];       // exact, reciprocal
extern const char *const knob_keep_local_words[];   // reread, local
extern const char *const knob_keep_shared_words[];  // reread, register, shared

// clang-format off
#define KNOB_CPU_VEC \
    {.name = "vec", .summary = "lanes of a vector", .n_parts = 1, .grid = {knob_cpu_vec_grid}}

#define KNOB_CPU_STORE \
    {.name = "store", .summary = "through the caches or past them", .words = knob_store_words}

#define KNOB_GPU_STORE \
    {.name = "store", .summary = "keep results in the caches or not", .words = knob_store_words}

#define KNOB_DIVIDE                                                     \
    {.name = "divide",                                                  \
     .change = CHANGE_LAW,                                              \
     .summary = "by a row's own value, or multiply by its reciprocal",  \
     .words = knob_divide_words}

// Threads over the results of windows: how many along the last axis, and groups of lines.
#define KNOB_THREADS_ALONG(values) \
    {.name = "threads", .summary = "threads along the last axis", .n_parts = 1, .grid = {values}}

#define KNOB_LINES(values)                                             \
    {.name = "lines",                                                  \
     .summary = "groups of results that a block has below each other", \
     .n_parts = 1,                                                     \
     .grid = {values}}

// A block of qgemm: what a warp has, and how warps and blocks share the work.
#define KNOB_QGEMM_TILE(rows, tokens)                                           \
    {.name = "tile",                                                            \
     .summary = "rows of weights and rows of x that a warp multiplies at once", \
     .n_parts = 2,                                                              \
     .grid = {rows, tokens}}

#define KNOB_QGEMM_WARPS(down, along)                                               \
    {.name = "warps",                                                               \
     .summary = "warps of a block, with rows of their own and with a part of K",    \
     .n_parts = 2,                                                                  \
     .grid = {down, along}}

#define KNOB_QGEMM_SPLIT(values)                                    \
    {.name = "split",                                               \
     .change = CHANGE_COMBINE,                                      \
     .summary = "blocks of a cluster that have a part of K each",   \
     .n_parts = 1,                                                  \
     .grid = {values}}
// clang-format on
