// What several commands print.
#pragma once

#include "ops/op_machine.h"

// What was measured on a device, one line each, indented by two.
void print_ceilings(const struct ceilings *c);
