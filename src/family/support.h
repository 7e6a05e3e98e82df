// Is there a default kernel, and `plain`? The language, its interpreter and the judge know more
// types and operations than there are emitters: code that lowers a problem asks here first, code
// that judges a user's own kernel does not.
#pragma once

#include <stdbool.h>

#include "ir/problem.h"

struct error;

// Is every value of the problem of a type and an operation that can be lowered? When not:
// false and a message that names the value (ERROR_UNSUPPORTED).
bool support_problem(const struct problem *p, struct error *err);

// The same for one value.
bool support_node(const struct problem *p, node_id n, struct error *err);
