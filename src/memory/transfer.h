// A champion's block, told of a sibling: values by their place in the canonical order of the graph
// where both have the same form, else the stages of the default kernel with the champion's emitters
// and knobs, family by family. What is not legal there is repaired to the nearest that is.
#pragma once

struct arena;
struct kernel;
struct lesson;
struct problem;
struct target;

// A block that stands alone; NULL: it cannot be read any more.
struct kernel *transfer_read(struct arena *a, const char *text);

// The champion's block's canonical text; NULL: nothing legal could be made of it.
const char *transfer_block(struct arena *a, const struct lesson *from, const struct problem *p,
                           const struct target *t);

// Any block of the lesson with the names of this problem and nothing else changed, legal or not:
// comparing knobs stage by stage needs no more. NULL: it cannot be read any more.
const char *transfer_names(struct arena *a, const struct lesson *from, const char *block,
                           const struct problem *p, const struct target *t);
