// The messages of a race, there and back.
#include <math.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "eval/worker.h"

json_t *worker_race_message(const struct race_job *job) {
    json_t *candidates = json_array();
    for (int i = 0; i < job->n_candidates; i++)
        json_array_append_new(candidates, candidate_to_json(&job->candidates[i]));
    return json_pack("{s:s, s:o, s:o, s:i, s:f}", "schema", "hone.race/1", "candidates", candidates,
                     "baseline", candidate_to_json(job->incumbent), "survivors", job->n_survivors,
                     "seconds", job->seconds);
}

// Only what our own families emit is ever timed unverified.
static bool read_block(struct arena *a, const json_t *json, struct candidate *c,
                       struct error *err) {
    return candidate_from_json(a, json, c, err) &&
           ((c->tier == TIER_K && c->kernel) ||
            error_set(err, ERROR_USAGE, "race: '%s' is no kernel block", c->label));
}

bool worker_read_race(struct arena *a, const json_t *message, struct race_job *job,
                      struct error *err) {
    struct json_reader r = {.where = "race"};
    const double day = 86400;
    json_read_schema(&r, message, "hone.race/1");
    const json_t *list = json_read_array(&r, message, "candidates");
    *job = (struct race_job){.n_candidates = (int)json_array_size(list),
                             .n_survivors = (int)json_read_int(&r, message, "survivors"),
                             .seconds = json_read_number(&r, message, "seconds")};
    if (json_array_size(list) > RACE_MAX)
        json_reader_fail(&r, "%zu candidates, at most %d", json_array_size(list), RACE_MAX);
    if (job->n_survivors < 0 || job->n_survivors > RACE_MAX)
        json_reader_fail(&r, "%d survivors", job->n_survivors);
    if (!(job->seconds >= 0 && job->seconds <= day))
        json_reader_fail(&r, "%g seconds, expected 0 to %g", job->seconds, day);
    if (r.failed)
        return json_reader_done(&r, err);
    struct candidate *candidates = arena_array(a, struct candidate, job->n_candidates + 1);
    bool ok = true;
    for (int i = 0; ok && i < job->n_candidates; i++)
        ok = read_block(a, json_array_get(list, (size_t)i), &candidates[i], err);
    job->candidates = candidates;
    job->incumbent = &candidates[job->n_candidates];
    return ok &&
           read_block(a, json_object_get(message, "baseline"), &candidates[job->n_candidates], err);
}

json_t *worker_raced_message(const struct screening *screenings, int n) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, screening_to_json(&screenings[i]));
    return json_pack("{s:s, s:o}", "schema", "hone.raced/1", "screenings", list);
}

bool worker_read_raced(struct arena *a, const json_t *message, struct screening *screenings, int n,
                       struct error *err) {
    struct json_reader r = {.where = "raced"};
    json_read_schema(&r, message, "hone.raced/1");
    const json_t *list = json_read_array(&r, message, "screenings");
    if ((int)json_array_size(list) != n)
        json_reader_fail(&r, "%zu screenings of %d candidates", json_array_size(list), n);
    if (r.failed)
        return json_reader_done(&r, err);
    for (int i = 0; i < n; i++)
        if (!screening_from_json(a, json_array_get(list, (size_t)i), &screenings[i], err))
            return false;
    return true;
}
