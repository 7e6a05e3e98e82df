// What the files of the checker share: check.c (blocks and statements), check_steps.c
// (loops) and check_index.c (inputs that are indices).
#pragma once

#include "lang/check.h"
#include "lang/steps.h"

struct checker {
    struct arena *arena;
    struct mistakes *mistakes;
    struct lang_file *file;
    struct value_scope scope;  // of the open problem
    struct problem *problem;   // the open block is this, or
    struct kernel *kernel;     // this, or none
    struct statement *block;   // the statement that opened it
    bool has_mistake;          // the open block has one
    bool has_precision;        // the open problem states it
    struct steps *loop;        // the open loop, or NULL
    struct steps *loops;       // all of the open problem
    // Types and shapes of declared outputs stand here until they are assigned.
    struct {
        enum dtype type[OUTPUTS_MAX];
        struct shape shape[OUTPUTS_MAX];
    } pending;
};

// A new name of the problem; a mistake when it is taken or cannot be one.
struct symbol *check_define(struct checker *c, const char *name, struct spot at);
// After a mistake: what the statement would have defined is known to be broken.
void check_define_broken(struct checker *c, const char *name);

enum dtype check_type(struct checker *c, const struct type_syntax *t);
struct shape check_shape(struct checker *c, const struct type_syntax *t);
void check_value_shape(struct checker *c, const struct statement *st, const struct node *n,
                       enum dtype type, const struct shape *declared);

// A node as the type that it is declared to have: where it has another, the node is renamed after
// its type (y.f32) and what carries the name is the cast.
node_id check_store_as(struct checker *c, struct value_scope *scope, const struct statement *st,
                       node_id id, enum dtype to);

// An assignment in three parts: the symbol that it defines, the value in the graph of a scope, and
// the two together.
struct symbol *check_target(struct checker *c, const struct statement *st, bool *is_output);
node_id check_value(struct checker *c, struct value_scope *scope, const struct statement *st,
                    const char *name);
void check_bind(struct checker *c, const struct statement *st, struct symbol *s, bool is_output,
                node_id id);

// Are inputs that serve as indices drawn from their axes?
void check_indices(struct checker *c);

// Loops: the `for`, a statement of its body, the end; and what a mistake in a statement of the body
// leaves behind.
void check_for(struct checker *c, const struct statement *st);
void check_step(struct checker *c, const struct statement *st);
void check_end_for(struct checker *c);
void check_break_step(struct checker *c, const struct statement *st);
