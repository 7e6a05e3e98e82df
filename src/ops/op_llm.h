// A model as the settings have it: what `--llm` and the section [llm] become.
#pragma once

#include <stdbool.h>

#include "llm/llm.h"

struct arena;
struct error;

struct llm_config {
    struct llm_settings settings;  // without spec, subject and notes
    const char *provider;          // llm.provider; "": none
    const char *prices;            // a file; "": the user's own, else what we know
    const char *prompts;           // a folder; "": the embedded ones
    int max_tokens, window_tokens;
    bool no_tools;
    double max_usd;
};

// Read the settings; a number that makes no sense is ERROR_USAGE.
bool op_llm_config(struct arena *a, struct llm_config *out, struct error *err);

// One short question, to see whether it answers; what it said about itself goes to *found.
bool op_llm_probe(struct arena *a, const char *spec, const char **found, struct error *err);
