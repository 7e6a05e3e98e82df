// Which model, and what it may cost, as somebody asked for it.
#pragma once

#include <stdint.h>

// 0 and NULL: the settings', or a resumed run's.
struct team_request {
    const char *llm;  // "anthropic:MODEL", see llm/llm.h
    double max_usd;
    int64_t max_calls, max_tokens;
    const char *feedback;  // "findings", "raw", "none"
};
