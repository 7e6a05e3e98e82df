// A recursive descent over one line, the rule above each function; sizes are evaluated as they are
// read, with overflow checked.
#include "record/plan_reader.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

enum { DEPTH_MAX = 64, WORD_MAX = 64 };

void reader_fail(struct plan_reader *r, const char *fmt, ...) {
    if (r->failed)
        return;
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    error_set(r->err, ERROR_PARSE, "plan, line %d: %s", r->line, text);
    r->failed = true;
}

void reader_skip_space(struct plan_reader *r) {
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')
        r->at++;
}

bool reader_consume(struct plan_reader *r, char c) {
    reader_skip_space(r);
    if (r->failed || *r->at != c)
        return false;
    r->at++;
    return true;
}

// What stands at the reading position, for messages.
const char *reader_here(struct plan_reader *r) {
    reader_skip_space(r);
    return *r->at ? arena_printf(r->arena, "'%.20s'", r->at) : "the end of the line";
}

void reader_expect(struct plan_reader *r, char c) {
    if (!reader_consume(r, c))
        reader_fail(r, "expected '%c' before %s", c, reader_here(r));
}

// word = letter (letter | digit)*; "" when there is none
const char *reader_word(struct plan_reader *r) {
    reader_skip_space(r);
    const char *start = r->at;
    if (r->failed || !(isalpha((unsigned char)*start) || *start == '_'))
        return "";
    while (isalnum((unsigned char)*r->at) || *r->at == '_')
        r->at++;
    if (r->at - start > WORD_MAX)
        reader_fail(r, "a name of more than %d characters", WORD_MAX);
    return arena_strndup(r->arena, start, (size_t)(r->at - start));
}

const char *reader_name(struct plan_reader *r, const char *what) {
    const char *text = reader_word(r);
    if (!*text)
        reader_fail(r, "expected %s before %s", what, reader_here(r));
    return text;
}

static int64_t checked(struct plan_reader *r, bool overflow, int64_t value) {
    if (overflow)
        reader_fail(r, "the expression overflows 64 bits");
    return overflow ? 0 : value;
}

static int64_t divide(struct plan_reader *r, int64_t a, int64_t b, char op) {
    if (b <= 0 || a < 0) {
        reader_fail(r, "division of %lld by %lld", (long long)a, (long long)b);
        return 0;
    }
    return op == '/' ? a / b : op == '%' ? a % b : a / b + (a % b != 0);
}

// call = ("min" | "max" | "ceildiv") "(" expression "," expression ")"
static int64_t call(struct plan_reader *r, const char *function) {
    reader_expect(r, '(');
    int64_t a = reader_expression(r);
    reader_expect(r, ',');
    int64_t b = reader_expression(r);
    reader_expect(r, ')');
    if (strcmp(function, "ceildiv") == 0)
        return divide(r, a, b, 'c');
    return (strcmp(function, "min") == 0) == (a < b) ? a : b;
}

static int64_t named_size(struct plan_reader *r, const char *text) {
    const struct plan_context *c = r->context;
    if (!c->is_gpu && strcmp(text, "THREADS") == 0)
        return c->n_threads;
    if (c->is_gpu && strcmp(text, "SMS") == 0)
        return c->n_sms;
    for (int i = 0; i < c->n_dims; i++)
        if (strcmp(text, c->dim_names[i]) == 0)
            return c->dim_sizes[i];
    const char **known = arena_array(r->arena, const char *, c->n_dims + 5);
    for (int i = 0; i < c->n_dims; i++)
        known[i] = c->dim_names[i];
    const char *const words[] = {c->is_gpu ? "SMS" : "THREADS", "min", "max", "ceildiv"};
    memcpy(known + c->n_dims, words, sizeof words);
    const char *near = str_nearest(text, known);
    reader_fail(r, "unknown size '%s'%s%s%s", text, near ? ", did you mean '" : "",
                near ? near : ": numbers, the problem's sizes and ", near ? "'?" : words[0]);
    return 0;
}

// primary = number | name | call | "(" expression ")" | "-" primary
static int64_t primary(struct plan_reader *r) {
    if (r->failed || ++r->depth > DEPTH_MAX) {
        reader_fail(r, "parentheses deeper than %d", DEPTH_MAX);
        return 0;
    }
    int64_t value = 0;
    reader_skip_space(r);
    if (reader_consume(r, '(')) {
        value = reader_expression(r);
        reader_expect(r, ')');
    } else if (reader_consume(r, '-')) {
        value = primary(r);
        value = checked(r, value == INT64_MIN, value == INT64_MIN ? 0 : -value);
    } else if (isdigit((unsigned char)*r->at)) {
        bool overflow = false;
        for (; isdigit((unsigned char)*r->at); r->at++) {
            overflow |= __builtin_mul_overflow(value, 10, &value);
            overflow |= __builtin_add_overflow(value, *r->at - '0', &value);
        }
        value = checked(r, overflow, value);
    } else {
        const char *text = reader_name(r, "a number or a size");
        bool is_call = !strcmp(text, "min") || !strcmp(text, "max") || !strcmp(text, "ceildiv");
        if (*text)
            value = is_call ? call(r, text) : named_size(r, text);
    }
    r->depth--;
    return value;
}

// term = primary (("*" | "/" | "%") primary)*
static int64_t term(struct plan_reader *r) {
    int64_t value = primary(r);
    while (!r->failed) {
        if (reader_consume(r, '*')) {
            int64_t factor = primary(r);
            bool overflow = __builtin_mul_overflow(value, factor, &value);
            value = checked(r, overflow, value);
        } else if (reader_consume(r, '/')) {
            value = divide(r, value, primary(r), '/');
        } else if (reader_consume(r, '%')) {
            value = divide(r, value, primary(r), '%');
        } else {
            break;
        }
    }
    return value;
}

// expression = term (("+" | "-") term)*
int64_t reader_expression(struct plan_reader *r) {
    int64_t value = term(r);
    while (!r->failed) {
        bool overflow;
        if (reader_consume(r, '+'))
            overflow = __builtin_add_overflow(value, term(r), &value);
        else if (reader_consume(r, '-'))
            overflow = __builtin_sub_overflow(value, term(r), &value);
        else
            break;
        value = checked(r, overflow, value);
    }
    return value;
}

int reader_list(struct plan_reader *r, int64_t *values, int max) {
    int n = 0;
    reader_expect(r, '(');
    do {
        int64_t value = reader_expression(r);
        if (!r->failed && n == max)
            reader_fail(r, "more than %d number%s in parentheses", max, max == 1 ? "" : "s");
        if (!r->failed)
            values[n++] = value;
    } while (reader_consume(r, ','));
    reader_expect(r, ')');
    return r->failed ? 0 : n;
}

// Index of the buffer that is named next, or 0 after a mistake.
int reader_buffer(struct plan_reader *r) {
    const char *text = reader_name(r, "a buffer");
    const char **names = arena_array(r->arena, const char *, r->plan->n_buffers + 1);
    for (int i = 0; i < r->plan->n_buffers; i++) {
        names[i] = r->plan->buffers[i].name;
        if (strcmp(names[i], text) == 0)
            return i;
    }
    const char *near = str_nearest(text, names);
    reader_fail(r, "unknown buffer '%s'%s%s%s", text, near ? ", did you mean '" : "",
                near ? near : "", near ? "'?" : "");
    return 0;
}
