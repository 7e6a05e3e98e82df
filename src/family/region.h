// A region: the nodes that one stage computes.
//
// It is everything between the values already materialised (inputs and values of
// earlier stages) and the stage's own values. A node may lie in several regions and
// is then computed in each. Anchors are the nodes that decide a region's form:
// whatever is not elementwise, an index map or a leaf.
#pragma once

#include "ir/problem.h"
#include "lang/kernel.h"

struct arena;
struct form;

// What a family made of a region.
struct region_form {
    bool is_known;
    const struct form *form;  // NULL: it does not take it
    const char *why_not;
};

struct region {
    struct arena *arena;  // it lives in, and the index expressions of its accesses
    const struct problem *problem;
    const struct graph *graph;
    node_id value[STAGE_VALUES_MAX];
    const char *value_name[STAGE_VALUES_MAX];
    int n_values;
    bool *is_member;  // per node: computed here
    bool *is_leaf;    // per node: materialised before, read here
    node_id *anchor;  // members that are reductions or contractions, by rising id
    int n_anchors;
    int n_members;
    node_id first, last;  // all but inputs and constants lie between: a few of many
    int *level;    // per node: anchors of the region on the longest way to it, itself included
    int n_levels;  // the largest of them
    struct region_form *forms;  // per family, as far as asked: family_form()
};

// Limits of one stage. Lowering recurses along chains of operations, and every level of
// reductions is another walk over the data, which repeats what the walks before it did.
enum { REGION_MEMBERS_MAX = 2000, REGION_LEVELS_MAX = 8 };

// Where a value named in a stage is in the graph: an output's node or any node's name; -1.
node_id region_find_value(const struct problem *p, const char *name);

// Build the region of `values`. `is_ready` says per node which values are materialised.
struct region *region_build(struct arena *a, const struct problem *p, const char *const *values,
                            int n_values, const bool *is_ready);

// Would it be built the same where these values are ready?
bool region_is_same(const struct region *r, const bool *is_ready);

bool region_is_value(const struct region *r, node_id n);
// The only node of the region that uses `n`; -1: there is none, or more than one.
node_id region_only_user(const struct region *r, node_id n);

// What to materialise first when no family takes the region as it is: its first anchor,
// carried on through the elementwise nodes that only it feeds; in a region beyond the limits,
// as much as a stage can hold. -1: nothing inside to cut at.
node_id region_cut(const struct region *r);

// Least traffic and work of the region, for estimates.
struct region_work {
    double bytes_read, bytes_written;
    double flops;       // as ops.def counts them
    double slow_flops;  // the part in functions (exp, erf, ...) that take many instructions
};
void region_count(const struct region *r, struct region_work *w);
bool region_is_slow(enum op op);

// The region as a problem of its own: its leaves are the inputs (`leaves` gets their nodes in
// that order, room for INPUTS_MAX), its values the outputs. NULL: more leaves than that.
struct problem *region_problem(struct arena *a, const struct region *r, node_id *leaves);
