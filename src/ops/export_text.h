// The texts of an exported directory, each made from what op_export.c has gathered.
#pragma once

#include "ir/problem.h"
#include "model/target.h"
#include "oracle/oracle.h"
#include "record/plan.h"
#include "report/report.h"

struct arena;
struct str;

enum {
    EXPORT_SAMPLES = 4096,  // elements per output whose expected value is stored
    EXPORT_FILES_MAX = 128,
    EXPORT_FILL_THREADS = 256,  // of a block of the kernels that fill buffers
};

struct export_view {
    const struct run_view *view;
    const struct search_node *champion;  // or another node that passed, when that was asked for
    bool is_confirmed;                   // on fresh data: it is the champion of a run that ended
    const struct measurement *measurement;
    const struct verdict *verdict;
    const struct problem *problem;
    const struct target *target;  // what the kernel is for
    const struct plan *plan;
    const struct oracle *oracle;  // its declared set is computed
    uint64_t seed;                // of the check's inputs
    const char *symbol;           // the host function's name and its files'
    const char *compiler;         // first line of its --version; NULL: could not be asked
};

// What is written, in order; NULL: not a text.
struct export_files {
    int n;
    const char *names[EXPORT_FILES_MAX];
    const char *texts[EXPORT_FILES_MAX];
};

// "void softmax(const float *x, float *y)"; on a GPU it returns an error code, and has a
// workspace and a stream.
const char *export_prototype(struct arena *a, const struct export_view *e);

const char *export_kernel(struct arena *a, const struct export_view *e);   // kernel.c, kernel.cu
const char *export_header(struct arena *a, const struct export_view *e);   // SYMBOL.h
const char *export_host(struct arena *a, const struct export_view *e);     // SYMBOL.c
const char *export_check(struct arena *a, const struct export_view *e);    // check.c
const char *export_samples(struct arena *a, const struct export_view *e);  // samples.h
const char *export_makefile(struct arena *a, const struct export_view *e);
const char *export_readme(struct arena *a, const struct export_view *e);
// PROOF.json, which lists the files.
const char *export_proof(struct arena *a, const struct export_view *e,
                         const struct export_files *files);

// ---- export_host.c

// Are arrays that are not aligned used in place? Has kernel.c stores past the caches, for which it
// is compiled a second time as kernel_any.c?
bool export_takes_any(const struct export_view *e);
bool export_streams(const struct export_view *e);
const char *export_kernel_any(struct arena *a, const struct export_view *e);
void export_renames(struct arena *a, struct str *out, const struct export_view *e);

// ---- export_python.c

const char *export_python(struct arena *a, const struct export_view *e);       // SYMBOL.py
const char *export_python_test(struct arena *a, const struct export_view *e);  // test_SYMBOL.py

// ---- export_cuda.c, the parts that only CUDA has: kernels for the plan's fills, names of the host
// function's last parameters that no input or output has, SYMBOL.c, and the kernel once more for
// arrays that are not aligned.

void export_cuda_fills(struct str *out, const struct export_view *e);
const char *export_cuda_workspace(struct arena *a, const struct export_view *e);
const char *export_cuda_stream(struct arena *a, const struct export_view *e);
const char *export_cuda_host(struct arena *a, const struct export_view *e);
bool export_cuda_takes_any(const struct export_view *e);
const char *export_cuda_kernel_any(struct arena *a, const struct export_view *e);
const char *export_cuda_alignment_note(struct arena *a, const struct export_view *e);
const char *export_cuda_draws(struct arena *a, const struct export_view *e);  // draw.cu
