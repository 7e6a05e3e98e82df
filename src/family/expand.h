// Elementwise operations that the loop language does not have, made of those it has.
#pragma once

#include <stdbool.h>

#include "ir/graph.h"

struct loop_builder;
struct loop_expr;

bool expand_has(enum op op);

// `args` are numbers of one type.
const struct loop_expr *expand_build(struct loop_builder *b, const struct node *n,
                                     const struct loop_expr *const *args);
