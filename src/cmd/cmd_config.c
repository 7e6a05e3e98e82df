// `hone config`: every setting, its value and, with --origin, which place set it.
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/config.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/cmd.h"

struct config_options {
    bool origin, json;
};

static const struct option_row rows[] = {
    {"origin", OPTION_FLAG, NULL, "also say where each value comes from",
     offsetof(struct config_options, origin), 0},
    {"json", OPTION_FLAG, NULL, "print one hone.config/1 document",
     offsetof(struct config_options, json), 0},
    {0},
};

static const struct command_options options = {
    .command = "config",
    .arguments = "",
    .summary = "print the settings in force",
    .text =
        "Settings come from the environment (HONE_BUILD_CC for build.cc, HONE_TARGET for\n"
        "run.target, HONE_RUN_THREADS, HONE_STORE_PATH), then the project's .hone/config (of\n"
        "this directory or the nearest above), then $XDG_CONFIG_HOME/hone/config, then the\n"
        "default; the first that has a value wins. An option on the command line stands above\n"
        "all of them. The files are INI:\n"
        "\n"
        "    [build]\n"
        "    cc = clang\n"
        "\n"
        "build.cc is the compiler for kernels; run.target the device where --target names none,\n"
        "empty for the first GPU, else the CPU; run.threads how many threads kernels use, 0 for\n"
        "one per CPU; store.path the directory that holds the runs, empty for .hone of the "
        "project.",
    .rows = rows,
    .max_arguments = 0,
};

static void print_text(const struct config *c, bool origin) {
    for (int i = 0; i < c->n_values; i++) {
        printf("%s = %s", c->values[i].key, c->values[i].value);
        if (origin)
            printf("  # %s", c->values[i].origin);
        printf("\n");
    }
}

static void print_json(struct arena *a, const struct config *c) {
    json_t *settings = json_array();
    for (int i = 0; i < c->n_values; i++)
        json_array_append_new(settings, json_pack("{sssoso}", "key", c->values[i].key, "value",
                                                  json_optional_text(c->values[i].value), "origin",
                                                  json_optional_text(c->values[i].origin)));
    json_t *document = json_pack("{ssso}", "schema", "hone.config/1", "settings", settings);
    printf("%s\n", json_print_pretty(a, document));
    json_decref(document);
}

static bool run(int argc, char **argv, struct error *err) {
    struct config_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;

    struct arena a = {0};
    struct config c;
    bool ok = config_load(&a, &c, err);
    if (ok && o.json)
        print_json(&a, &c);
    else if (ok)
        print_text(&c, o.origin);
    arena_reset(&a);
    return ok;
}

const struct command cmd_config = {GROUP_MACHINE, &options, run};
