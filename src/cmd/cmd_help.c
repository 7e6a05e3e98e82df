// The list of commands in its groups, help for one of them, topics that are embedded pages, and
// docs/cli, all from the option tables.
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "ops/op_topics.h"

enum { MAX_COMMANDS = 64 };

static const char *const group_names[] = {
    [GROUP_START] = "start",     [GROUP_KNOW] = "know",       [GROUP_OPTIMISE] = "optimise",
    [GROUP_INSPECT] = "inspect", [GROUP_MACHINE] = "machine", [GROUP_PROGRAMS] = "for programs",
};
enum { N_GROUPS = sizeof group_names / sizeof group_names[0] };

const struct command_options help_options = {
    .command = "help",
    .arguments = "[COMMAND|TOPIC]",
    .summary = "list the commands, explain one, the language or a table",
    .text =
        "Topics: language, families, knobs, policies, targets, tools, verdicts. A name that is\n"
        "both, such as tools, is explained as a command first, then as a topic.",
    .max_arguments = 1,
};

bool command_help(const struct command_options *options) {
    struct str text = {0};
    options_help(options, &text);
    narrow_print(stdout, str_text(&text));
    str_reset(&text);
    return true;
}

const struct command *help_find(const struct command *const *commands, const char *name) {
    for (; *commands; commands++)
        if (strcmp((*commands)->options->command, name) == 0)
            return *commands;
    return NULL;
}

// What people look for under another name than ours.
static const struct other_name {
    const char *name, *instead;
} other_names[] = {
    {"compare", "eval PROBLEM CANDIDATE CANDIDATE..."},
    {"bench", "eval PROBLEM CANDIDATE..."},
    {"benchmark", "eval PROBLEM CANDIDATE..."},
    {"run", "eval PROBLEM CANDIDATE"},
    {"verify", "eval PROBLEM CANDIDATE --verify"},
    {"resume", "optimize --resume [RUN]"},
    {"list", "runs"},
    {"roofline", "sol PROBLEM"},
    {0},
};

bool help_unknown(const struct command *const *commands, const char *name, struct error *err) {
    const char *names[MAX_COMMANDS + 1] = {NULL};
    for (int i = 0; commands[i] && i < MAX_COMMANDS; i++)
        names[i] = commands[i]->options->command;
    for (const struct other_name *o = other_names; o->name; o++)
        if (strcmp(o->name, name) == 0)
            return error_set(err, ERROR_USAGE, "unknown command '%s'; that is: hone %s", name,
                             o->instead);
    const char *nearest = str_nearest(name, names);
    if (nearest)
        return error_set(err, ERROR_USAGE, "unknown command '%.64s'; did you mean '%s'?", name,
                         nearest);
    return error_set(err, ERROR_USAGE, "unknown command '%.64s'; see 'hone help'", name);
}

void help_overview(const struct command *const *commands, struct str *out) {
    str_puts(out, "usage: hone COMMAND [OPTIONS] [ARGUMENTS]\n");
    for (int g = 0; g < N_GROUPS; g++) {
        bool any = false;
        for (const struct command *const *c = commands; *c; c++) {
            if ((int)(*c)->group != g)
                continue;
            if (!any)
                str_printf(out, "\n%s\n", group_names[g]);
            any = true;
            str_printf(out, "  %-10s  %s\n", (*c)->options->command, (*c)->options->summary);
        }
    }
    str_puts(
        out,
        "\n'hone help COMMAND' or 'hone COMMAND --help' explains one of them;\n"
        "'hone help TOPIC' language, families, knobs, policies, targets, tools or\nverdicts.\n");
}

bool help_run(const struct command *const *commands, int argc, char **argv, struct error *err) {
    struct arguments args;
    if (!options_parse(&help_options, argc, argv, NULL, &args, err))
        return false;
    if (args.help)
        return command_help(&help_options);
    if (args.count == 1 && strcmp(args.values[0], "language") == 0) {
        fputs(embedded_text("language.md"), stdout);
        return true;
    }
    if (args.count == 1) {
        struct arena a = {0};
        const struct command *c = help_find(commands, args.values[0]);
        const char *topic = op_topic(&a, args.values[0]);
        if (c)
            command_help(c->options);
        if (topic)
            narrow_print(stdout, arena_printf(&a, "%s%s", c ? "\n" : "", topic));
        arena_reset(&a);
        return c || topic || help_unknown(commands, args.values[0], err);
    }
    struct str text = {0};
    help_overview(commands, &text);
    narrow_print(stdout, str_text(&text));
    str_reset(&text);
    return true;
}

// Write docs/cli: one page per command, and an index in the order of the groups.
bool help_write_docs(const struct command *const *commands, const char *dir, struct error *err) {
    struct arena a = {0};
    struct str index = {0};
    bool ok = file_make_dirs(dir, err);
    str_puts(&index, "# Commands\n\nWritten by `make bless` from the option tables.\n\n");
    for (const struct command *const *c = commands; ok && *c; c++) {
        const struct command_options *o = (*c)->options;
        struct str page = {0};
        options_markdown(o, &page);
        str_printf(&index, "- [%s](%s.md): %s\n", o->command, o->command, o->summary);
        ok = file_write(arena_printf(&a, "%s/%s.md", dir, o->command), str_text(&page), page.len,
                        err);
        str_reset(&page);
    }
    ok = ok && file_write(arena_printf(&a, "%s/README.md", dir), str_text(&index), index.len, err);
    str_reset(&index);
    arena_reset(&a);
    return ok;
}
