// Elementwise operations that the loop language does not have, made of those it has. Each is as
// accurate as its f32 result allows, and holds where its operands are finite; what cannot be
// made so is not made (support.h says so to the user).
#pragma once

#include <stdbool.h>

#include "ir/graph.h"

struct loop_builder;
struct loop_expr;

bool expand_has(enum op op);

// `args` are numbers; truth values among them are 0 and 1.
const struct loop_expr *expand_build(struct loop_builder *b, const struct node *n,
                                     const struct loop_expr *const *args);
