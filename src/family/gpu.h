// What the families' GPU rows share: limits of a block, teams of threads, walks of a team
// along a row, and reductions over the threads of a team.
#pragma once

#include "family/cascade.h"
#include "family/emitter.h"

enum { GPU_WARP = 32, GPU_BLOCK_MAX = 1024 };

// Legality. Each is true, or false with the reason and the nearest legal value.

// Threads along an axis of so many elements, a power of two from `least` to `most`: the largest of
// those that leave few beyond the last element.
int gpu_threads_along(int64_t width, int least, int most);

// `vec` elements go at once: the innermost axis must be a multiple.
bool gpu_legal_vec(const struct kernel_stage *s, int64_t n_columns, struct objection *why);
int gpu_largest_vec(int64_t n_columns);  // 4, 2 or 1
// Floats that each of `threads` threads has registers for, besides what else it needs.
int64_t gpu_registers_for(const struct target *t, int threads);
struct gpu_demand {
    const char *knob;
    int threads;
    int64_t floats;       // per thread
    const char *nearest;  // "items 4"
};
bool gpu_legal_registers(const struct target *t, const struct gpu_demand *d, struct objection *why);
bool gpu_legal_shared(const struct target *t, const char *knob, int64_t bytes, const char *nearest,
                      struct objection *why);
bool gpu_legal_grid(const char *knob, int64_t blocks, struct objection *why);

// Seconds of a memory-bound kernel of `blocks` blocks of `threads` threads, each thread with
// `bytes` on their way at a time.
struct gpu_traffic {
    double bytes;  // in all
    double blocks;
    int threads;
    double in_flight;  // bytes per thread
};
double gpu_estimate_traffic(const struct target *t, const struct gpu_traffic *traffic);
double gpu_flops_per_s(const struct target *t);
double gpu_bytes_per_s(const struct target *t);

// A kernel with `threads` threads for the stage; `suffix` ends its name.
struct gpu_kernel {
    struct loop_kernel *kernel;
    const struct loop_expr *block, *thread;
};
struct gpu_kernel gpu_open_kernel(struct lowering *l, const char *name,
                                  const struct loop_expr *grid, int threads,
                                  struct loop_builder *b);

// Threads of a block that work on one row together: `threads` of them, `rows` rows a block.
struct gpu_team {
    int threads, rows;
    const struct loop_expr *thread;  // in the block
    const struct loop_expr *lane;    // in the team
    const struct loop_expr *row;     // in the block
};
struct gpu_team gpu_make_team(struct arena *a, const struct loop_expr *thread, int threads,
                              int rows);

// A reduction over a row: every thread folds what it sees, then the team does.
struct gpu_fold {
    struct lowering *l;
    const char *name;
    enum loop_dtype type;  // of accumulators; only LOOP_F32 and LOOP_MASK have lanes
    enum loop_op op, across_lanes, across_warp;
    double identity;
    struct loop_buffer *part;        // of the thread
    struct loop_buffer *total;       // of chunks, per level; NULL: the row is short enough
    struct cascade cascade;          // of the totals
    struct loop_buffer *shared;      // per warp of the block; NULL: a team is one warp
    struct loop_buffer *edge;        // of what no vector has; NULL: there is none
    bool is_at_edge;                 // which is walked now
    const struct loop_expr *result;  // once the team has it
};
void gpu_fold_add(struct gpu_fold *f, struct loop_builder *b, const struct loop_expr *value);

// Elements that the vectors of a row leave over, since it does not begin or end where a vector
// does: the thread takes element `at` where who < count.
struct gpu_edge {
    const struct loop_expr *who, *count, *at;
};

// A walk of a team from `begin` to `end`, in steps of `vec` elements per thread.
struct gpu_walk {
    struct lowering *l;
    const struct gpu_team *team;
    const struct loop_expr *begin, *end;  // end - begin is a multiple of vec
    int64_t length;                       // the most that end - begin can be
    int vec;
    int lanes;                    // of the folds; 0: vec
    int items;                    // steps of each thread, unrolled; 0: a loop
    int unroll;                   // steps of a loop that are under way together; 0: one
    const struct gpu_edge *edge;  // NULL: none
    int chunk;   // steps of each thread whose sum is put aside; 0: as many as honest f32 does
    bool apart;  // threads do not meet: a fold's result is the thread's own
    struct gpu_fold *folds;
    int n_folds;
};

// Called to build the body at element `j`, where the thread is at step `item` (0 in a loop, NULL at
// an edge).
typedef void (*gpu_walk_fn)(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                            const struct loop_expr *item);

// Fill in a fold for a walk, of the values of a node or (gpu_fold_init_of) of any; `name` is the
// reduction's.
void gpu_fold_init(struct gpu_fold *f, const struct gpu_walk *w, const struct node *n);
void gpu_fold_init_of(struct gpu_fold *f, const struct gpu_walk *w, enum op op,
                      enum loop_dtype type, const char *name);

// Build the walk; afterwards every fold has its result, the same in all threads of the team.
void gpu_walk_build(struct gpu_walk *w, struct loop_builder *b, gpu_walk_fn fn, void *ctx);

// How many steps a thread makes.
int64_t gpu_walk_steps(int64_t count, int vec, int threads);
