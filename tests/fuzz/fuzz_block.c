// Any kernel block is either resolved against its problem, and can be shown, or is refused with
// mistakes; what is resolved runs region by region without a value that nobody made.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/block.h"
#include "lang/lang.h"

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
        for (int i = 0; i < file.n_kernels; i++)
            for (int j = 0; j < file.n_problems; j++)
                resolve(&a, &source, file.problems[j], file.kernels[i]);
    free(text);
    arena_reset(&a);
    return 0;
}
