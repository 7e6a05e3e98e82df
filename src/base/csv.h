// Comma-separated values as programs print them: cells in quotes may hold commas, line ends and
// doubled quotes. One record at a time, in place.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;

struct csv {
    const char *at, *end;
    char separator;  // 0: a comma
};

struct csv_row {
    const char **cells;  // texts of their own
    int n;
    bool is_open;  // it ends within quotes: the text was cut off there
};

// The next record; false: there is none. A quote that is never closed ends with the text.
bool csv_next(struct arena *a, struct csv *c, struct csv_row *out);

// How the numbers of a file are written.
struct number_style {
    char decimal;  // '.' or ','; the other one, spaces and apostrophes group digits
};

// What a cell says about the style: counts for and against a point before the decimals.
struct number_votes {
    int point, comma;
};
void number_vote(struct number_votes *v, const char *cell);
struct number_style number_style_of(const struct number_votes *v);
// NAN: it is no number ("nan", "no data", words, nothing).
double number_read(const struct number_style *s, const char *cell);
