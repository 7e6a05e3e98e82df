// Files of the language: load the problem that a command works on, check files, format
// them. A file with mistakes is an error that shows them (ERROR_PARSE, source lines and
// carets, as many as fit); `diagnostics` has them all.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "lang/lang.h"

struct arena;
struct block;
struct error;

struct loaded {
    struct problem *problem;  // the only one of the file
    struct kernel **kernels;  // the file's kernel blocks, all for that problem; may be none
    int n_kernels;
    const char *diagnostics;  // "" when there is no mistake
};

// Load a file that holds one problem. `dims` gives sizes from outside, as in "M=1024,N=64",
// or is NULL.
bool op_load(struct arena *a, const char *path, const char *dims, struct loaded *out,
             struct error *err);

// The same for commands that make kernels: a problem that none can be made for is an error
// (ERROR_UNSUPPORTED).
bool op_load_runnable(struct arena *a, const char *path, const char *dims, struct loaded *out,
                      struct error *err);

// Is there a default kernel, and `plain`, of this problem?
bool op_has_default(const struct problem *p);

// One file of `hone check`.
struct checked {
    // Set by the caller: files that were checked before this one. A file of kernel blocks alone is
    // checked against their problems.
    const struct checked *before;
    int n_before;
    const char *path;
    bool ok;
    struct lang_file file;    // when ok
    struct block **blocks;    // when ok: each kernel resolved; NULL without its problem
    const char *diagnostics;  // when not
};

// Parse and check a file of any number of blocks; kernel blocks against their problem and
// target. False only when it cannot be read.
bool op_check(struct arena *a, const char *path, const char *dims, struct checked *out,
              struct error *err);

// "f.hone: ok: problem softmax, 1 input, 1 output, 6 nodes"
const char *op_check_summary(struct arena *a, const struct checked *c);

// Stages that the language admits and nobody lowers yet, one line each; "" when there are none.
const char *op_check_notes(struct arena *a, const struct checked *c);

// Every problem's graph, one line per node, and every kernel's stages.
const char *op_check_graphs(struct arena *a, const struct checked *c);

// hone.check/1
json_t *op_check_json(struct arena *a, const struct checked *files, int n_files);

// Bring a file into canonical form, in place unless `only_look`.
bool op_format(struct arena *a, const char *path, bool only_look, bool *changed, struct error *err);
