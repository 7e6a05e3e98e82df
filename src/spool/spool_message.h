// The documents of a spool (docs/schema): a job with all that a worker needs and no secret, an
// answer with the device that it was measured on, and what a worker runs on.
//
//   hone.spool-job/1    {"problem": text, "dims": {"M": 64}, "target": {"kind", "machine"}, "seed",
//                        "null_kernel": also say what a null kernel does, "job": hone.job/1 or
//                        null}
//   hone.spool-answer/1 {"hone": version, "target": facts and ceilings or null, "judged", "nulled",
//                        "error"}: worker.h's messages, each or null; "error" only alone
//   hone.machine/1      {"hone": version, "host", "target"}
//
// The seed is 0 unless somebody asked for one: then the worker draws it.
#pragma once

#include <jansson.h>

#include "spool/place_spool.h"

struct spool_job {
    const char *text;  // "problem" and "dims" as one text: jobs of equal ones can share a judge
    const struct problem *problem;
    const char *kind, *machine;  // machine NULL: any
    uint64_t seed;
    bool wants_null;
    bool has_job;
    struct eval_job job;
};

// `job` is an hone.job/1 or NULL.
json_t *spool_job_message(const struct spool_spec *spec, const json_t *job, bool wants_null);
bool spool_read_job(struct arena *a, const char *text, size_t len, struct spool_job *job,
                    struct error *err);

// Takes the references; each may be NULL.
json_t *spool_answer_message(const struct target *t, json_t *judged, json_t *nulled, json_t *error);

json_t *spool_machine_message(const struct target *t);
bool spool_read_machine(struct arena *a, const char *text, size_t len, struct target *t,
                        struct error *err);
