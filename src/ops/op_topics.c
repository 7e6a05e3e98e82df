// One function for each topic, over families[], card_names[], the policies, the tools and the
// verdicts.
#include "ops/op_topics.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "family/family.h"
#include "model/target.h"
#include "record/verdict.h"
#include "search/policy.h"
#include "tools/tool.h"

static void put_families(struct str *out) {
    str_puts(out, "Families: what a stage of a kernel block can be, and the emitters that compute "
                  "it.\n'stage y : FAMILY KNOB VALUE ...' is a stage; hone help knobs has the "
                  "knobs.\n\n");
    for (const struct family *f = families; f->name; f++) {
        str_printf(out, "%-10s %s\n", f->name, f->takes);
        for (const struct emitter *const *e = f->emitters; e && *e; e++)
            str_printf(out, "    %-10s %s\n", (*e)->name, (*e)->summary);
        if (!f->emitters || !*f->emitters)
            str_puts(out, "    no emitter yet: the language admits it, lowering refuses it\n");
    }
}

static void put_grid(struct str *out, const int *grid) {
    for (int i = 0; grid && grid[i] != -1; i++)
        str_printf(out, "%s%d", i ? " " : "", grid[i]);
}

static void put_knob(struct str *out, const struct knob *k) {
    str_printf(out, "    %-10s %s: ", k->name, k->summary);
    for (int i = 0; k->words && k->words[i]; i++)
        str_printf(out, "%s%s", i ? " " : "", k->words[i]);
    for (int part = 0; !k->words && part < k->n_parts; part++) {
        str_puts(out, part ? " x " : "");
        put_grid(out, k->grid[part]);
    }
    if (k->change)
        str_printf(out, " (%s)", change_name(k->change));
    str_puts(out, "\n");
}

static void put_knobs(struct str *out) {
    str_puts(out, "Knobs of each family's emitters, with the values they can have; the first is "
                  "where an\nemitter begins unless it knows better. In brackets: what turning it "
                  "changes besides sizes,\nplaces and order: how parts of a reduction meet "
                  "(combine), how results are rounded (law),\nor in which order operands lie "
                  "(layout).\n");
    for (const struct family *f = families; f->name; f++)
        for (const struct emitter *const *e = f->emitters; e && *e; e++) {
            str_printf(out, "\n%s, %s: %s\n", f->name, (*e)->name, (*e)->summary);
            for (const struct knob *k = (*e)->knobs; k && k->name; k++)
                put_knob(out, k);
        }
}

static void put_targets(struct str *out) {
    static const char *const archs[] = {"sm_80", "sm_90a", "sm_100a"};
    str_puts(out, "Targets.\n\nTo run on: cpu; cuda, cuda:1 (GPUs of this machine, see hone "
                  "devices).\n\nTo emit for, and to bound (hone sol), wherever they are:\n");
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++)
        str_printf(out, "  %s\n", archs[i]);
    str_puts(out, "and cards by name:\n");
    for (int i = 0; card_names[i]; i++) {
        struct target t;
        if (target_of_card(card_names[i], &t))
            str_printf(out, "  %-12s %-8s %s\n", card_names[i], t.isa, t.device);
    }
}

static void put_tools(struct str *out) {
    str_puts(out,
             "Tools: each reads a profile and says what limits a kernel. hone tools counts how "
             "right\nthey were.\n\n");
    for (int i = 0; tools[i]; i++)
        str_printf(out, "%-12s %s%s\n", tools[i]->name, tools[i]->summary,
                   tools[i]->devices == ON_GPU   ? " (GPU)"
                   : tools[i]->devices == ON_CPU ? " (CPU)"
                                                 : "");
}

static void put_verdicts(struct str *out) {
    static const char *const meanings[VERDICT_COUNT] = {
        [VERDICT_OK] = "right on every input set, and timed where times were asked for",
        [VERDICT_ILLEGAL] =
            "refused before any compile: the kernel block or the plan breaks a rule",
        [VERDICT_NO_COMPILE] = "the compiler does not take it; its messages name your file",
        [VERDICT_CRASH] = "a signal, or an error of the device, while it ran",
        [VERDICT_TIMEOUT] = "it ran for too long",
        [VERDICT_LIMITS] = "it needs more memory, or another resource, than it may have",
        [VERDICT_WRONG] = "some element is further off than honest arithmetic can be",
        [VERDICT_UNSTABLE] = "the same inputs gave other bits, and the problem does not allow it",
        [VERDICT_CHEAT] = "it broke a rule of docs/integrity.md, which is named",
        [VERDICT_SUSPECT] = "it passed, but is faster than it can be; never a champion",
        [VERDICT_INFRA] = "our fault or the machine's; not charged to the candidate"};
    str_puts(out, "Verdicts on a candidate. The exit status is 0 for ok and 1 for the others.\n\n");
    for (int i = 0; i < VERDICT_COUNT; i++)
        str_printf(out, "%-12s %s\n", verdict_kind_name((enum verdict_kind)i), meanings[i]);
}

#define POLICY(name) #name,
const char *const op_policy_names[] = {
#include "search/policies.def"
    NULL};
#undef POLICY

static void put_policies(struct str *out) {
    str_puts(out,
             "Policies: where candidates come from (--policy NAME). Settings follow the name:\n"
             "--policy mcts:explore=0.2:widen=2.\n"
             "Default: surrogate; where a model writes source, which has no knobs to learn from, "
             "mcts.\n");
    for (int i = 0; policies[i]; i++) {
        str_printf(out, "\n%-12s %s\n", policies[i]->name, policies[i]->summary);
        const struct policy_setting *s = policies[i]->settings;
        for (int k = 0; s && s[k].name; k++)
            str_printf(out, "  %-10s %s (%g)\n", s[k].name, s[k].summary, s[k].value);
    }
}

static const struct topic {
    const char *name;
    void (*put)(struct str *out);
} topics[] = {{"families", put_families},
              {"knobs", put_knobs},
              {"policies", put_policies},
              {"targets", put_targets},
              {"tools", put_tools},
              {"verdicts", put_verdicts},
              {0}};

const char *const op_topic_names[] = {"families", "knobs",    "policies", "targets",
                                      "tools",    "verdicts", NULL};

const char *op_topic(struct arena *a, const char *name) {
    for (const struct topic *t = topics; t->name; t++)
        if (strcmp(t->name, name) == 0) {
            struct str out = {0};
            t->put(&out);
            return str_take(a, &out);
        }
    return NULL;
}
