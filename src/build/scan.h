// Scans of a candidate's text and object before anything of it runs. These scans give
// early and clear words; what they miss is caught by what the candidate does.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;

// What a source may not do at compile time: include files beyond our runtime headers and
// the standard C ones, or pull in files by other means. NULL when it is fine, else why not.
const char *scan_source(struct arena *a, const char *source);

// The same for CUDA, which has no standard headers. Whether it includes something of CUDA's own
// toolkit (half precision, mma, cooperative groups, CCCL) is reported as well.
const char *scan_cuda_source(struct arena *a, const char *source, bool *uses_toolkit);

// Where the line behind the last #include of a toolkit's header begins; the start when there is
// none.
const char *scan_behind_toolkit(const char *source);

// What an object may not have: variables that outlive a call, code that runs on loading,
// functions beyond mathematics and memory copies. NULL when it is fine, else why not.
const char *scan_object(struct arena *a, const char *bytes, size_t len);

// What a cubin may not have: variables in device memory that outlive a call (tables belong into
// __constant__), calls of functions that are not in it (malloc, printf). NULL when it is fine. What
// the headers of CUDA's toolkit leave there is passed over where it includes them, and so are the
// tables of sinf() and its like.
const char *scan_cubin(struct arena *a, const char *bytes, size_t len, bool has_toolkit);
