// Any bytes at all are either a cubin or one message: no crash, no overflow, no hang.
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/error.h"
#include "profile/sass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a = {0};
    struct error err = {0};
    struct sass s;
    if (!sass_read(&a, data, size, &s, &err) && !err.text[0])
        abort();
    for (int i = 0; i < s.n_kernels; i++) {
        struct metrics m = {0};
        const struct sass_kernel *k = &s.kernels[i];
        sass_metrics(k, &m);
        if (k->n > 0 && (k->hot_begin < 0 || k->hot_end >= k->n || k->hot_begin > k->hot_end))
            abort();
    }
    arena_reset(&a);
    return 0;
}
