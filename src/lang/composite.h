// Composites: functions that are written in the language itself (composites.def) and expand
// into primitives. Their inner values are named after the result: y.max, y.exp, y.sum.
#pragma once

#include "lang/value.h"

bool composite_is(const char *name);

struct operand composite_build(struct value_scope *s, const struct label *l, const struct expr *e);

// back, along, like and swap, inside a body.
bool composite_is_inner(const struct value_scope *s, const char *name);
struct operand composite_inner(struct value_scope *s, const struct label *l, const struct expr *e);
