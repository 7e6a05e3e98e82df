// Make graph nodes with everything that the author leaves unsaid: shapes, broadcasting,
// names. A mistake (shapes that do not fit) is reported at the label's place.
#pragma once

#include "ir/graph.h"
#include "lang/mistake.h"

enum { NODES_MAX = 1 << 18 };

struct names;

// A composite that is being expanded (composite.c): what its body sees.
struct frame {
    struct frame *outer;
    struct names *names;
    const char *name;       // of the result; unnamed parts are name.p1, name.p2
    const char *composite;  // the outermost one's
    int n_parts;
    node_id first;  // its first value
    unsigned axes;  // `axis`, of that one
    bool keepdims;
};

struct builder {
    struct arena *arena;
    struct mistakes *mistakes;
    struct graph *graph;
    int cap;                          // of graph->nodes
    int n_parts, n_views, n_numbers;  // for the names t.1, v.1, c.1
    struct frame *frame;              // innermost, or NULL
};

// An operand is a node, or a number that is not in the graph yet: it takes the type of what
// it meets.
struct operand {
    bool is_number;
    bool is_whole;  // a number written without point or exponent, or computed from such
    double number;
    node_id node;
};

// Place, name and origin of what is being built.
struct label {
    struct spot at;
    const char *name;       // NULL: choose one
    const char *composite;  // "softmax", or NULL
};

// The node of an operand; a number becomes a constant of rank 0, of f32 or the type given.
node_id build_node(struct builder *b, const struct label *l, struct operand x);
node_id build_node_as(struct builder *b, const struct label *l, struct operand x, enum dtype t);
// The type of a result whose arguments are `ids`; a mistake when the operation does not take
// them. For operations without a rule of their own (ops.def).
enum dtype build_type(struct builder *b, const struct label *l, enum op op, const node_id *ids);
// "f32[M, N]" for messages.
const char *build_type_text(const struct builder *b, const struct node *n);
// Add a node whose rank, sizes and types are right; named in the series t.1 (v.1 for what
// only moves data) when `l` has none.
struct operand build_add(struct builder *b, const struct label *l, struct node n);
const struct node *build_get(const struct builder *b, node_id id);

// Bring a value to a shape that it can be broadcast to.
node_id build_broadcast(struct builder *b, const struct label *l, node_id id,
                        const struct shape *shape);

// A name for an unnamed part: "t.1", "t.2", ...
const char *build_part_name(struct builder *b);

// Elementwise with NumPy's broadcasting; numbers among themselves are computed here, in f64.
struct operand build_elementwise(struct builder *b, const struct label *l, enum op op,
                                 const struct operand *args);
struct operand build_reduce(struct builder *b, const struct label *l, enum op op, node_id arg,
                            unsigned axes);
// x as another type; x itself when it has that type.
struct operand build_cast(struct builder *b, const struct label *l, struct operand x, enum dtype t);
struct operand build_matmul(struct builder *b, const struct label *l, node_id left, node_id right);

// `view[i]` as in struct node; sizes of new axes (view -1) come from `shape`.
struct operand build_view(struct builder *b, const struct label *l, node_id arg,
                          const struct shape *shape, const int *view);

// Bring a reduced value back: `axes` of `like` are new, of size 1 or (broadcast) of like's size.
struct operand build_unreduce(struct builder *b, const struct label *l, node_id arg,
                              const struct shape *shape, unsigned axes);
