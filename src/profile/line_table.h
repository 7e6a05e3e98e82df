// Which line of a source a kernel's instructions come from, by the line table of its cubin
// (--generate-line-info).
//
// What CUPTI tells of an instruction is the innermost place, and most of an emitted kernel is
// functions of runtime/dev.h, inlined. NVIDIA's tables say from where each was called, so that the
// line of the candidate itself can be found.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

struct line_row {
    const char *kernel;  // NULL: not known
    uint64_t address;    // within the kernel's code; rows of a kernel ascend
    int file, line;
    int caller;  // number of the row that this was inlined into; -1: none
};

struct line_table {
    const char **files;  // names without directories, by number
    int n_files;
    struct line_row *rows;
    int n_rows;
};

// False: the cubin has none, or one that cannot be read.
bool line_table_read(struct arena *a, const void *cubin, size_t len, struct line_table *out);

// The line of `file` that an instruction comes from, the innermost of several; 0: of none.
int line_table_find(const struct line_table *t, const char *kernel, uint64_t pc, const char *file);

// The line of each of a kernel's `n` instructions of `step` bytes, in the file in which the kernel
// itself stands; 0: not known. That file's name, NULL: nothing is known of this kernel.
const char *line_table_lines(const struct line_table *t, const char *kernel, int step, int *lines,
                             int n);
