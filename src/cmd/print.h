// What several commands print.
#pragma once

#include "ops/op_machine.h"

struct str;

// What was measured on a device, one line each, indented by two.
void print_ceilings(struct str *out, const struct ceilings *c);
