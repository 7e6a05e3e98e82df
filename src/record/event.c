// JSON form; a node goes without its source, samples and findings, which are in the store.
#include "record/event.h"

#include "base/json.h"
#include "record/run.h"

static const char *const kind_names[EVENT_COUNT] = {
    [EVENT_NOTE] = "note",
    [EVENT_STARTED] = "started",
    [EVENT_PROPOSED] = "proposed",
    [EVENT_RACING] = "racing",
    [EVENT_RACED] = "raced",
    [EVENT_EVALUATED] = "evaluated",
    [EVENT_CONFIRMING] = "confirming",
    [EVENT_DISQUALIFIED] = "disqualified",
    [EVENT_FINISHED] = "finished",
};

const char *event_kind_name(enum event_kind k) {
    return kind_names[k];
}

// The node without its source, samples and findings: those are in the store.
static json_t *node_brief(const struct search_node *n) {
    bool judged = n->state == NODE_EVALUATED;
    bool timed = judged && n->measurement.present;
    return json_pack(
        "{s:i, s:i, s:s, s:s, s:o, s:o, s:o, s:o}", "number", n->number, "parent", n->parent,
        "move", n->move ? n->move : "", "reason", n->reason ? n->reason : "", "kernel",
        json_optional_text(n->candidate.kernel), "verdict",
        json_optional_text(judged ? verdict_kind_name(n->verdict.kind) : NULL), "time_s",
        judged ? json_optional_real(n->time_s) : json_null(), "speedup",
        timed ? json_pack("{s:s, s:f, s:f, s:f}", "over",
                          n->measurement.baseline ? n->measurement.baseline : "", "value",
                          n->measurement.speedup, "low", n->measurement.speedup_low, "high",
                          n->measurement.speedup_high)
              : json_null());
}

static json_t *run_brief(const struct run *r) {
    return json_pack("{s:I, s:s, s:s, s:s, s:s, s:o}", "id", (json_int_t)r->id, "state",
                     run_state_name(r->state), "problem", r->problem_name, "target", r->target,
                     "device", r->device, "stop_reason", json_optional_text(r->stop_reason));
}

json_t *event_to_json(const struct event *e) {
    json_t *json = json_pack("{s:s, s:s, s:o, s:o, s:o}", "schema", "hone.event/1", "event",
                             event_kind_name(e->kind), "words", json_optional_text(e->words), "run",
                             e->run ? run_brief(e->run) : json_null(), "node",
                             e->node ? node_brief(e->node) : json_null());
    if (e->kind == EVENT_NOTE)
        return json;
    json_t *progress = json_pack(
        "{s:i, s:i, s:o, s:o, s:o, s:f}", "evals", e->n_evals, "screened", e->n_screened, "best",
        e->best < 0 ? json_null() : json_integer(e->best), "best_s", json_optional_real(e->best_s),
        "reach_s", json_optional_real(e->reach_s), "elapsed_s", e->elapsed_s);
    json_object_update(json, progress);
    json_decref(progress);
    return json;
}
