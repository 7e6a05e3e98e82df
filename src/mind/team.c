// One turn of a role: ask, let it call tools, send an unusable answer back once with the reason.
// Then the roles in order: plan, code, or debug for a node that did not pass; the expert where they
// fail.
#include "mind/team.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "mind/team_private.h"
#include "store/store.h"

const char *const role_names[ROLE_COUNT] = {
    [ROLE_PLAN] = "plan", [ROLE_CODE] = "code", [ROLE_DEBUG] = "debug"};

// Tools: so many rounds of calls in a turn, so many calls in a round.
enum {
    ROUNDS_MAX = 4,
    CALLS_MAX = 4,
    MESSAGES_MAX = 4 + 2 * ROUNDS_MAX * (1 + CALLS_MAX),
    MOVE_MAX = 100,
    CHANGE_MAX = 2000,
    SAID_MAX = 64 << 10,  // of an answer that is shown again, whole
    SAID_SOME = 4 << 10   // of a longer one
};

// ---- one role's turn

static const char *cut(struct arena *a, const char *text, size_t len, size_t max) {
    if (len <= max)
        return arena_strndup(a, text, len);
    char *start = arena_strndup(a, text, max);
    str_clean(start, max);
    return arena_printf(a, "%s...", start);
}

// What an answer must be for its role; `why` is for the model to read.
struct check {
    const struct brief *brief;
    const struct hypothesis *hypothesis;  // code
    struct hypotheses *plan;              // plan: filled in
    struct proposal *proposal;            // code, debug: filled in
};

static bool check_answer(struct arena *a, enum role role, const struct check *c,
                         const struct chat_answer *answer, char *why, size_t size) {
    if (answer->stop == CHAT_LENGTH) {
        snprintf(why, size, "it was cut off for its length; be shorter");
        return false;
    }
    if (role == ROLE_PLAN)
        return plan_read(a, c->brief, answer->text, c->plan, why, size);
    return answer_read(a, c->brief, c->hypothesis, answer->text, c->proposal, why, size);
}

static void ask_for_retry(struct arena *a, struct question *q, const struct chat_answer *answer,
                          const char *why) {
    // What is far too long is paid for once, not again as part of the next question.
    bool is_long = strlen(answer->text) > SAID_MAX;
    const char *said =
        is_long ? cut(a, answer->text, strlen(answer->text), SAID_SOME) : answer->text;
    q->messages[q->n_messages++] = (struct chat_message){
        .role = CHAT_ASSISTANT,
        .text = *said ? said : "(empty)",
        .raw = *said && !is_long ? answer->raw : NULL,
    };
    q->messages[q->n_messages++] = (struct chat_message){
        .role = CHAT_USER,
        .text =
            arena_printf(a, "That answer cannot be used: %s\nAnswer again, as asked above.", why),
    };
}

// The calls of an answer and their results, as the next messages.
static void add_results(struct team *t, struct arena *a, const struct brief *b, struct question *q,
                        const struct chat_answer *answer) {
    bool is_last = q->n_rounds == ROUNDS_MAX - 1;
    int n = answer->n_calls < CALLS_MAX ? answer->n_calls : CALLS_MAX;
    q->messages[q->n_messages++] =
        (struct chat_message){.role = CHAT_ASSISTANT,
                              .text = answer->text,
                              .calls = answer->calls,
                              .n_calls = n,
                              .raw = n == answer->n_calls ? answer->raw : NULL};
    for (int i = 0; i < n; i++)
        q->messages[q->n_messages++] = (struct chat_message){
            .role = CHAT_TOOL,
            .call_id = answer->calls[i].id,
            .text = arena_printf(
                a, "%s%s",
                window_data(a, "result", tool_result(a, &t->settings, b, &answer->calls[i])),
                is_last ? "\nThat was the last call. Answer now." : ""),
        };
}

