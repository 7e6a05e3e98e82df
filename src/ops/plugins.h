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

struct plugin_request {
    const char *const *paths;  // named by the user
    int n_paths;
};

// Run them all over a diagnosis; what they find is ranked among the findings of its kernels.
void plugins_run(struct arena *a, const struct plugin_request *q, struct diagnosis *d);
