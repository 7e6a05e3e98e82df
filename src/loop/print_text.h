// What the printers share: names in scope, expressions and statements (print_text.c), and the text
// around them, such as the plan's lines (print_plan.c). Only print_*.c include this.
#pragma once

#include "base/str.h"
#include "loop/loop_build.h"

// Names in scope: a let may be called like one in an outer block, and C would then take
// the inner one, so every declaration gets a name that nothing around it has.
struct text_name {
    const struct loop_var *var;
    const char *name;
};

struct printer {
    struct arena *arena;
    const struct loop_program *program;
    struct str out;
    int indent;
    bool in_plan;  // `#pragma hone` has no casts
    struct text_name *scope;
    int n_scope, cap_scope;
    // CUDA: indices are ints where they fit, register arrays are arrays and loops marked for
    // it are left to the compiler to unroll.
    bool is_cuda;
    const struct loop_kernel *kernel;  // CUDA: the one that is printed
    const struct loop_stmt *half;      // C: a store that waits for its other half
};

// How tightly an operator binds.
enum { BIND_ANY, BIND_COMPARE, BIND_ADD, BIND_MUL, BIND_UNARY };

// Bind a variable to a name that is free for certain; or to one like `stem`.
void text_bind(struct printer *p, const struct loop_var *var, const char *name);
const char *text_declare(struct printer *p, const struct loop_var *var, const char *stem);
const char *text_type(struct printer *p, enum loop_dtype dtype, int lanes);
const char *text_index_type(const struct printer *p, int64_t low, int64_t high);
// An element in memory, as C calls it.
const char *text_storage(enum dtype t);
void text_expr(struct printer *p, const struct loop_expr *e, int bind);
// Does C compute an index in 64 bits, given that names are as wide as they need to be?
bool text_is_wide(const struct printer *p, const struct loop_expr *e);
void text_shape(struct printer *p, const struct loop_buffer *b, const char *between);
// How many elements of text_storage() a local or shared array has.
void text_count(struct printer *p, const struct loop_buffer *b);
void text_begin_line(struct printer *p);
void text_block(struct printer *p, const struct loop_block *b);
const char *text_register(struct printer *p, const struct loop_buffer *b, int64_t i);

// print_types.c: constants, calls by type, what converts, and loads and stores of memory.
void text_constant(struct printer *p, const struct loop_expr *e);
void text_call(struct printer *p, const struct loop_expr *e);
void text_cast(struct printer *p, const struct loop_expr *e, int bind);
void text_round_to(struct printer *p, const struct loop_expr *e);
void text_to_index(struct printer *p, const struct loop_expr *e);
void text_element(struct printer *p, const struct loop_buffer *b, const struct loop_expr *index);
void text_load(struct printer *p, const struct loop_expr *e, int bind);
void text_store(struct printer *p, const struct loop_stmt *s);
void text_store_pair(struct printer *p, const struct loop_stmt *first,
                     const struct loop_stmt *second);

// print_pairs.c: the store further down that makes a line of this one, or NULL; is the prefetch of
// a line that one before it in the block asks for?
const struct loop_stmt *text_paired_store(const struct loop_stmt *s);
bool text_is_asked(const struct loop_block *b, const struct loop_stmt *s);

// Which buffers and launch variables a kernel touches, which operations it does on floats.
struct text_usage {
    bool *read, *written;  // by buffer id
    bool op[LOOP_OP_COUNT];
    bool block, thread;
    bool types;      // something that hone_types.h has and the C library has not
    bool functions;  // one of the library's that hone_math.h has not, or masks as values
};
struct text_usage text_use(struct arena *a, const struct loop_program *p,
                           const struct loop_kernel *k);
// Does a kernel only read the data, while a launch before it may still write it?
bool text_is_renewed(const struct loop_kernel *k, const struct loop_buffer *b,
                     const struct text_usage *u);

// The sizes at the head, the scratch lines, begin and end of a launch line.
void text_dims(struct printer *p, const char *assertion);
void text_scratch(struct printer *p);
void text_maps(struct printer *p);
void text_grid(struct printer *p, const struct loop_kernel *k);
// The plan's line of a call.
void text_library_call(struct printer *p, const struct loop_kernel *k);
void text_arguments(struct printer *p, const struct loop_kernel *k);
// `const float *restrict x, float *restrict y`
void text_parameters(struct printer *p, const struct loop_kernel *k, const char *restrict_word,
                     const char *comma);
