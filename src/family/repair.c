// A search over the other knobs, nearest first.
#include "family/repair.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "family/family.h"

enum { COST_MAX = 100 };

// Turning other knobs as little as possible until a stage is legal. The knob `fixed` keeps
// what the move gave it.
struct repair {
    const struct emitter *emitter;
    const struct form *form;
    const struct target *target;
    const struct knob *fixed;
    struct kernel_stage best;
    int best_cost;
};

static void search_repair(struct repair *r, const struct kernel_stage *s, int depth, int cost) {
    struct objection why;
    if (cost >= r->best_cost)
        return;
    if (emitter_is_legal(r->emitter, r->form, r->target, s, &why)) {
        r->best = *s;
        r->best_cost = cost;
        return;
    }
    if (depth == 0)
        return;
    for (const struct knob *k = r->emitter->knobs; k->name; k++)
        for (int part = 0; k != r->fixed && part < knob_parts(k); part++) {
            int now = stage_choice(k, s, part);
            for (int c = 0; c < knob_choices(k, part); c++) {
                if (c == now)
                    continue;
                struct kernel_stage turned = *s;
                stage_choose(k, &turned, part, c);
                search_repair(r, &turned, depth - 1, cost + abs(c - now));
            }
        }
}

bool stage_repair(const struct emitter *e, const struct form *f, const struct target *t,
                  const struct knob *fixed, struct kernel_stage *s) {
    struct repair r = {e, f, t, fixed, .best_cost = COST_MAX};
    // One other knob is nearly always enough; two in the worst case.
    for (int depth = 0; depth <= 2 && r.best_cost == COST_MAX; depth++)
        search_repair(&r, s, depth, 0);
    if (r.best_cost == COST_MAX)
        return false;
    *s = r.best;
    return true;
}

const char *stage_change_text(struct arena *a, const struct target *t,
                              const struct kernel_stage *old, const struct kernel_stage *now) {
    const struct emitter *e = stage_emitter(now, t);
    const char *text = arena_printf(a, "%s:", old->values[0]), *comma = "";
    bool is_other = e != stage_emitter(old, t);
    if (is_other) {
        text = arena_printf(a, "%s as %s", text, e->name);
        comma = ",";
    }
    for (const struct knob *k = e->knobs; k->name; k++) {
        const char *was = is_other ? "" : stage_value_text(a, old, k->name);
        const char *is = stage_value_text(a, now, k->name);
        if (strcmp(was, is) == 0)
            continue;
        text = arena_printf(a, "%s%s %s %s%s%s", text, comma, k->name, was, is_other ? "" : " -> ",
                            is);
        comma = ",";
    }
    return text;
}
