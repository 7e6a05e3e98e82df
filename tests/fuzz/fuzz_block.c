// Any kernel block is either resolved against its problem, and can be shown, or is refused with
// mistakes; what is resolved runs region by region without a value that nobody made. What can be
// lowered is, to a text or to one message, and every problem has a first block and a baseline.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/block.h"
#include "family/lower.h"
#include "family/support.h"
#include "lang/lang.h"
#include "mutate_lang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition)
        abort();
}

static void check_leaves(const struct block *b) {
    for (int i = 0; i < b->n_stages; i++) {
        const struct region *r = b->stages[i].region;
        for (node_id n = 0; n < r->graph->n_nodes; n++)
            require(!r->is_leaf[n] || r->graph->nodes[n].op == OP_INPUT ||
                    block_maker(b, n, i) >= 0);
    }
}

static void resolve(struct arena *a, const struct lang_source *source, const struct problem *p,
                    const struct kernel *k) {
    struct target t;
    struct mistakes m = {.arena = a, .source = source};
    if (strcmp(k->problem, p->name) != 0 || !target_of_arch("sm_90a", &t))
        return;
    const struct block *b = block_resolve(a, p, &t, k, &m);
    if (m.count > 0) {
        require(mistakes_print(a, &m)[0]);
        return;
    }
    require(block_print(a, b)[0]);
    check_leaves(b);
}

// Any machine of that name.
static bool some_target(const char *name, struct target *t) {
    *t = (struct target){.name = "cpu",
                         .device = "test",
                         .n_threads = 2,
                         .vector_bytes = 32,
                         .l1_bytes = 32 << 10,
                         .l2_bytes = 1 << 20,
                         .llc_bytes = 32 << 20};
    return strcmp(name, "cpu") == 0 || target_of_arch(name, t);
}

static void lower(struct arena *a, const struct problem *p, const struct kernel *k) {
    struct target t;
    struct candidate c = {0};
    struct error err = {0};
    if (!some_target(k->target, &t))
        return;
    if (lower_kernel(a, p, &t, k, &c, &err))
        require(c.source[0]);
    else
        require(err.text[0]);
}

static void lower_first(struct arena *a, const struct problem *p, const char *on) {
    struct target t;
    struct candidate c = {0};
    struct error err = {0};
    struct kernel k;
    if (!support_problem(p, &err) || !some_target(on, &t))
        return;
    lower_default(a, p, &t, &k);
    if (k.n_stages < STAGES_MAX)
        require(lower_kernel(a, p, &t, &k, &c, &err) && c.source[0]);
    lower_plain(a, p, &t, &c);
    require(c.source[0]);
}

static void each_pair(struct arena *a, const struct lang_source *source,
                      const struct lang_file *file) {
    for (int j = 0; j < file->n_problems && j < 2; j++) {
        for (int i = 0; i < file->n_kernels && i < 4; i++) {
            resolve(a, source, file->problems[j], file->kernels[i]);
            lower(a, file->problems[j], file->kernels[i]);
        }
        lower_first(a, file->problems[j], "cpu");
        lower_first(a, file->problems[j], "sm_90a");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a = {0};
    struct lang_file file;
    const char *diagnostics;
    struct error err = {0};
    char *text = malloc(size ? size : 1);
    if (size)
        memcpy(text, data, size);
    struct lang_source source = {.file = "f.hone", .text = text, .len = size};
    if (lang_parse(&a, &source, &file, &diagnostics, &err))
        each_pair(&a, &source, &file);
    free(text);
    arena_reset(&a);
    return 0;
}
