// The language: text in, problems and kernel blocks out.
//
// A file holds any number of blocks. A mistake is reported with file, line, column,
// the source line, a caret, what was expected, and the nearest known name; several
// mistakes are found in one pass (one per statement).
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ir/problem.h"
#include "lang/kernel.h"

struct arena;
struct error;

struct lang_file {
    struct problem **problems;
    int n_problems;
    struct kernel **kernels;
    int n_kernels;
};

// A size given from outside in place of the file's: `--dim M=1024`. One that no problem has a dim
// for is no mistake in the file; the caller checks it.
struct dim_override {
    const char *name;
    int64_t size;
};

struct lang_source {
    const char *file;  // only for messages
    const char *text;
    size_t len;
    const struct dim_override *overrides;
    int n_overrides;
};

// Parse and check everything. On mistakes: false, err->text is the summary ("3 mistakes in
// f.hone", or the first message alone when there is one) and *diagnostics the whole report.
bool lang_parse(struct arena *a, const struct lang_source *source, struct lang_file *file,
                const char **diagnostics, struct error *err);

// Canonical text of a file, comments kept. Formatting twice changes nothing.
bool lang_format(struct arena *a, const struct lang_source *source, const char **formatted,
                 const char **diagnostics, struct error *err);

// Every word that may follow as a function, composite or type; for "did you mean" and docs.
const char *const *lang_function_names(void);

// Those among them that cannot name a value: the primitives.
const char *const *lang_reserved_names(void);

// What may follow `~`.
const char *const *lang_distribution_names(void);
