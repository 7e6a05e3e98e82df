// Calls of primitives: every elementwise operation and reduction of ops.def by its name, and
// casts by the name of a type. composite.h and structure.h have the others.
#pragma once

#include "lang/builder.h"
#include "lang/syntax.h"

// `args` are the values of e->args; `l` names the result.
struct operand call_build(struct builder *b, const struct label *l, const struct expr *e,
                          const struct operand *args);

// The keyword among `names` that somebody meant, or NULL: PyTorch's word for it, or one that is
// written almost so.
const char *call_near_keyword(const char *name, const char *const *names);

// The same call with what stands behind its first `n_values` arguments as keywords, by `names` in
// their order; those that are given by name too are mistakes that check_keywords finds.
const struct expr *call_by_position(struct builder *b, const struct expr *e, int n_values,
                                    const char *const *names);

// What a keyword may be given by position: a number, numbers, a dim's name, true or false.
bool call_is_plain(const struct builder *b, const struct expr *e);

bool call_is_function(const char *name);

// Report a function that is not known, or that is given the wrong number of values; before
// the arguments are evaluated, so that the mistake is about the call.
void call_check(struct builder *b, const struct expr *e);

// A reduction whose axis stands behind its value, sum(x, 1), as one with axis=1; others as they
// are.
const struct expr *call_reduction(struct builder *b, const struct expr *e);

// The axes that `axis=` names in a value of that shape.
unsigned call_axes(struct builder *b, const struct keyword *k, const struct shape *s);
