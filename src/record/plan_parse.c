// Reads the `#pragma hone` lines of a source: one function per rule, the rule above it.
//
// Only lines of the source's text count: a pragma within a comment is a comment. The
// preprocessor is not asked, so a pragma under #if 0 is read all the same, and the
// candidate then launches what it declares; nothing is gained by hiding one.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "record/plan_reader.h"

static const int64_t grid_max = INT32_MAX;
// No card has more; what a machine has is asked before anything is allocated.
static const int64_t scratch_max_bytes = (int64_t)1 << 40;

static int64_t scratch_total(const struct plan *p) {
    int64_t total = 0;
    for (int i = 0; i < p->n_buffers; i++)
        total += p->buffers[i].role == BUFFER_SCRATCH ? p->buffers[i].size_bytes : 0;
    return total;
}

static void scratch_type(struct plan_reader *r, struct plan_buffer *b) {
    const char *name = reader_name(r, "the scratch's type");
    if (r->failed || dtype_find(name, &b->type))
        return;
    struct str all = {0};
    for (int i = 0; i < DTYPE_COUNT; i++)
        str_printf(&all, "%s%s",
                   i == 0                ? ""
                   : i + 1 < DTYPE_COUNT ? ", "
                                         : " or ",
                   dtype_name((enum dtype)i));
    reader_fail(r, "unknown type '%s'; scratch is %s", name, str_text(&all));
    str_reset(&all);
}

// scratch = "scratch" name type "[" expression ("," expression)* "]" ["=" "0"]
static void scratch(struct plan_reader *r) {
    struct plan_buffer b = {.role = BUFFER_SCRATCH, .name = reader_name(r, "the scratch's name")};
    for (int i = 0; i < r->plan->n_buffers; i++)
        if (strcmp(r->plan->buffers[i].name, b.name) == 0)
            reader_fail(r, "there is a buffer '%s' already", b.name);
    if (reader_find_tensormap(r->plan, b.name) >= 0)
        reader_fail(r, "there is a tensor map '%s' already", b.name);
    scratch_type(r, &b);
    int64_t count = 1;
    reader_expect(r, '[');
    do {
        int64_t size = reader_expression(r);
        if (!r->failed && size <= 0)
            reader_fail(r, "scratch '%s' has size %lld", b.name, (long long)size);
        if (!r->failed && (__builtin_mul_overflow(count, size, &count) || count > INT64_MAX / 8))
            reader_fail(r, "scratch '%s' overflows 64 bits", b.name);
    } while (reader_consume(r, ','));
    reader_expect(r, ']');
    b.size_bytes = dtype_size(b.type, count);
    if (reader_consume(r, '=')) {
        reader_expect(r, '0');
        b.is_zeroed = true;
    }
    if (!r->failed && b.size_bytes > scratch_max_bytes - scratch_total(r->plan))
        reader_fail(r, "scratch is more than %lld bytes in all", (long long)scratch_max_bytes);
    if (!r->failed && r->plan->n_buffers == PLAN_BUFFERS_MAX)
        reader_fail(r, "more than %d buffers", PLAN_BUFFERS_MAX);
    if (!r->failed)
        *plan_add_buffer(r->arena, r->plan) = b;
}

struct plan_step *reader_add_step(struct plan_reader *r, enum step_kind kind) {
    if (r->plan->n_steps == PLAN_STEPS_MAX) {
        reader_fail(r, "more than %d steps", PLAN_STEPS_MAX);
        return &r->plan->steps[0];
    }
    struct plan_step *s = plan_add_step(r->arena, r->plan);
    *s = (struct plan_step){.kind = kind};
    return s;
}

// fill = "fill" buffer number
static void fill(struct plan_reader *r) {
    struct plan_step *s = reader_add_step(r, STEP_FILL);
    s->fill_buffer = reader_buffer(r);
    const struct plan_buffer *b = &r->plan->buffers[s->fill_buffer];
    if (!r->failed && b->role == BUFFER_INPUT)
        reader_fail(r, "'%s' is an input and cannot be filled", b->name);
    reader_skip_space(r);
    char *end;
    s->fill_value = strtod(r->at, &end);
    if (end == r->at || !(s->fill_value - s->fill_value == 0))
        reader_fail(r, "expected a finite number before %s", reader_here(r));
    double stored = dtype_round(b->type, s->fill_value);
    if (!r->failed && (dtype_is_float(b->type) ? stored - stored != 0 : stored != s->fill_value))
        reader_fail(r, "'%s' holds %s, and %g is none", b->name, dtype_name(b->type),
                    s->fill_value);
    r->at = end;
}

