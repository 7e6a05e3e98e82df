// JSON forms of runs and nodes; fields that older versions did not write have their defaults here.
#include "record/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

static const char *const state_names[] = {
    [RUN_ACTIVE] = "active", [RUN_DONE] = "done", [RUN_INTERRUPTED] = "interrupted"};

const char *const run_objective_names[OBJECTIVE_COUNT + 1] = {"time", "energy", "edp", NULL};

const char *run_state_name(enum run_state s) {
    return state_names[s];
}

static const char *const node_states[] = {
    [NODE_PROPOSED] = "proposed", [NODE_SCREENED] = "screened", [NODE_EVALUATED] = "evaluated"};

const char *node_state_name(enum node_state s) {
    return node_states[s];
}

static enum node_state node_state_parse(struct json_reader *r, const char *name) {
    for (int s = NODE_PROPOSED; s <= NODE_EVALUATED && !r->failed; s++)
        if (strcmp(name, node_states[s]) == 0)
            return (enum node_state)s;
    json_reader_fail(r, "unknown state '%s'", name);
    return NODE_PROPOSED;
}

bool run_is_on_table(const struct run *r) {
    static const char prefix[] = "table:";
    return r->target && strncmp(r->target, prefix, sizeof prefix - 1) == 0;
}

bool search_node_is_untimed(const struct search_node *n) {
    return n->state == NODE_SCREENED && n->screening.is_untimed;
}

static enum run_state run_state_parse(struct json_reader *r, const char *name) {
    for (int s = RUN_ACTIVE; s <= RUN_INTERRUPTED; s++)
        if (strcmp(name, state_names[s]) == 0)
            return (enum run_state)s;
    json_reader_fail(r, "unknown state '%s'", name);
    return RUN_ACTIVE;
}

// Take over the failure of a record within this one.
static void nested(struct json_reader *r, bool ok, const struct error *inner) {
    if (!ok)
        json_reader_fail(r, "%s", inner->text);
}

static json_t *optional_candidate(const struct candidate *c) {
    return c->source ? candidate_to_json(c) : json_null();
}

// The tail is ours, whatever a model wrote before it.
static const char expected_words[] = "; expected ";

const char *search_node_reason(struct arena *a, const char *why, double speedup, double roi) {
    return arena_printf(a, "%s%s%.2fx, return %.2f", why, expected_words, speedup, roi);
}

// Records of earlier versions have a model's expectation in the reason alone.
static double expected_of_reason(const struct search_node *n) {
    const char *last = NULL;
    if (!n->by || strcmp(n->by, "team") != 0 || !n->reason)
        return NAN;
    for (const char *at = n->reason; (at = strstr(at, expected_words)); at++)
        last = at + strlen(expected_words);
    char *end;
    double value = last ? strtod(last, &end) : NAN;
    return last && end != last && *end == 'x' && value > 0 ? value : NAN;
}

json_t *search_node_to_json(const struct search_node *n) {
    bool is_evaluated = n->state == NODE_EVALUATED;
    json_t *findings = json_array();
    for (int i = 0; i < n->n_findings; i++)
        json_array_append_new(findings, finding_to_json(&n->findings[i]));
    json_t *json = json_pack(
        "{s:s, s:i, s:i, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
        "hone.node/1", "number", n->number, "parent", n->parent, "state", node_state_name(n->state),
        "move", n->move ? n->move : "", "reason", n->reason ? n->reason : "", "by",
        json_optional_text(n->by), "candidate", optional_candidate(&n->candidate), "verdict",
        is_evaluated ? verdict_to_json(&n->verdict) : json_null(), "measurement",
        measurement_to_json(&n->measurement), "profile", profile_to_json(&n->profile), "findings",
        findings, "time_s", is_evaluated ? json_optional_real(n->time_s) : json_null());
    if (n->screening.present)
        json_object_set_new(json, "screening", screening_to_json(&n->screening));
    if (n->change)
        json_object_set_new(json, "change", json_optional_text(n->change));
    if (n->tool)
        json_object_set_new(json, "tool", json_optional_text(n->tool));
    if (n->expected > 0)
        json_object_set_new(json, "expected", json_real(n->expected));
    if (n->gain > 0)
        json_object_set_new(json, "gain", json_real(n->gain));
    return json;
}

static void findings_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                               struct search_node *n) {
    const json_t *findings = json_read_array(r, json, "findings");
    if (json_array_size(findings) > NODE_FINDINGS_MAX)
        json_reader_fail(r, "more than %d findings", NODE_FINDINGS_MAX);
    for (size_t i = 0; !r->failed && i < json_array_size(findings); i++) {
        struct error inner = {0};
        bool ok = finding_from_json(a, json_array_get(findings, i), &n->findings[i], &inner);
        nested(r, ok, &inner);
        n->n_findings++;
    }
}

