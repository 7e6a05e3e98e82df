// hone: find the command, run it, say what went wrong, give the exit status.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/str.h"
#include "build/compile_cuda.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "eval/eval_job.h"
#include "mcp/mcp.h"
#include "play/play.h"

static bool run_help(int argc, char **argv, struct error *err);
static const struct command cmd_help = {GROUP_PROGRAMS, &help_options, run_help};
static bool run_completion(int argc, char **argv, struct error *err);
static const struct command cmd_completion = {GROUP_PROGRAMS, &completion_options, run_completion};
static bool run_mcp(int argc, char **argv, struct error *err);
static const struct command cmd_mcp = {GROUP_PROGRAMS, &mcp_options, run_mcp};

// In the order of `hone help`; the group is in each command's own file.
// clang-format off
static const struct command *const commands[] = {
    &cmd_init,
    &cmd_check,
    &cmd_fmt,
    &cmd_import,
    &cmd_scaffold,
    &cmd_sol,
    &cmd_emit,
    &cmd_eval,
    &cmd_profile,
    &cmd_diagnose,
    &cmd_sass,
    &cmd_optimize,
    &cmd_tabulate,
    &cmd_suite,
    &cmd_runs,
    &cmd_show,
    &cmd_report,
    &cmd_tools,
    &cmd_export,
    &cmd_replay,
    &cmd_memory,
    &cmd_doctor,
    &cmd_devices,
    &cmd_calibrate,
    &cmd_config,
    &cmd_gc,
    &cmd_worker,
    &cmd_mcp,
    &cmd_completion,
    &cmd_version,
    &cmd_help,
    NULL,
};
// clang-format on

static bool run_help(int argc, char **argv, struct error *err) {
    return help_run(commands, argc, argv, err);
}

static bool run_completion(int argc, char **argv, struct error *err) {
    return completion_run(commands, argc, argv, err);
}

// Its tools say what the options of our commands say.
static bool run_mcp(int argc, char **argv, struct error *err) {
    const struct command_options *tables[sizeof commands / sizeof commands[0]] = {0};
    for (int i = 0; commands[i]; i++)
        tables[i] = commands[i]->options;
    return mcp_run(tables, argc, argv, err);
}

enum { STATUS_NEGATIVE = 1, STATUS_USAGE = 2, STATUS_ABSENT = 3, STATUS_FAILED = 4 };

static int status_of(enum error_kind kind) {
    switch (kind) {
    case ERROR_NONE:
    case ERROR_PARSE:
        return STATUS_NEGATIVE;
    case ERROR_USAGE:
        return STATUS_USAGE;
    case ERROR_UNSUPPORTED:
        return STATUS_ABSENT;
    case ERROR_IO:
    case ERROR_TIMEOUT:
        return STATUS_FAILED;
    case ERROR_INTERRUPTED:
        return 130;
    }
    return STATUS_FAILED;
}

// A diagnosis of several lines (source, caret) stands as it is; a line gets our name.
static int fail(const struct error *err) {
    if (!err->text[0])
        return err->status ? err->status : status_of(err->kind);
    bool lines = strchr(err->text, '\n') != NULL;
    bool ends = err->text[strlen(err->text) - 1] == '\n';
    char line[sizeof err->text + 8];
    snprintf(line, sizeof line, "%s%s%s", lines ? "" : "hone: ", err->text, ends ? "" : "\n");
    if (lines)
        fputs(line, stderr);
    else
        narrow_print(stderr, line);
    return status_of(err->kind);
}

// Output that did not arrive is our failure even when the command went well. A reader who
// has left (`hone ... | head`) needs no message.
static int finish(int status) {
    bool lost = fflush(stdout) != 0;
    const char *why = strerror(errno);
    if (!lost && !ferror(stdout))
        return status;
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    bool reader_left = poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
    if (!reader_left)
        fprintf(stderr, "hone: write to standard output: %s\n", lost ? why : "failed");
    return status == 0 || status == STATUS_NEGATIVE ? STATUS_FAILED : status;
}

// Started with 0, 1 or 2 closed, a database could land there and be written over. Open
// read-only, so that output to a closed descriptor still fails.
static void occupy_standard_descriptors(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
            return;
}

static int run_hidden(int argc, char **argv) {
    struct error err = {0};
    if (strcmp(argv[1], "_worker") == 0 && argc == 2)
        return worker_main();
    if (strcmp(argv[1], "_runner") == 0 && argc == 2)
        return runner_main();
    if (strcmp(argv[1], "_compile") == 0 && argc == 2)
        return compile_child_main();
    if (strcmp(argv[1], "_gpu_runner") == 0 && argc == 2)
        return gpu_runner_main();
    if (strcmp(argv[1], "_play") == 0 && (argc == 3 || argc == 4))
        return play_main(argv[2], argv[3]);
    if (strcmp(argv[1], "_docs") == 0 && argc == 3)
        return help_write_docs(commands, argv[2], &err) ? 0 : fail(&err);
    if (strcmp(argv[1], "_man") == 0 && argc == 3)
        return shell_write_man(commands, argv[2], &err) ? 0 : fail(&err);
    return -1;
}

static int usage(void) {
    struct str text = {0};
    help_overview(commands, &text);
    narrow_print(stderr, str_text(&text));
    str_reset(&text);
    return STATUS_USAGE;
}

// `hone COMMAND ... --help`, before the command looks at anything else.
static bool asks_for_help(int argc, char **argv) {
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int run(int argc, char **argv) {
    if (argc < 2)
        return usage();
    if (argv[1][0] == '_') {
        int status = run_hidden(argc, argv);
        if (status >= 0)
            return status;
    }

    struct error err = {0};
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0) {
        version_print();
        return 0;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help_run(commands, 1, argv, &err) ? 0 : fail(&err);
    const struct command *c = help_find(commands, name);
    if (!c) {
        help_unknown(commands, name, &err);
        return fail(&err);
    }
    if (asks_for_help(argc, argv))
        return command_help(c->options) ? 0 : STATUS_FAILED;
    return c->run(argc - 1, argv + 1, &err) ? 0 : fail(&err);
}

int main(int argc, char **argv) {
    occupy_standard_descriptors();
    log_init();
    interrupt_init();
    return finish(run(argc, argv));
}
