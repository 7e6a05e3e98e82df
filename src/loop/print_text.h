// What the printers share: names in scope, expressions, statements, the plan's lines. Only
// print_*.c include this.
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
};

// How tightly an operator binds.
enum { BIND_ANY, BIND_COMPARE, BIND_ADD, BIND_MUL, BIND_UNARY };

// Bind a variable to a name that is free for certain; or to one like `stem`.
void text_bind(struct printer *p, const struct loop_var *var, const char *name);
const char *text_declare(struct printer *p, const struct loop_var *var, const char *stem);
const char *text_type(struct printer *p, enum loop_dtype dtype, int lanes);
const char *text_index_type(const struct printer *p, int64_t low, int64_t high);
void text_expr(struct printer *p, const struct loop_expr *e, int bind);
void text_shape(struct printer *p, const struct loop_buffer *b, const char *between);
void text_begin_line(struct printer *p);
void text_block(struct printer *p, const struct loop_block *b);
const char *text_register(struct printer *p, const struct loop_buffer *b, int64_t i);

// Which buffers and launch variables a kernel touches, which operations it does on floats.
struct text_usage {
    bool *read, *written;  // by buffer id
    bool op[LOOP_OP_COUNT];
    bool block, thread;
};
struct text_usage text_use(struct arena *a, const struct loop_program *p,
                           const struct loop_kernel *k);

// The sizes at the head, the scratch lines, begin and end of a launch line.
void text_dims(struct printer *p, const char *assertion);
void text_scratch(struct printer *p);
void text_grid(struct printer *p, const struct loop_kernel *k);
void text_arguments(struct printer *p, const struct loop_kernel *k);
// `const float *restrict x, float *restrict y`
void text_parameters(struct printer *p, const struct loop_kernel *k, const char *restrict_word,
                     const char *comma);
