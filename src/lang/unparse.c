// Canonical text from the syntax tree; widths are measured first, so that columns line up.
#include "lang/unparse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

// Names longer than this stand out of line rather than push the others away.
enum { ALIGN_MAX = 24 };

static int wider(int width, size_t len) {
    return (int)len > width && len <= ALIGN_MAX ? (int)len : width;
}

static void pad_to(struct str *out, size_t start, int width) {
    for (size_t len = out->len - start; (int)len < width; len++)
        str_puts(out, " ");
}

static void print_values(struct str *out, const struct kernel_stage *s) {
    for (int i = 0; i < s->n_values; i++)
        str_printf(out, "%s%s", i ? ", " : "", s->values[i]);
    if (s->type)
        str_printf(out, " as %s", s->type);
    for (int i = 0; i < s->n_layout; i++)
        str_printf(out, "%s%s", i ? "," : " layout ", s->layout[i]);
}

static bool has_options(const struct kernel_stage *s) {
    return s->n_knobs || s->combine || s->n_laws;
}

static size_t family_width(const struct kernel_stage *s) {
    return strlen(s->family) + (s->emitter ? strlen(" as ") + strlen(s->emitter) : 0);
}

void print_stage_measure(const struct kernel_stage *s, struct stage_widths *w) {
    struct str values = {0};
    print_values(&values, s);
    w->values = wider(w->values, values.len);
    if (has_options(s))
        w->family = wider(w->family, family_width(s));
    str_reset(&values);
}

void print_knob(struct str *out, const struct kernel_knob *k) {
    str_printf(out, "%s ", k->name);
    if (k->word)
        str_puts(out, k->word);
    for (int j = 0; j < k->n_parts; j++)
        str_printf(out, "%s%d", j ? "x" : "", k->part[j]);
}

void print_stage(struct str *out, const struct kernel_stage *s, const struct stage_widths *w) {
    str_puts(out, "stage ");
    size_t start = out->len;
    print_values(out, s);
    pad_to(out, start, w->values);
    str_puts(out, " : ");
    start = out->len;
    str_puts(out, s->family);
    if (s->emitter)
        str_printf(out, " as %s", s->emitter);
    if (has_options(s))
        pad_to(out, start, w->family);
    for (int i = 0; i < s->n_knobs; i++) {
        str_puts(out, "  ");
        print_knob(out, &s->knobs[i]);
    }
    if (s->combine)
        str_printf(out, "  combine %s", combine_name(s->combine));
    for (int i = 0; i < s->n_laws; i++)
        str_printf(out, "%s%s", i ? ", " : "  laws ", s->laws[i]);
}

