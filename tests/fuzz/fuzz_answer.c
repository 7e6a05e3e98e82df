// A model can answer anything: reading it as a plan, as spans to replace and as a candidate must
// never crash or leak, and what is taken for a candidate must be one.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "family/lower.h"
#include "lang/lang.h"
#include "mind/spans.h"
#include "mind/team_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct target target = {.name = "cpu",
                                     .device = "a table",
                                     .id = "table",
                                     .isa = "none",
                                     .n_threads = 2,
                                     .vector_bytes = 64,
                                     .l1_bytes = 32768,
                                     .l2_bytes = 1 << 20,
                                     .llc_bytes = 16 << 20,
                                     .top_clock_hz = 3e9,
                                     .cc = "cc"};

// What a brief needs, made once.
struct world {
    struct arena a;
    struct search_node node;
    struct bound bound;
    struct brief brief;
};

static const struct world *world(void) {
    static struct world w;
    static const char text[] = "problem soft\ndim M = 64, N = 32\nin x : f32[M, N] ~ normal\n"
                               "out y : f32[M, N]\ny = softmax(x)\n";
    if (w.brief.problem)
        return &w;
    struct lang_file file;
    const char *diagnostics;
    struct error err = {0};
    struct lang_source source = {.file = "fuzz", .text = text, .len = strlen(text)};
    struct kernel *k = arena_new(&w.a, struct kernel);
    if (!lang_parse(&w.a, &source, &file, &diagnostics, &err))
        abort();
    lower_default(&w.a, file.problems[0], &target, k);
    if (!lower_kernel(&w.a, file.problems[0], &target, k, &w.node.candidate, &err))
        abort();
    w.bound.reach_s = 1e-6;
    w.brief = (struct brief){.problem = file.problems[0],
                             .target = &target,
                             .bound = &w.bound,
                             .node = &w.node,
                             .root = &w.node,
                             .kernel = k,
                             .number = 1};
    return &w;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct brief *b = &world()->brief;
    struct arena a = {0};
    struct hypotheses plan;
    struct proposal p = {0};
    char why[900];
    char *text = arena_strndup(&a, (const char *)data, size);
    str_clean(text, size);
    if (plan_read(&a, b, text, &plan, why, sizeof why) && plan.n < 1)
        abort();
    struct hypothesis spans = {.spans = {{"stage", 2, 2}}, .n_spans = 1};
    for (int i = 0; i < 2; i++) {
        p = (struct proposal){0};
        if (answer_read(&a, b, i ? &spans : NULL, text, &p, why, sizeof why) && !p.kernel &&
            !p.source)
            abort();
    }
    struct chat_call call = {"id", "check_kernel", text};
    tool_result(&a, &(struct team_settings){.feedback = "findings"}, b, &call);
    arena_reset(&a);
    return 0;
}
