// What shells and man read of the commands, from their option tables: `hone completion`, and the
// pages that `hone _man DIR` writes for `make install`.
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/cmd.h"

const struct command_options completion_options = {
    .command = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "print what completes hone's commands and options in a shell",
    .text = "bash: hone completion bash >/etc/bash_completion.d/hone, or source it in ~/.bashrc.\n"
            "zsh: hone completion zsh >DIR/_hone, DIR in $fpath. fish: hone completion fish\n"
            ">~/.config/fish/completions/hone.fish. make install puts all three in place.",
    .min_arguments = 1,
    .max_arguments = 1,
};

static const char *const topics = "language families knobs policies targets tools verdicts";

static const char *dashes(const struct option_row *row) {
    return strlen(row->name) == 1 ? "-" : "--";
}

static bool has_rows(const struct command_options *o) {
    return o->rows && o->rows->name;
}

static void put_choices(struct str *out, const char *const *choices) {
    for (int i = 0; choices[i]; i++)
        str_printf(out, "%s%s", i ? " " : "", choices[i]);
}

static void put_names(struct str *out, const struct command *const *commands) {
    for (int i = 0; commands[i]; i++)
        str_printf(out, "%s%s", i ? " " : "", commands[i]->options->command);
}

// What an option may be, behind it.
static void bash_choices(struct str *out, const struct command *const *commands) {
    str_puts(out, "    case ${COMP_WORDS[1]}${COMP_WORDS[COMP_CWORD - 1]} in\n");
    for (const struct command *const *c = commands; *c; c++)
        for (const struct option_row *r = (*c)->options->rows; r && r->name; r++) {
            const char *const *choices = options_choices((*c)->options, r);
            if (!choices)
                continue;
            str_printf(out, "    %s%s%s) COMPREPLY=($(compgen -W '", (*c)->options->command,
                       dashes(r), r->name);
            put_choices(out, choices);
            str_puts(out, "' -- \"$cur\")) ; return ;;\n");
        }
    str_puts(out, "    esac\n");
}

