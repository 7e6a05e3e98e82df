// Text: slices of input, and the one growing buffer.
//
// Strings in hone are `const char *`, NUL-terminated, in an arena, immutable
// once built. A `struct span` is a slice of text that somebody else owns. A
// `struct str` grows; it has a maximum wherever it takes bytes from a child or
// a file, and what goes beyond is dropped and marked, never an error.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;

struct span {
    const char *ptr;
    size_t len;
};

struct str {
    char *ptr;  // NUL-terminated once anything was appended, else NULL
    size_t len, cap;
    size_t max;  // 0: no limit
    bool cut;    // something was dropped because of max
};

void str_append(struct str *s, const char *bytes, size_t len);
void str_puts(struct str *s, const char *text);
void str_printf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// Copy the text into the arena and empty the buffer.
char *str_take(struct arena *a, struct str *s);
void str_reset(struct str *s);

// Text so far, "" when empty.
const char *str_text(const struct str *s);

bool span_is(struct span s, const char *text);

// Edit distance (letters put in, left out, changed, or two neighbours swapped), cut off at 32
// characters each.
int str_distance(const char *a, const char *b);

// The name in the NULL-terminated list that is nearest to `word`, or NULL when
// none is near enough to be what somebody meant.
const char *str_nearest(const char *word, const char *const *names);

// As one word of a shell: as it is where that is safe, else in single quotes.
void str_put_quoted(struct str *s, const char *word);

// "43%", and "0.2%" where whole percents would say nothing.
const char *str_percent(struct arena *a, double fraction);

// Decimal integer with nothing around it; false when it is none or overflows.
bool str_to_int64(const char *text, long long *out);
bool str_to_double(const char *text, double *out);

bool str_ends_with(const char *text, const char *end);

// How many bytes from the beginning on are valid UTF-8 (NUL is); `len` when all are.
size_t str_valid_utf8(const char *bytes, size_t len);

// Make bytes from outside fit for a text in JSON: whatever is no UTF-8, and NUL, becomes '?'.
void str_clean(char *bytes, size_t len);
