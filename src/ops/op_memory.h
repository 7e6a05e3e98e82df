// What was learned from earlier runs: looking at it, moving it from machine to machine, and for
// `hone optimize` asking it before a run and teaching it after one.
#pragma once

#include <stdbool.h>

#include "mind/priors.h"
#include "record/lesson.h"

struct advice;
struct arena;
struct bound;
struct error;
struct problem;
struct run;
struct search_node;
struct target;

// The file that `named` (a path or "off"), else the setting memory.path, else the user's data
// directory means. *path is NULL where memory is off, or there is no place for it.
bool op_memory_path(struct arena *a, const char *named, const char **path, struct error *err);

struct memory_view {
    const char *path;
    struct lesson *lessons;  // newest first
    int n_lessons;
};

// All lessons, or those on problems of one name. A file that is not there has none.
bool op_memory_read(struct arena *a, const char *named, const char *problem, struct memory_view *v,
                    struct error *err);

// Write all lessons as one hone.lessons/1 document.
bool op_memory_export(struct arena *a, const char *named, const char *file, int *n,
                      struct error *err);

// Add the lessons of such a document, or of another memory file. What is known already is counted
// once.
struct memory_added {
    int n_read, n_new;
};
bool op_memory_import(struct arena *a, const char *named, const char *file,
                      struct memory_added *out, struct error *err);
bool op_memory_merge(struct arena *a, const char *named, const char *file, struct memory_added *out,
                     struct error *err);

bool op_memory_prune(struct arena *a, const char *named, int keep, int *n_removed,
                     struct error *err);

// What memory says to a run that begins; with an identity for the run's own lesson in any case.
// False: the file cannot be read, and the run goes on without.
bool op_memory_ask(struct arena *a, const char *path, const struct problem *p,
                   const struct target *t, struct advice *out, struct error *err);

// "memory    3 runs on siblings; begins with the champion of softmax M=64 N=128 ..."; NULL:
// nothing.
const char *op_memory_text(struct arena *a, const struct advice *d);

// The same for the search: `d` must outlive it.
struct priors op_memory_priors(struct arena *a, const struct advice *d);

// What a run took from memory, from its record; nothing where memory was off.
bool op_memory_advice(struct arena *a, const struct run *run, struct advice *out,
                      struct error *err);

// One transaction: the lesson of a run that came to its end.
struct memory_lesson_of {
    const struct problem *problem;
    const struct target *target;
    const struct bound *bound;
    const struct run *run;  // with its advice
    const struct search_node *nodes;
    int n_nodes;
};
bool op_memory_update(struct arena *a, const char *path, const struct memory_lesson_of *of,
                      struct error *err);
