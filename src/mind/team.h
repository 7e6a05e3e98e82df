// A team of models behind the same brief and proposal as the expert.
//
// plan    names hypotheses: a cause tied to a finding, a change, the spans of the source that it
//         touches, the speed-up expected and the risks; the one with the best return is taken
// code    writes it: a kernel block, or source in C or CUDA, within those spans
// debug   repairs what did not pass, from the verdict's own words
//
// What the team knows it knows from the stored nodes and exchanges: a run that was killed takes
// up the answers it had. Every call is recorded, reserved in the budget before and settled after.
// An answer that cannot be used is sent back once with the reason; then the expert steps in for
// this node, and after EXPERT_MAX such nodes in a row for good. Both are said aloud.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "llm/budget.h"
#include "mind/proposer.h"

struct arena;
struct error;
struct exchange;
struct llm;
struct store;
struct str;
struct team;

enum { EXPERT_MAX = 3 };

struct team_settings {
    struct llm *llm;  // not owned
    struct store *store;
    int64_t run;
    const char *provider, *model;  // for the record
    const char *prompts;           // a folder with texts in place of the embedded; "": none
    const char *feedback;          // "findings", "raw", "none"
    int max_tokens;                // of an answer
    bool no_tools;                 // the model has none to call
    int window_tokens;             // of what a role is shown
    // Exchanges of the run that is replayed or looked at; NULL: there are none besides the store's.
    const struct exchange *recorded;
    int n_recorded;
    struct budget budget;  // limits and price; what was spent before is read from the store
    void (*on_note)(void *ctx, const char *words);  // may be NULL
    void *note_ctx;
};

// Read what the run has asked so far. A folder of prompts that lacks one is ERROR_USAGE.
bool team_open(struct team **out, const struct team_settings *settings, struct error *err);
void team_close(struct team *t);

// What was spent, earlier processes included.
const struct budget *team_budget(const struct team *t);

// The whole prompt of a role for a brief, as a model would see it; without a call. ERROR_USAGE:
// no such role.
bool team_prompt(struct arena *a, const struct team_settings *settings, const struct brief *brief,
                 const char *role, struct str *out, struct error *err);
