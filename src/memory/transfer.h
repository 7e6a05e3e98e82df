// A champion's block, told of a sibling: values by their place in the canonical order of the graph
// where both have the same form, else the stages of the default kernel with the champion's emitters
// and knobs, family by family. What is not legal there is repaired to the nearest that is.
#pragma once

struct arena;
struct lesson;
struct problem;
struct target;

// The block's canonical text; NULL: nothing legal could be made of it.
const char *transfer_block(struct arena *a, const struct lesson *from, const struct problem *p,
                           const struct target *t);
