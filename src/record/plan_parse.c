// Reads the `#pragma hone` lines of a source: one function per rule, the rule above
// it. After the first mistake nothing more is read (`failed`), so rules need not
// check each other.
//
// Only lines of the source's text count: a pragma within a comment is a comment. The
// preprocessor is not asked, so a pragma under #if 0 is read all the same, and the
// candidate then launches what it declares; nothing is gained by hiding one.
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "record/plan.h"

enum { DEPTH_MAX = 64, WORD_MAX = 64 };

static const int64_t grid_max = INT32_MAX;
static const int64_t scratch_max_bytes = (int64_t)1 << 32;

static const struct scratch_type {
    const char *name;
    int bytes;
} scratch_types[] = {{"f32", 4}, {"f64", 8}, {"i32", 4}, {"i64", 8}, {"u8", 1}, {NULL, 0}};

struct plan_reader {
    struct arena *arena;
    const struct plan_context *context;
    struct plan *plan;
    struct error *err;
    int line;        // of the source, from 1
    const char *at;  // next unread character of the line
    int depth;       // of parentheses
    bool failed;
};

static void fail(struct plan_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void fail(struct plan_reader *r, const char *fmt, ...) {
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

static void skip_space(struct plan_reader *r) {
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')
        r->at++;
}

static bool consume(struct plan_reader *r, char c) {
    skip_space(r);
    if (r->failed || *r->at != c)
        return false;
    r->at++;
    return true;
}

// What stands at the reading position, for messages.
static const char *here(struct plan_reader *r) {
    skip_space(r);
    return *r->at ? arena_printf(r->arena, "'%.20s'", r->at) : "the end of the line";
}

static void expect(struct plan_reader *r, char c) {
    if (!consume(r, c))
        fail(r, "expected '%c' before %s", c, here(r));
}

// word = letter (letter | digit)*; "" when there is none
static const char *word(struct plan_reader *r) {
    skip_space(r);
    const char *start = r->at;
    if (r->failed || !(isalpha((unsigned char)*start) || *start == '_'))
        return "";
    while (isalnum((unsigned char)*r->at) || *r->at == '_')
        r->at++;
    if (r->at - start > WORD_MAX)
        fail(r, "a name of more than %d characters", WORD_MAX);
    return arena_strndup(r->arena, start, (size_t)(r->at - start));
}

static const char *name(struct plan_reader *r, const char *what) {
    const char *text = word(r);
    if (!*text)
        fail(r, "expected %s before %s", what, here(r));
    return text;
}

static int64_t expression(struct plan_reader *r);

static int64_t checked(struct plan_reader *r, bool overflow, int64_t value) {
    if (overflow)
        fail(r, "the expression overflows 64 bits");
    return overflow ? 0 : value;
}

static int64_t divide(struct plan_reader *r, int64_t a, int64_t b, char op) {
    if (b <= 0 || a < 0) {
        fail(r, "division of %lld by %lld", (long long)a, (long long)b);
        return 0;
    }
    return op == '/' ? a / b : op == '%' ? a % b : a / b + (a % b != 0);
}

// call = ("min" | "max" | "ceildiv") "(" expression "," expression ")"
static int64_t call(struct plan_reader *r, const char *function) {
    expect(r, '(');
    int64_t a = expression(r);
    expect(r, ',');
    int64_t b = expression(r);
    expect(r, ')');
    if (strcmp(function, "ceildiv") == 0)
        return divide(r, a, b, 'c');
    return (strcmp(function, "min") == 0) == (a < b) ? a : b;
}

static int64_t named_size(struct plan_reader *r, const char *text) {
    const struct plan_context *c = r->context;
    if (strcmp(text, "THREADS") == 0)
        return c->n_threads;
    for (int i = 0; i < c->n_dims; i++)
        if (strcmp(text, c->dim_names[i]) == 0)
            return c->dim_sizes[i];
    const char **known = arena_array(r->arena, const char *, c->n_dims + 5);
    for (int i = 0; i < c->n_dims; i++)
        known[i] = c->dim_names[i];
    static const char *const words[] = {"THREADS", "min", "max", "ceildiv"};
    memcpy(known + c->n_dims, words, sizeof words);
    const char *near = str_nearest(text, known);
    fail(r, "unknown size '%s'%s%s%s", text, near ? ", did you mean '" : "", near ? near : "",
         near ? "'?" : "");
    return 0;
}

// primary = number | name | call | "(" expression ")" | "-" primary
static int64_t primary(struct plan_reader *r) {
    if (r->failed || ++r->depth > DEPTH_MAX) {
        fail(r, "parentheses deeper than %d", DEPTH_MAX);
        return 0;
    }
    int64_t value = 0;
    skip_space(r);
    if (consume(r, '(')) {
        value = expression(r);
        expect(r, ')');
    } else if (consume(r, '-')) {
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
        const char *text = name(r, "a number or a size");
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
        if (consume(r, '*')) {
            int64_t factor = primary(r);
            bool overflow = __builtin_mul_overflow(value, factor, &value);
            value = checked(r, overflow, value);
        } else if (consume(r, '/')) {
            value = divide(r, value, primary(r), '/');
        } else if (consume(r, '%')) {
            value = divide(r, value, primary(r), '%');
        } else {
            break;
        }
    }
    return value;
}

// expression = term (("+" | "-") term)*
static int64_t expression(struct plan_reader *r) {
    int64_t value = term(r);
    while (!r->failed) {
        bool overflow;
        if (consume(r, '+'))
            overflow = __builtin_add_overflow(value, term(r), &value);
        else if (consume(r, '-'))
            overflow = __builtin_sub_overflow(value, term(r), &value);
        else
            break;
        value = checked(r, overflow, value);
    }
    return value;
}

// Index of the buffer that is named next, or 0 after a mistake.
static int buffer(struct plan_reader *r) {
    const char *text = name(r, "a buffer");
    const char *names[PLAN_BUFFERS_MAX + 1] = {NULL};
    for (int i = 0; i < r->plan->n_buffers; i++) {
        names[i] = r->plan->buffers[i].name;
        if (strcmp(names[i], text) == 0)
            return i;
    }
    const char *near = str_nearest(text, names);
    fail(r, "unknown buffer '%s'%s%s%s", text, near ? ", did you mean '" : "", near ? near : "",
         near ? "'?" : "");
    return 0;
}

static int64_t scratch_total(const struct plan *p) {
    int64_t total = 0;
    for (int i = 0; i < p->n_buffers; i++)
        total += p->buffers[i].role == BUFFER_SCRATCH ? p->buffers[i].size_bytes : 0;
    return total;
}

static int type_bytes(struct plan_reader *r, const char *text) {
    for (const struct scratch_type *t = scratch_types; t->name; t++)
        if (strcmp(t->name, text) == 0)
            return t->bytes;
    fail(r, "unknown type '%s'; scratch is f32, f64, i32, i64 or u8", text);
    return 1;
}

// scratch = "scratch" name type "[" expression ("," expression)* "]" ["=" "0"]
static void scratch(struct plan_reader *r) {
    struct plan_buffer b = {.role = BUFFER_SCRATCH, .name = name(r, "the scratch's name")};
    for (int i = 0; i < r->plan->n_buffers; i++)
        if (strcmp(r->plan->buffers[i].name, b.name) == 0)
            fail(r, "there is a buffer '%s' already", b.name);
    b.size_bytes = type_bytes(r, name(r, "the scratch's type"));
    expect(r, '[');
    do {
        int64_t size = expression(r);
        if (!r->failed && size <= 0)
            fail(r, "scratch '%s' has size %lld", b.name, (long long)size);
        if (!r->failed && __builtin_mul_overflow(b.size_bytes, size, &b.size_bytes))
            fail(r, "scratch '%s' overflows 64 bits", b.name);
    } while (consume(r, ','));
    expect(r, ']');
    if (consume(r, '=')) {
        expect(r, '0');
        b.is_zeroed = true;
    }
    if (!r->failed && b.size_bytes > scratch_max_bytes - scratch_total(r->plan))
        fail(r, "scratch is more than %lld bytes in all", (long long)scratch_max_bytes);
    if (!r->failed && r->plan->n_buffers == PLAN_BUFFERS_MAX)
        fail(r, "more than %d buffers", PLAN_BUFFERS_MAX);
    if (!r->failed)
        r->plan->buffers[r->plan->n_buffers++] = b;
}

static struct plan_step *add_step(struct plan_reader *r, enum step_kind kind) {
    if (r->plan->n_steps == PLAN_STEPS_MAX) {
        fail(r, "more than %d steps", PLAN_STEPS_MAX);
        return &r->plan->steps[0];
    }
    struct plan_step *s = &r->plan->steps[r->plan->n_steps++];
    *s = (struct plan_step){.kind = kind};
    return s;
}

// fill = "fill" buffer number
static void fill(struct plan_reader *r) {
    struct plan_step *s = add_step(r, STEP_FILL);
    s->fill_buffer = buffer(r);
    const struct plan_buffer *b = &r->plan->buffers[s->fill_buffer];
    if (!r->failed && b->role == BUFFER_INPUT)
        fail(r, "'%s' is an input and cannot be filled", b->name);
    if (!r->failed && b->size_bytes % 4)
        fail(r, "'%s' does not hold f32 values", b->name);
    skip_space(r);
    char *end;
    s->fill_value = strtod(r->at, &end);
    if (end == r->at || !(s->fill_value - s->fill_value == 0))
        fail(r, "expected a finite number before %s", here(r));
    r->at = end;
}

// args = "(" [buffer ("," buffer)*] ")"
static void arguments(struct plan_reader *r, struct plan_step *s) {
    expect(r, '(');
    if (consume(r, ')'))
        return;
    do {
        int index = buffer(r);
        for (int i = 0; i < s->n_args; i++)
            if (!r->failed && s->args[i] == index)
                fail(r, "'%s' is passed twice; arguments never overlap",
                     r->plan->buffers[index].name);
        if (!r->failed && s->n_args == PLAN_ARGS_MAX)
            fail(r, "more than %d arguments", PLAN_ARGS_MAX);
        if (!r->failed)
            s->args[s->n_args++] = index;
    } while (consume(r, ','));
    expect(r, ')');
}

// launch = "launch" name ("grid" "(" expression ")" | "args" args)*
static void launch(struct plan_reader *r) {
    struct plan_step *s = add_step(r, STEP_LAUNCH);
    s->function = name(r, "the function's name");
    bool has_args = false;
    for (const char *clause = word(r); *clause && !r->failed; clause = word(r)) {
        if (strcmp(clause, "grid") == 0 && !s->grid) {
            expect(r, '(');
            s->grid = expression(r);
            expect(r, ')');
            if (!r->failed && (s->grid < 1 || s->grid > grid_max))
                fail(r, "grid of %lld blocks", (long long)s->grid);
        } else if (strcmp(clause, "args") == 0 && !has_args) {
            arguments(r, s);
            has_args = true;
        } else {
            fail(r, "unexpected '%s'; a launch has grid(...) and args(...), once each", clause);
        }
    }
    if (!s->grid)
        fail(r, "launch '%s' has no grid(...)", s->function);
    if (!has_args)
        fail(r, "launch '%s' has no args(...)", s->function);
}

// line = "#pragma hone" (scratch | fill | launch)
static void line(struct plan_reader *r, const char *text) {
    static const struct {
        const char *word;
        void (*read)(struct plan_reader *r);
    } rules[] = {{"scratch", scratch}, {"fill", fill}, {"launch", launch}};
    static const char *const words[] = {"scratch", "fill", "launch", NULL};
    r->at = text;
    if (!consume(r, '#') || strcmp(word(r), "pragma") != 0 || strcmp(word(r), "hone") != 0)
        return;
    const char *first = word(r);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(first, rules[i].word) != 0)
            continue;
        rules[i].read(r);
        skip_space(r);
        if (!r->failed && *r->at && strncmp(r->at, "//", 2) != 0 && strncmp(r->at, "/*", 2) != 0)
            fail(r, "unexpected %s", here(r));
        return;
    }
    const char *near = str_nearest(first, words);
    fail(r, "unknown '#pragma hone %s'%s%s%s", first, near ? ", did you mean '" : "",
         near ? near : "", near ? "'?" : "");
}

