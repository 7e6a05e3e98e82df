// Where the buffers of a candidate lie: the same arithmetic for judge and runner.
//
// A *slot* holds one copy of every buffer; timing rotates over slots so that caches
// are cold. Buffers live in three memory files. Inputs and outputs of all slots belong to
// the judge: runners get the inputs read-only, and subject and baseline write their outputs to
// the very same pages, in turns, because where pages lie in memory is worth some percent.
// Scratch is each runner's own. Within a file each (buffer, slot) has whole pages:
//
//     | lead: guard bytes | size bytes, at a multiple of 64 | tail: guard bytes |
//
// The runner maps them with unmapped pages on both sides. In even slots a buffer ends
// where its pages end, in odd slots it begins where they begin: reading or writing past
// either end faults in one of them, and writing within the page hurts guard bytes that
// the judge checks.
#pragma once

#include <stdint.h>

#include "record/plan.h"

struct arena;

enum {
    LAYOUT_PAGE = 4096,
    LAYOUT_ALIGN = 64,
    LAYOUT_GUARD = 1 << 20,  // bytes of address space left unmapped on each side
    SLOTS_MIN = 2,
    SLOTS_MAX = 64,
    // Buffers times slots: each is mapped for itself, and a process may have 65530 mappings.
    LAYOUT_BASES_MAX = 16384,
};

enum layout_file { FILE_INPUTS, FILE_OUTPUTS, FILE_SCRATCH, FILE_COUNT };

struct layout {
    int n_slots, n_buffers;
    struct layout_buffer {
        enum layout_file file;
        int64_t size_bytes;
        int64_t span_bytes;  // whole pages of one slot
        int64_t offset;      // of slot 0 in its file; the other slots follow each other
    } * buffers;
    int64_t file_bytes[FILE_COUNT];
};

void layout_make(struct arena *a, struct layout *l, const struct plan *plan, int n_slots);

// Where the pages of a buffer begin in its file, and its bytes within these pages.
int64_t layout_offset(const struct layout *l, int buffer, int slot);
int64_t layout_lead(const struct layout *l, int buffer, int slot);

// The poison at byte `at` of a buffer's pages, a multiple of 4: a quiet NaN. Of scratch it is
// another one at each place, so that nobody knows from one word what a neighbour began with; of
// outputs it is `word` itself.
uint32_t layout_poison(const struct layout *l, int buffer, int64_t at, uint32_t word);

// Slots for a problem of `bytes` per call: enough to go beyond twice the last level
// cache, within SLOTS_MIN and SLOTS_MAX and, as far as that goes, `max_bytes` in all. Where there
// are many buffers there are fewer slots, so that candidates have room for scratch.
int layout_slots(int64_t bytes, int n_buffers, int64_t llc_bytes, int64_t max_bytes);

// Where a buffer of a slot stands among LAYOUT_BASES_MAX.
static inline int layout_base(const struct layout *l, int buffer, int slot) {
    return slot * l->n_buffers + buffer;
}
