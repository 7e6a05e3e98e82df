// JSON form, and the words for people.
#include "record/screening.h"

#include <math.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

const char *screening_text(struct arena *a, const struct screening *s) {
    if (s->same_as)
        return arena_printf(a, "the same machine code as %s", s->same_as);
    if (s->fault)
        return s->fault;
    if (s->is_untimed || isnan(s->speedup))
        return "not timed: the race was over before its turn";
    return arena_printf(a, "about %.2fx over %s by %d pair%s, %d round%s", s->speedup, s->against,
                        s->n_pairs, s->n_pairs == 1 ? "" : "s", s->n_rounds,
                        s->n_rounds == 1 ? "" : "s");
}

json_t *screening_to_json(const struct screening *s) {
    if (!s->present)
        return json_null();
    json_t *json = json_pack(
        "{s:s, s:s, s:i, s:i, s:o, s:o, s:b, s:b, s:o, s:o}", "schema", "hone.screening/1",
        "against", s->against ? s->against : "", "rounds", s->n_rounds, "pairs", s->n_pairs,
        "speedup", json_optional_real(s->speedup), "time_s", json_optional_real(s->time_s),
        "survived", (int)s->survived, "untimed", (int)s->is_untimed, "same_as",
        json_optional_text(s->same_as), "fault", json_optional_text(s->fault));
    if (s->device)
        json_object_set_new(json, "device", json_string(s->device));
    return json;
}

bool screening_from_json(struct arena *a, const json_t *json, struct screening *s,
                         struct error *err) {
    struct json_reader r = {.where = "screening"};
    *s = (struct screening){.speedup = NAN, .time_s = NAN};
    if (!json || json_is_null(json))
        return true;
    json_read_schema(&r, json, "hone.screening/1");
    s->present = true;
    s->against = json_read_string(&r, a, json, "against");
    s->n_rounds = (int)json_read_int(&r, json, "rounds");
    s->n_pairs = (int)json_read_int(&r, json, "pairs");
    s->speedup = json_read_optional_number(&r, json, "speedup");
    s->time_s = json_read_optional_number(&r, json, "time_s");
    s->survived = json_read_bool(&r, json, "survived");
    s->is_untimed = json_read_bool(&r, json, "untimed");
    s->same_as = json_read_optional_string(&r, a, json, "same_as");
    s->fault = json_read_optional_string(&r, a, json, "fault");
    if (json_object_get(json, "device"))
        s->device = json_read_string(&r, a, json, "device");
    return json_reader_done(&r, err);
}
