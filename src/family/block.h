// A kernel block resolved against its problem and target: what every stage computes, reads
// and writes.
//
// All mistakes of a block are found in one pass; a stage with a mistake still counts as
// having made its values, so that one mistake is reported once. A stage that the language
// admits but no emitter computes yet is not a mistake: `no_emitter` says why, `hone check`
// shows it, and only lowering refuses it.
#pragma once

#include "family/family.h"
#include "family/form.h"
#include "lang/mistake.h"

// How one value of a stage lies in memory.
struct block_value {
    node_id node;
    enum dtype dtype;
    int axis[RANK_MAX];  // of the value, from slowest to fastest
    bool is_permuted;    // not as declared
};

struct block_stage {
    bool ok;  // no mistake was found in it; what follows is set only then
    const struct kernel_stage *text;
    const struct region *region;
    const struct form *form;
    struct law_uses laws;
    struct block_value value[STAGE_VALUES_MAX];
    bool is_prepare;                // depends on params alone: run once, before timing
    bool *is_recomputed;            // per node: an earlier stage computed it too
    double again_flops;             // what computing those again costs
    double again_bytes;             // and reading what only they need
    const struct emitter *emitter;  // NULL: none
    const char *unknown;            // an operation that no emitter knows, in words; or NULL
    const char *no_emitter;         // why the stage cannot be lowered yet, or NULL
    struct kernel_stage complete;   // with every knob of the emitter
};

struct block {
    const struct problem *problem;
    const struct target *target;
    const struct kernel *kernel;
    struct block_stage *stages;
    int n_stages;
};

// Resolve and check; mistakes go to `m`. The block is whole when none was added.
struct block *block_resolve(struct arena *a, const struct problem *p, const struct target *t,
                            const struct kernel *k, struct mistakes *m);

// The stage that made the newest copy of `node` before stage `i`; -1: none, it is an input.
// The same for a kernel that shares most of its stages with `base`, which had no mistake: what is
// the same there is not looked at again. NULL: nothing is known.
struct block *block_resolve_near(struct arena *a, const struct problem *p, const struct target *t,
                                 const struct block *base, const struct kernel *k,
                                 struct mistakes *m);

// The stage of `base` that stage `i` of another kernel is, region and all, where these values are
// ready before it; -1: none.
int block_same_stage(const struct block *base, const struct kernel *k, int i, const bool *is_ready);

// Mark what stage `i` of a kernel materialises, by `base` where that has the stage.
void block_mark_ready(const struct block *base, const struct problem *p, const struct kernel *k,
                      int i, bool *is_ready);

int block_maker(const struct block *b, node_id node, int i);

// What `hone check -v` shows: per stage its form, what it reads and writes, and its knobs.
const char *block_print(struct arena *a, const struct block *b);
