// From the tree to problems and kernels: names, sizes, shapes, and the rules of a block.
#pragma once

#include "lang/lang.h"
#include "lang/syntax.h"

// Mistakes are added to `m`; `file` is complete when there are none.
void check_file(struct arena *a, struct mistakes *m, struct statement *statements,
                struct lang_file *file);
