// Reports are made for 80 columns. On a terminal that is narrower their lines are folded at words,
// behind their label, rather than broken in the middle of a word by the terminal; in a pipe and in
// 80 columns they stay as they are.
#pragma once

#include <stdio.h>

struct str;

// Print a report, folded where `to` is a narrow terminal.
void narrow_print(FILE *to, const char *text);
// The same without printing it: the text is replaced.
void narrow_for(FILE *to, struct str *text);

// The columns of a terminal; 80 where it is none, or does not say.
int narrow_columns(FILE *to);

// The text in so many columns. What was wrapped for 80 is joined first, so that lines are full.
void narrow_text(struct str *out, const char *text, int columns);