// Where in a C source a character stands.
enum region { REGION_CODE, REGION_LINE_COMMENT, REGION_COMMENT, REGION_STRING, REGION_CHAR };

static enum region next_region(enum region region, const char **at) {
    const char *c = *at;
    switch (region) {
    case REGION_CODE:
        if (c[0] == '/' && (c[1] == '/' || c[1] == '*')) {
            *at = c + 1;
            return c[1] == '/' ? REGION_LINE_COMMENT : REGION_COMMENT;
        }
        return c[0] == '"' ? REGION_STRING : c[0] == '\'' ? REGION_CHAR : REGION_CODE;
    case REGION_COMMENT:
        if (c[0] != '*' || c[1] != '/')
            return region;
        *at = c + 1;
        return REGION_CODE;
    case REGION_LINE_COMMENT:
        return region;
    default:
        if (c[0] == '\\' && c[1]) {
            *at = c + 1;
            return region;
        }
        return c[0] == (region == REGION_STRING ? '"' : '\'') ? REGION_CODE : region;
    }
}

// One line of the source with its continuations joined; `at` and `line` move on.
static const char *logical_line(struct plan_reader *r, const char **at, enum region *region) {
    struct str text = {0};
    bool starts_in_code = *region == REGION_CODE;
    const char *c = *at;
    for (; *c && *c != '\n'; c++) {
        if (c[0] == '\\' && c[1] == '\n') {
            r->line++;
            c++;
            continue;
        }
        const char *before = c;
        *region = next_region(*region, &c);
        if (starts_in_code)
            str_append(&text, before, (size_t)(c - before + 1));
    }
    if (*region != REGION_COMMENT)
        *region = REGION_CODE;
    *at = *c ? c + 1 : c;
    return str_take(r->arena, &text);
}

