// From C++ text of our own, against CUTLASS's headers, to a shared object, by nvcc in a child with
// limits. Objects are kept with the others by the hash of everything that went into them.
//
// The text is never the user's: it is made from numbers that were checked (ir/cutlass.h), so it is
// not scanned and its object is loaded as our own code is.
#pragma once

#include <stdbool.h>

#include "build/compile.h"

struct nvcc_spec {
    const char *text;
    const char *nvcc;     // path
    const char *include;  // directory of CUTLASS's headers
    const char *version;  // of CUTLASS
    const char *arch;     // "sm_90a"
    const char *cache;    // directory of the objects
};

// What texts are compiled with besides the architecture and the headers, NULL-terminated.
extern const char *const nvcc_flags[];

// False when there is no verdict on the text: a full disk, Ctrl-C.
bool compile_nvcc(struct arena *a, const struct nvcc_spec *s, struct compile_result *result,
                  struct error *err);
