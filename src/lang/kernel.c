// Printing of a block, and its knobs by name; parse_stage.c reads it.
#include "lang/kernel.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "lang/unparse.h"

const char *const combine_names[] = {"atomic", "twopass", "lastblock", "cluster", NULL};
_Static_assert(sizeof combine_names / sizeof *combine_names == COMBINE_COUNT, "names");

const char *combine_name(enum combine c) {
    return c == COMBINE_NONE ? "none" : combine_names[c - 1];
}

struct kernel_knob *kernel_find_knob(struct kernel_stage *s, const char *name) {
    for (int i = 0; i < s->n_knobs; i++)
        if (strcmp(s->knobs[i].name, name) == 0)
            return &s->knobs[i];
    return NULL;
}

const char *kernel_print(struct arena *a, const struct kernel *k) {
    struct str out = {0};
    str_printf(&out, "kernel for %s on %s\n", k->problem, k->target);
    struct stage_widths widths = {0};
    for (int i = 0; i < k->n_stages; i++)
        print_stage_measure(&k->stages[i], &widths);
    for (int i = 0; i < k->n_stages; i++) {
        print_stage(&out, &k->stages[i], &widths);
        str_puts(&out, "\n");
    }
    return str_take(a, &out);
}
