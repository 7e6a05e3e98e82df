// The team of a run: the model that it names, with its price and its caps.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "llm/llm.h"
#include "mind/team.h"
#include "ops/team_request.h"

struct arena;
struct error;
struct run;
struct store;

struct op_team {
    struct llm *llm;
    struct team *team;
    struct team_settings settings;
};

// What --feedback says: "tools" is another word for findings. NULL leaves `out` as it is.
bool op_feedback(const char *word, const char **out, struct error *err);

// Where there is no model, nothing of one may be asked for: a cap that nobody keeps.
bool op_team_none(const struct team_request *q, struct error *err);

// The model that a new run shall use: `q->llm`, else the settings'; *out has no spec when
// neither names one. Opens it, so that whatever is wrong with it is said before anything is
// measured or spent. `words` says model, price and cap for the run's first line.
bool op_team_begin(struct arena *a, const struct team_request *q, const char *subject,
                   struct op_team *t, struct run *run, const char **words, struct error *err);

// The model of a stored run.
bool op_team_resume(struct arena *a, const struct team_request *q, struct op_team *t,
                    struct run *run, const char **words, struct error *err);

// Once the run is in the store.
bool op_team_start(struct op_team *t, struct store *store, const struct run *run,
                   llm_note_fn on_note, void *ctx, struct error *err);

// "model     7 calls, 41200 tokens in (12000 from the cache), 5100 out, 0.21 USD"
const char *op_team_spent(struct arena *a, const struct op_team *t);

void op_team_close(struct op_team *t);
