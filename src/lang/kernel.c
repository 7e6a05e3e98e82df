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

struct kernel kernel_copy(struct arena *a, const struct kernel *k) {
    struct kernel copy = *k;
    copy.room = k->n_stages + 1;
    copy.stages = arena_array(a, struct kernel_stage *, copy.room);
    for (int i = 0; i < k->n_stages; i++)
        copy.stages[i] = k->stages[i];
    return copy;
}

struct kernel kernel_copy_whole(struct arena *a, const struct kernel *k) {
    struct kernel copy = kernel_copy(a, k);
    for (int i = 0; i < k->n_stages; i++)
        kernel_own_stage(a, &copy, i);
    return copy;
}

struct kernel_stage *kernel_own_stage(struct arena *a, struct kernel *k, int i) {
    k->stages[i] = arena_copy(a, k->stages[i], sizeof *k->stages[i]);
    return k->stages[i];
}

struct kernel_stage *kernel_add_stage(struct arena *a, struct kernel *k, int i) {
    if (k->n_stages == k->room) {
        struct kernel_stage **old = k->stages;
        k->room = 2 * k->room + 8;
        k->stages = arena_array(a, struct kernel_stage *, k->room);
        for (int j = 0; j < k->n_stages; j++)
            k->stages[j] = old[j];
    }
    memmove(&k->stages[i + 1], &k->stages[i], sizeof *k->stages * (size_t)(k->n_stages - i));
    k->n_stages++;
    k->stages[i] = arena_new(a, struct kernel_stage);
    return k->stages[i];
}

void kernel_remove_stage(struct kernel *k, int i) {
    k->n_stages--;
    memmove(&k->stages[i], &k->stages[i + 1], sizeof *k->stages * (size_t)(k->n_stages - i));
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
        print_stage_measure(k->stages[i], &widths);
    for (int i = 0; i < k->n_stages; i++) {
        print_stage(&out, k->stages[i], &widths);
        str_puts(&out, "\n");
    }
    return str_take(a, &out);
}
