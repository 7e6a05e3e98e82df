// Parsing and three printers (usage, --help, Markdown) over the same rows.
#include "base/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"

enum { MAX_ROWS = 64 };

static const struct option_row no_rows[] = {{0}};
static const struct option_row help_row = {"help", OPTION_FLAG, NULL, "print this and stop", 0, 0};

static const struct option_row *rows_of(const struct command_options *c) {
    return c->rows ? c->rows : no_rows;
}

// A name of one letter takes one dash.
static const char *dashes(const char *name) {
    return name[0] && !name[1] ? "-" : "--";
}

static const struct option_row *find(const struct command_options *c, struct span name) {
    for (const struct option_row *r = rows_of(c); r->name; r++)
        if (span_is(name, r->name))
            return r;
    return NULL;
}

static bool fail_unknown(const struct command_options *c, const char *given, struct span name,
                         struct error *err) {
    const char *names[MAX_ROWS + 2] = {"help"};
    int n = 1;
    for (const struct option_row *r = rows_of(c); r->name && n < MAX_ROWS; r++)
        names[n++] = r->name;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(name.len < 63 ? name.len : 63), name.ptr);
    const char *nearest = str_nearest(word, names);
    int shown = (int)(name.ptr - given) + (int)strlen(word);
    if (nearest)
        return error_set(err, ERROR_USAGE, "%s: unknown option '%.*s'; did you mean '%s%s'?",
                         c->command, shown, given, dashes(nearest), nearest);
    return error_set(err, ERROR_USAGE, "%s: unknown option '%.*s'; see 'hone %s --help'",
                     c->command, shown, given, c->command);
}

static bool store_int(const struct command_options *c, const struct option_row *r, void *field,
                      const char *value, struct error *err) {
    long long number;
    if (!str_to_int64(value, &number) || number < r->least)
        return error_set(err, ERROR_USAGE, "%s: %s%s %s: expected an integer, at least %lld",
                         c->command, dashes(r->name), r->name, value, (long long)r->least);
    *(int64_t *)field = number;
    return true;
}

static bool store(const struct command_options *c, const struct option_row *r, void *into,
                  const char *value, struct error *err) {
    void *field = (char *)into + r->offset;
    switch (r->type) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return true;
    case OPTION_INT:
        return store_int(c, r, field, value, err);
    case OPTION_NUMBER: {
        double number;
        if (!str_to_double(value, &number) || !isfinite(number) || number <= 0)
            return error_set(err, ERROR_USAGE, "%s: %s%s %s: expected a number above zero",
                             c->command, dashes(r->name), r->name, value);
        *(double *)field = number;
        return true;
    }
    case OPTION_STRING:
        *(const char **)field = value;
        return true;
    }
    return true;
}

static struct span option_name(const char *word) {
    const char *start = word + (word[1] == '-' ? 2 : 1);
    return (struct span){start, strcspn(start, "=")};
}

// One option at argv[*i]; moves *i onto its value when that is a word of its own.
static bool parse_option(const struct command_options *c, char **argv, int *i, void *into,
                         struct error *err) {
    const char *word = argv[*i];
    struct span name = option_name(word);
    const struct option_row *r = find(c, name);
    if (!r || (name.len == 1) != (word[1] != '-'))
        return fail_unknown(c, word, name, err);
    const char *value = name.ptr[name.len] == '=' ? name.ptr + name.len + 1 : NULL;
    if (r->type == OPTION_FLAG) {
        if (value)
            return error_set(err, ERROR_USAGE, "%s: %s%s takes no value", c->command,
                             dashes(r->name), r->name);
        return store(c, r, into, NULL, err);
    }
    const char *next = argv[*i + 1];
    if (!value && next && strncmp(next, "--", 2) != 0) {
        value = next;
        (*i)++;
    }
    if (!value)
        return error_set(err, ERROR_USAGE, "%s: %s%s needs a value: %s%s %s", c->command,
                         dashes(r->name), r->name, dashes(r->name), r->name, r->value);
    return store(c, r, into, value, err);
}

