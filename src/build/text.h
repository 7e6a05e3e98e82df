// Words that come from a candidate (compiler messages, loader messages) before they go
// into evidence, which people and models read: data, never to be trusted.
#pragma once

#include <stddef.h>

struct arena;

// A copy without control characters, escape sequences, invalid UTF-8 and characters that
// change how the rest is shown.
const char *text_clean(struct arena *a, const char *bytes, size_t len);

// The same, at most `max_lines` lines and `max_bytes`; what was left out is marked.
const char *text_head(struct arena *a, const char *text, int max_lines, size_t max_bytes);
