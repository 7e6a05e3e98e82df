// `hone memory`: what earlier runs taught, and moving it about. The work is in ops/op_memory.h.
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "ops/op_memory.h"
#include "report/report_memory.h"

struct memory_options {
    const char *memory;
    int64_t keep;
    bool json;
};

static const struct option_row rows[] = {
    {.name = "memory",
     .type = OPTION_STRING,
     .value = "PATH",
     .summary = "the file ($XDG_DATA_HOME/hone/memory.db)",
     .offset = offsetof(struct memory_options, memory)},
    {.name = "keep",
     .type = OPTION_INT,
     .value = "N",
     .summary = "with prune: runs that stay of each problem and device, the newest (8)",
     .offset = offsetof(struct memory_options, keep),
     .least = 1},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.memory/1 document: problems and moves",
     .offset = offsetof(struct memory_options, json)},
    {0},
};

static const struct command_options options = {
    .command = "memory",
    .arguments = "[problems|moves [PROBLEM] | export|import|merge FILE | prune]",
    .summary = "show what earlier runs taught, by problem or by move; move it, prune it",
    .text =
        "Every run of hone optimize that comes to its end leaves a lesson: the kind of its\n"
        "problem, what each move brought by class of bottleneck and finding, and its champion.\n"
        "Runs on siblings (the same reductions and products at other sizes, in other types,\n"
        "with another epilogue) order their moves by it and begin with such champions. It never\n"
        "changes a verdict; hone optimize --memory off does without.\n"
        "\n"
        "export writes all lessons as one JSON document, which import adds to another memory;\n"
        "merge adds those of another memory file. A run counts once, however often it comes.\n"
        "prune keeps the newest runs of each problem and device, and the best.\n"
        "\n"
        "A file that a newer hone wrote is refused with exit status 3; one that is damaged, or\n"
        "cannot be written, with 4; what is no memory with 2. hone optimize goes on without.",
    .rows = rows,
    .max_arguments = 2,
};

static bool show(const struct memory_options *o, bool moves, const char *problem,
                 struct error *err) {
    struct arena a = {0};
    struct memory_view v;
    bool ok = op_memory_read(&a, o->memory, problem, &v, err);
    if (ok && o->json) {
        json_t *json = report_memory_json(v.path, v.lessons, v.n_lessons);
        puts(json_print_pretty(&a, json));
        json_decref(json);
    } else if (ok && v.n_lessons == 0) {
        narrow_print(stdout,
                     arena_printf(&a,
                                  "nothing was learned yet%s%s; each hone optimize leaves a lesson "
                                  "in %s\n",
                                  problem ? " of " : "", problem ? problem : "", v.path));
    } else if (ok) {
        struct str text = {0};
        if (moves)
            report_memory_moves(&text, v.lessons, v.n_lessons);
        else
            report_memory_problems(&text, v.lessons, v.n_lessons);
        narrow_print(stdout, str_text(&text));
        str_reset(&text);
    }
    arena_reset(&a);
    return ok;
}

static bool export(const struct memory_options *o, const char *file, struct error *err) {
    struct arena a = {0};
    int n;
    bool ok = op_memory_export(&a, o->memory, file, &n, err);
    if (ok)
        printf("%s: lessons of %d run%s\n", file, n, n == 1 ? "" : "s");
    arena_reset(&a);
    return ok;
}

static bool add(const struct memory_options *o, bool is_merge, const char *file,
                struct error *err) {
    struct arena a = {0};
    struct memory_added added = {0};
    bool ok = is_merge ? op_memory_merge(&a, o->memory, file, &added, err)
                       : op_memory_import(&a, o->memory, file, &added, err);
    if (ok)
        printf("%s: lessons of %d run%s, %d of them new\n", file, added.n_read,
               added.n_read == 1 ? "" : "s", added.n_new);
    arena_reset(&a);
    return ok;
}

static bool prune(const struct memory_options *o, struct error *err) {
    struct arena a = {0};
    int n;
    bool ok =
        op_memory_prune(&a, o->memory, (int)(o->keep < INT32_MAX ? o->keep : INT32_MAX), &n, err);
    if (ok)
        printf("removed the lessons of %d run%s\n", n, n == 1 ? "" : "s");
    arena_reset(&a);
    return ok;
}

static bool run(int argc, char **argv, struct error *err) {
    enum { KEEP = 8 };
    struct memory_options o = {.keep = KEEP};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    const char *what = args.count > 0 ? args.values[0] : "problems";
    const char *second = args.count > 1 ? args.values[1] : NULL;
    if (strcmp(what, "problems") == 0 || strcmp(what, "moves") == 0)
        return show(&o, strcmp(what, "moves") == 0, second, err);
    if (strcmp(what, "prune") == 0 && !second)
        return prune(&o, err);
    if (strcmp(what, "export") == 0 && second)
        return export(&o, second, err);
    if ((strcmp(what, "import") == 0 || strcmp(what, "merge") == 0) && second)
        return add(&o, strcmp(what, "merge") == 0, second, err);
    return error_set(err, ERROR_USAGE,
                     "memory: expected problems, moves, export FILE, import FILE, merge FILE or "
                     "prune; see 'hone memory --help'");
}

const struct command cmd_memory = {.group = GROUP_INSPECT, .options = &options, .run = run};
