// One exchange: recorded before the call and after it, paid for in between.
//
// A question is known by the node that it is for and its step towards that node. Where the
// store has an answer to the very same question, from a process that was killed before it could
// use it, that answer is taken and nothing is asked.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "llm/llm.h"
#include "mind/team_private.h"
#include "store/store.h"

void team_note(struct team *t, const char *fmt, ...) {
    char words[700];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    if (t->settings.on_note)
        t->settings.on_note(t->settings.note_ctx, words);
}

static void team_off(struct team *t) {
    t->is_off = true;
    t->off_at = t->number;
}

static struct exchange *find(struct team *t, int node, int step, const char *hash) {
    for (int i = t->n_exchanges - 1; i >= 0; i--) {
        struct exchange *e = &t->exchanges[i];
        if (e->node == node && e->step == step && strcmp(e->hash, hash) == 0)
            return e;
    }
    return NULL;
}

static struct exchange *append(struct team *t) {
    if (t->n_exchanges == t->room) {
        int room = t->room ? 2 * t->room : 64;
        struct exchange *more = arena_array(t->a, struct exchange, room);
        if (t->n_exchanges > 0)
            memcpy(more, t->exchanges, sizeof *more * (size_t)t->n_exchanges);
        t->exchanges = more;
        t->room = room;
    }
    return &t->exchanges[t->n_exchanges++];
}

// A key that got into a problem or a message is neither sent nor kept.
static const char *stripped(struct team *t, struct arena *a, const char *text) {
    char *copy = arena_strdup(a, text ? text : "");
    llm_strip(t->settings.llm, copy);
    return copy;
}

static struct chat_request request_of(struct team *t, struct arena *a, const struct brief *b,
                                      const struct question *q) {
    struct chat_message *messages = arena_array(a, struct chat_message, q->n_messages + 1);
    for (int i = 0; i < q->n_messages; i++) {
        messages[i] = q->messages[i];
        messages[i].text = stripped(t, a, q->messages[i].text);
    }
    double left_s = b->seconds_left;
    return (struct chat_request){
        .tag = arena_printf(a, "run%lld-node%03d-%d-%s", (long long)t->settings.run, b->number,
                            t->step, role_names[q->role]),
        .system = stripped(t, a, q->system),
        .messages = messages,
        .n_messages = q->n_messages,
        .tools = t->settings.no_tools ? NULL : team_tools,
        .n_tools = t->settings.no_tools ? 0 : n_team_tools,
        .max_tokens = t->settings.max_tokens,
        .timeout_s = isfinite(left_s) ? (left_s > 1 ? left_s : 1) : 0,
    };
}

// The record lives as long as the run; the question was built for a decision.
static struct chat_answer kept_answer(struct team *t, const struct chat_answer *from) {
    struct chat_answer answer = *from;
    struct chat_call *calls = arena_array(t->a, struct chat_call, from->n_calls + 1);
    for (int i = 0; i < from->n_calls; i++)
        calls[i] = (struct chat_call){arena_strdup(t->a, from->calls[i].id),
                                      arena_strdup(t->a, from->calls[i].name),
                                      arena_strdup(t->a, from->calls[i].arguments)};
    answer.text = arena_strdup(t->a, from->text ? from->text : "");
    answer.calls = calls;
    answer.raw = from->raw ? arena_strdup(t->a, from->raw) : NULL;
    answer.model = from->model ? arena_strdup(t->a, from->model) : NULL;
    return answer;
}

static const char *kind_name(enum error_kind kind) {
    switch (kind) {
    case ERROR_UNSUPPORTED:
        return "unsupported";
    case ERROR_USAGE:
        return "usage";
    case ERROR_TIMEOUT:
        return "timeout";
    case ERROR_PARSE:
        return "parse";
    default:
        return "io";
    }
}

static bool fail(struct team *t, const char *why) {
    snprintf(t->why, sizeof t->why, "%.380s", why);
    return false;
}

// The store is our own: when it fails, there is no going on with the model.
static bool put(struct team *t, struct exchange *e) {
    struct error err = {0};
    if (store_put_exchange(t->settings.store, t->settings.run, e, &err))
        return true;
    team_off(t);
    return fail(t, err.text);
}

static void note_failure(struct team *t, struct exchange *e, const struct error *err) {
    e->state = EXCHANGE_FAILED;
    e->failure = arena_strdup(t->a, err->text);
    e->failure_kind = kind_name(err->kind);
    if (err->kind == ERROR_UNSUPPORTED) {
        team_off(t);
        team_note(t, "the model cannot be used: %s; the expert takes over", err->text);
    }
    fail(t, err->text);
}

// Call, settle, record.
static bool call(struct team *t, struct arena *a, struct exchange *e, const struct reservation *r,
                 struct chat_answer *out) {
    struct error err = {0};
    bool ok = llm_call(t->settings.llm, a, &e->request, out, &err);
    if (!ok && err.kind == ERROR_INTERRUPTED) {
        t->is_interrupted = true;  // the question stays asked
        return fail(t, "interrupted");
    }
    e->answer = kept_answer(t, out);
    struct reservation took = *r;
    if (ok)
        took.out = budget_tokens_of(strlen(out->text));
    e->reserved_out = took.out;
    e->cost_usd = budget_settle(&t->budget, &took, &out->usage);
    if (ok)
        e->state = EXCHANGE_ANSWERED;
    else
        note_failure(t, e, &err);
    // The request was built in the decision's arena: it is in the store, and needed no more.
    bool is_kept = put(t, e);
    e->request = (struct chat_request){.tag = arena_strdup(t->a, e->request.tag)};
    return ok && is_kept;
}

static bool ask_anew(struct team *t, struct arena *a, const struct brief *b,
                     const struct question *q, struct exchange *e, struct chat_answer *out) {
    struct chat_request request = e->request;
    struct reservation r;
    const char *limit = budget_reserve(&t->budget, &request, &r);
    if (limit) {
        t->stopped = limit;
        t->n_exchanges--;
        return fail(t, "the budget is used up");
    }
    e->state = EXCHANGE_ASKED;
    e->node = b->number;
    e->step = t->step;
    e->parent = b->node->number;
    e->plan = q->plan;
    e->choice = q->choice;
    e->evals_left = b->evals_left;
    e->role = role_names[q->role];
    e->provider = t->settings.provider;
    e->model = t->settings.model;
    e->reserved_in = r.in;
    e->reserved_out = r.out;
    e->reserved_usd = r.usd;
    e->cost_usd = NAN;
    e->asked_at = clock_timestamp(t->a);
    return put(t, e) && call(t, a, e, &r, out);
}

bool team_ask(struct team *t, struct arena *a, const struct brief *b, struct question *q,
              struct chat_answer *out) {
    struct chat_request request = request_of(t, a, b, q);
    const char *hash = chat_request_hash(t->a, &request);
    struct exchange *e = find(t, b->number, t->step, hash);
    bool is_known = e && e->state == EXCHANGE_ANSWERED;
    if (is_known) {
        *out = e->answer;
        t->step++;
        return true;
    }
    // Asked by a process that was killed: the same row. Failed then: it deserves another row.
    int number = e && e->state == EXCHANGE_ASKED ? e->number : 0;
    e = append(t);
    *e = (struct exchange){.number = number, .hash = hash, .request = request};
    bool ok = ask_anew(t, a, b, q, e, out);
    t->step++;
    return ok;
}
