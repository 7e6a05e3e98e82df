// What the parts of conv's `wgmma` emitter share: conv_wgmma.c has knobs, rules and estimates,
// conv_rows.c copies image and weights as rows, conv_wgmma_lower.c multiplies them,
// conv_wgmma_store.c stores results.
//
// The image becomes rows, one for each place of a grid that a window can begin at, with padding:
// a row has the channels of that place. Then the places that tap m of neighbouring windows reads
// are neighbouring rows, as far from the window's own as the tap says, and the copy engine fetches
// them as one box of a matrix. So columns of the product are all cells of the grid, also those next
// to the border whose windows would reach beyond it; nobody stores these. With a stride s the grid
// has every s-th place, and places between them are grids of their own (phases).
//
// Taps of the last axis are rows that follow each other, so one box of some more rows serves them
// all (`share`): products begin as many rows further as the tap says. Weights then have slots of
// their own.
//
// Few channels make short rows. Where windows read neighbouring places, a row goes on into its
// neighbours (`overlaps`): the same memory, seen with rows that are longer than the way from one to
// the next. Otherwise taps of the last axes may lie in the row itself (`pack`), so that the image
// is copied several times.
#pragma once

#include "family/conv_form.h"
#include "family/gemm_mma.h"
#include "family/gemm_wgmma.h"

// Of two warpgroups each thread has so many registers, that of the copies so few.
enum { CONV_REGISTERS_MORE = 232, CONV_REGISTERS_LESS = 40 };

struct conv_wgmma_sizes {
    enum dtype storage;  // of operands as they are multiplied; words of tf32 are DTYPE_I32
    int parts;           // 2: f32 as a high and a low word
    int element_bytes, depth, step;  // elements of a row of 128 bytes, and of one product's depth
    // The image as rows.
    int pack;          // taps of the axes from this one on lie in a row
    int64_t channels;  // of one tap in a row
    int64_t row;       // elements from one row to the next
    int64_t grid[SPATIAL_MAX], phases[SPATIAL_MAX];
    int64_t cells, columns, rows;  // of a grid; of all images; rows of a group
    // Of one class: K is `outer` taps, each of them `run` elements in `subs` slices.
    bool overlaps;
    int64_t outer, run, subs, slices;
    int steps;       // products of a slice
    int share;       // taps of the last axis that have one box of the image; 1: each has its own
    int shift;       // rows from one of them to the next
    int box, boxes;  // rows of the image's box in shared memory, and in how many pieces they come
    // The stage's knobs.
    int tile_rows, tile_columns, consumers, own, stages, resident, threads;
    int64_t staged_bytes;  // of shared memory that results pass on their way; 0: none do
    int64_t chunk;         // slices whose sum is put aside; 0: all of them are one sum
};

// requires: the form is one that the emitter accepts.
struct conv_wgmma_sizes conv_wgmma_sizes(const struct form *f, const struct conv_class *c,
                                         const struct kernel_stage *s);
int64_t conv_wgmma_tiles(const struct conv_form *f, const struct conv_wgmma_sizes *z);
enum { CONV_IMAGE_STAGES = 2, CONV_PASSAGE_BYTES = 2048 };  // of a warp
// Elements of a slice along K.
static inline int64_t conv_slice(const struct conv_wgmma_sizes *z) {
    return (int64_t)z->steps * z->step;
}

// Columns of a row that are stored at once, where results of so many bytes pass shared memory.
int conv_wgmma_piece(const struct conv_form *f, const struct conv_wgmma_sizes *z, int bytes);

// A kernel that copies the image to [groups, phases, batch, cells][row], and one that copies the
// weights of a class to [groups, out][slices]. Parts of f32: high words first, then low ones.
void conv_copy_rows(struct lowering *l, const struct conv_form *f, const struct conv_wgmma_sizes *z,
                    const char *name, struct loop_buffer *to[2]);
void conv_copy_row_weights(struct lowering *l, const struct conv_form *f,
                           const struct conv_wgmma_sizes *z, const struct conv_class *c,
                           const char *name, struct loop_buffer *to[2]);

void conv_wgmma_lower(struct lowering *l, const struct form *f, const struct kernel_stage *s);
