// `hone import`: options and printing over ops/op_import.h.
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "ops/op_import.h"

struct import_options {
    const char *output, *class_name, *python, *sizes;
    double seconds;
    bool is_eval, verify, force, json;
};

static const struct option_row rows[] = {
    {.name = "output",
     .type = OPTION_STRING,
     .value = "FILE",
     .summary = "write the problem to FILE, which must not exist, instead of standard output",
     .offset = offsetof(struct import_options, output)},
    {.name = "o",
     .type = OPTION_STRING,
     .value = "FILE",
     .summary = "the same as --output",
     .offset = offsetof(struct import_options, output)},
    {.name = "force",
     .type = OPTION_FLAG,
     .summary = "write FILE though it exists",
     .offset = offsetof(struct import_options, force)},
    {.name = "class",
     .type = OPTION_STRING,
     .value = "NAME",
     .summary = "the class, or the module, to import (Model, model, or the only one)",
     .offset = offsetof(struct import_options, class_name)},
    {.name = "set",
     .type = OPTION_STRING,
     .value = "NAME=8,...",
     .summary = "use these numbers in place of those that the file assigns at its top",
     .offset = offsetof(struct import_options, sizes)},
    {.name = "eval",
     .type = OPTION_FLAG,
     .summary = "call eval() first; else the module is as its constructor leaves it",
     .offset = offsetof(struct import_options, is_eval)},
    {.name = "verify",
     .type = OPTION_FLAG,
     .summary = "compare with PyTorch's own answer, at smaller sizes; status 1 if they differ",
     .offset = offsetof(struct import_options, verify)},
    {.name = "python",
     .type = OPTION_STRING,
     .value = "PROGRAM",
     .summary = "the Python that has PyTorch (python3, else /usr/bin/python3)",
     .offset = offsetof(struct import_options, python)},
    {.name = "seconds",
     .type = OPTION_NUMBER,
     .value = "S",
     .summary = "how long Python may take, each time it is asked (300)",
     .offset = offsetof(struct import_options, seconds)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.import/1 document",
     .offset = offsetof(struct import_options, json)},
    {0},
};

static const struct command_options options = {
    .command = "import",
    .arguments = "MODEL.py",
    .summary = "make a problem of a PyTorch module",
    .text =
        "MODEL.py is run as the Python that it is, with all that it does: import only files that\n"
        "you would run. It has a class Model(nn.Module) with get_inputs() and, where the\n"
        "constructor takes arguments, get_init_inputs(), as KernelBench's files do; or a module\n"
        "called model and its inputs as example_inputs. Its forward() runs once, with tensors\n"
        "that have a shape and no data, so no size is too large, and Python that asks for shapes\n"
        "does what it does.\n"
        "\n"
        "Parameters become `param` inputs with distributions that stand for their initialisation,\n"
        "numbers at the top of the file dims. Operations that the language has no counterpart\n"
        "for are named, all of them, each with its module and line; nothing is written then and\n"
        "the status is 1. docs/import.md has the rest.\n"
        "\n"
        "--verify runs the real module in PyTorch and the problem in hone's interpreter on the\n"
        "same inputs, at sizes that --set gives or that are made small by themselves.",
    .rows = rows,
    .min_arguments = 1,
    .max_arguments = 1,
};

static void print_refused(const char *file, const struct import_result *m) {
    fprintf(stderr, "%s: %d operation%s without a counterpart:\n", file, m->n_refused,
            m->n_refused == 1 ? "" : "s");
    for (int i = 0; i < m->n_refused; i++) {
        const struct import_refusal *r = &m->refused[i];
        fprintf(stderr, "  ");
        if (r->line > 0)
            fprintf(stderr, "line %lld: ", r->line);
        fprintf(stderr, "%s%s%s: %s\n", r->op, *r->module ? " in " : "", r->module, r->why);
        if (r->is_last)
            fprintf(stderr, "  what comes behind it was not looked at\n");
    }
}

static void print_verdict(FILE *to, const struct import_verdict *v) {
    fprintf(to, "%s PyTorch, which computed in %s%s%s\n", v->is_equal ? "equal to" : "NOT equal to",
            v->precision, *v->sizes ? ", with " : "", v->sizes);
    for (int i = 0; i < v->n_outputs; i++) {
        const struct import_difference *d = &v->outputs[i];
        fprintf(to, "  %s: ", d->output);
        if (d->why)
            fprintf(to, "%s\n", d->why);
        else
            fprintf(to, "differs by %.2g of the largest element at most\n", d->relative);
    }
}

static bool write_problem(const struct import_options *o, const char *text, struct error *err) {
    size_t len = strlen(text);
    if (!o->output)
        return true;
    return o->force ? file_write(o->output, text, len, err)
                    : file_create(o->output, text, len, err);
}

// What is printed where no document is asked for. The problem goes to standard output alone.
static void print_text(const char *file, const struct import_options *o,
                       const struct import_result *m) {
    if (!m->text) {
        print_refused(file, m);
        return;
    }
    FILE *to = o->output ? stdout : stderr;
    if (!o->output)
        fputs(m->text, stdout);
    else
        printf("%s: problem %s, %d input%s, %d parameter%s, %d output%s, %d nodes\n", o->output,
               m->problem, m->n_inputs, m->n_inputs == 1 ? "" : "s", m->n_params,
               m->n_params == 1 ? "" : "s", m->n_outputs, m->n_outputs == 1 ? "" : "s", m->n_nodes);
    for (int i = 0; i < m->n_notes; i++)
        fprintf(to, "not as in PyTorch: %s\n", m->notes[i]);
    if (m->verdict)
        print_verdict(to, m->verdict);
}

static bool run(int argc, char **argv, struct error *err) {
    struct import_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    if (o.output && !o.force && file_exists(o.output))
        return error_set(err, ERROR_USAGE, "%s exists already; --force writes over it", o.output);
    struct arena a = {0};
    struct import_result m;
    struct import_request q = {.file = args.values[0],
                               .class_name = o.class_name,
                               .python = o.python,
                               .sizes = o.sizes,
                               .is_eval = o.is_eval,
                               .verify = o.verify,
                               .seconds = o.seconds};
    bool done = op_import(&a, &q, &m, err);
    bool ok = done && m.text && (!m.verdict || m.verdict->is_equal);
    if (ok)
        done = ok = write_problem(&o, m.text, err);
    if (done && o.json) {
        json_t *document = op_import_json(&q, &m, ok ? o.output : NULL);
        printf("%s\n", json_print_pretty(&a, document));
        json_decref(document);
    } else if (done) {
        print_text(args.values[0], &o, &m);
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_import = {.group = GROUP_START, .options = &options, .run = run};
