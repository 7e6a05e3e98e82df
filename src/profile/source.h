// Sources of metrics beyond the judge's own: each optional, each able to say what it can give on
// this machine.
//
// To add one: a row in source.c. What a source gives are rows of record/metrics.def; where it is
// absent they are, and the tools that need them are silent.
#pragma once

#include <stdbool.h>

struct arena;

struct source {
    const char *name;
    const char *gives;    // in words
    const char *without;  // what then is missing
    bool is_cpu;          // of kernels on a CPU
    // Why it may have nothing of a kernel although it is there, and the metric (enum metric_id)
    // that is absent then. NULL: it always has something.
    const char *silent;
    int metric;
    // What it is here ("13.0: /usr/local/cuda/lib64/libcupti.so.13"), or NULL and why not.
    const char *(*find)(struct arena *a, const char **why);
};

extern const struct source sources[];
extern const int n_sources;

// A program of the vendor's toolkit: along PATH, then in bin of $CUDA_HOME, $CUDA_PATH and
// /usr/local/cuda. NULL: not there.
const char *source_find_program(struct arena *a, const char *name);
