// How sure a finding is: from where its numbers come, how far beyond their lines they are, and
// whether the machine was quiet while they were taken.
#pragma once

#include "tools/tool.h"

// 0 to 1. Rules are in confidence.c and docs/tools.md.
double finding_confidence(const struct tool *t, const struct tool_subject *s,
                          const struct finding *f);