bool search_node_from_json(struct arena *a, const json_t *json, struct search_node *n,
                           struct error *err) {
    struct json_reader r = {.where = "node"};
    json_read_schema(&r, json, "hone.node/1");
    *n = (struct search_node){0};
    n->number = (int)json_read_int(&r, json, "number");
    n->parent = (int)json_read_int(&r, json, "parent");
    const char *state = json_read_string(&r, a, json, "state");
    n->state = node_state_parse(&r, state);
    n->move = json_read_string(&r, a, json, "move");
    n->change = json_read_optional_string(&r, a, json, "change");
    n->reason = json_read_string(&r, a, json, "reason");
    n->by = json_read_optional_string(&r, a, json, "by");
    n->tool = json_read_optional_string(&r, a, json, "tool");
    n->expected = json_read_optional_number(&r, json, "expected");
    n->gain = json_read_optional_number(&r, json, "gain");
    if (!r.failed && isnan(n->expected))
        n->expected = expected_of_reason(n);
    n->time_s = json_read_optional_number(&r, json, "time_s");
    if (r.failed)
        return json_reader_done(&r, err);

    struct error inner = {0};
    const json_t *candidate = json_object_get(json, "candidate");
    if (candidate && !json_is_null(candidate))
        nested(&r, candidate_from_json(a, candidate, &n->candidate, &inner), &inner);
    nested(&r, screening_from_json(a, json_object_get(json, "screening"), &n->screening, &inner),
           &inner);
    if (n->state == NODE_EVALUATED)
        nested(&r, verdict_from_json(a, json_object_get(json, "verdict"), &n->verdict, &inner),
               &inner);
    nested(&r,
           measurement_from_json(a, json_object_get(json, "measurement"), &n->measurement, &inner),
           &inner);
    nested(&r, profile_from_json(a, json_object_get(json, "profile"), &n->profile, &inner), &inner);
    findings_from_json(&r, a, json, n);
    return json_reader_done(&r, err);
}

// The bound and the advice travel as JSON, not as text within JSON.
static json_t *json_value(const char *text) {
    json_t *value = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    return value ? value : json_null();
}

static json_t *llm_to_json(const struct run_llm *l) {
    if (!l->spec)
        return json_null();
    return json_pack("{s:o, s:o, s:f, s:I, s:I, s:i, s:s}", "spec", json_optional_text(l->spec),
                     "price", json_optional_text(l->price), "max_usd", l->max_usd, "max_calls",
                     (json_int_t)l->max_calls, "max_tokens", (json_int_t)l->max_tokens, "since",
                     l->since, "feedback", l->feedback ? l->feedback : "findings");
}

json_t *run_to_json(const struct run *r) {
    char seed[24];
    snprintf(seed, sizeof seed, "0x%016" PRIx64, r->seed);
    json_t *json = json_pack(
        "{s:s, s:I, s:s, s:{s:s, s:s, s:s}, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:o}",
        "schema", "hone.run/1", "id", (json_int_t)r->id, "state", run_state_name(r->state),
        "problem", "name", r->problem_name, "text", r->problem_text, "hash", r->problem_hash,
        "target", r->target, "device", r->device, "policy", r->policy, "proposer", r->proposer,
        "seed", seed, "max_evals", r->max_evals, "batch", r->batch > 0 ? r->batch : 1, "race",
        r->race, "max_seconds", r->max_seconds, "until", r->until, "bound", json_value(r->bound));
    json_t *rest = json_pack(
        "{s:s, s:o, s:o, s:s, s:i, s:i, s:o, s:o, s:o, s:f}", "started_at",
        r->started_at ? r->started_at : "", "ended_at", json_optional_text(r->ended_at),
        "stop_reason", json_optional_text(r->stop_reason), "version", r->version ? r->version : "",
        "nodes", r->n_nodes, "champion", r->champion, "baseline", optional_candidate(&r->baseline),
        "confirm_verdict", r->confirm.present ? verdict_to_json(&r->confirm_verdict) : json_null(),
        "confirm", measurement_to_json(&r->confirm), "elapsed_s", r->elapsed_s);
    json_object_set_new(json, "llm", llm_to_json(&r->llm));
    if (r->feedback)
        json_object_set_new(json, "feedback", json_string(r->feedback));
    if (r->start.source)
        json_object_set_new(json, "start", candidate_to_json(&r->start));
    if (r->memory)
        json_object_set_new(json, "memory", json_value(r->memory));
    if (r->objective != OBJECTIVE_TIME) {
        json_object_set_new(json, "objective", json_string(run_objective_names[r->objective]));
        json_object_set_new(json, "fastest", json_integer(r->fastest));
    }
    if (r->prolonged)
        json_object_set_new(json, "prolonged", json_optional_text(r->prolonged));
    if (r->no_energy)
        json_object_set_new(json, "no_energy", json_true());
    json_object_set_new(json, "null_kernel", json_optional_text(r->null_kernel));
    json_object_set_new(json, "speedup_unknown", json_optional_text(r->speedup_unknown));
    json_object_update(json, rest);
    json_decref(rest);
    return json;
}

