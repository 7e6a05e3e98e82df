// Windows of pools that lie one below the other, so that a thread reads each row once for all of
// those it belongs to. For the emitters of `pool`; every window has two axes or more.
#pragma once

#include "ir/detail.h"

// Taps of all axes but the last two.
static inline int64_t pool_outer_taps(const struct window *w) {
    int64_t n = 1;
    for (int i = 0; i + 2 < w->n_axes; i++)
        n *= w->size[i];
    return n;
}

// As which tap does row number `row` of what the windows cover, one `stride` below the other,
// belong to that of `item`? -1: to none.
static inline int pool_tap(const struct window *w, int item, int row) {
    int i = w->n_axes - 2;
    int64_t at = row - item * w->stride[i];
    return at >= 0 && at % w->dilation[i] == 0 && at / w->dilation[i] < w->size[i]
               ? (int)(at / w->dilation[i])
               : -1;
}

// Rows that `items` windows cover, and how many of them some window reads.
static inline int64_t pool_covered_rows(const struct window *w, int items) {
    int i = w->n_axes - 2;
    return (items - 1) * w->stride[i] + (w->size[i] - 1) * w->dilation[i] + 1;
}

static inline int64_t pool_used_rows(const struct window *w, int items) {
    int64_t used = 0;
    for (int row = 0; row < pool_covered_rows(w, items); row++) {
        bool is_used = false;
        for (int item = 0; item < items; item++)
            is_used |= pool_tap(w, item, row) >= 0;
        used += is_used;
    }
    return used;
}