// Ask, and while it calls tools let it; they are bounded.
static bool converse(struct team *t, struct arena *a, const struct brief *b, struct question *q,
                     struct chat_answer *answer) {
    for (q->n_rounds = 0; q->n_rounds <= ROUNDS_MAX; q->n_rounds++) {
        if (!team_ask(t, a, b, q, answer))
            return false;
        if (answer->stop != CHAT_TOOLS || answer->n_calls == 0)
            return true;
        if (q->n_rounds < ROUNDS_MAX)
            add_results(t, a, b, q, answer);
    }
    snprintf(t->why, sizeof t->why, "%s: it calls tools without end", role_names[q->role]);
    return false;
}

// Ask; send an answer that cannot be used back once, with the reason.
static bool turn(struct team *t, struct arena *a, enum role role, const struct check *c,
                 struct question *q) {
    struct chat_message messages[MESSAGES_MAX] = {
        {.role = CHAT_USER, .text = window_text(a, &t->settings, c->brief, role, c->hypothesis)}};
    q->role = role;
    q->system = window_system(a, &t->settings, c->brief, role);
    q->messages = messages;
    q->n_messages = 1;
    for (int i = 0; i < 2; i++) {
        struct chat_answer answer;
        char why[900] = "";
        if (!converse(t, a, c->brief, q, &answer))
            return false;
        if (answer.stop == CHAT_REFUSED) {
            snprintf(t->why, sizeof t->why, "%s: it declined to answer", role_names[role]);
            return false;
        }
        if (check_answer(a, role, c, &answer, why, sizeof why))
            return true;
        snprintf(t->why, sizeof t->why, "%s: %.380s", role_names[role], why);
        if (i == 0)
            ask_for_retry(a, q, &answer, why);
    }
    return false;
}

// ---- plan, code, debug

struct exchange_list {
    const struct exchange *at;
    int n;
};

static bool is_used(const struct exchange_list *list, int plan, int choice, int number) {
    for (int i = 0; i < list->n; i++) {
        const struct exchange *e = &list->at[i];
        if (e->plan == plan && e->choice == choice && e->node < number)
            return true;
    }
    return false;
}

// The newest plan for this node from before node `number`, and the exchange that answered it.
static const struct exchange *newest_plan(const struct exchange_list *list, struct arena *a,
                                          const struct brief *b, int number,
                                          struct hypotheses *plan) {
    for (int i = list->n - 1; i >= 0; i--) {
        const struct exchange *e = &list->at[i];
        char why[400];
        bool is_plan = strcmp(e->role, role_names[ROLE_PLAN]) == 0 && e->node < number &&
                       e->parent == b->node->number && e->state == EXCHANGE_ANSWERED;
        if (is_plan && plan_read(a, b, e->answer.text, plan, why, sizeof why))
            return e;
    }
    return NULL;
}

// A hypothesis of an earlier plan for this node that nobody has realised yet. What this very
// decision asked does not count: it will be asked, and answered, again. When the newest plan is
// used up there is none: a new one knows what came of it.
static bool earlier_hypothesis(struct team *t, struct arena *a, const struct brief *b,
                               struct hypothesis *out, struct question *q) {
    struct exchange_list list = {t->exchanges, t->n_exchanges};
    struct hypotheses plan;
    const struct exchange *e = newest_plan(&list, a, b, b->number, &plan);
    for (int k = 0; e && k < plan.n; k++)
        if (!is_used(&list, e->number, plan.at[k].index, b->number)) {
            *out = plan.at[k];
            *q = (struct question){.plan = e->number, .choice = plan.at[k].index};
            return true;
        }
    return false;
}

static bool plan(struct team *t, struct arena *a, const struct brief *b, struct hypothesis *out,
                 struct question *q) {
    struct hypotheses list;
    struct check c = {.brief = b, .plan = &list};
    struct question ask = {0};
    if (earlier_hypothesis(t, a, b, out, q))
        return true;
    if (!turn(t, a, ROLE_PLAN, &c, &ask))
        return false;
    *out = list.at[0];
    // The plan's number is that of the exchange that answered it: the newest of this step.
    int number = 0;
    for (int i = 0; i < t->n_exchanges; i++)
        if (t->exchanges[i].node == b->number && t->exchanges[i].step == t->step - 1)
            number = t->exchanges[i].number;
    *q = (struct question){.plan = number, .choice = out->index};
    return true;
}

