// How many pairs of calls a comparison takes. The rule, on every device:
//
//   - at least 8 pairs: what an interval of 99% by order statistics needs;
//   - then until the interval is narrow, or the time is spent; narrow is what resolves a difference
//     of 2%, or of the resolution that was asked for: at most PAIRS_MAX, or PAIRS_ROOM, of them;
//   - where 8 pairs would take more than 4 times the time, as many as fit into that, but at
//     least 4: the interval of so few is widened (stats.h);
//   - pairs taken while a card slows itself down do not count, and end the comparison when 4 times
//     the time is spent.
//
// A comparison that is to use all its time ends at PAIRS_ROOM pairs: 20 s of pairs of 0.5 ms.
// So the timing of a comparison takes at most 4 times its seconds, or 4 pairs.
#pragma once

#include <stdbool.h>

enum {
    PAIRS_USUAL = 8,
    PAIRS_LEAST = 4,
    PAIRS_OVERTIME = 4,
    PAIRS_MAX = 400,
    PAIRS_BLOCK = 2,
    PAIRS_ROOM = 40000
};

struct pairs_state {
    int n_pairs, n_slowed;  // so far, of this half
    int halves;             // 2: as many follow in each other's place
    bool uses_all_time;     // PAIRS_ROOM of them if they fit, and never enough by width
    bool is_asked;          // for a resolution: PAIRS_ROOM of them if they fit
    double spent_s, seconds;
};

enum pairs_answer {
    PAIRS_MORE,
    PAIRS_ENOUGH,
    PAIRS_BY_WIDTH,  // enough when the interval is narrow
};

enum pairs_answer pairs_ask(const struct pairs_state *s);

// The half width of an interval, as a share of its value, with which a difference by `resolution`
// is detected in 95% of comparisons; and the resolution of one that is so wide. An interval of 99%
// is 1.57 times as wide as the error that 95% stay below on one side; the difference must exceed
// the margin as well, and what two processes of one kernel differ by.
double pairs_narrow(double resolution);
double pairs_resolution(double half_width);

// The pairs that count, of n: undisturbed ones, or all when those are too few; never one in which
// the card slowed itself down. `picked` has room for n.
int pairs_pick(const bool *is_slowed, const bool *is_disturbed, int n, int *picked);
