// Reports are made for 80 columns, and some lines of tables and of help are longer. On a terminal
// a line that is longer than it is wide is folded at words, behind its label, rather than broken in
// the middle of a word by the terminal; in a pipe all lines stay as they are.
#pragma once

#include <stdio.h>

struct str;

// Print a report, folded where `to` is a terminal.
void narrow_print(FILE *to, const char *text);
// The same without printing it: the text is replaced.
void narrow_for(FILE *to, struct str *text);

// The columns of a terminal; 80 where it is none, or does not say.
int narrow_columns(FILE *to);

// The text in so many columns. What was wrapped for 80 is joined first, so that lines are full.
void narrow_text(struct str *out, const char *text, int columns);
