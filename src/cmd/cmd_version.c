// `hone version`, and what `hone --version` prints: the release and the commit it was built from,
// which the build puts into commit.h ("" where it is not known).
#include <stdio.h>

#include "cmd/cmd.h"
#include "commit.h"

static const struct command_options options = {
    .command = "version",
    .arguments = "",
    .summary = "print the version and the commit it was built from",
};

void version_print(void) {
    printf("hone %s%s%s%s\n", HONE_VERSION, *HONE_COMMIT ? " (" : "", HONE_COMMIT,
           *HONE_COMMIT ? ")" : "");
}

static bool run(int argc, char **argv, struct error *err) {
    struct arguments args;
    if (!options_parse(&options, argc, argv, NULL, &args, err))
        return false;
    version_print();
    return true;
}

const struct command cmd_version = {.group = GROUP_PROGRAMS, .options = &options, .run = run};
