// A recording: everything that a finished run was made of, as lines of JSON: hone.recording/1,
// then hone.run/1, every hone.judgement/1, hone.exchange/1 and hone.node/1. What `hone replay`
// reads, and `replay:FILE` finds its answers in.
#pragma once

#include <stdbool.h>

#include "record/exchange.h"
#include "record/judgement.h"
#include "record/run.h"

struct arena;
struct error;
struct store;
struct str;

struct recording {
    struct run run;
    struct judgement *judgements;
    int n_judgements;
    struct exchange *exchanges;
    int n_exchanges;
    struct search_node *nodes;
    int n_nodes;
};

bool recording_from_store(struct arena *a, struct store *s, int64_t run, struct recording *r,
                          struct error *err);
// A file that is none, or of a newer kind, is ERROR_USAGE with its line.
bool recording_from_file(struct arena *a, const char *path, struct recording *r, struct error *err);
void recording_print(struct str *out, const struct recording *r);
