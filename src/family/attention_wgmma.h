// What the two halves of attention's `wgmma` emitter share: how the copy engine sees operands, and
// the stage's knobs as sizes. attention_wgmma.c has knobs, rules and estimates,
// attention_wgmma_lower.c the loops.
#pragma once

#include "family/attention_mma.h"
#include "family/gemm_wgmma.h"

// Elements of a row of a box, and those along the depth of one product.
enum { WGMMA_DEPTH = WGMMA_ROW_BYTES / 2, WGMMA_STEP = WGMMA_ROW_BYTES / 2 / WGMMA_STEPS };

// An operand as a map of boxes: axis 0 along the elements of a row, axis 1 along rows, the others
// whatever else it has, of which each is a place in memory that is (index / stride) % dim.
struct attention_boxes {
    int rank;
    int64_t dims[LOOP_MAP_RANK_MAX], strides[LOOP_MAP_RANK_MAX];
};
// False: it has more axes than a map, or is too large for one.
bool attention_find_boxes(const struct form *f, const struct attention_side *s, int axis_row,
                          struct attention_boxes *boxes);

struct attention_wgmma_sizes {
    struct attention_sizes z;  // with the one that copies
    int consumers, stages, group;
    bool turns;            // those that multiply take turns
    int64_t depth, width;  // filled up to boxes
    int64_t down, tiles;   // of queries: of one head, in all
};
struct attention_wgmma_sizes attention_wgmma_read_sizes(const struct form *f,
                                                        const struct kernel_stage *s);

void attention_wgmma_lower(struct lowering *l, const struct form *f, const struct kernel_stage *s);
