// Tools that users bring: executables in $XDG_CONFIG_HOME/hone/tools, or named with --tool.
//
//     TOOL --describe     prints {"name": "mine", "classes": ["memory"], "metrics": ["l2_hit"]}
//     TOOL                gets hone.tool_input/1 on its standard input and prints {"findings":
//     [...]}
//
// Kernels of other classes, or without the metrics that it names, are not shown to it. It has ten
// seconds. Whatever it does wrong is a note among what is absent, never a failure of ours.
#pragma once

#include "ops/diagnosis.h"

struct arena;

enum { PLUGINS_MAX = 32 };

struct plugins {
    const char *paths[PLUGINS_MAX];
    bool is_out[PLUGINS_MAX];  // it did something wrong, and is not asked again
    int n;
};

// Those of the directory, and one named by the user (NULL: none).
void plugins_find(struct arena *a, const char *named, struct plugins *p);

// Run them all over a diagnosis; what they find is ranked among the findings of its kernels.
void plugins_run(struct arena *a, struct plugins *p, struct diagnosis *d);

// The same over a candidate's profile, into its `said`; tools_examine ranks them among its own.
// `on_wrong` hears what one of them did wrong, once.
struct bound;
void plugins_report(struct arena *a, struct plugins *p, const struct target *t,
                    const struct bound *b, struct profile *profile,
                    void (*on_wrong)(void *ctx, const char *words), void *ctx);
