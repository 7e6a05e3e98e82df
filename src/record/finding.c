// JSON form.
#include "record/finding.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

static const char *const severity_names[] = {
    [SEVERITY_LOW] = "low", [SEVERITY_MEDIUM] = "medium", [SEVERITY_HIGH] = "high"};

const char *severity_name(enum severity s) {
    return severity_names[s];
}

static enum severity severity_parse(struct json_reader *r, const char *name) {
    for (int s = SEVERITY_LOW; s <= SEVERITY_HIGH; s++)
        if (strcmp(name, severity_names[s]) == 0)
            return (enum severity)s;
    json_reader_fail(r, "unknown severity '%s'", name);
    return SEVERITY_LOW;
}

json_t *finding_to_json(const struct finding *f) {
    json_t *actions = json_array();
    for (int i = 0; i < f->n_actions; i++) {
        const struct action *act = &f->actions[i];
        json_array_append_new(actions,
                              json_pack("{s:s, s:o, s:i, s:o}", "words", act->words, "knob",
                                        json_optional_text(act->knob), "direction", act->direction,
                                        "word", json_optional_text(act->word)));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "schema", "hone.finding/1", "tool",
                     f->tool, "severity", severity_name(f->severity), "cause", f->cause, "evidence",
                     f->evidence ? f->evidence : "", "expected_gain",
                     json_optional_real(f->expected_gain), "actions", actions);
}

bool finding_from_json(struct arena *a, const json_t *json, struct finding *f, struct error *err) {
    struct json_reader r = {.where = "finding"};
    json_read_schema(&r, json, "hone.finding/1");
    *f = (struct finding){0};
    f->tool = json_read_string(&r, a, json, "tool");
    f->severity = severity_parse(&r, json_read_string(&r, a, json, "severity"));
    f->cause = json_read_string(&r, a, json, "cause");
    f->evidence = json_read_string(&r, a, json, "evidence");
    f->expected_gain = json_read_optional_number(&r, json, "expected_gain");
    const json_t *actions = json_read_array(&r, json, "actions");
    if (json_array_size(actions) > FINDING_ACTIONS_MAX)
        json_reader_fail(&r, "more than %d actions", FINDING_ACTIONS_MAX);
    for (size_t i = 0; !r.failed && i < json_array_size(actions); i++) {
        const json_t *object = json_array_get(actions, i);
        struct action *act = &f->actions[f->n_actions++];
        act->words = json_read_string(&r, a, object, "words");
        act->knob = json_read_optional_string(&r, a, object, "knob");
        act->direction = (int)json_read_int(&r, object, "direction");
        act->word = json_read_optional_string(&r, a, object, "word");
    }
    return json_reader_done(&r, err);
}