// argument = buffer | tensor map
static int argument(struct plan_reader *r) {
    const char *start = r->at;
    int map = reader_find_tensormap(r->plan, reader_word(r));
    if (map >= 0)
        return -1 - map;
    r->at = start;
    return reader_buffer(r);
}

// args = "(" [argument ("," argument)*] ")"
static void arguments(struct plan_reader *r, struct plan_step *s) {
    reader_expect(r, '(');
    if (reader_consume(r, ')'))
        return;
    do {
        int index = argument(r);
        for (int i = 0; i < s->n_args; i++)
            if (!r->failed && s->args[i] == index)
                reader_fail(r, "'%s' is passed twice; arguments never overlap",
                            index < 0 ? r->plan->tensormaps[-1 - index].name
                                      : r->plan->buffers[index].name);
        if (!r->failed && s->n_args == PLAN_ARGS_MAX)
            reader_fail(r, "more than %d arguments", PLAN_ARGS_MAX);
        if (!r->failed)
            plan_add_arg(r->arena, s, index);
    } while (reader_consume(r, ','));
    reader_expect(r, ')');
}

// grid = "grid" "(" expression ")"
static void grid(struct plan_reader *r, struct plan_step *s) {
    int64_t blocks = 0;
    if (reader_list(r, &blocks, 1) == 1 && (blocks < 1 || blocks > grid_max))
        reader_fail(r, "grid of %lld blocks", (long long)blocks);
    s->grid = blocks;
}

// launch = "launch" name (grid | "args" args | gpu_clause)*
static void launch(struct plan_reader *r) {
    struct plan_step *s = reader_add_step(r, STEP_LAUNCH);
    bool is_gpu = r->context->is_gpu, has_args = false;
    s->function = reader_name(r, "the function's name");
    for (const char *clause = reader_word(r); *clause && !r->failed; clause = reader_word(r)) {
        if (strcmp(clause, "grid") == 0 && !s->grid) {
            (is_gpu ? reader_gpu_grid : grid)(r, s);
        } else if (strcmp(clause, "args") == 0 && !has_args) {
            arguments(r, s);
            has_args = true;
        } else if (!is_gpu || !reader_gpu_clause(r, s, clause)) {
            reader_fail(r, "unexpected '%s'; a launch has grid(...)%s and args(...), once each",
                        clause,
                        is_gpu ? ", block(...), shared(...), cluster(...), cooperative, "
                                 "programmatic"
                               : "");
        }
    }
    if (!s->grid)
        reader_fail(r, "launch '%s' has no grid(...)", s->function);
    if (!has_args)
        reader_fail(r, "launch '%s' has no args(...)", s->function);
    if (is_gpu)
        reader_check_gpu_launch(r, s);
}

// line = "#pragma hone" (scratch | fill | launch | tensormap | call)
static void line(struct plan_reader *r, const char *text) {
    static const struct {
        const char *word;
        void (*read)(struct plan_reader *r);
    } rules[] = {{"scratch", scratch},
                 {"fill", fill},
                 {"launch", launch},
                 {"tensormap", reader_tensormap},
                 {"call", reader_call}};
    static const char *const words[] = {"scratch", "fill", "launch", "tensormap", NULL};
    r->at = text;
    if (!reader_consume(r, '#') || strcmp(reader_word(r), "pragma") != 0 ||
        strcmp(reader_word(r), "hone") != 0)
        return;
    const char *first = reader_word(r);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(first, rules[i].word) != 0)
            continue;
        rules[i].read(r);
        reader_skip_space(r);
        if (!r->failed && *r->at && strncmp(r->at, "//", 2) != 0 && strncmp(r->at, "/*", 2) != 0)
            reader_fail(r, "unexpected %s", reader_here(r));
        return;
    }
    const char *near = str_nearest(first, words);
    reader_fail(r, "unknown '#pragma hone %s'%s%s%s", first, near ? ", did you mean '" : "",
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
            if (index == (s->args[k] < 0 ? p->tensormaps[-1 - s->args[k]].buffer : s->args[k]))
                return true;
    }
    return false;
}

static bool check_whole(const struct plan *p, struct error *err) {
    bool has_launch = false;
    for (int i = 0; i < p->n_steps; i++)
        has_launch |= p->steps[i].kind != STEP_FILL;
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
        *plan_add_buffer(a, plan) = context->buffers[i];
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
