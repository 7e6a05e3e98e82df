// Parses and resolves a block that somebody wrote, without lowering it, and shows the first mistake
// as the language shows its own.
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/block.h"
#include "family/lower.h"
#include "family/support.h"
#include "lang/lang.h"

// The first mistake: its place, the nearest name, and the line with a caret where there is one.
static bool refuse(struct arena *a, const struct mistakes *m, struct error *err) {
    const struct mistake *first = &m->items[0];
    bool has_place = m->source->file || first->spot.at.line > 0;
    const char *text = has_place ? mistake_headline(a, m, first) : first->text;
    const char *hint = first->hint ? arena_printf(a, ": did you mean '%s'?", first->hint) : "";
    const char *line =
        m->source->text ? mistake_excerpt(a, m->source->text, m->source->len, first->spot.at) : "";
    return error_set(err, ERROR_PARSE, "%s%s%s%s", text, hint, *line ? "\n" : "", line);
}

bool lower_check(struct arena *a, const struct problem *p, const struct target *t, struct kernel *k,
                 struct error *err) {
    return lower_check_near(a, p, t, NULL, k, err);
}

bool lower_check_near(struct arena *a, const struct problem *p, const struct target *t,
                      const struct block *base, struct kernel *k, struct error *err) {
    struct lang_source source = {.file = k->file, .text = k->text, .len = k->text_len};
    struct mistakes m = {.arena = a, .source = &source};
    struct spot head = {NULL, k->at};
    if (strcmp(k->problem, p->name) != 0)
        mistake_add(&m, head, NULL, "the kernel is for %s, not for %s", k->problem, p->name);
    else if (strcmp(k->target, target_kernel_name(t)) != 0)
        mistake_add(&m, head, NULL, "the kernel is for the target %s, not for %s", k->target,
                    target_kernel_name(t));
    struct error why;
    if (m.count == 0 && !support_problem(p, &why))
        mistake_add(&m, head, NULL, "%s", why.text);
    if (m.count)
        return refuse(a, &m, err);
    struct block *b = block_resolve_near(a, p, t, base, k, &m);
    for (int i = 0; m.count == 0 && i < b->n_stages; i++)
        if (b->stages[i].no_emitter)
            mistake_add(&m, (struct spot){NULL, k->stages[i]->family_at}, NULL, "stage %s: %s",
                        k->stages[i]->values[0], b->stages[i].no_emitter);
    if (m.count)
        return refuse(a, &m, err);
    *k = kernel_copy(a, k);
    for (int i = 0; i < b->n_stages; i++)  // a stage that was complete stays shared
        if (memcmp(k->stages[i], &b->stages[i].complete, sizeof *k->stages[i]) != 0)
            k->stages[i] = &b->stages[i].complete;
    return true;
}
