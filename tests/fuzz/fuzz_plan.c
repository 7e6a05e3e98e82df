// Any text at all is either a plan or one message: no crash, no overflow, no hang.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "record/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_plan(const uint8_t *data, size_t size, const struct plan_context *context) {
    struct arena a = {0};
    struct error err = {0};
    struct plan p, q;
    const char *source = arena_strndup(&a, (const char *)data, size);
    if (plan_parse(&a, source, context, &p, &err)) {
        json_t *json = plan_to_json(&p);
        if (!plan_from_json(&a, json, &q, &err))
            abort();
        json_decref(json);
    } else if (!err.text[0]) {
        abort();
    }
    arena_reset(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"M", "N"};
    static const int64_t sizes[] = {64, 100};
    static const struct plan_buffer buffers[] = {
        {.name = "x", .role = BUFFER_INPUT, .size_bytes = 25600},
        {.name = "y", .role = BUFFER_OUTPUT, .size_bytes = 25600}};
    static const struct plan_context context = {.dim_names = names,
                                                .dim_sizes = sizes,
                                                .n_dims = 2,
                                                .n_threads = 3,
                                                .buffers = buffers,
                                                .n_buffers = 2};
    static const struct plan_context gpu = {.dim_names = names,
                                            .dim_sizes = sizes,
                                            .n_dims = 2,
                                            .buffers = buffers,
                                            .n_buffers = 2,
                                            .is_gpu = true,
                                            .n_sms = 132,
                                            .shared_per_block = 232448,
                                            .cluster_max = 16};
    read_plan(data, size, &context);
    read_plan(data, size, &gpu);
    return 0;
}