// One line of a node's table.
static const char *short_text(struct arena *a, const char *text) {
    return cut(a, text, strcspn(text, "\n"), MOVE_MAX);
}

static bool plan_and_code(struct team *t, struct arena *a, const struct brief *b,
                          struct proposal *out) {
    struct hypothesis h;
    struct question q;
    if (!plan(t, a, b, &h, &q))
        return false;
    struct check c = {.brief = b, .hypothesis = &h, .proposal = out};
    if (!turn(t, a, ROLE_CODE, &c, &q))
        return false;
    out->by = "team";
    out->move = short_text(a, h.change);
    if (strcmp(out->move, h.change) != 0)
        out->change = cut(a, h.change, strlen(h.change), CHANGE_MAX);
    const char *why =
        arena_printf(a, "%s%s%s", h.finding > 0 ? b->node->findings[h.finding - 1].tool : "",
                     h.finding > 0 ? ": " : "", h.cause);
    out->reason = search_node_reason(a, why, h.speedup, h.roi);
    out->tool = h.finding > 0 ? b->node->findings[h.finding - 1].tool : NULL;
    out->expected = h.speedup;
    return true;
}

static bool debug(struct team *t, struct arena *a, const struct brief *b, struct proposal *out) {
    struct check c = {.brief = b, .proposal = out};
    struct question q = {0};
    if (!turn(t, a, ROLE_DEBUG, &c, &q))
        return false;
    out->by = "debug";
    out->move = arena_printf(a, "repair node %d", b->node->number);
    out->reason = arena_printf(a, "it was %s: %s", verdict_kind_name(b->node->verdict.kind),
                               short_text(a, b->node->verdict.evidence));
    return true;
}

// ---- the expert steps in

static bool step_in(struct team *t, struct arena *a, const struct brief *b, struct proposal *out) {
    if (!proposer_expert.propose(a, b, out, 1))
        return false;
    if (!t->is_off && t->why[0])
        team_note(t, "node %d: the expert steps in for the model: %s", b->number, t->why);
    out->reason = t->why[0] ? arena_printf(a, "%s (the model did not: %s)", out->reason, t->why)
                            : out->reason;
    out->by = "expert";
    return true;
}

// Has the model failed so often that nobody asks it any more?
static bool is_given_up(struct team *t, const struct brief *b) {
    bool given_up = b->n_expert >= EXPERT_MAX;
    if (t->off_at < b->mind_since)
        t->is_off = false;
    if (given_up && !t->is_off && !t->is_told)
        team_note(t, "the model has failed %d times in a row: the expert takes over", EXPERT_MAX);
    t->is_told = given_up;
    return given_up || t->is_off;
}

// The last that was told for this node, by an earlier process or in the run that is replayed: a
// question must not change its words because somebody has given the run another budget since.
static int evals_told(const struct exchange_list *list, int node, bool with_failed) {
    for (int i = list->n - 1; i >= 0; i--) {
        const struct exchange *e = &list->at[i];
        if (e->node == node && e->evals_left > 0 && (with_failed || e->state != EXCHANGE_FAILED))
            return e->evals_left;
    }
    return 0;
}

static struct brief as_told(const struct team *t, const struct brief *b) {
    struct exchange_list ours = {t->exchanges, t->n_exchanges};
    struct exchange_list recorded = {t->settings.recorded, t->settings.n_recorded};
    // What failed is asked anew, in new words; a replay fails again, in the old ones.
    int told = evals_told(&recorded, b->number, true);
    if (told == 0)
        told = evals_told(&ours, b->number, false);
    struct brief out = *b;
    if (told > 0)
        out.evals_left = told;
    return out;
}

