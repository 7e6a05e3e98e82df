// What the parts of gemm's `wgmma` emitter share: the stage's knobs as sizes. gemm_wgmma.c has
// knobs, rules and estimates, gemm_wgmma_lower.c the loops.
#pragma once

#include "family/gemm_operand.h"

// A slice has rows of 128 bytes in shared memory, four products deep; a product takes 64 rows of
// the left.
enum { WGMMA_ROW_BYTES = 128, WGMMA_STEPS = 4, WGMMA_ROWS = 64, WGMMA_GROUP = 128 };

// Rows of a map that copies cut off; more than an operand may have.
enum { WGMMA_CUT_ROWS = 1 << 30 };

// Low parts of f32 are written so many times as large: they have the range of high ones then.
#define WGMMA_LOW 2048

// One operand: where it is read from, and which of its axes lies side by side in memory.
struct wgmma_side {
    node_id leaf;
    struct axis_map map;  // leaf and map: not where operands are split
    int64_t size;         // of the axis that stays (rows of the left, columns of the right)
    bool along_k;         // neighbours in memory lie along K
    bool is_batch;        // it has axes before its last two
    bool is_cut;          // rows in memory from the end of a group on count as zeros
    int64_t pitch;        // elements from one row in memory to the next
    int width;            // of a block's tile
    bool is_computed;     // on its way, of what `operand` says; leaf and map: its first source
    struct gemm_operand operand;
};

struct wgmma_sizes {
    enum dtype storage;  // of both operands, as they are multiplied
    int parts;           // of operands of f32, of f16 each (gemm_wgmma_split.c); 0: as they are
    bool is_widened;     // parts are numbers of f8, which f16 has exactly
    int64_t m, n, k, batch;
    int element_bytes, depth;  // of an operand's element; elements of a slice along K
    int stages, group;
    int split;    // blocks, of a cluster, that have the slices of a tile
    int cluster;  // blocks that have tiles side by side, and read the operand that they share once
    int consumers,
        threads;           // warpgroups that multiply; threads of a block, with the one that copies
    bool apart;            // consumers have tiles of their own
    int own;               // rows of one consumer
    int64_t slices;        // along K
    int64_t staged_bytes;  // of shared memory that results pass on their way; 0: none do
    int boxes;             // of each warp there, which the copy engine stores; 0: threads do
    int64_t chunk;         // slices whose sum is put aside; 0: all of them are one sum
    int halves;            // 2: columns are multiplied one half after the other, since the sums and
                           // totals of all would not fit the registers
    bool computes;         // an operand, on its way
    struct wgmma_side lhs, rhs;
};

// Matrices that come to shared memory for each slice of one operand: its parts, or its sources.
int wgmma_rings(const struct wgmma_sizes *z, const struct wgmma_side *s);

// Are all results of the region rounded to 16 bits or less?
bool wgmma_is_narrow(const struct region *r);
// Is an operand of the form computed on its way? requires: the emitter accepts the form.
bool wgmma_computes(const struct form *f);
// Threads that compute it, of the warpgroup that copies; registers of each of that, and of a thread
// that multiplies.
enum { WGMMA_COMPUTERS = 96, WGMMA_COMPUTING = 88 };
int wgmma_registers(const struct wgmma_sizes *z);
// Does the region's value pass shared memory on its way? How many elements of it a warp has there.
bool wgmma_is_staged(const struct region *r, const struct gemm_form *g, int value);
enum { WGMMA_STAGED = 16 * 64 };
// A box has 16 rows of 128 bytes. What a region's results need of them, all of its values together;
// false: the copy engine does not store them.
enum { WGMMA_BOX_BYTES = 16 * 128 };
bool wgmma_set_boxes(struct wgmma_sizes *z, const struct region *r, const struct gemm_form *g);

// gemm_wgmma_accepts.c: sets the sides, and how they are multiplied.
void wgmma_find_sides(const struct form *f, struct wgmma_sizes *z);
// requires: the form is one that the emitter accepts.
struct wgmma_sizes wgmma_read_sizes(const struct form *f, const struct kernel_stage *s);
// Pairs of sums that a thread keeps.
int64_t wgmma_pairs(const struct wgmma_sizes *z);
// Floats that a thread keeps: sums, and those that are put aside.
int64_t wgmma_sums(const struct wgmma_sizes *z);
// Of all blocks, with those of a cluster that lie outside.
int64_t wgmma_tiles(const struct wgmma_sizes *z);
// The operand that blocks of a cluster share: the wider one, or the one that has a single tile.
// Rows or columns of results of a cluster's tiles together.
const struct wgmma_side *wgmma_shared(const struct wgmma_sizes *z);
int64_t wgmma_cluster_extent(const struct wgmma_sizes *z, const struct wgmma_side *s);
// Slices that a block has of a tile; the last of several may have fewer.
int64_t wgmma_slices_each(const struct wgmma_sizes *z);

// Do all sums that a thread keeps fit its registers, and is the rest of a block legal?
bool wgmma_legal_rows(const struct wgmma_sizes *z, struct objection *why);
// Shared memory of a block.
int64_t wgmma_shared_bytes(const struct wgmma_sizes *z);
// Slices whose sum is put aside; 0: none is, since results keep 16 bits or less, or K is short.
int64_t wgmma_chunk_of(const struct wgmma_sizes *z, const struct region *r);
// Sets `chunk`, and `halves` with it.
void wgmma_set_chunk(struct wgmma_sizes *z, const struct region *r);
bool wgmma_runs_on(const struct target *t);
// Seconds of a tile: products, while slices are brought.
double wgmma_tile_seconds(const struct wgmma_sizes *z, const struct target *t);

// gemm's own rows, for emitters that do something else with the sums.
bool wgmma_accepts(const struct form *f, const struct target *t, struct objection *why);
bool wgmma_is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                    struct objection *why);
double wgmma_estimate(const struct form *f, const struct target *t, const struct kernel_stage *s);

// Gives a stage as many slices in shared memory as there is room for, up to `most`. False: the rest
// of the stage is not legal even with two.
bool wgmma_fill_stages(const struct emitter *e, const struct form *f, const struct target *t,
                       struct kernel_stage *s, int most);

// A tile that a stage may begin with; `apart` is set where the emitter has that knob.
struct wgmma_shape {
    int rows, columns, warpgroups, apart;
};
// Sets the legal one of `n` candidates that should be fastest by the emitter's estimate, with as
// many slices as there is room for; the last one where none is legal.
void wgmma_choose_shape(const struct emitter *e, const struct form *f, const struct target *t,
                        struct kernel_stage *s, const struct wgmma_shape *candidates, int n);

void wgmma_lower(struct lowering *l, const struct form *f, const struct kernel_stage *s);
