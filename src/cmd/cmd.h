// Every command: one file cmd/cmd_<name>.c that defines a `struct command`, one
// declaration here, one row in main.c. A command parses options, calls one
// function of ops/, prints the record. Nothing else.
#pragma once

#include <stdbool.h>

#include "base/options.h"

struct error;
struct str;

enum command_group {
    GROUP_START,
    GROUP_KNOW,
    GROUP_OPTIMISE,
    GROUP_INSPECT,
    GROUP_MACHINE,
    GROUP_PROGRAMS
};

struct command {
    enum command_group group;
    const struct command_options *options;
    // argv[0] is the command's name. False with err->text "" means: the answer is negative
    // and has been printed already.
    bool (*run)(int argc, char **argv, struct error *err);
};

extern const struct command cmd_init, cmd_version, cmd_gc;
extern const struct command cmd_check, cmd_fmt, cmd_import, cmd_scaffold;
extern const struct command cmd_sol, cmd_emit, cmd_eval, cmd_profile, cmd_diagnose, cmd_sass;
extern const struct command cmd_optimize, cmd_tabulate, cmd_suite;
extern const struct command cmd_runs, cmd_show, cmd_report, cmd_tools, cmd_export, cmd_replay;
extern const struct command cmd_memory;
extern const struct command cmd_doctor, cmd_devices, cmd_calibrate, cmd_config, cmd_worker;

// Print what options_help() says and return true. Main does so for `--help`, so that no
// command has to look at arguments.help.
bool command_help(const struct command_options *options);

// `hone help` and what else needs the whole table, which main.c hands in (NULL-terminated).
extern const struct command_options help_options;
bool help_run(const struct command *const *commands, int argc, char **argv, struct error *err);
void help_overview(const struct command *const *commands, struct str *out);
const struct command *help_find(const struct command *const *commands, const char *name);
// Set the error for a name that is no command. Always false.
bool help_unknown(const struct command *const *commands, const char *name, struct error *err);
// `hone completion SHELL`, which needs the table too, and the hidden `hone _man DIR`.
extern const struct command_options completion_options;
bool completion_run(const struct command *const *commands, int argc, char **argv,
                    struct error *err);
bool shell_write_man(const struct command *const *commands, const char *dir, struct error *err);
// What `hone --version` prints.
void version_print(void);
// The hidden `hone _docs DIR`: docs/cli from the option tables.
bool help_write_docs(const struct command *const *commands, const char *dir, struct error *err);
