// The form of a product of which every row becomes one number: what is computed of its elements, by
// element, is added up along the row, or the largest taken, or the logarithm of the sum of their
// exponentials; and what follows by element.
#pragma once

#include "family/gemm_form.h"

enum rowgemm_kind { ROWGEMM_SUM, ROWGEMM_MAX, ROWGEMM_EXP_SUM };

struct rowgemm_form {
    enum rowgemm_kind kind;
    node_id x;      // what is folded; of the product's shape
    node_id best;   // the largest of a row; -1: not wanted
    node_id total;  // the sum of a row, of x or (EXP_SUM) of exp(x - largest); -1: not wanted
    int64_t rows;   // of all matrices
};

bool rowgemm_find(struct form *form, struct objection *why);

// The space of results: all axes of the product but the last.
void rowgemm_build_space(struct lowering *l, const struct rowgemm_form *f);
// A result's axes in that space; axes of one element that were kept are nowhere.
struct axis_map rowgemm_map(const struct region *r, const struct rowgemm_form *f, node_id n);