static void bash(struct str *out, const struct command *const *commands) {
    str_puts(out, "_hone() {\n    local cur=${COMP_WORDS[COMP_CWORD]} names words=\n    names='");
    put_names(out, commands);
    str_puts(out, "'\n    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                  "        COMPREPLY=($(compgen -W \"$names\" -- \"$cur\"))\n        return\n"
                  "    fi\n");
    bash_choices(out, commands);
    str_puts(out, "    case ${COMP_WORDS[1]} in\n");
    for (const struct command *const *c = commands; *c; c++) {
        const struct command_options *o = (*c)->options;
        if (!has_rows(o))
            continue;
        str_printf(out, "    %s) words='", o->command);
        for (const struct option_row *r = o->rows; r->name; r++)
            str_printf(out, "%s%s ", dashes(r), r->name);
        str_puts(out, "--help' ;;\n");
    }
    str_printf(out,
               "    help) COMPREPLY=($(compgen -W \"$names %s\" -- \"$cur\")) ; return ;;\n"
               "    completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\")) ; return ;;\n"
               "    esac\n"
               "    case $cur in\n"
               "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
               "    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
               "    esac\n}\ncomplete -o filenames -F _hone hone\n",
               topics);
}

// In a word between single quotes, where brackets and colons mean something to zsh.
static void put_quoted(struct str *out, const char *text, const char *special) {
    for (; *text; text++)
        if (*text == '\'')
            str_puts(out, "'\\''");
        else
            str_printf(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
}

static void zsh(struct str *out, const struct command *const *commands) {
    str_puts(out, "#compdef hone\n_hone() {\n    local -a names\n    names=(\n");
    for (const struct command *const *c = commands; *c; c++) {
        str_printf(out, "        '%s:", (*c)->options->command);
        put_quoted(out, (*c)->options->summary, ":\\");
        str_puts(out, "'\n");
    }
    str_puts(out, "    )\n    if (( CURRENT == 2 )); then\n        _describe command names\n"
                  "        return\n    fi\n    case $words[2] in\n");
    for (const struct command *const *c = commands; *c; c++) {
        const struct command_options *o = (*c)->options;
        if (!has_rows(o))
            continue;
        str_printf(out, "    %s) _arguments", o->command);
        for (const struct option_row *r = o->rows; r->name; r++) {
            str_printf(out, " \\\n        '%s%s[", dashes(r), r->name);
            put_quoted(out, r->summary, "[]:\\");
            str_puts(out, "]");
            if (r->value) {
                str_puts(out, ":");
                put_quoted(out, r->value, "[]:\\");
                const char *const *choices = options_choices(o, r);
                if (choices) {
                    str_puts(out, ":(");
                    put_choices(out, choices);
                    str_puts(out, ")");
                } else {
                    str_puts(out, ":_files");
                }
            }
            str_puts(out, "'");
        }
        str_puts(out, " \\\n        '*:file:_files' ;;\n");
    }
    str_printf(out,
               "    help) _describe command names; compadd %s ;;\n"
               "    completion) compadd bash zsh fish ;;\n"
               "    *) _files ;;\n    esac\n}\n_hone \"$@\"\n",
               topics);
}

static void fish(struct str *out, const struct command *const *commands) {
    for (const struct command *const *c = commands; *c; c++) {
        const struct command_options *o = (*c)->options;
        str_printf(out, "complete -c hone -n __fish_use_subcommand -a %s -d '", o->command);
        put_quoted(out, o->summary, "\\");
        str_puts(out, "'\n");
        for (const struct option_row *r = o->rows; r && r->name; r++) {
            str_printf(out, "complete -c hone -n '__fish_seen_subcommand_from %s' -%c %s%s -d '",
                       o->command, strlen(r->name) == 1 ? 's' : 'l', r->name,
                       r->value ? " -r" : "");
            put_quoted(out, r->summary, "\\");
            str_puts(out, "'");
            const char *const *choices = options_choices(o, r);
            if (choices) {
                str_puts(out, " -x -a '");
                put_choices(out, choices);
                str_puts(out, "'");
            }
            str_puts(out, "\n");
        }
    }
    str_printf(out,
               "complete -c hone -n '__fish_seen_subcommand_from help' -x -a '%s'\n"
               "complete -c hone -n '__fish_seen_subcommand_from completion' -x -a 'bash zsh "
               "fish'\n",
               topics);
}

bool completion_run(const struct command *const *commands, int argc, char **argv,
                    struct error *err) {
    static const struct {
        const char *shell;
        void (*print)(struct str *out, const struct command *const *commands);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    struct arguments args;
    if (!options_parse(&completion_options, argc, argv, NULL, &args, err))
        return false;
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(shells[i].shell, args.values[0]) == 0) {
            struct str text = {0};
            shells[i].print(&text, commands);
            fputs(str_text(&text), stdout);
            str_reset(&text);
            return true;
        }
    return error_set(err, ERROR_USAGE, "completion: '%s' is none of bash, zsh, fish",
                     args.values[0]);
}

// ---- man pages

// A line of text as troff takes it.
static void put_troff(struct str *out, const char *text) {
    bool starts = true;
    for (; *text; text++) {
        if (starts && (*text == '.' || *text == '\''))
            str_puts(out, "\\&");
        if (*text == '-')
            str_puts(out, "\\-");
        else if (*text == '\\')
            str_puts(out, "\\e");
        else
            str_printf(out, "%c", *text);
        starts = *text == '\n';
    }
}

// Paragraphs: an empty line between them becomes .PP.
static void put_text(struct str *out, const char *text) {
    while (*text) {
        const char *end = strstr(text, "\n\n");
        struct arena a = {0};
        put_troff(out, arena_strndup(&a, text, end ? (size_t)(end - text) : strlen(text)));
        arena_reset(&a);
        str_puts(out, end ? "\n.PP\n" : "\n");
        text = end ? end + 2 : text + strlen(text);
    }
}

static void page_of(struct str *out, const struct command_options *o) {
    str_printf(out, ".TH HONE\\-%s 1 \"\" \"hone %s\" \"hone\"\n.SH NAME\nhone\\-%s \\- ",
               o->command, HONE_VERSION, o->command);
    put_troff(out, o->summary);
    str_printf(out, "\n.SH SYNOPSIS\n.B hone %s\n", o->command);
    if (has_rows(o))
        str_puts(out, "[OPTIONS]\n");
    put_troff(out, o->arguments ? o->arguments : "");
    if (o->text) {
        str_puts(out, "\n.SH DESCRIPTION\n");
        put_text(out, o->text);
    }
    if (has_rows(o))
        str_puts(out, "\n.SH OPTIONS\n");
    for (const struct option_row *r = o->rows; r && r->name; r++) {
        str_puts(out, ".TP\n.B ");
        put_troff(out, dashes(r));
        put_troff(out, r->name);
        if (r->value) {
            str_puts(out, " ");
            put_troff(out, r->value);
        }
        str_puts(out, "\n");
        put_troff(out, r->summary);
        str_puts(out, "\n");
    }
    str_puts(out, "\n.SH SEE ALSO\n.BR hone (1)\n");
}

static void first_page(struct str *out, const struct command *const *commands) {
    str_printf(out,
               ".TH HONE 1 \"\" \"hone %s\" \"hone\"\n.SH NAME\nhone \\- makes GPU and CPU kernels "
               "fast\n.SH SYNOPSIS\n.B hone\nCOMMAND [OPTIONS] [ARGUMENTS]\n.SH DESCRIPTION\n"
               "hone takes a problem, a tensor computation in a small language (hone help "
               "language), makes kernels for it, verifies and times them, and searches for the "
               "fastest.\n.SH COMMANDS\n",
               HONE_VERSION);
    for (const struct command *const *c = commands; *c; c++) {
        str_printf(out, ".TP\n.BR hone\\-%s (1)\n", (*c)->options->command);
        put_troff(out, (*c)->options->summary);
        str_puts(out, "\n");
    }
    str_puts(out,
             ".SH EXIT STATUS\n0 done; 1 the answer is negative; 2 usage; 3 something needed is "
             "absent; 4 a failure of hone or the machine; 130 interrupted.\n"
             ".SH FILES\n.TP\n.I .hone/runs.db\nruns, found upward from the working "
             "directory\n.TP\n.I ~/.cache/hone\ncompiled kernels and measured ceilings\n");
}

bool shell_write_man(const struct command *const *commands, const char *dir, struct error *err) {
    struct arena a = {0};
    struct str page = {0};
    first_page(&page, commands);
    bool ok = file_make_dirs(dir, err) &&
              file_write(arena_printf(&a, "%s/hone.1", dir), str_text(&page), page.len, err);
    str_reset(&page);
    for (const struct command *const *c = commands; ok && *c; c++) {
        page_of(&page, (*c)->options);
        ok = file_write(arena_printf(&a, "%s/hone-%s.1", dir, (*c)->options->command),
                        str_text(&page), page.len, err);
        str_reset(&page);
    }
    arena_reset(&a);
    return ok;
}