static bool check_count(const struct command_options *c, const struct arguments *args,
                        struct error *err) {
    if (args->count < c->min_arguments)
        return error_set(err, ERROR_USAGE, "%s: expected %s; see 'hone %s --help'", c->command,
                         c->arguments, c->command);
    if (c->max_arguments >= 0 && args->count > c->max_arguments)
        return error_set(err, ERROR_USAGE, "%s: unexpected argument '%.200s'; see 'hone %s --help'",
                         c->command, args->values[c->max_arguments], c->command);
    return true;
}

bool options_parse(const struct command_options *c, int argc, char **argv, void *into,
                   struct arguments *args, struct error *err) {
    *args = (struct arguments){.values = argv + 1};
    bool options_over = false;
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        if (options_over || word[0] != '-' || !word[1]) {
            args->values[args->count++] = word;  // never beyond i: an argument moves left
        } else if (strcmp(word, "--") == 0) {
            options_over = true;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            args->help = true;
            return true;
        } else if (!parse_option(c, argv, &i, into, err)) {
            return false;
        }
    }
    return check_count(c, args, err);
}

static int label(const struct option_row *r, char *into, size_t size) {
    return snprintf(into, size, "%s%s%s%s", dashes(r->name), r->name, r->value ? " " : "",
                    r->value ? r->value : "");
}

static void usage(const struct command_options *c, struct str *out) {
    bool any = rows_of(c)->name != NULL;
    str_printf(out, "hone %s%s%s%s", c->command, any ? " [OPTIONS]" : "", *c->arguments ? " " : "",
               c->arguments);
}

const char *const *options_choices(const struct command_options *c, const struct option_row *r) {
    for (const struct option_choices *o = c->choices; o && o->name; o++)
        if (strcmp(o->name, r->name) == 0)
            return o->choices;
    return NULL;
}

// The summary, and what there is to choose from.
static void put_summary(const struct command_options *c, const struct option_row *r,
                        struct str *out) {
    const char *const *choices = options_choices(c, r);
    str_puts(out, r->summary);
    for (int i = 0; choices && choices[i]; i++)
        str_printf(out, "%s%s%s", i ? ", " : ": ", choices[i], i ? "" : " (the default)");
}

static void help_line(const struct command_options *c, const struct option_row *r, int width,
                      struct str *out) {
    char text[64];
    label(r, text, sizeof text);
    str_printf(out, "  %-*s  ", width, text);
    put_summary(c, r, out);
    str_puts(out, "\n");
}

void options_help(const struct command_options *c, struct str *out) {
    char text[64];
    int width = label(&help_row, text, sizeof text);
    for (const struct option_row *r = rows_of(c); r->name; r++) {
        int len = label(r, text, sizeof text);
        width = len > width ? len : width;
    }
    str_puts(out, "usage: ");
    usage(c, out);
    str_printf(out, "\n\n%s\n", c->summary);
    if (c->text)
        str_printf(out, "\n%s\n", c->text);
    str_puts(out, "\noptions:\n");
    for (const struct option_row *r = rows_of(c); r->name; r++)
        help_line(c, r, width, out);
    help_line(c, &help_row, width, out);
}

void options_markdown(const struct command_options *c, struct str *out) {
    str_printf(out, "# hone %s\n\n%s\n\n    ", c->command, c->summary);
    usage(c, out);
    str_puts(out, "\n");
    if (c->text)
        str_printf(out, "\n%s\n", c->text);
    str_puts(out, "\n| option | meaning |\n|---|---|\n");
    char text[64];
    for (const struct option_row *r = rows_of(c); r->name; r++) {
        label(r, text, sizeof text);
        str_printf(out, "| `%s` | ", text);
        put_summary(c, r, out);
        str_puts(out, " |\n");
    }
    str_printf(out, "| `--help` | %s |\n", help_row.summary);
}
