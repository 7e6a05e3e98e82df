// What a candidate may do to the machine: compute. Three steps, each stricter, taken
// by the runner itself before and after it loads the candidate.
//
// Levels, recorded with every verdict: 0 resource limits only; 1 system calls
// filtered; 2 also no file system (Landlock).
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

// Before any thread exists: no new privileges, no capabilities, limits on files and core
// dumps, no file system where the kernel can do that. The runner itself still maps
// `reserved_bytes`. Returns the level so far (0, or 2 when only the filter is missing).
int sandbox_enter(int64_t reserved_bytes);

// As sandbox_enter, but files beneath `dir` (NULL: none) can still be read.
int sandbox_enter_reading(int64_t reserved_bytes, const char *dir);

// With all threads there and nothing of the candidate loaded: only what loading an object
// takes. Covers every thread.
bool sandbox_filter_loading(struct error *err);

// With the candidate loaded: computing and waiting, nothing else; memory cannot be had
// (those calls fail), any other call is a SIGSYS.
bool sandbox_filter_running(struct error *err);
