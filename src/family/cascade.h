// Long sums without long chains of additions.
//
// A sum of many terms is made of chunks, and the error of adding n chunks one after the other
// grows with the square root of n: 4096 chunks of 256 positive terms are ten times less precise
// than honest f32 (ir/interpret.h adds runs of 1024 pairwise). So chunks are added like the digits
// of a counter: level 0 takes `radix` of them and is then carried to level 1, and so on; no chain
// is longer than the radix. A compensated sum would do as well but makes NaN of infinities.
#pragma once

#include "loop/loop_build.h"

enum { CASCADE_LEVELS_MAX = 8 };

struct cascade {
    int n_levels;  // at least 1; level 0 alone: nothing is carried
    int radix;
};

// For so many chunks at most.
struct cascade cascade_for(int64_t n_chunks, int radix);

// Called to build: add level - 1 to `level` and clear level - 1.
typedef void (*cascade_fn)(void *ctx, struct loop_builder *b, int level);

// After chunk number `chunk` (from 0) went to level 0: carry what is full.
void cascade_carry(const struct cascade *c, struct loop_builder *b, const struct loop_expr *chunk,
                   cascade_fn carry, void *ctx);
