// The baseline `plain` as a loop program: one scalar loop nest per named value.
#pragma once

#include "family/lower.h"

struct loop_program;
struct gemm_form;
struct lowering;
struct region;

struct loop_program *plain_program(struct arena *a, const struct problem *p,
                                   const struct target *t);

// A product on a CPU.
void plain_product_lower(struct lowering *l, const struct gemm_form *form, const struct target *t,
                         const char *name);

// Its kernels on a GPU: for regions with at most one anchor.
bool gpu_plain_accepts(const struct region *r);
void gpu_plain_lower(struct lowering *l, const struct target *t, const char *name);
