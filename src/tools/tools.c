// The list of tools, which of them apply, and the ranking of their findings; actions that no knob
// of the block allows are left out.
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

const struct tool *const tools[] = {&tool_reach,     &tool_scalar, &tool_idle,
                                    &tool_occupancy, &tool_waves,  &tool_spill,
                                    &tool_narrow,    &tool_launch, NULL};

enum { FOUND_MAX = 32 };

// What stands behind the next word `knob` of the block, or NULL.
static const char *next_value(const char *block, const char *knob) {
    size_t len = strlen(knob);
    for (const char *at = block; (at = strstr(at, knob)); at += len)
        if (at > block && at[-1] == ' ' && at[len] == ' ')
            return at + len + strspn(at + len, " ");
    return NULL;
}

// Does the block hold the words `knob` and, right behind it unless NULL, `value`?
static bool has_words(const char *block, const char *knob, const char *value) {
    for (const char *at = block; (at = next_value(at, knob));)
        if (!value ||
            (strncmp(at, value, strlen(value)) == 0 && strcspn(at, " \n") == strlen(value)))
            return true;
    return false;
}

int tool_knob(const struct candidate *c, const char *knob) {
    int least = -1;
    for (const char *at = c->kernel; at && (at = next_value(at, knob));) {
        long value = strtol(at, NULL, 10);
        if (value > 0 && value < INT_MAX && (least < 0 || value < least))
            least = (int)value;
    }
    return least;
}

static int count_stages(const char *block) {
    int n = 0;
    for (const char *at = block; (at = strstr(at, "\nstage ")); at++)
        n++;
    return n;
}

static bool applies(const struct candidate *c, const struct action *action) {
    if (!c->kernel || !action->knob)
        return !c->kernel && !action->knob;
    if (strcmp(action->knob, "merge") == 0)
        return count_stages(c->kernel) > 1;
    return has_words(c->kernel, action->knob, NULL) &&
           !(action->word && has_words(c->kernel, action->knob, action->word));
}

void tool_add_actions(struct finding *f, const struct candidate *c, const struct action *actions,
                      int n_actions) {
    for (int i = 0; i < n_actions && f->n_actions < FINDING_ACTIONS_MAX; i++)
        if (applies(c, &actions[i]))
            f->actions[f->n_actions++] = actions[i];
}

static bool ranks_before(const struct finding *a, const struct finding *b) {
    if (a->severity != b->severity)
        return a->severity > b->severity;
    return a->expected_gain > b->expected_gain ||
           (isnan(b->expected_gain) && !isnan(a->expected_gain));
}

int tools_examine(struct arena *a, const struct tool_input *in, struct finding *out, int room) {
    struct finding found[FOUND_MAX];
    int n = 0;
    for (const struct tool *const *t = tools; *t; t++)
        n += (*t)->examine(a, in, found + n, FOUND_MAX - n);
    int n_out = n < room ? n : room;
    // Insertion: stable, and there are few.
    for (int i = 1; i < n; i++) {
        struct finding f = found[i];
        int j = i;
        for (; j > 0 && ranks_before(&f, &found[j - 1]); j--)
            found[j] = found[j - 1];
        found[j] = f;
    }
    memcpy(out, found, sizeof *out * (size_t)n_out);
    return n_out;
}
