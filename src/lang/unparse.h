// Statements and expressions as canonical text: for `hone fmt`, and for a problem's own
// text. Only format.c, kernel.c and check.c use it.
#pragma once

#include "lang/syntax.h"

struct str;

struct stage_widths {
    int values, family;
};

void print_stage_measure(const struct kernel_stage *s, struct stage_widths *w);
void print_knob(struct str *out, const struct kernel_knob *k);
void print_stage(struct str *out, const struct kernel_stage *s, const struct stage_widths *w);

// With `exact`, numbers lose their spelling: 1.0 and 1 print the same.
void print_expr(struct str *out, const struct expr *e, bool exact);

// A run of declarations is aligned: widths first, over the run.
struct declaration_widths {
    int keyword, name, type;
};

void print_declaration_measure(const struct statement *s, bool exact, struct declaration_widths *w);
void print_declaration(struct str *out, const struct statement *s, bool exact,
                       const struct declaration_widths *w);

// Before what stands in a loop.
#define LOOP_INDENT "    "

// `problem`, `dim`, `precision`, `order`, `for` and assignments.
void print_plain(struct str *out, const struct statement *s, bool exact);

// The shortest decimal that reads back as the same float64.
void print_number(struct str *out, double value);
