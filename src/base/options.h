// Command-line options from one table per command. The table gives parsing,
// `--help`, docs/cli and the "did you mean"; nothing about an option is typed twice.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct str;

enum option_type {
    OPTION_FLAG,    // bool
    OPTION_INT,     // int64_t, at least `least`
    OPTION_NUMBER,  // double, above zero
    OPTION_STRING,  // const char *
};

struct option_row {
    const char *name;  // without the dashes
    enum option_type type;
    const char *value;    // how the value is called in help, "N"; NULL for a flag
    const char *summary;  // one line
    size_t offset;        // of the field in the command's options struct
    int64_t least;        // OPTION_INT only
};

// What an option may be, for help and completion.
struct option_choices {
    const char *name;            // of the option; NULL ends a table
    const char *const *choices;  // NULL-terminated, the default first
};

struct command_options {
    const char *command;               // "optimize"
    const char *arguments;             // "FILE", "FILE...", "[RUN]", ""
    const char *summary;               // one line, as in `hone help`
    const char *text;                  // a paragraph or two for --help and docs/cli; may be NULL
    const struct option_row *rows;     // ends with a row whose name is NULL; may be NULL
    int min_arguments, max_arguments;  // max -1: any number
    const struct option_choices *choices;  // may be NULL
};

struct arguments {
    char **values;
    int count;
    bool help;  // --help was given: print options_help and stop
};

// Parse argv (argv[0] is the command's name) into `into`, a struct that already holds the
// defaults. Options may stand anywhere; `--name value` and `--name=value`; `--` ends them. A
// name of one letter takes one dash (`-o DIR`).
// Mistakes are ERROR_USAGE and name the nearest option.
bool options_parse(const struct command_options *c, int argc, char **argv, void *into,
                   struct arguments *args, struct error *err);

// What an option of the command may be; NULL: anything.
const char *const *options_choices(const struct command_options *c, const struct option_row *r);

// Text for `hone COMMAND --help`, and as Markdown for docs/cli.
void options_help(const struct command_options *c, struct str *out);
void options_markdown(const struct command_options *c, struct str *out);
