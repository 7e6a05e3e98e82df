// Builds and reads the three documents, around the messages of eval/worker.h.
#include "spool/spool_message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "eval/worker.h"

static json_t *or_null(json_t *json) {
    return json ? json : json_null();
}

json_t *spool_job_message(const struct spool_spec *spec, const json_t *job, bool wants_null) {
    const struct graph *g = &spec->problem->graph;
    char seed[24];
    snprintf(seed, sizeof seed, "0x%016" PRIx64, spec->seed);
    json_t *dims = json_object();
    for (int i = 0; i < g->n_dims; i++)
        json_object_set_new(dims, g->dims[i].name, json_integer(g->dims[i].size));
    return json_pack("{s:s, s:s, s:o, s:{s:s, s:o}, s:s, s:b, s:o}", "schema", "hone.spool-job/1",
                     "problem", spec->problem->text, "dims", dims, "target", "kind",
                     target_kernel_name(spec->target), "machine", json_optional_text(spec->machine),
                     "seed", seed, "null_kernel", (int)wants_null, "job",
                     job ? json_deep_copy(job) : json_null());
}

static bool read_fields(struct arena *a, const json_t *json, struct spool_job *j,
                        struct error *err) {
    struct json_reader r = {.where = "job"};
    json_read_schema(&r, json, "hone.spool-job/1");
    json_t *target = json_read_object(&r, json, "target");
    j->kind = json_read_string(&r, a, target, "kind");
    j->machine = json_read_optional_string(&r, a, target, "machine");
    j->seed = strtoull(json_read_string(&r, a, json, "seed"), NULL, 16);
    j->wants_null = json_read_bool(&r, json, "null_kernel");
    const json_t *job = json_object_get(json, "job");
    j->has_job = job && !json_is_null(job);
    return json_reader_done(&r, err) && (!j->has_job || worker_read_job(a, job, &j->job, err));
}

bool spool_read_job(struct arena *a, const char *text, size_t len, struct spool_job *j,
                    struct error *err) {
    *j = (struct spool_job){0};
    json_t *json = json_parse(text, len, err);
    bool ok = json && read_fields(a, json, j, err);
    if (ok) {
        j->problem = worker_read_problem(a, json, err);
        char *dims = json_print(a, json_object_get(json, "dims"));
        j->text =
            arena_printf(a, "%s\n%s", json_string_value(json_object_get(json, "problem")), dims);
    }
    json_decref(json);
    return ok && j->problem;
}

json_t *spool_answer_message(const struct target *t, json_t *judged, json_t *nulled,
                             json_t *error) {
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "schema", "hone.spool-answer/1", "hone",
                     HONE_VERSION, "target", or_null(t ? target_to_json(t) : NULL), "judged",
                     or_null(judged), "nulled", or_null(nulled), "error", or_null(error));
}

json_t *spool_machine_message(const struct target *t) {
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    return json_pack("{s:s, s:s, s:o, s:o}", "schema", "hone.machine/1", "hone", HONE_VERSION,
                     "host", json_optional_text(host), "target", target_to_json(t));
}

bool spool_read_machine(struct arena *a, const char *text, size_t len, struct target *t,
                        struct error *err) {
    struct json_reader r = {.where = "machine"};
    json_t *json = json_parse(text, len, err);
    if (!json)
        return false;
    json_read_schema(&r, json, "hone.machine/1");
    json_t *target = json_read_object(&r, json, "target");
    bool ok = json_reader_done(&r, err) && target_from_json(a, target, t, err);
    json_decref(json);
    return ok;
}
