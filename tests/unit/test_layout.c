#include <criterion/criterion.h>

#include "base/arena.h"
#include "eval/layout.h"

static struct plan_buffer buffers[] = {{.name = "x", .role = BUFFER_INPUT, .size_bytes = 100},
                                       {.name = "y", .role = BUFFER_OUTPUT, .size_bytes = 5000},
                                       {.name = "s", .role = BUFFER_SCRATCH, .size_bytes = 4096}};
static const struct plan plan = {.buffers = buffers, .n_buffers = 3};

Test(layout, buffers_of_all_slots_lie_apart_and_aligned) {
    struct arena a = {0};
    struct layout l;
    layout_make(&a, &l, &plan, 3);
    cr_expect_eq(l.file_bytes[FILE_INPUTS], 3 * 4096);
    cr_expect_eq(l.file_bytes[FILE_OUTPUTS], 3 * 8192);
    cr_expect_eq(l.file_bytes[FILE_SCRATCH], 3 * 4096);
    for (int b = 0; b < 3; b++)
        for (int slot = 0; slot < 3; slot++) {
            int64_t lead = layout_lead(&l, b, slot);
            cr_expect_eq(layout_offset(&l, b, slot) % LAYOUT_PAGE, 0);
            cr_expect_eq(lead % LAYOUT_ALIGN, 0);
            cr_expect(lead >= 0 && lead + l.buffers[b].size_bytes <= l.buffers[b].span_bytes);
        }
    cr_expect_eq(layout_offset(&l, 1, 1) - layout_offset(&l, 1, 0), 8192);
    cr_expect_eq(layout_offset(&l, 2, 2), 2 * 4096);
    arena_reset(&a);
}

// One slot ends where its pages end, the next begins where they begin.
Test(layout, either_end_touches_the_guard_in_some_slot) {
    struct arena a = {0};
    struct layout l;
    layout_make(&a, &l, &plan, 2);
    cr_expect_lt(l.buffers[1].span_bytes - layout_lead(&l, 1, 0) - 5000, LAYOUT_ALIGN);
    cr_expect_eq(layout_lead(&l, 1, 1), 0);
    arena_reset(&a);
}

Test(layout, slots_go_beyond_twice_the_cache) {
    cr_expect_eq(layout_slots(1 << 20, 3, 32 << 20, 1 << 30), 64);
    cr_expect_eq(layout_slots(8 << 20, 3, 32 << 20, 1 << 30), 9);
    cr_expect_eq(layout_slots(100, 3, 32 << 20, 1 << 30), SLOTS_MAX);
    cr_expect_eq(layout_slots(1 << 30, 3, 32 << 20, 1 << 30), SLOTS_MIN);
    cr_expect_eq(layout_slots(16 << 20, 3, 1 << 30, 64 << 20), 4, "as far as memory goes");
    // Each buffer of each slot is mapped for itself, and so is as much scratch.
    int slots = layout_slots(100, 576, 32 << 20, 1 << 30);
    cr_expect(slots >= SLOTS_MIN && slots * PLAN_BUFFERS_MAX <= LAYOUT_BASES_MAX);
}
