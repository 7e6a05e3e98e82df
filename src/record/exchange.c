// JSON form, and sums of what exchanges cost.
#include "record/exchange.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

static const char *const state_names[EXCHANGE_STATE_COUNT] = {
    [EXCHANGE_ASKED] = "asked", [EXCHANGE_ANSWERED] = "answered", [EXCHANGE_FAILED] = "failed"};

const char *exchange_state_name(enum exchange_state s) {
    return state_names[s];
}

json_t *exchange_to_json(const struct exchange *e) {
    json_t *json = json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:o, s:s, s:o, s:o}", "schema",
        "hone.exchange/1", "number", e->number, "node", e->node, "step", e->step, "parent",
        e->parent, "plan", e->plan, "choice", e->choice, "state", state_names[e->state], "role",
        e->role, "provider", e->provider, "model", json_optional_text(e->model), "hash", e->hash,
        "request", chat_request_to_json(&e->request), "answer",
        e->state == EXCHANGE_ASKED ? json_null() : chat_answer_to_json(&e->answer));
    json_t *rest =
        json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "failure", json_optional_text(e->failure),
                  "failure_kind", json_optional_text(e->failure_kind), "reserved_usd",
                  json_optional_real(e->reserved_usd), "cost_usd", json_optional_real(e->cost_usd),
                  "reserved_in", (json_int_t)e->reserved_in, "reserved_out",
                  (json_int_t)e->reserved_out, "asked_at", json_optional_text(e->asked_at));
    json_object_update(json, rest);
    if (e->evals_left > 0)
        json_object_set_new(json, "evals_left", json_integer(e->evals_left));
    json_decref(rest);
    return json;
}

static enum exchange_state state_parse(struct json_reader *r, const char *name) {
    for (int s = 0; s < EXCHANGE_STATE_COUNT; s++)
        if (strcmp(name, state_names[s]) == 0)
            return (enum exchange_state)s;
    json_reader_fail(r, "unknown state '%s'", name);
    return EXCHANGE_ASKED;
}

bool exchange_from_json(struct arena *a, const json_t *json, struct exchange *e,
                        struct error *err) {
    struct json_reader r = {.where = "exchange"};
    json_read_schema(&r, json, "hone.exchange/1");
    *e = (struct exchange){
        .number = (int)json_read_int(&r, json, "number"),
        .node = (int)json_read_int(&r, json, "node"),
        .step = (int)json_read_int(&r, json, "step"),
        .parent = (int)json_read_int(&r, json, "parent"),
        .plan = (int)json_read_int(&r, json, "plan"),
        .choice = (int)json_read_int(&r, json, "choice"),
        .role = json_read_string(&r, a, json, "role"),
        .provider = json_read_string(&r, a, json, "provider"),
        .model = json_read_optional_string(&r, a, json, "model"),
        .hash = json_read_string(&r, a, json, "hash"),
        .failure = json_read_optional_string(&r, a, json, "failure"),
        .failure_kind = json_read_optional_string(&r, a, json, "failure_kind"),
        .reserved_usd = json_read_optional_number(&r, json, "reserved_usd"),
        .cost_usd = json_read_optional_number(&r, json, "cost_usd"),
        .reserved_in = json_read_int(&r, json, "reserved_in"),
        .reserved_out = json_read_int(&r, json, "reserved_out"),
        .asked_at = json_read_optional_string(&r, a, json, "asked_at"),
    };
    double evals_left = json_read_optional_number(&r, json, "evals_left");
    e->evals_left = evals_left > 0 && evals_left <= INT_MAX ? (int)evals_left : 0;
    e->state = state_parse(&r, json_read_string(&r, a, json, "state"));
    const json_t *request = json_read_object(&r, json, "request");
    if (!r.failed)
        chat_request_from_json(&r, a, request, &e->request);
    if (!r.failed && e->state != EXCHANGE_ASKED)
        chat_answer_from_json(&r, a, json_read_object(&r, json, "answer"), &e->answer);
    return json_reader_done(&r, err);
}

static int64_t known(int64_t n) {
    return n > 0 ? n : 0;
}

void spend_add(struct spend *s, const struct exchange *e) {
    const struct chat_usage *u = &e->answer.usage;
    bool is_counted = e->state != EXCHANGE_ASKED && u->in_fresh >= 0 && u->out >= 0;
    s->n_calls++;
    s->n_failed += e->state == EXCHANGE_FAILED;
    s->n_uncounted += !is_counted;
    s->in += is_counted ? u->in_fresh + known(u->in_cache_read) + known(u->in_cache_write)
                        : e->reserved_in;
    s->in_cached += is_counted ? known(u->in_cache_read) : 0;
    s->out += is_counted ? u->out : e->reserved_out;
    if (isnan(e->cost_usd))
        s->n_unpriced++;
    else
        s->usd += e->cost_usd;
}
