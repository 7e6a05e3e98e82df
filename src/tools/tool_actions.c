// Actions of a finding: those that the candidate's block has a knob for, then those that are a
// legal move of it, then without what contradicts a finding of higher rank.
#include "tools/tool_actions.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "tools/tool_private.h"

static const struct kernel_knob *find_knob(const struct kernel_stage *s, const char *name) {
    for (int i = 0; i < s->n_knobs; i++)
        if (strcmp(s->knobs[i].name, name) == 0)
            return &s->knobs[i];
    return NULL;
}

int tool_knob(const struct kernel *k, const char *knob) {
    int least = -1;
    for (int i = 0; k && i < k->n_stages; i++) {
        const struct kernel_knob *found = find_knob(k->stages[i], knob);
        if (found && found->n_parts > 0 && (least < 0 || found->part[0] < least))
            least = found->part[0];
    }
    return least;
}

// Has some stage the knob, and at another word than the action's?
static bool has_knob(const struct kernel *k, const struct action *action) {
    for (int i = 0; i < k->n_stages; i++) {
        const struct kernel_knob *found = find_knob(k->stages[i], action->knob);
        if (found && !(action->word && found->word && strcmp(action->word, found->word) == 0))
            return true;
    }
    return false;
}

static bool applies(const struct kernel *k, const struct action *action) {
    if (!k || !action->knob)
        return !k && !action->knob;
    if (strcmp(action->knob, "merge") == 0)
        return k->n_stages > 1;
    if (strcmp(action->knob, "emitter") == 0)
        return true;  // whether there is such a one the legal moves say
    return has_knob(k, action);
}

// Do they turn the same knob, one up and one down?
static bool contradict(const struct action *x, const struct action *y) {
    return x->knob && y->knob && strcmp(x->knob, y->knob) == 0 && x->direction * y->direction < 0;
}

static bool contradicts(const struct finding *f, const struct action *action) {
    for (int i = 0; i < f->n_actions; i++)
        if (contradict(&f->actions[i], action))
            return true;
    return false;
}

void tool_add_actions(struct finding *f, const struct tool_subject *s, const struct action *actions,
                      int n_actions) {
    for (int i = 0; i < n_actions && f->n_actions < FINDING_ACTIONS_MAX; i++)
        if (applies(s->kernel, &actions[i]) && !contradicts(f, &actions[i]))
            f->actions[f->n_actions++] = actions[i];
}

static bool is_merge(const struct move *m) {
    return !m->knob && strncmp(m->words, "merge", 5) == 0;
}

// "y: gemm as simt -> gemm as mma".
static bool is_emitter(const struct move *m, const char *name) {
    const char *as = m->knob ? NULL : strstr(m->words, " -> ");
    as = as ? strstr(as, " as ") : NULL;
    return as && strncmp(as + 4, name, strlen(name)) == 0 && strcspn(as + 4, " ,") == strlen(name);
}

bool action_stands_for(const struct action *action, const struct move *m) {
    if (!action->knob)
        return false;
    if (strcmp(action->knob, "merge") == 0)
        return is_merge(m);
    if (strcmp(action->knob, "emitter") == 0)
        return is_emitter(m, action->word);
    if (!m->knob || strcmp(action->knob, m->knob) != 0)
        return false;
    if (action->word)
        return m->word && strcmp(action->word, m->word) == 0;
    // A knob of words has no larger and smaller: any other word is the move.
    return action->direction == 0 || m->direction == action->direction;
}

static const struct move *best_move(const struct action *action, const struct move *moves,
                                    int n_moves) {
    const struct move *best = NULL;
    for (int i = 0; i < n_moves; i++)
        if (action_stands_for(action, &moves[i]) && (!best || moves[i].prior > best->prior))
            best = &moves[i];
    return best;
}

void actions_keep_legal(struct arena *a, struct finding *f, const struct move *moves, int n_moves) {
    int n = 0;
    for (int i = 0; i < f->n_actions; i++) {
        struct action act = f->actions[i];
        const struct move *m = act.knob ? best_move(&act, moves, n_moves) : NULL;
        if (act.knob && !m)
            continue;
        act.move = m ? arena_strdup(a, m->words) : NULL;
        f->actions[n++] = act;
    }
    f->n_actions = n;
}

static bool names_a_cause(const struct finding *f) {
    return strcmp(f->tool, tool_reach.name) != 0;
}

// Has finding `x` the last word against `y`?
static bool goes_before(const struct finding *found, int x, int y) {
    if (names_a_cause(&found[x]) != names_a_cause(&found[y]))
        return names_a_cause(&found[x]);
    return x < y;
}

void actions_drop_contradictions(struct finding *found, int n_found) {
    for (int f = 0; f < n_found; f++) {
        int n = 0;
        for (int i = 0; i < found[f].n_actions; i++) {
            struct action act = found[f].actions[i];
            bool is_against = false;
            for (int other = 0; other < n_found; other++)
                is_against |=
                    other != f && goes_before(found, other, f) && contradicts(&found[other], &act);
            if (!is_against)
                found[f].actions[n++] = act;
        }
        found[f].n_actions = n;
    }
}
