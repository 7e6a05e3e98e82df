// Records and numbers. Which of point and comma stands before the decimals is decided for a whole
// file: a single "1,234" does not say.
#include "base/csv.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static char separator_of(const struct csv *c) {
    return c->separator ? c->separator : ',';
}

// The end of a cell: the separator, the line end or the end of the text behind it.
static const char *cell_end(const struct csv *c, bool *is_open) {
    bool is_quoted = false;
    const char *at = c->at;
    for (; at < c->end && (is_quoted || (*at != separator_of(c) && *at != '\n')); at++)
        if (*at == '"')
            is_quoted = !is_quoted;
    *is_open = is_quoted;
    return at;
}

// Its text without the quotes around it, and one for each two within.
static const char *next_cell(struct arena *a, struct csv *c, bool *is_open) {
    const char *end = cell_end(c, is_open);
    char *text = arena_alloc(a, (size_t)(end - c->at) + 1);
    size_t n = 0;
    bool is_quoted = false;
    for (; c->at < end; c->at++) {
        bool is_double = is_quoted && *c->at == '"' && c->at + 1 < end && c->at[1] == '"';
        c->at += is_double;
        if (*c->at == '"' && !is_double)
            is_quoted = !is_quoted;
        else if (is_quoted || *c->at != '\r')
            text[n++] = *c->at;
    }
    return text;
}

bool csv_next(struct arena *a, struct csv *c, struct csv_row *out) {
    int room = 0;
    *out = (struct csv_row){0};
    if (c->at >= c->end)
        return false;
    for (;;) {
        if (out->n == room) {
            room = room * 2 + 32;
            const char **more = arena_array(a, const char *, room);
            if (out->n > 0)
                memcpy(more, out->cells, sizeof *more * (size_t)out->n);
            out->cells = more;
        }
        out->cells[out->n++] = next_cell(a, c, &out->is_open);
        bool goes_on = c->at < c->end && *c->at == separator_of(c);
        c->at += c->at < c->end;
        if (!goes_on)
            break;
    }
    return true;
}

// ---- numbers

// Digits are grouped by spaces and apostrophes of several kinds: U+00A0, U+2009, U+2019, U+202F.
static bool is_number_like(const char *cell) {
    bool has_digit = false;
    for (const char *at = cell; *at; at++) {
        has_digit |= isdigit((unsigned char)*at) != 0;
        if (!isdigit((unsigned char)*at) && !strchr("+-.,'eE \xc2\xa0\xe2\x80\x89\x99\xaf", *at))
            return false;
    }
    return has_digit;
}

void number_vote(struct number_votes *v, const char *cell) {
    const char *point = strrchr(cell, '.'), *comma = strrchr(cell, ',');
    if (!is_number_like(cell) || (!point && !comma))
        return;
    if (point && comma) {  // the later one is before the decimals
        if (point > comma)
            v->point++;
        else
            v->comma++;
        return;
    }
    char mark = point ? '.' : ',';
    const char *last = point ? point : comma;
    bool is_group = strchr(cell, mark) != last;  // several of a kind group digits
    bool is_decimal = strspn(last + 1, "0123456789") != 3 || last == cell;
    if (!is_group && !is_decimal)
        return;
    if ((mark == '.') == is_decimal)
        v->point++;
    else
        v->comma++;
}

struct number_style number_style_of(const struct number_votes *v) {
    return (struct number_style){.decimal = v->comma > v->point ? ',' : '.'};
}

double number_read(const struct number_style *s, const char *cell) {
    char text[64];
    size_t n = 0;
    if (!is_number_like(cell))
        return NAN;
    for (const char *at = cell; *at && n + 1 < sizeof text; at++) {
        if (*at == s->decimal)
            text[n++] = '.';
        else if (isdigit((unsigned char)*at) || strchr("+-eE", *at))
            text[n++] = *at;
    }
    text[n] = '\0';
    char *end;
    double value = strtod(text, &end);
    return n > 0 && *end == '\0' && isfinite(value) ? value : NAN;
}
