// The form of a region: prologue - anchor - epilogue.
//
//     leaves -> prologue -> ANCHOR -> elementwise -> reductions -> elementwise -> values
//               (elementwise,
//                index maps)
//
// The anchor decides which family can compute the region: a contraction, a window
// (convolution, pooling), a reduction, a scan, a scatter, or none. What the anchor needs is
// its prologue, what needs the anchor is the epilogue, and the rest (a bias), its siblings, is
// computed at the epilogue's own places.
//
// In an epilogue every element stays at its place, until a reduction drops axes; a
// reduction may feed another one, but once a result was spread again over an axis that had
// been reduced, nothing more is reduced. Three forms have several anchors: *rows*
// (reductions over the same axes, each spread again), *attention* (contraction,
// softmax, contraction) and *matches* (contraction, maximum, sum).
//
// This is the language's rule. A family may take less, and says so itself; family_form() asks both,
// and what they found is what emitters work from.
#pragma once

#include "family/laws.h"
#include "family/region.h"

enum anchor_kind {
    ANCHOR_NONE,
    ANCHOR_CONTRACTION,
    ANCHOR_WINDOW,
    ANCHOR_REDUCTION,
    ANCHOR_SCAN,
    ANCHOR_SCATTER,
    ANCHOR_ROWS,
    ANCHOR_ATTENTION,
    ANCHOR_MATCHES,
    ANCHOR_COUNT
};
const char *anchor_kind_name(enum anchor_kind k);

// Where a node stands. Leaves and nodes of other regions are PART_OUTSIDE.
enum form_part {
    PART_OUTSIDE,
    PART_PROLOGUE,
    PART_ANCHOR,
    PART_SIBLING,    // needs no anchor and no anchor needs it
    PART_EPILOGUE,   // elementwise, before any reduction
    PART_REDUCTION,  // of the epilogue
    PART_FINISH,     // elementwise, after one
    PART_COUNT
};

struct rows_form;
struct reduce_form;
struct gemm_form;
struct scan_form;
struct scatter_form;
struct conv_form;
struct ragged_form;
struct attention_form;
struct maxsim_form;
struct rowgemm_form;
struct qgemm_form;
struct library_form;

struct form {
    const struct region *region;
    const struct family *family;
    enum anchor_kind kind;
    node_id anchor;        // the one that the region is built around; -1: none
    enum form_part *part;  // per node
    unsigned reduced;      // axes of the anchor that reductions of the epilogue drop
    unsigned spread;       // those of them that a result is spread over again
    node_id first_reduction, spread_node;  // who does so first, for messages; -1
    // What a family finds out besides, for its emitters; each sets its own (family_form).
    int64_t lanes;  // along the axis that vectors lie on, as space_lanes() says
    const struct rows_form *rows;
    const struct reduce_form *reduce;
    const struct gemm_form *gemm;
    const struct scan_form *scan;
    const struct scatter_form *scatter;
    const struct conv_form *conv;
    const struct ragged_form *ragged;
    const struct attention_form *attention;
    const struct maxsim_form *maxsim;
    const struct rowgemm_form *rowgemm;
    const struct qgemm_form *qgemm;
    const struct library_form *library;
};

// A node of the region's graph.
static inline const struct node *form_node(const struct form *f, node_id n) {
    return &f->region->graph->nodes[n];
}

enum { FORM_ANY = 0 };  // the kinds of a family that takes every kind of anchor

struct family;

// Why a region has not the form.
struct form_reject {
    char text[400];
    node_id first;      // materialise this one first; -1: nothing would help
    const char *other;  // or take this family, which has emitters; NULL: none does
};

// What a stage says about its form.
struct form_request {
    const struct family *family;
    const struct law_uses *laws;
    enum combine combine;
    int64_t tile[2];  // of the anchor's last two axes; 0: not given
};

// Bring a region to the form that the family takes.
bool form_find(struct arena *a, const struct region *r, const struct form_request *q,
               struct form *f, struct form_reject *why);

// The same with no law and no combining, and without looking for advice.
bool form_find_plain(struct arena *a, const struct region *r, const struct family *family,
                     struct form *f, struct form_reject *why);

// What kind of anchor a node would be; ANCHOR_NONE: elementwise, an index map or a leaf.
enum anchor_kind form_node_kind(const struct graph *g, node_id n);

// "N, 3": the axes in `axes` of a shape as the author called them.
const char *form_axes_print(struct arena *a, const struct graph *g, const struct shape *s,
                            unsigned axes);
