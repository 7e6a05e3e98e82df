// Pages of `hone help TOPIC`, each made from the table that the program itself goes by: families
// and their emitters, knobs, policies, targets, tools, verdicts.
#pragma once

struct arena;

// The page, or NULL when there is no such topic.
const char *op_topic(struct arena *a, const char *name);

extern const char *const op_topic_names[];  // NULL-terminated

extern const char *const op_policy_names[];  // NULL-terminated, the default first
