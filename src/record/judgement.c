// JSON form, and the subjects that are no candidates (a bound, an end).
#include "record/judgement.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "record/candidate.h"

const char *judgement_subject(struct arena *a, const struct candidate *c) {
    return c->kernel ? hash_text(a, c->kernel) : hash_text(a, c->source);
}

json_t *judgement_to_json(const struct judgement *j) {
    json_t *bound = j->bound ? json_loads(j->bound, 0, NULL) : NULL;
    json_t *facts = j->facts ? json_loads(j->facts, 0, NULL) : NULL;
    bool has_verdict = !j->bound && !j->screening.present;
    json_t *json =
        json_pack("{s:s, s:i, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "schema",
                  "hone.judgement/1", "number", j->number, "subject", j->subject, "baseline",
                  json_optional_text(j->baseline), "depth", j->depth, "verdict",
                  has_verdict ? verdict_to_json(&j->verdict) : json_null(), "measurement",
                  measurement_to_json(&j->measurement), "profile", profile_to_json(&j->profile),
                  "bound", bound ? bound : json_null(), "facts", facts ? facts : json_null());
    if (j->screening.present)
        json_object_set_new(json, "screening", screening_to_json(&j->screening));
    return json;
}

static void nested(struct json_reader *r, bool ok, const struct error *inner) {
    if (!ok)
        json_reader_fail(r, "%s", inner->text);
}

bool judgement_from_json(struct arena *a, const json_t *json, struct judgement *j,
                         struct error *err) {
    struct json_reader r = {.where = "judgement"};
    struct error inner = {0};
    json_read_schema(&r, json, "hone.judgement/1");
    *j = (struct judgement){
        .number = (int)json_read_int(&r, json, "number"),
        .subject = json_read_string(&r, a, json, "subject"),
        .baseline = json_read_optional_string(&r, a, json, json_key(json, "baseline", "rival")),
        .depth = json_read_string(&r, a, json, "depth"),
    };
    const json_t *bound = json_object_get(json, "bound");
    const json_t *facts = json_object_get(json, "facts");
    nested(&r, screening_from_json(a, json_object_get(json, "screening"), &j->screening, &inner),
           &inner);
    if (json_is_object(facts))
        j->facts = json_print(a, facts);
    if (json_is_object(bound))
        j->bound = json_print(a, bound);
    else if (!r.failed && !j->screening.present)
        nested(&r, verdict_from_json(a, json_object_get(json, "verdict"), &j->verdict, &inner),
               &inner);
    if (!r.failed)
        nested(
            &r,
            measurement_from_json(a, json_object_get(json, "measurement"), &j->measurement, &inner),
            &inner);
    if (!r.failed)
        nested(&r, profile_from_json(a, json_object_get(json, "profile"), &j->profile, &inner),
               &inner);
    return json_reader_done(&r, err);
}
