// What the files of the team share.
#pragma once

#include "mind/team.h"
#include "record/chat.h"
#include "record/exchange.h"

enum role { ROLE_PLAN, ROLE_CODE, ROLE_DEBUG, ROLE_COUNT };

extern const char *const role_names[ROLE_COUNT];

struct team {
    struct team_settings settings;
    struct budget budget;
    struct arena *a;             // the run: exchanges
    struct exchange *exchanges;  // of the run, in order
    int n_exchanges, room;
    const char *stopped;  // a limit that ended it: "money", ...; NULL: none
    bool is_off;          // the model is not asked any more ...
    int off_at;           // ... since this node
    bool is_told;         // that the expert took over
    // Of the decision under way:
    int number, step;
    bool has_failed;  // the model, for this node: the expert is asked from here on
    bool is_interrupted;
    char why[400];  // it did not come to a proposal
};

// ---- team_plan.c

enum { HYPOTHESES_MAX = 8, SPANS_MAX = 8 };

// Lines of the parent's text, from 1, both ends included.
struct plan_span {
    const char *name;
    int first, last;
};

struct hypothesis {
    int index;    // its place in the plan as written
    int finding;  // its number among the findings, from 1; 0: none
    const char *cause, *change;
    bool wants_source;  // C or CUDA rather than a kernel block
    struct plan_span spans[SPANS_MAX];
    int n_spans;
    double speedup;
    double risk_implementation, risk_performance;  // 1 safe ... 5 bold
    double roi;
};

struct hypotheses {
    struct hypothesis at[HYPOTHESES_MAX];
    int n;
};

// Read the planner's answer and order it by return on investment. False: `why` says what is
// wrong with it, for the planner to read.
bool plan_read(struct arena *a, const struct brief *brief, const char *answer,
               struct hypotheses *out, char *why, size_t size);

// S^(1 + max(0, log10(g / 5))) / (R_impl * R_perf), g how far the best is from reach.
double plan_roi(double speedup, double risk_implementation, double risk_performance, double g);

// The first JSON object in a text, whatever stands around it; NULL: there is none. The caller
// owns it.
json_t *plan_find_json(const char *text, char *why, size_t size);

// ---- team_window.c, team_system.c

// The text of the node that is worked on: its kernel block, or its source.
const char *window_base(const struct brief *b, bool source);

// What a role is shown of the tree, problem and machine, within the window's tokens.
const char *window_text(struct arena *a, const struct team_settings *s, const struct brief *b,
                        enum role role, const struct hypothesis *h);

// What a role is told of a node's profile: findings in words, then what was measured; `raw`
// metrics or nothing for ablations.
void window_findings(struct str *out, const struct team_settings *s, const struct brief *b,
                     const struct search_node *n);

// Text that others wrote, fenced so that nothing in it can end the fence.
const char *window_data(struct arena *a, const char *name, const char *text);

// The bound in words.
const char *window_bound(struct arena *a, const struct brief *b);

// The instructions of a role with the page of the language, the families of the target, the
// contract of source and how the judge judges; the same for every call of a run.
const char *window_system(struct arena *a, const struct team_settings *s, const struct brief *b,
                          enum role role);

// ---- team_facts.c

// How the time of a node divides, what its launches take and move, what the compiler made of it.
void facts_put(struct str *out, const struct brief *b, const struct search_node *n);

// ---- team_answer.c

// What the coder or debugger wrote, as a proposal: the spans put into the base, or the whole
// text; checked. False: `why` says what is wrong, for the model to read.
bool answer_read(struct arena *a, const struct brief *b, const struct hypothesis *h,
                 const char *answer, struct proposal *out, char *why, size_t size);

// ---- team_tools.c

extern const struct chat_tool team_tools[];
extern const int n_team_tools;

// What a call gives; nonsense gives words that say so.
const char *tool_result(struct arena *a, const struct team_settings *s, const struct brief *b,
                        const struct chat_call *c);

// ---- team_ask.c

struct question {
    enum role role;
    int plan, choice;
    const char *system;
    struct chat_message *messages;
    int n_messages;
    int n_rounds;  // of tool calls so far
};

// Ask and record; or take the recorded answer where this very question was answered before.
// False: team->why, or team->stopped, or team->is_interrupted says why.
bool team_ask(struct team *t, struct arena *a, const struct brief *b, struct question *q,
              struct chat_answer *out);

void team_note(struct team *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
