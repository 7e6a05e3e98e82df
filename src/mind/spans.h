// Spans of a text that may be replaced, marked by lines
//
//     <<<IMPROVE name>>>
//     ...
//     <<<END name>>>
//
// and what comes back within such lines put in their place. Everything else stays as it was.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct hypothesis;

// The text with its spans marked.
const char *spans_mark(struct arena *a, const char *text, const struct hypothesis *h);

// The text with the spans replaced by what `answer` has for them. A span that the answer leaves
// out stays. NULL: `why` says what is wrong (an unknown name, no end, twice, outside changed).
const char *spans_apply(struct arena *a, const char *text, const struct hypothesis *h,
                        const char *answer, char *why, size_t size);

// A whole new text was given: is it the old one outside of the spans?
bool spans_outside_kept(struct arena *a, const char *text, const struct hypothesis *h,
                        const char *changed, char *why, size_t size);
