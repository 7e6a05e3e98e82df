// Where the buffers of one slot lie in device memory: the same arithmetic for judge and runner.
//
// A slot is one piece of shared device memory (gpu/mapping.h) with all buffers of the problem,
// and, where the plan has scratch, another one with that. Between buffers, before the first and
// behind the last there are guard zones; the judge fills them with poison and looks at every
// word of them after every call. Beyond the piece nothing is mapped.
//
//     | guard | x | guard | y | guard |
#pragma once

#include <stdint.h>

#include "record/plan.h"

// Slots have a descriptor each, and these travel in one message.
enum { GPU_GUARD = 64 << 10, GPU_ALIGN = 256, GPU_SLOTS_MAX = 48 };

struct gpu_layout {
    int first, n;                      // buffers first .. first + n of the plan
    int64_t offset[PLAN_BUFFERS_MAX];  // by number in the plan
    int64_t size[PLAN_BUFFERS_MAX];
    int64_t total_bytes;  // a multiple of the page size
};

// Buffers first .. first + n of `buffers` in slot number `slot`: the same buffer begins
// elsewhere in another slot.
void gpu_layout_make(struct gpu_layout *l, const struct plan_buffer *buffers, int first, int n,
                     int slot, int64_t page_bytes);

// Guard zone number i, from 0 to n: the one before buffer first + i, or behind the last.
void gpu_layout_guard(const struct gpu_layout *l, int i, int64_t *offset, int64_t *bytes);
