// Building loop programs: names, buffers, kernels, expressions, statements.
//
// Index expressions are simplified where they are made, by the ranges of their variables, and
// loops that run once or never disappear, so that a family can write the general form (a
// tail loop, a `min` at the edge) and gets the special one where sizes divide.
#pragma once

#include "loop/loop.h"

// Where statements go. A for or if collects its body in a block of its own and joins its
// parent only at loop_close, so what is added to the parent meanwhile stands before it.
struct loop_builder {
    struct loop_program *program;
    struct loop_block *at;
    struct loop_stmt *stmt;  // whose body this fills; NULL: the kernel's
};

struct loop_program *loop_program_new(struct arena *a);
// An identifier like `name` that nothing in the program is called yet; it is taken now.
const char *loop_unique_name(struct loop_program *p, const char *name);
// `name` as an identifier of C, and whether that is a word of C or of the program already.
const char *loop_identifier(struct arena *a, const char *name);
bool loop_name_is_taken(const struct loop_program *p, const char *name);
// Define a size by its name at the head. False when C or another name is in the way: the
// size is then printed as a number.
bool loop_add_dim(struct loop_program *p, struct loop_size size);

// Buffers. Without a type they are f32.
struct loop_buffer *loop_global_of(struct loop_program *p, const char *plan, enum loop_role role,
                                   enum dtype dtype, const struct loop_size *shape, int rank);
struct loop_buffer *loop_local_of(struct loop_program *p, const char *name, enum dtype dtype,
                                  const struct loop_size *shape, int rank);
struct loop_buffer *loop_shared_of(struct loop_program *p, const char *name, enum dtype dtype,
                                   const struct loop_size *shape, int rank);
struct loop_buffer *loop_register_of(struct loop_program *p, const char *name, int64_t count,
                                     int lanes, enum loop_dtype value);
struct loop_buffer *loop_global(struct loop_program *p, const char *plan, enum loop_role role,
                                const struct loop_size *shape, int rank);
struct loop_buffer *loop_local(struct loop_program *p, const char *name,
                               const struct loop_size *shape, int rank);
struct loop_buffer *loop_register(struct loop_program *p, const char *name, int64_t count,
                                  int lanes);
struct loop_buffer *loop_shared(struct loop_program *p, const char *name,
                                const struct loop_size *shape, int rank);
// An argument of its kernel that bulk copies take; `map` is copied.
struct loop_buffer *loop_map_of(struct loop_program *p, const char *name,
                                const struct loop_map *map);

// What elements of a storage type are computed in: f64 in F64, other floats in F32, i64 in I64,
// other integers in I32, bool in MASK.
enum loop_dtype loop_arithmetic(enum dtype dtype);

// A kernel with an empty body; `b` then adds to it.
struct loop_kernel *loop_kernel_new(struct loop_program *p, const char *name,
                                    const struct loop_expr *grid, struct loop_builder *b);

// Give it threads, a multiple of 32; returns the thread's number.
const struct loop_expr *loop_kernel_threads(struct loop_program *p, struct loop_kernel *k,
                                            int threads);

// Expressions. Those over indices are simplified as they are built, by the ranges of their
// variables; those over floats bring a scalar argument to the lanes of the other.
const struct loop_expr *loop_int(struct arena *a, int64_t value);
const struct loop_expr *loop_named(struct arena *a, struct loop_size size);
const struct loop_expr *loop_real(struct arena *a, double value);
const struct loop_expr *loop_real_of(struct arena *a, enum loop_dtype dtype, double value);
const struct loop_expr *loop_whole(struct arena *a, enum loop_dtype dtype, int64_t value);
const struct loop_expr *loop_truth(struct arena *a, bool value);
// The number `value` in any type but an index: what an accumulator begins with. An infinity of
// a whole type is the end of its range.
const struct loop_expr *loop_number(struct arena *a, enum loop_dtype dtype, double value);
const struct loop_expr *loop_ref(struct arena *a, const struct loop_var *var);
// The scalar in every lane.
const struct loop_expr *loop_broadcast(struct arena *a, const struct loop_expr *x, int lanes);
const struct loop_expr *loop_unary(struct arena *a, enum loop_op op, const struct loop_expr *x);
const struct loop_expr *loop_binary(struct arena *a, enum loop_op op, const struct loop_expr *x,
                                    const struct loop_expr *y);
