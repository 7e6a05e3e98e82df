// A CPU for tests that search, remember or decide on tables: nothing is measured on it.
#pragma once

#include "model/target.h"

// clang-format off
#define TABLE_TARGET                  \
    {.name = "cpu",                   \
     .device = "a table",             \
     .id = "table",                   \
     .isa = "none",                   \
     .n_threads = 2,                  \
     .vector_bytes = 32,              \
     .l1_bytes = 32768,               \
     .l2_bytes = 1 << 20,             \
     .llc_bytes = 16 << 20,           \
     .top_clock_hz = 3e9,             \
     .cc = "cc"}
// clang-format on
