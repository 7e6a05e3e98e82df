// Instructions with their operands, as the vendor's disassembler prints them: `nvdisasm -c` and
// `cuobjdump -sass` alike.
#pragma once

#include <stddef.h>

struct arena;
struct sass_kernel;

// The text of each of the kernel's instructions, NULL where the listing has none; into `lines` (one
// for each, may be NULL) the source lines that `nvdisasm -g` names, 0 where it does not.
const char **sass_text_of(struct arena *a, const char *listing, size_t len,
                          const struct sass_kernel *k, int *lines);
