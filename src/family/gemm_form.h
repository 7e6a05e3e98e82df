// The form of a region around one matrix product: sizes, operands, axes.
//
// A convolution whose windows have one element each, side by side, is such a product too: of the
// weights [out, in] and, for each image, [in, places], whose axes are joined to one.
#pragma once

#include "family/emitter.h"

struct gemm_form {
    node_id anchor;
    const node_id *results;  // what is computed of its elements, by element: a stage's values
    int n_results;
    node_id lhs, rhs;    // the product's arguments
    struct axis_map at;  // the product's own axes in the space
    struct axis_map lhs_map, rhs_map;
    int64_t m, n, k, batch;
    bool is_conv;                       // a convolution; columns are first_n to axis_n
    int axis_m, first_n, axis_n;        // of the space, rows and columns
    int axis_k;                         // the space has the product's axes, then this
    bool lhs_is_plain, rhs_is_plain;    // materialised values, perhaps seen through views
    bool rhs_is_contiguous;             // neighbours along n lie side by side
    bool lhs_is_along_k;                // neighbours along k do
    bool is_whole;                      // a sum of whole numbers, of 32 bits
    bool is_f8;                         // both operands are materialised values of f8
    bool has_pairs;                     // results are computed and stored by pairs of columns
    bool has_vectors;                   // no index, condition or type rules vectors out
    int group_m, group_n, group_k;      // of the space
    int64_t lanes_m, lanes_n, lanes_k;  // along each, as space_lanes() says
};

// Is a contraction or a window a product: has every window one element, one next to the other, and
// all channels?
bool gemm_is_product(const struct graph *g, node_id n);

// Is it one product whose result reaches the values elementwise, with nothing but elementwise
// work before it?
bool gemm_find(struct form *form, struct objection *why);
// The same of one product among several anchors, of which `results` are computed by element.
bool gemm_find_product(struct form *form, const node_id *results, int n_results,
                       struct objection *why);

// The materialised value that an operand is, and the map by which it is read; false: it is
// computed.
bool gemm_leaf(const struct region *r, const struct gemm_form *f, bool is_lhs, node_id *leaf,
               struct axis_map *map);

// Along which axes of the space neighbours in a leaf lie: along the last of two (columns count as
// one axis), and one row apart; -1: along none.
void gemm_last_axes(const struct region *r, const struct gemm_form *f, node_id leaf,
                    const struct axis_map *map, int axes[2]);

// For `accepts` of emitters that move vectors of what is read and written; those that add up floats
// alone, too.
bool gemm_moves_vectors(const struct form *f, struct objection *why);
bool gemm_sums_floats(const struct form *f, const struct target *t, struct objection *why);

// The space: batch axes (grouped where they can be), m, n, k.
void gemm_build_space(struct lowering *l, const struct gemm_form *f);
