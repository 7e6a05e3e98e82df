// What people and scripts read about memory (record/lesson.h).
#pragma once

#include <jansson.h>

struct lesson;
struct str;

// `hone memory`: a problem each, with its champion. Lessons come newest first.
void report_memory_problems(struct str *out, const struct lesson *lessons, int n_lessons);
// `hone memory moves`: a move each, by class of bottleneck and finding, the best first.
void report_memory_moves(struct str *out, const struct lesson *lessons, int n_lessons);
json_t *report_memory_json(const char *path, const struct lesson *lessons,
                           int n_lessons);  // hone.memory/1
