// The table of policies, their settings as text, and the way from a selected node to proposals,
// which most of them share.
#include "search/policy.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "search/decide.h"

// A node may give nothing new that lowers; so many are asked at most.
enum { AGAIN_MAX = 1000, NAMES_MAX = 16 };

#define POLICY(name) &policy_##name,
const struct policy *const policies[] = {
#include "search/policies.def"
    NULL};
#undef POLICY

const struct policy *policy_find(const char *name) {
    for (const struct policy *const *p = policies; *p; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    return NULL;
}

// ---- names and settings

static bool unknown(const char *what, const char *name, const char *const *names,
                    struct error *err) {
    struct arena scratch = {0};
    const char *nearest = str_nearest(name, names), *list = "none";
    for (int i = 0; names[i]; i++)
        list = i == 0 ? names[0] : arena_printf(&scratch, "%s, %s", list, names[i]);
    if (nearest)
        error_set(err, ERROR_USAGE, "unknown %s '%s'; did you mean '%s'?", what, name, nearest);
    else
        error_set(err, ERROR_USAGE, "unknown %s '%s'; there are %s", what, name, list);
    arena_reset(&scratch);
    return false;
}

static bool unknown_policy(const char *name, struct error *err) {
    const char *names[NAMES_MAX] = {0};
    for (int i = 0; policies[i]; i++)
        names[i] = policies[i]->name;
    return unknown("policy", name, names, err);
}

// One "NAME=VALUE" of a policy.
static bool set(struct arena *a, struct policy_choice *c, char *text, struct error *err) {
    const char *names[POLICY_SETTINGS_MAX + 1] = {0};
    char *equals = strchr(text, '=');
    double value = 0;
    if (!equals || !str_to_double(equals + 1, &value) || !isfinite(value) || value < 0)
        return error_set(err, ERROR_USAGE, "policy %s: '%s' is not NAME=NUMBER", c->policy->name,
                         text);
    *equals = '\0';
    for (int i = 0; c->policy->settings && c->policy->settings[i].name; i++) {
        names[i] = c->policy->settings[i].name;
        if (strcmp(names[i], text) == 0) {
            c->settings[i] = value;
            return true;
        }
    }
    return unknown(arena_printf(a, "setting of policy %s", c->policy->name), text, names, err);
}

bool policy_choose(const char *text, bool is_stored, struct policy_choice *out, struct error *err) {
    struct arena scratch = {0};
    char *rest = arena_strdup(&scratch, text), *name = strsep(&rest, ":");
    *out = (struct policy_choice){.policy = policy_find(name)};
    bool ok = out->policy || unknown_policy(name, err);
    const struct policy_setting *all = ok ? out->policy->settings : NULL;
    for (int i = 0; all && all[i].name; i++)
        out->settings[i] = is_stored ? all[i].first : all[i].value;
    while (ok && rest)
        ok = set(&scratch, out, strsep(&rest, ":"), err);
    arena_reset(&scratch);
    return ok;
}

const char *policy_text(struct arena *a, const struct policy_choice *c) {
    const char *text = c->policy->name;
    for (int i = 0; c->policy->settings && c->policy->settings[i].name; i++)
        if (c->settings[i] != c->policy->settings[i].first)
            text =
                arena_printf(a, "%s:%s=%.15g", text, c->policy->settings[i].name, c->settings[i]);
    return text;
}

double policy_setting(const struct search_context *c, int i) {
    return c->settings ? c->settings[i] : c->policy->settings[i].value;
}

int policy_failing_children(const struct search_context *c) {
    for (int i = 0; c->policy && c->policy->settings && c->policy->settings[i].name; i++)
        if (strcmp(c->policy->settings[i].name, "failing") == 0)
            return (int)policy_setting(c, i);
    return 0;
}

// ---- from nodes to proposals

// Of several proposals a third is kept for nodes that come second.
static int share_of(int room, const struct search_state *s) {
    return s->n_decided == 0 ? room - room / 3 : room;
}

int policy_propose_selected(const struct search_context *c, struct search_state *s,
                            struct decision *out, int n) {
    int got = 0;
    for (int again = 0; got < n && again < AGAIN_MAX; again++) {
        int parent = c->policy->select(c, s), n_asked;
        if (parent < 0)
            break;
        got += decide_from(c, s, parent, c->priors, out + got, share_of(n - got, s), &n_asked);
        if (n_asked == 0)
            tree_exhaust(&s->tree, parent);
    }
    return got;
}
