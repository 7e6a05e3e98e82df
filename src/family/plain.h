// The baseline `plain` as a loop program: one scalar loop nest per named value.
#pragma once

#include "family/lower.h"

struct loop_program;

struct loop_program *plain_program(struct arena *a, const struct problem *p,
                                   const struct target *t);
