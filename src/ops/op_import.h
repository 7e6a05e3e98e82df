// The operation behind `hone import`: a PyTorch module in a Python file becomes a problem.
//
// Python does the tracing (bridge/import, carried by the binary): a child with a time limit runs
// the user's file, so whatever that file does, it does as the user. What comes back is text, which
// our own parser must accept before anybody sees it. `verify` asks for the proof: PyTorch and the
// interpreter compute the same inputs.
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct error;

struct import_request {
    const char *file;
    const char *class_name;  // NULL: Model, or what else the file has
    const char *python;      // NULL: python3, or /usr/bin/python3 where only that has PyTorch
    const char *sizes;  // "batch_size=2,dim=64": numbers at the file's top; NULL: as it has them
    bool is_eval;       // model.eval() first
    bool verify;
    double seconds;  // of the child; 0: IMPORT_SECONDS
};

enum { IMPORT_SECONDS = 300 };

// An operation that the language has no counterpart for.
struct import_refusal {
    const char *module;  // path in the model, "" for the model itself
    const char *op, *why;
    long long line;  // of the file; 0: not known
    bool is_last;    // tracing could not go on behind it
};

// One output of PyTorch's against the interpreter's.
struct import_difference {
    const char *output;
    double relative;  // to the largest element; NAN: the two cannot be compared
    const char *why;  // NULL: equal
};

struct import_verdict {
    bool is_equal;
    const char *precision;  // what PyTorch computed in: "f64", "f32"
    const char *sizes;      // that were made smaller for it, "batch_size=2, dim=64"; ""
    struct import_difference *outputs;
    int n_outputs;
};

struct import_result {
    const char *python, *torch;  // the program, its version of PyTorch
    const char *text;            // canonical; NULL: refused
    const char *problem;
    int n_inputs, n_params, n_outputs, n_nodes;
    const char **notes;  // where the problem is not what PyTorch computes
    int n_notes;
    struct import_refusal *refused;
    int n_refused;
    struct import_verdict *verdict;  // NULL: not asked for, or refused
};

// False: nothing could be imported for a reason that is none of the model's operations.
bool op_import(struct arena *a, const struct import_request *q, struct import_result *out,
               struct error *err);

// hone.import/1
json_t *op_import_json(const struct import_request *q, const struct import_result *m,
                       const char *output);
