// The page that a judge shares with a runner: a candidate can write anything there, before it ends
// or instead of ending. What the judge says of it is a verdict with words, whatever the bytes.
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "eval/runner_handle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct control control;
    struct arena a = {0};
    struct plan plan = {0};
    static const char *const names[] = {"x", "y"};
    for (int i = 0; i < 2; i++)
        *plan_add_buffer(&a, &plan) = (struct plan_buffer){
            .name = names[i], .role = i ? BUFFER_OUTPUT : BUFFER_INPUT, .size_bytes = 1000 + i};
    struct runner r = {.plan = &plan, .control = &control, .n_threads = 2};
    layout_make(&a, &r.layout, &plan, 4);
    memset(&control, 0, sizeof control);
    // The first bytes are what the kernel says, the rest is the page, from wherever it begins.
    if (size > 4) {
        size_t at = (size_t)(data[0] | data[1] << 8) % sizeof control, n = size - 4;
        r.end.signal = data[2] % 65;
        r.sandbox_level = data[3] & 3;
        r.is_loaded = data[3] >> 7;
        n = n < sizeof control - at ? n : sizeof control - at;
        memcpy((char *)&control + at, data + 4, n);
        if (data[3] & 4)
            control.state = CONTROL_FAULT;
    }
    for (int status = RUNNER_OK; status <= RUNNER_BROKEN; status++) {
        struct verdict v = {0};
        runner_explain(&a, &r, (enum runner_status)status, &v);
        if (status != RUNNER_OK && (v.kind == VERDICT_OK || !v.evidence))
            abort();
    }
    arena_reset(&a);
    return 0;
}