static bool is_written(const struct plan *p, int index) {
    for (int i = 0; i < p->n_steps; i++) {
        const struct plan_step *s = &p->steps[i];
        if (s->kind == STEP_FILL && s->fill_buffer == index)
            return true;
        for (int k = 0; k < s->n_args; k++)
            if (s->args[k] == index)
                return true;
    }
    return false;
}

static bool check_whole(const struct plan *p, struct error *err) {
    bool has_launch = false;
    for (int i = 0; i < p->n_steps; i++)
        has_launch |= p->steps[i].kind == STEP_LAUNCH;
    if (!has_launch)
        return error_set(err, ERROR_PARSE,
                         "plan: there is no '#pragma hone launch FUNCTION grid(...) args(...)'");
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].role == BUFFER_OUTPUT && !is_written(p, i))
            return error_set(err, ERROR_PARSE, "plan: no step takes the output '%s'",
                             p->buffers[i].name);
    return true;
}

bool plan_parse(struct arena *a, const char *source, const struct plan_context *context,
                struct plan *plan, struct error *err) {
    *plan = (struct plan){0};
    for (int i = 0; i < context->n_buffers; i++)
        plan->buffers[plan->n_buffers++] = context->buffers[i];
    struct plan_reader r = {.arena = a, .context = context, .plan = plan, .err = err, .line = 1};
    enum region region = REGION_CODE;
    for (const char *at = source; *at && !r.failed; r.line++) {
        int first = r.line;
        const char *text = logical_line(&r, &at, &region);
        int last = r.line;
        r.line = first;
        line(&r, text);
        r.line = last;
    }
    return !r.failed && check_whole(plan, err);
}
