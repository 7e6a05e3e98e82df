#include <criterion/criterion.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/str.h"

struct into {
    bool json;
    int64_t evals;
    double seconds;
    const char *target;
    const char *output;
};

static const struct option_row rows[] = {
    {"json", OPTION_FLAG, NULL, "print JSON", offsetof(struct into, json), 0},
    {"evals", OPTION_INT, "N", "evaluations", offsetof(struct into, evals), 1},
    {"seconds", OPTION_NUMBER, "S", "time", offsetof(struct into, seconds), 0},
    {"target", OPTION_STRING, "NAME", "device", offsetof(struct into, target), 0},
    {"o", OPTION_STRING, "DIR", "where to", offsetof(struct into, output), 0},
    {0},
};

static const struct command_options command = {
    .command = "optimize",
    .arguments = "FILE",
    .summary = "make it fast",
    .text = "A paragraph.",
    .rows = rows,
    .min_arguments = 1,
    .max_arguments = 1,
};

enum { MAX_WORDS = 12 };

// Parse a command line given as one text, words apart by spaces.
static bool parse(const char *line, struct into *o, struct arguments *args, struct error *err) {
    static char copy[400];
    static char *argv[MAX_WORDS + 1];
    snprintf(copy, sizeof copy, "%s", line);
    int argc = 0;
    for (char *rest = copy, *word; (word = strsep(&rest, " ")) && argc < MAX_WORDS;)
        argv[argc++] = word;
    argv[argc] = NULL;
    *err = (struct error){0};
    return options_parse(&command, argc, argv, o, args, err);
}

Test(options, stand_anywhere_and_take_both_forms) {
    struct into o = {.evals = 16};
    struct arguments args;
    struct error err;
    cr_assert(parse("optimize --evals 5 a.hone --seconds=2.5 --json --target=cpu -o out", &o, &args,
                    &err),
              "%s", err.text);
    cr_assert_eq(o.evals, 5);
    cr_assert_eq(o.seconds, 2.5);
    cr_assert(o.json);
    cr_assert_str_eq(o.target, "cpu");
    cr_assert_str_eq(o.output, "out");
    cr_assert_eq(args.count, 1);
    cr_assert_str_eq(args.values[0], "a.hone");
    cr_assert_not(args.help);
}

Test(options, keep_defaults_and_the_last_word_wins) {
    struct into o = {.evals = 16};
    struct arguments args;
    struct error err;
    cr_assert(parse("optimize a", &o, &args, &err));
    cr_assert_eq(o.evals, 16);
    cr_assert_null(o.target);
    cr_assert(parse("optimize a --evals 1 --evals 2", &o, &args, &err));
    cr_assert_eq(o.evals, 2);
    cr_assert(parse("optimize a --target=", &o, &args, &err));
    cr_assert_str_eq(o.target, "");
}

Test(options, end_at_two_dashes) {
    struct into o = {0};
    struct arguments args;
    struct error err;
    cr_assert(parse("optimize -- --json", &o, &args, &err), "%s", err.text);
    cr_assert_str_eq(args.values[0], "--json");
    cr_assert_not(o.json);
    cr_assert(parse("optimize -", &o, &args, &err), "%s", err.text);
    cr_assert_str_eq(args.values[0], "-");
}

Test(options, help_stops_before_the_arguments_are_counted) {
    struct into o = {0};
    struct arguments args;
    struct error err;
    cr_assert(parse("optimize --help --nonsense", &o, &args, &err));
    cr_assert(args.help);
    cr_assert(parse("optimize -h", &o, &args, &err));
    cr_assert(args.help);
}

Test(options, mistakes_are_usage_and_say_what_to_do) {
    static const struct {
        const char *line, *message;
    } table[] = {
        {"optimize a --eval 3", "optimize: unknown option '--eval'; did you mean '--evals'?"},
        {"optimize a --jsn=1", "optimize: unknown option '--jsn'; did you mean '--json'?"},
        {"optimize a --hlp", "optimize: unknown option '--hlp'; did you mean '--help'?"},
        {"optimize a --colour", "optimize: unknown option '--colour'; see 'hone optimize --help'"},
        {"optimize a -json", "optimize: unknown option '-json'; did you mean '--json'?"},
        {"optimize a --o x", "optimize: unknown option '--o'; did you mean '-o'?"},
        {"optimize a --evals", "optimize: --evals needs a value: --evals N"},
        {"optimize a --evals --json", "optimize: --evals needs a value: --evals N"},
        {"optimize a -o", "optimize: -o needs a value: -o DIR"},
        {"optimize a --evals 0", "optimize: --evals 0: expected an integer, at least 1"},
        {"optimize a --evals=many", "optimize: --evals many: expected an integer, at least 1"},
        {"optimize a --evals -3", "optimize: --evals -3: expected an integer, at least 1"},
        {"optimize a --seconds 0", "optimize: --seconds 0: expected a number above zero"},
        {"optimize a --seconds inf", "optimize: --seconds inf: expected a number above zero"},
        {"optimize a --seconds nan", "optimize: --seconds nan: expected a number above zero"},
        {"optimize a --json=yes", "optimize: --json takes no value"},
        {"optimize", "optimize: expected FILE; see 'hone optimize --help'"},
        {"optimize a b", "optimize: unexpected argument 'b'; see 'hone optimize --help'"},
    };
    struct into o = {0};
    struct arguments args;
    struct error err;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        cr_assert_not(parse(table[i].line, &o, &args, &err), "%s", table[i].line);
        cr_assert_eq(err.kind, ERROR_USAGE);
        cr_assert_str_eq(err.text, table[i].message);
    }
}

Test(options, help_and_markdown_come_from_the_table) {
    struct str s = {0};
    options_help(&command, &s);
    cr_assert_str_eq(str_text(&s), "usage: hone optimize [OPTIONS] FILE\n"
                                   "\n"
                                   "make it fast\n"
                                   "\n"
                                   "A paragraph.\n"
                                   "\n"
                                   "options:\n"
                                   "  --json         print JSON\n"
                                   "  --evals N      evaluations\n"
                                   "  --seconds S    time\n"
                                   "  --target NAME  device\n"
                                   "  -o DIR         where to\n"
                                   "  --help         print this and stop\n");
    str_reset(&s);
    options_markdown(&command, &s);
    cr_assert_str_eq(str_text(&s), "# hone optimize\n"
                                   "\n"
                                   "make it fast\n"
                                   "\n"
                                   "    hone optimize [OPTIONS] FILE\n"
                                   "\n"
                                   "A paragraph.\n"
                                   "\n"
                                   "| option | meaning |\n"
                                   "|---|---|\n"
                                   "| `--json` | print JSON |\n"
                                   "| `--evals N` | evaluations |\n"
                                   "| `--seconds S` | time |\n"
                                   "| `--target NAME` | device |\n"
                                   "| `-o DIR` | where to |\n"
                                   "| `--help` | print this and stop |\n");
    str_reset(&s);
}

Test(options, a_command_may_have_no_rows) {
    static const struct command_options bare = {
        .command = "help", .arguments = "", .summary = "s", .max_arguments = -1};
    char *argv[] = {(char[]){"help"}, (char[]){"a"}, (char[]){"b"}, NULL};
    struct arguments args;
    struct error err = {0};
    cr_assert(options_parse(&bare, 3, argv, NULL, &args, &err), "%s", err.text);
    cr_assert_eq(args.count, 2);
    struct str s = {0};
    options_help(&bare, &s);
    cr_assert_str_eq(str_text(&s),
                     "usage: hone help\n\ns\n\noptions:\n  --help  print this and stop\n");
    str_reset(&s);
}
