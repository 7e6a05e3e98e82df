// What the files that resolve a block share.
#pragma once

#include "family/block.h"

struct resolver {
    struct arena *arena;
    struct block *block;
    const struct block *base;  // of a kernel that shares most stages, or NULL
    struct mistakes *mistakes;
    bool *is_ready;    // per node: an earlier stage has materialised it
    int *computed_by;  // per node: the first stage that computes it, from 1
};

// Add a mistake about a stage: "stage y: ...". Always false.
bool block_complain(struct resolver *v, const struct kernel_stage *s, struct place at,
                    const char *hint, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

// The values of stage `i`: they exist, and may be materialised here.
bool block_check_values(struct resolver *v, int i);
// Their types and layouts, by `as` and `layout`.
bool block_check_storage(struct resolver *v, int i);
// An operation of the region that no emitter knows, in words; or NULL.
const char *block_unknown_node(struct arena *a, const struct region *r);
// What no emitter computes yet, and the knobs of the one that does.
bool block_check_emitter(struct resolver *v, int i);

bool block_is_output(const struct problem *p, const char *name);
