// Whatever a client, or a worker that somebody else wrote, sends: a document is read as a job, a
// problem, a plan or a result, or there is one message; no crash, no overflow, no size that is not
// checked.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "eval/judge.h"
#include "eval/worker.h"
#include "record/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_words(bool ok, const struct error *err) {
    if (!ok && !err->text[0])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a = {0};
    struct error err = {0};
    struct eval_job job = {0};
    struct eval_result result;
    json_t *json = json_parse((const char *)data, size, &err);
    if (json) {
        err = (struct error){0};
        expect_words(worker_read_job(&a, json, &job, &err), &err);
        for (int i = 0; i < job.n_trials && !err.text[0]; i++)
            if (!(job.trials_s[i] >= 0))
                abort();
        err = (struct error){0};
        expect_words(worker_read_problem(&a, json, &err) != NULL, &err);
        err = (struct error){0};
        expect_words(worker_read_result(&a, json, &result, &err), &err);
        err = (struct error){0};
        worker_read_error(json, &err);
        struct plan plan;
        err = (struct error){0};
        expect_words(plan_from_json(&a, json, &plan, &err), &err);
    }
    json_decref(json);
    arena_reset(&a);
    return 0;
}