static int propose(struct arena *a, const struct brief *asked, struct proposal *out, int room) {
    (void)room;  // a model is asked for one at a time
    struct team *t = asked->mind;
    struct brief told = as_told(t, asked);
    const struct brief *b = &told;
    if (t->number != b->number) {
        t->number = b->number;
        t->step = 0;
        t->has_failed = false;
        t->why[0] = '\0';
    }
    if (t->stopped || t->is_interrupted || interrupt_seen())
        return 0;
    bool is_alone = is_given_up(t, b) || t->has_failed;
    if (b->is_repair)
        return !is_alone && debug(t, a, b, out);
    *out = (struct proposal){0};
    if (!is_alone && plan_and_code(t, a, b, out))
        return 1;
    if (t->stopped || t->is_interrupted)
        return 0;
    t->has_failed = true;
    *out = (struct proposal){0};
    return step_in(t, a, b, out);
}

static const char *stopped(void *mind) {
    const struct team *t = mind;
    return t->stopped;
}

const struct proposer proposer_team = {
    .name = "team", .propose = propose, .can_repair = true, .stopped = stopped};

// ---- opening

static void settle_earlier(struct team *t) {
    for (int i = 0; i < t->n_exchanges; i++) {
        const struct exchange *e = &t->exchanges[i];
        struct reservation r = {e->reserved_in, e->reserved_out, e->reserved_usd};
        // A process killed before the answer came may have been charged for it.
        struct chat_usage usage =
            e->state == EXCHANGE_ASKED ? chat_usage_unknown() : e->answer.usage;
        budget_settle(&t->budget, &r, &usage);
    }
}

static bool check_prompts(const char *dir, struct error *err) {
    struct stat st;
    if (!dir || !*dir || (stat(dir, &st) == 0 && S_ISDIR(st.st_mode)))
        return true;
    return error_set(err, ERROR_USAGE, "llm.prompts: %s is not a folder", dir);
}

bool team_open(struct team **out, const struct team_settings *settings, struct error *err) {
    struct team *t = calloc(1, sizeof *t);
    assert(t);
    t->a = calloc(1, sizeof *t->a);
    assert(t->a);
    t->settings = *settings;
    t->budget = settings->budget;
    t->number = -1;
    if (check_prompts(settings->prompts, err) &&
        store_get_exchanges(settings->store, t->a, settings->run, &t->exchanges, &t->n_exchanges,
                            err)) {
        t->room = t->n_exchanges;
        settle_earlier(t);
        *out = t;
        return true;
    }
    team_close(t);
    return false;
}

void team_close(struct team *t) {
    if (!t)
        return;
    arena_reset(t->a);
    free(t->a);
    free(t);
}

const struct budget *team_budget(const struct team *t) {
    return &t->budget;
}

// What the coder would be asked next: a hypothesis of the newest plan, that of a decision under
// way included; one that was realised where all of them were. False: nobody has planned yet.
static bool next_hypothesis(struct arena *a, const struct team_settings *s, const struct brief *b,
                            struct hypothesis *out) {
    struct exchange_list list = {s->recorded, s->n_recorded};
    struct hypotheses plan;
    const struct exchange *e = newest_plan(&list, a, b, b->number + 1, &plan);
    if (!e)
        return false;
    *out = plan.at[0];
    for (int k = plan.n - 1; k >= 0; k--)
        if (!is_used(&list, e->number, plan.at[k].index, b->number))
            *out = plan.at[k];
    return true;
}

bool team_prompt(struct arena *a, const struct team_settings *settings, const struct brief *brief,
                 const char *role, struct str *out, struct error *err) {
    for (int i = 0; i < ROLE_COUNT; i++)
        if (strcmp(role, role_names[i]) == 0) {
            struct hypothesis h;
            bool is_planned = i == ROLE_CODE && next_hypothesis(a, settings, brief, &h);
            str_puts(out, window_system(a, settings, brief, (enum role)i));
            str_puts(out, "\n--------\n\n");
            str_puts(out, window_text(a, settings, brief, (enum role)i, is_planned ? &h : NULL));
            return true;
        }
    return error_set(err, ERROR_USAGE, "there is no role '%s'; there are plan, code and debug",
                     role);
}