// One lane of a vector, by a number that is a constant once loops are unrolled.
const struct loop_expr *loop_lane(struct arena *a, const struct loop_expr *x,
                                  const struct loop_expr *lane);
// LOOP_LANES_EVEN or LOOP_LANES_ODD of two vectors in runs of `run` lanes, or LOOP_LANES_SLID by
// them.
const struct loop_expr *loop_interleave(struct arena *a, enum loop_op op, const struct loop_expr *x,
                                        const struct loop_expr *y, int run);
const struct loop_expr *loop_ternary(struct arena *a, enum loop_op op, const struct loop_expr *x,
                                     const struct loop_expr *y, const struct loop_expr *z);
const struct loop_expr *loop_load(struct arena *a, const struct loop_buffer *buffer,
                                  const struct loop_expr *index, int lanes, int64_t stride);
// Conversions, as ir/types.h has them: a float that becomes a whole number is cut toward zero and
// stops at the ends of the range, NaN is 0; whole numbers wrap around; a mask is 0 or 1; what is
// not 0 is true. An index is had from a whole number, with its whole range: better is
// loop_to_index.
const struct loop_expr *loop_cast(struct arena *a, const struct loop_expr *x, enum loop_dtype to);
// x, of any type, as an element of type `storage` keeps it, in loop_arithmetic(storage).
const struct loop_expr *loop_round_to(struct arena *a, const struct loop_expr *x,
                                      enum dtype storage);
// A whole number clamped into [low, high], as an index that is known to lie there.
const struct loop_expr *loop_to_index(struct arena *a, const struct loop_expr *x, int64_t low,
                                      int64_t high);
const struct loop_expr *loop_ceildiv(struct arena *a, const struct loop_expr *x, int64_t y);

// Where piece number `piece` (of 16 bytes) of row `row` lies among the pieces of its row, for rows
// of `row_bytes` (32, 64 or 128): pieces change places from row to row, so that eight rows read at
// once, or eight pieces of one row, lie in different banks. It is the permutation that bulk tensor
// copies write and wgmma reads, provided that the array begins at a multiple of eight rows.
// Multiples of the period are dropped from `row`, so whatever is added in them costs nothing.
const struct loop_expr *loop_swizzle(struct arena *a, const struct loop_expr *row,
                                     const struct loop_expr *piece, int row_bytes);

// Statements.
struct loop_for {
    const char *name;
    const struct loop_expr *begin, *end;
    int64_t step;  // 0: 1
    bool unroll;
};
// Open a loop and return its variable; `inner` adds to the body. A loop known to run once
// becomes its body, one known never to run is dropped by loop_close.
const struct loop_expr *loop_open_for(struct loop_builder *b, const struct loop_for *f,
                                      struct loop_builder *inner);
// A GPU's compiler shall not unroll the loop `inner` either: its turns wait for something else, so
// that unrolling only takes registers.
void loop_keep_rolled(struct loop_builder *inner);
void loop_open_if(struct loop_builder *b, const struct loop_expr *low, const struct loop_expr *high,
                  struct loop_builder *inner);
// An if whose threads go their own way: several that follow each other run at the same time, by
// threads of which none is in two of them, and wait for each other only by what they arrive at
// (intrinsics.def). There is no barrier of the block inside.
void loop_open_role(struct loop_builder *b, const struct loop_expr *low,
                    const struct loop_expr *high, struct loop_builder *inner);
void loop_close(struct loop_builder *b, struct loop_builder *inner);
const struct loop_expr *loop_let(struct loop_builder *b, const char *name,
                                 const struct loop_expr *value);
void loop_store(struct loop_builder *b, const struct loop_buffer *buffer,
                const struct loop_expr *index, const struct loop_expr *value, bool stream);
void loop_prefetch(struct loop_builder *b, const struct loop_buffer *buffer,
                   const struct loop_expr *index);
void loop_note(struct loop_builder *b, const char *text);
void loop_barrier(struct loop_builder *b);
// Where the block groups of a kernel are no clusters, counts[group] counts who has come: zeros at
// first.
void loop_group_barrier(struct loop_builder *b, const struct loop_buffer *counts,
                        const struct loop_expr *group);

// A hardware operation with the operands that its row of intrinsics.def asks for; those that it
// has not are left out: loop_intrinsic(b, INTRINSIC_WAIT, (struct loop_operand[]){{NULL, two}}).
void loop_intrinsic(struct loop_builder *b, enum loop_intrinsic id,
                    const struct loop_operand *operands);