void print_number(struct str *out, double value) {
    char text[40];
    if (value == floor(value) && fabs(value) < 9007199254740992.0) {
        str_printf(out, "%.0f", value);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    str_puts(out, text);
}

// A number with a point is a float even where its value is whole.
static void print_literal(struct str *out, const struct expr *e) {
    size_t start = out->len;
    print_number(out, e->number);
    if (e->text && strpbrk(e->text, ".eE") && !strpbrk(str_text(out) + start, ".e"))
        str_puts(out, ".0");
}

// How tightly an expression holds together; an operand that is looser gets parentheses.
enum { LOOSE_COMPARISON, LOOSE_SUM, LOOSE_PRODUCT, LOOSE_UNARY, LOOSE_POWER, TIGHT };

static int tightness(const struct expr *e) {
    if (e->kind == EXPR_NEGATE)
        return LOOSE_UNARY;
    if (e->kind != EXPR_BINARY)
        return TIGHT;
    if (strcmp(e->text, "**") == 0)
        return LOOSE_POWER;
    if (strchr("<>=!", e->text[0]))
        return LOOSE_COMPARISON;
    return strchr("+-", e->text[0]) ? LOOSE_SUM : LOOSE_PRODUCT;
}

static void print_operand(struct str *out, const struct expr *e, int needed, bool exact) {
    bool wrapped = tightness(e) < needed;
    str_puts(out, wrapped ? "(" : "");
    print_expr(out, e, exact);
    str_puts(out, wrapped ? ")" : "");
}

static void print_call(struct str *out, const struct expr *e, bool exact) {
    str_printf(out, "%s(", e->text);
    for (int i = 0; i < e->n_args; i++) {
        str_puts(out, i ? ", " : "");
        print_expr(out, e->args[i], exact);
    }
    for (int i = 0; i < e->n_keywords; i++) {
        str_puts(out, i + e->n_args ? ", " : "");
        str_printf(out, "%s=", e->keywords[i].name);
        print_expr(out, e->keywords[i].value, exact);
    }
    str_puts(out, ")");
}

static void print_tuple(struct str *out, const struct expr *e, bool exact) {
    for (int i = 0; i < e->n_args; i++) {
        str_puts(out, i ? ", " : "(");
        print_expr(out, e->args[i], exact);
    }
    str_puts(out, e->n_args == 1 ? ",)" : ")");
}

static void print_subscript(struct str *out, const struct subscript *s, bool exact) {
    if (s->kind == SUBSCRIPT_NEW)
        str_puts(out, "None");
    if (s->start)
        print_expr(out, s->start, exact);
    if (s->kind == SUBSCRIPT_SLICE)
        str_puts(out, ":");
    if (s->stop)
        print_expr(out, s->stop, exact);
    if (s->step) {
        str_puts(out, ":");
        print_expr(out, s->step, exact);
    }
}

static void print_binary(struct str *out, const struct expr *e, bool exact) {
    int own = tightness(e);
    if (own == LOOSE_POWER) {  // from the right, and its right side may begin with a sign
        print_operand(out, e->args[0], TIGHT, exact);
        str_puts(out, " ** ");
        print_operand(out, e->args[1], LOOSE_UNARY, exact);
        return;
    }
    // Comparisons do not chain, so both sides must hold together better.
    print_operand(out, e->args[0], own == LOOSE_COMPARISON ? own + 1 : own, exact);
    str_printf(out, " %s ", e->text);
    print_operand(out, e->args[1], own + 1, exact);
}

void print_expr(struct str *out, const struct expr *e, bool exact) {
    switch (e->kind) {
    case EXPR_NUMBER:
        if (exact)
            print_literal(out, e);
        else
            str_puts(out, e->text);
        break;
    case EXPR_STRING:
        str_printf(out, "\"%s\"", e->text);
        break;
    case EXPR_NAME:
        str_puts(out, e->text);
        break;
    case EXPR_NEGATE:
        str_puts(out, "-");
        print_operand(out, e->args[0], LOOSE_UNARY, exact);
        break;
    case EXPR_BINARY:
        print_binary(out, e, exact);
        break;
    case EXPR_CALL:
        print_call(out, e, exact);
        break;
    case EXPR_TRANSPOSE:
        print_operand(out, e->args[0], TIGHT, exact);
        str_puts(out, ".T");
        break;
    case EXPR_SUBSCRIPT:
        print_operand(out, e->args[0], TIGHT, exact);
        for (int i = 0; i < e->n_subscripts; i++) {
            str_puts(out, i ? ", " : "[");
            print_subscript(out, &e->subscripts[i], exact);
        }
        str_puts(out, "]");
        break;
    case EXPR_TUPLE:
        print_tuple(out, e, exact);
        break;
    }
}

static void print_type(struct str *out, const struct type_syntax *t, bool exact) {
    str_puts(out, t->name);
    for (int i = 0; i < t->rank; i++) {
        str_puts(out, i ? ", " : "[");
        print_expr(out, t->sizes[i], exact);
    }
    str_puts(out, t->rank ? "]" : "");
}

static const char *keyword_of(const struct statement *s) {
    return s->kind == STATEMENT_IN ? "in" : s->kind == STATEMENT_OUT ? "out" : "param";
}

static void print_distribution(struct str *out, const struct distribution_syntax *d, bool exact) {
    str_printf(out, " ~ %s", d->name);
    for (int i = 0; i < d->n_args; i++) {
        str_puts(out, i ? ", " : "(");
        print_expr(out, d->args[i], exact);
    }
    str_puts(out, d->n_args ? ")" : "");
}

static void print_made(struct str *out, const struct statement *s, bool exact) {
    str_puts(out, " = ");
    print_expr(out, s->value, exact);
    for (const struct hidden_syntax *h = s->hidden; h; h = h->next) {
        str_printf(out, "%s%s", h == s->hidden ? " where " : ", ", h->name);
        if (h->type.name) {
            str_puts(out, " : ");
            print_type(out, &h->type, exact);
        }
        print_distribution(out, &h->distribution, exact);
    }
}

void print_declaration_measure(const struct statement *s, bool exact,
                               struct declaration_widths *w) {
    struct str text = {0};
    print_type(&text, &s->type, exact);
    for (int i = 0; i < 2 && s->promise.words[i]; i++)
        str_printf(&text, " %s", s->promise.words[i]);
    w->keyword = wider(w->keyword, strlen(keyword_of(s)));
    w->name = wider(w->name, strlen(s->name));
    if (s->distribution.name || s->value)
        w->type = wider(w->type, text.len);
    str_reset(&text);
}

void print_declaration(struct str *out, const struct statement *s, bool exact,
                       const struct declaration_widths *w) {
    str_printf(out, "%-*s %-*s : ", w->keyword, keyword_of(s), w->name, s->name);
    size_t start = out->len;
    print_type(out, &s->type, exact);
    for (int i = 0; i < 2 && s->promise.words[i]; i++)
        str_printf(out, " %s", s->promise.words[i]);
    if (s->value) {
        pad_to(out, start, w->type);
        print_made(out, s, exact);
    } else if (s->distribution.name) {
        pad_to(out, start, w->type);
        print_distribution(out, &s->distribution, exact);
    }
}

static void print_for(struct str *out, const struct statement *s, bool exact) {
    str_printf(out, "for %s in ", s->name);
    print_expr(out, s->value, exact);
    for (const struct state_syntax *st = s->states; st; st = st->next) {
        str_printf(out, "%s%s", st == s->states ? " with " : ", ", st->name);
        if (st->type.name) {
            str_puts(out, " : ");
            print_type(out, &st->type, exact);
        }
        str_puts(out, " = ");
        print_expr(out, st->value, exact);
    }
    str_puts(out, ":");
}

void print_plain(struct str *out, const struct statement *s, bool exact) {
    if (s->in_loop)
        str_puts(out, LOOP_INDENT);
    if (s->kind == STATEMENT_PROBLEM) {
        str_printf(out, "problem %s", s->name);
    } else if (s->kind == STATEMENT_DIM) {
        for (const struct dim_syntax *d = s->dims; d; d = d->next) {
            str_printf(out, "%s%s = ", d == s->dims ? "dim " : ", ", d->name);
            print_expr(out, d->size, exact);
        }
    } else if (s->kind == STATEMENT_PRECISION || s->kind == STATEMENT_ORDER) {
        str_puts(out, s->kind == STATEMENT_PRECISION ? "precision" : "order");
        for (int i = 0; i < 3 && s->words[i]; i++)
            str_printf(out, " %s", s->words[i]);
    } else if (s->kind == STATEMENT_FOR) {
        print_for(out, s, exact);
    } else {
        if (s->part)
            print_expr(out, s->part, exact);
        else
            str_puts(out, s->name);
        if (s->type.name) {
            str_puts(out, " : ");
            print_type(out, &s->type, exact);
        }
        str_puts(out, " = ");
        print_expr(out, s->value, exact);
    }
}
