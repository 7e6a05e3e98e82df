// What inputs look like: distributions and promises, from their syntax.
#pragma once

#include "ir/problem.h"
#include "lang/value.h"

// The distribution that is given, or the type's own. A mistake when it does not exist, lacks
// numbers, or when the type cannot hold what it draws.
struct distribution draws_check(struct value_scope *s, const struct distribution_syntax *d,
                                enum dtype type, const struct shape *shape);

enum promise draws_promise(struct value_scope *s, const struct promise_syntax *m,
                           const struct shape *shape);

// The distribution as canonical syntax: numbers for sizes.
void draws_canonical(struct arena *a, struct distribution_syntax *out,
                     const struct distribution *d);