static void outcome_from_json(struct json_reader *reader, struct arena *a, const json_t *json,
                              struct run *r) {
    struct error inner = {0};
    const json_t *baseline = json_object_get(json, "baseline");
    const json_t *start = json_object_get(json, "start");
    if (start)
        nested(reader, candidate_from_json(a, start, &r->start, &inner), &inner);
    if (baseline && !json_is_null(baseline))
        nested(reader, candidate_from_json(a, baseline, &r->baseline, &inner), &inner);
    nested(reader, measurement_from_json(a, json_object_get(json, "confirm"), &r->confirm, &inner),
           &inner);
    if (r->confirm.present)
        nested(reader,
               verdict_from_json(a, json_object_get(json, "confirm_verdict"), &r->confirm_verdict,
                                 &inner),
               &inner);
}

// Runs from before there were models have none.
static void llm_from_json(struct json_reader *reader, struct arena *a, const json_t *json,
                          struct run *r) {
    const json_t *llm = json_object_get(json, "llm");
    if (!json_is_object(llm))
        return;
    r->llm = (struct run_llm){
        .spec = json_read_string(reader, a, llm, "spec"),
        .price = json_read_optional_string(reader, a, llm, "price"),
        .max_usd = json_read_number(reader, llm, "max_usd"),
        .max_calls = json_read_int(reader, llm, "max_calls"),
        .max_tokens = json_read_int(reader, llm, "max_tokens"),
        .since = (int)json_integer_value(json_object_get(llm, "since")),
        .feedback = json_read_string(reader, a, llm, "feedback"),
    };
}

// Runs from before there were batches judged one candidate after the other.
static int batch_from_json(struct json_reader *reader, const json_t *json) {
    int batch = json_object_get(json, "batch") ? (int)json_read_int(reader, json, "batch") : 1;
    if (batch < 1)
        json_reader_fail(reader, "a batch of %d", batch);
    return batch;
}

// Runs of which nothing else is said are for time.
static void objective_from_json(struct json_reader *reader, struct arena *a, const json_t *json,
                                struct run *r) {
    const char *name = json_read_optional_string(reader, a, json, "objective");
    r->no_energy = json_is_true(json_object_get(json, "no_energy"));
    r->fastest = r->champion;
    if (!name)
        return;
    while (r->objective < OBJECTIVE_COUNT && strcmp(name, run_objective_names[r->objective]) != 0)
        r->objective++;
    if (r->objective == OBJECTIVE_COUNT) {
        json_reader_fail(reader, "unknown objective '%s'", name);
        r->objective = OBJECTIVE_TIME;
    }
    if (json_object_get(json, "fastest"))
        r->fastest = (int)json_read_int(reader, json, "fastest");
}

bool run_from_json(struct arena *a, const json_t *json, struct run *r, struct error *err) {
    struct json_reader reader = {.where = "run"};
    json_read_schema(&reader, json, "hone.run/1");
    *r = (struct run){0};
    r->id = json_read_int(&reader, json, "id");
    r->state = run_state_parse(&reader, json_read_string(&reader, a, json, "state"));
    const json_t *problem = json_read_object(&reader, json, "problem");
    r->problem_name = json_read_string(&reader, a, problem, "name");
    r->problem_text = json_read_string(&reader, a, problem, "text");
    r->problem_hash = json_read_string(&reader, a, problem, "hash");
    r->target = json_read_string(&reader, a, json, "target");
    r->device = json_read_string(&reader, a, json, "device");
    r->policy = json_read_string(&reader, a, json, "policy");
    r->proposer = json_read_string(&reader, a, json, "proposer");
    r->seed = strtoull(json_read_string(&reader, a, json, "seed"), NULL, 16);
    r->max_evals = (int)json_read_int(&reader, json, "max_evals");
    r->batch = batch_from_json(&reader, json);
    r->feedback = json_read_optional_string(&reader, a, json, "feedback");
    r->race = json_object_get(json, "race") ? (int)json_read_int(&reader, json, "race") : 0;
    r->max_seconds = json_read_number(&reader, json, "max_seconds");
    r->until = json_read_number(&reader, json, "until");
    r->started_at = json_read_string(&reader, a, json, "started_at");
    r->ended_at = json_read_optional_string(&reader, a, json, "ended_at");
    r->stop_reason = json_read_optional_string(&reader, a, json, "stop_reason");
    r->version = json_read_string(&reader, a, json, "version");
    r->n_nodes = (int)json_read_int(&reader, json, "nodes");
    r->champion = (int)json_read_int(&reader, json, "champion");
    r->elapsed_s = json_read_number(&reader, json, "elapsed_s");
    objective_from_json(&reader, a, json, r);
    r->prolonged = json_read_optional_string(&reader, a, json, "prolonged");
    if (reader.failed)
        return json_reader_done(&reader, err);
    if (json_object_get(json, "null_kernel"))
        r->null_kernel = json_read_optional_string(&reader, a, json, "null_kernel");
    if (json_object_get(json, "speedup_unknown"))
        r->speedup_unknown = json_read_optional_string(&reader, a, json, "speedup_unknown");
    const json_t *bound = json_object_get(json, "bound");
    if (bound && !json_is_null(bound))
        r->bound = json_print(a, bound);
    const json_t *memory = json_object_get(json, "memory");
    if (json_is_object(memory))
        r->memory = json_print(a, memory);
    outcome_from_json(&reader, a, json, r);
    llm_from_json(&reader, a, json, r);
    return json_reader_done(&reader, err);
}
