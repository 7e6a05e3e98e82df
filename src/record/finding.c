// JSON form.
#include "record/finding.h"

#include <math.h>
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

const char *finding_weight(struct arena *a, const struct finding *f) {
    if (!isfinite(f->confidence))
        return severity_name(f->severity);
    return arena_printf(a, "%s, confidence %.1f", severity_name(f->severity), f->confidence);
}

const char *action_text(struct arena *a, const struct action *act) {
    return act->move ? arena_printf(a, "%s (%s)", act->words, act->move) : act->words;
}

static json_t *action_to_json(const struct action *act) {
    json_t *json = json_pack("{s:s, s:o, s:i, s:o}", "words", act->words, "knob",
                             json_optional_text(act->knob), "direction", act->direction, "word",
                             json_optional_text(act->word));
    if (act->move)
        json_object_set_new(json, "move", json_optional_text(act->move));
    return json;
}

static json_t *number_to_json(const struct evidence *e) {
    json_t *json = json_pack("{s:s, s:f}", "metric", e->metric, "value", e->value);
    if (isfinite(e->limit))
        json_object_set_new(json, "limit", json_real(e->limit));
    return json;
}

json_t *finding_to_json(const struct finding *f) {
    json_t *actions = json_array(), *numbers = json_array();
    for (int i = 0; i < f->n_actions; i++)
        json_array_append_new(actions, action_to_json(&f->actions[i]));
    for (int i = 0; i < f->n_numbers; i++)
        json_array_append_new(numbers, number_to_json(&f->numbers[i]));
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "schema", "hone.finding/1", "tool",
                  f->tool, "severity", severity_name(f->severity), "cause", f->cause, "evidence",
                  f->evidence ? f->evidence : "", "expected_gain",
                  json_optional_real(f->expected_gain), "actions", actions, "numbers", numbers);
    if (isfinite(f->confidence))  // two digits: it is no finer than that
        json_object_set_new(json, "confidence", json_real(round(100 * f->confidence) / 100));
    if (f->launch) {
        json_object_set_new(json, "launch", json_optional_text(f->launch));
        json_object_set_new(json, "share", json_optional_real(f->share));
    }
    return json;
}

static void actions_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                              struct finding *f) {
    const json_t *actions = json_read_array(r, json, "actions");
    if (json_array_size(actions) > FINDING_ACTIONS_MAX)
        json_reader_fail(r, "more than %d actions", FINDING_ACTIONS_MAX);
    for (size_t i = 0; !r->failed && i < json_array_size(actions); i++) {
        const json_t *object = json_array_get(actions, i);
        struct action *act = &f->actions[f->n_actions++];
        act->words = json_read_string(r, a, object, "words");
        act->knob = json_read_optional_string(r, a, object, "knob");
        act->direction = (int)json_read_int(r, object, "direction");
        act->word = json_read_optional_string(r, a, object, "word");
        act->move = json_read_optional_string(r, a, object, "move");
    }
}

// Earlier versions wrote none.
static void numbers_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                              struct finding *f) {
    if (r->failed || !json_object_get(json, "numbers"))
        return;
    const json_t *numbers = json_read_array(r, json, "numbers");
    if (json_array_size(numbers) > FINDING_NUMBERS_MAX)
        json_reader_fail(r, "more than %d numbers", FINDING_NUMBERS_MAX);
    for (size_t i = 0; !r->failed && i < json_array_size(numbers); i++) {
        const json_t *object = json_array_get(numbers, i);
        struct evidence *e = &f->numbers[f->n_numbers++];
        e->metric = json_read_string(r, a, object, "metric");
        e->value = json_read_optional_number(r, object, "value");
        e->limit = json_read_optional_number(r, object, "limit");
    }
}

bool finding_from_json(struct arena *a, const json_t *json, struct finding *f, struct error *err) {
    struct json_reader r = {.where = "finding"};
    json_read_schema(&r, json, "hone.finding/1");
    *f = (struct finding){0};
    f->tool = json_read_string(&r, a, json, "tool");
    f->severity = severity_parse(&r, json_read_string(&r, a, json, "severity"));
    f->cause = json_read_string(&r, a, json, "cause");
    f->evidence = json_read_string(&r, a, json, "evidence");
    f->launch = json_read_optional_string(&r, a, json, "launch");
    f->share = json_read_optional_number(&r, json, "share");
    f->expected_gain = json_read_optional_number(&r, json, "expected_gain");
    f->confidence = json_read_optional_number(&r, json, "confidence");
    actions_from_json(&r, a, json, f);
    numbers_from_json(&r, a, json, f);
    return json_reader_done(&r, err);
}
