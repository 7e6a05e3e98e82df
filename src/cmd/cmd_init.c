// `hone init`: a first problem to change, with comments. It asks nothing.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "cmd/cmd.h"

static const struct command_options options = {
    .command = "init",
    .arguments = "[NAME]",
    .summary = "write a starter problem, NAME.hone, with comments",
    .text = "NAME is 'first' where none is given. A file that is there is not overwritten.",
    .max_arguments = 1,
};

static const char template[] =
    "# What shall be computed. hone finds out how: hone optimize %s.hone\n"
    "# The language: hone help language.\n"
    "problem %s\n"
    "\n"
    "# Sizes. --dim M=4096 gives another one on the command line.\n"
    "dim M = 1024, N = 2048\n"
    "\n"
    "# Inputs: type, shape, and what they are drawn from when kernels are verified and timed.\n"
    "# Types: f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i8 u8 i4 bool.\n"
    "in x    : f32[M, N] ~ normal\n"
    "in bias : f32[N]    ~ uniform(-1, 1)\n"
    "\n"
    "# Outputs: every one of them is checked.\n"
    "out y : f32[M, N]\n"
    "\n"
    "# Values. Names that are not outputs are free to stay in registers.\n"
    "h = gelu(x + bias)\n"
    "y = h / (1 + sum(abs(h), axis=1, keepdims=true))\n";

static bool is_name(const char *name) {
    bool ok = isalpha((unsigned char)name[0]) || name[0] == '_';
    for (const char *c = name; *c; c++)
        ok = ok && (isalnum((unsigned char)*c) || *c == '_');
    return ok;
}

static bool run(int argc, char **argv, struct error *err) {
    struct arguments args;
    if (!options_parse(&options, argc, argv, NULL, &args, err))
        return false;
    const char *name = args.count ? args.values[0] : "first";
    if (!is_name(name))
        return error_set(err, ERROR_USAGE, "init: '%s' is no name: letters, digits and _", name);
    struct arena a = {0};
    const char *path = arena_printf(&a, "%s.hone", name);
    const char *text = arena_printf(&a, template, name, name);
    bool ok = file_exists(path) ? error_set(err, ERROR_USAGE, "init: %s is there already", path)
                                : file_write(path, text, strlen(text), err);
    if (ok)
        printf("wrote %s; now\n  hone check %s      what it says\n  hone sol %s        how fast it "
               "could be\n  hone optimize %s   make it so\n",
               path, path, path, path);
    arena_reset(&a);
    return ok;
}

const struct command cmd_init = {.group = GROUP_START, .options = &options, .run = run};
