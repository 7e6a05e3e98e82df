// Expressions of a problem: as nodes of its graph, or as whole numbers for sizes.
#pragma once

#include "lang/builder.h"
#include "lang/names.h"
#include "lang/syntax.h"

struct steps;

struct value_scope {
    struct builder builder;
    struct names names;
    struct steps *steps;  // the loop whose body this is, or NULL (steps.h)
};

// What a name stands for; a mistake when it is nothing.
struct symbol *value_symbol(struct value_scope *s, const struct expr *e);

// The expression as a node that carries the label's name.
node_id value_build(struct value_scope *s, const struct label *l, const struct expr *e);

// An expression as an operand, for those who build calls.
struct operand value_operand(struct value_scope *s, const struct label *l, const struct expr *e);

// Any whole number over the dims known so far.
int64_t value_whole(struct value_scope *s, const struct expr *e);

// A whole number above zero over the dims known so far.
int64_t value_size(struct value_scope *s, const struct expr *e);
