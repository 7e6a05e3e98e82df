#include "mcp/mcp_tools.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/options.h"
#include "base/str.h"
#include "mcp/mcp_message.h"
#include "mcp/mcp_roots.h"

#define PROBLEM \
    { "problem", ARGUMENT_FILE, "path of a .hone file with the problem", true }
#define CANDIDATE_TEXT                                                                      \
    "path of C, of CUDA (.cu) or of a .hone file with a kernel block; or a node of a run, " \
    "RUN.NODE; or plain or default, which hone makes itself, or library, which calls one"
#define OPTION(option_name) \
    { option_name, ARGUMENT_OPTION, NULL, false }

// clang-format off
const struct mcp_tool mcp_tools[] = {
    {.name = "check", .title = "Check a problem", .command = "check",
     .description = "Parse and check a .hone file: mistakes with line and caret, or what it holds. Milliseconds.",
     .arguments = {PROBLEM, OPTION("dim"), OPTION("verbose")}},
    {.name = "import", .title = "Import a PyTorch module", .command = "import", .is_writer = true,
     .description = "Make a .hone problem of a PyTorch module in a Python file, which is RUN, with the user's rights: a class Model with get_inputs(), or `model` and `example_inputs`. Operations without a counterpart are named with module and line. With `verify`, compare with PyTorch's own answer. Seconds.",
     .arguments = {{"file", ARGUMENT_FILE, "path of the Python file", true},
                   {"output", ARGUMENT_DIRECTORY, "the .hone file to write; without it the problem is the result", false},
                   OPTION("force"), OPTION("class"), OPTION("set"), OPTION("eval"), OPTION("verify"), OPTION("seconds")}},
    {.name = "sol", .title = "Speed of light", .command = "sol",
     .description = "How fast a problem could be on a device, and why: speed of light, reach (what this machine attains, where it was calibrated) and limit, with bytes, operations and rates.",
     .arguments = {PROBLEM, OPTION("target"), OPTION("dim")}},
    {.name = "emit", .title = "Show generated source", .command = "emit",
     .description = "The C or CUDA that a problem becomes, by its kernel block or by default: a correct place to start from.",
     .arguments = {PROBLEM, {"kernel", ARGUMENT_OPTION_FILE, NULL, false}, OPTION("target"), OPTION("plain"), OPTION("dim")}},
    {.name = "eval", .title = "Verify and time a candidate", .command = "eval", .is_long = true,
     .description = "Compile one candidate in a sandbox, verify it against float64 on secret inputs, time it against a baseline, and say what limits it. Seconds.",
     .arguments = {PROBLEM, {"candidate", ARGUMENT_CANDIDATE, CANDIDATE_TEXT, true},
                   {"baseline", ARGUMENT_OPTION_CANDIDATE, NULL, false}, OPTION("verify"), OPTION("screen"), OPTION("confirm"),
                   OPTION("seconds"), OPTION("resolution"), OPTION("target"), OPTION("dim")}},
    {.name = "compare", .title = "Time candidates against each other", .command = "eval", .is_long = true,
     .description = "Verify two or more candidates and time them: which is faster, with intervals.",
     .arguments = {PROBLEM, {"candidates", ARGUMENT_CANDIDATES, CANDIDATE_TEXT, true},
                   OPTION("seconds"), OPTION("resolution"), OPTION("target"), OPTION("dim")}},
    {.name = "profile", .title = "Profile a candidate on a GPU", .command = "profile", .is_long = true,
     .description = "Judge a CUDA candidate, run it under hardware counters, and explain what limits it. Needs a GPU.",
     .arguments = {PROBLEM, {"candidate", ARGUMENT_CANDIDATE, CANDIDATE_TEXT, false}, OPTION("target"), OPTION("dim")}},
    {.name = "diagnose", .title = "Explain a profile", .command = "diagnose",
     .description = "Explain what limits the kernels of a profile that another program left: CSV of ncu, a .ncu-rep report, SQLite of nsys, a cubin. Needs no GPU.",
     .arguments = {{"files", ARGUMENT_FILES, "paths of profiles and cubins", true}, OPTION("target"), OPTION("top")}},
    {.name = "optimize", .title = "Search for a faster kernel", .command = "optimize", .fixed = {"--events"}, .answer = ANSWER_EVENTS,
     .is_long = true, .is_writer = true, .seconds = 40,
     .description = "Search for the fastest correct kernel: races and judges kernel blocks, confirms the champion on fresh data, stores every step. Takes `seconds` (40 by default, since many clients give up after 60; ask for more where yours waits) and tells its progress. When it is cancelled, `resume` goes on. No model is asked and nothing is charged.",
     .arguments = {{"problem", ARGUMENT_FILE, "path of a .hone file with the problem; not with resume", false},
                   {"resume", ARGUMENT_RESUME, "go on with this run instead", false},
                   {"start", ARGUMENT_OPTION_FILE, NULL, false}, OPTION("seconds"), OPTION("evals"), OPTION("until"),
                   OPTION("target"), OPTION("dim"), OPTION("seed")}},
    {.name = "runs", .title = "List runs", .command = "runs",
     .description = "The optimisations that are stored here, newest first, a line each.",
     .arguments = {{0}}},
    {.name = "show", .title = "Show a run or a node", .command = "show",
     .description = "A run's tree of candidates with verdicts and times, or one node: kernel, verdict, time, findings, and with `source` its text.",
     .arguments = {{"name", ARGUMENT_NAME, "a run (3, last) or a node of one (3.7); the newest run without it", false}, OPTION("source")}},
    {.name = "findings", .title = "Why is a node not faster?", .command = "show", .fixed = {"--json"}, .answer = ANSWER_FINDINGS,
     .description = "What limits a node of a run, ranked: evidence, what to do, what that is worth at most.",
     .arguments = {{"node", ARGUMENT_NODE, "a node of a run: RUN.NODE", true}}},
    {.name = "export", .title = "Export a champion", .command = "export", .is_writer = true,
     .description = "Write a run's champion into a directory as code that builds and checks itself without hone.",
     .arguments = {{"directory", ARGUMENT_DIRECTORY, "the directory to write; new, or with force", true},
                   {"run", ARGUMENT_RUN, "the run (3, last); the newest without it", false}, OPTION("force")}},
    {.name = "more", .title = "The rest of a long result",
     .description = "The next page of a result that was too long; the result names the cursor.",
     .arguments = {{"cursor", ARGUMENT_OPTION, "as the result has it", true}}},
    {0},
};
// clang-format on

const struct mcp_tool *mcp_tools_find(const char *name) {
    for (const struct mcp_tool *t = mcp_tools; t->name; t++)
        if (name && strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

static const struct command_options *table_of(const struct mcp_tool *t,
                                              const struct command_options *const *tables) {
    for (; t->command && *tables; tables++)
        if (strcmp((*tables)->command, t->command) == 0)
            return *tables;
    return NULL;
}

static const struct option_row *row_of(const struct command_options *table, const char *name) {
    for (const struct option_row *r = table ? table->rows : NULL; r && r->name; r++)
        if (strcmp(r->name, name) == 0)
            return r;
    return NULL;
}

// Can the result be had as a document? What prints events ends with one.
static bool has_json(const struct mcp_tool *t, const struct command_options *table) {
    return t->answer == ANSWER_OUTPUT ? row_of(table, "json") != NULL : true;
}

static json_t *option_schema(const struct option_row *r) {
    switch (r ? r->type : OPTION_STRING) {
    case OPTION_FLAG:
        return json_pack("{s:s}", "type", "boolean");
    case OPTION_INT:
        return json_pack("{s:s, s:I}", "type", "integer", "minimum", (json_int_t)r->least);
    case OPTION_NUMBER:
        return json_pack("{s:s, s:i}", "type", "number", "exclusiveMinimum", 0);
    case OPTION_STRING:
        break;
    }
    return json_pack("{s:s}", "type", "string");
}

static bool is_list(enum mcp_argument_kind kind) {
    return kind == ARGUMENT_FILES || kind == ARGUMENT_CANDIDATES;
}

static bool is_option(enum mcp_argument_kind kind) {
    return kind == ARGUMENT_OPTION || kind == ARGUMENT_OPTION_FILE ||
           kind == ARGUMENT_OPTION_CANDIDATE;
}

static json_t *argument_schema(const struct mcp_argument *p, const struct command_options *table) {
    const struct option_row *row = is_option(p->kind) ? row_of(table, p->name) : NULL;
    assert(!is_option(p->kind) || row || p->text);
    json_t *schema;
    if (is_list(p->kind))
        schema = json_pack("{s:s, s:{s:s}, s:i}", "type", "array", "items", "type", "string",
                           "minItems", p->kind == ARGUMENT_CANDIDATES ? 2 : 1);
    else
        schema = option_schema(row);
    json_object_set_new(schema, "description", json_string(p->text ? p->text : row->summary));
    return schema;
}

json_t *mcp_tool_json(const struct mcp_tool *t, const struct command_options *const *tables) {
    const struct command_options *table = table_of(t, tables);
    assert(!t->command || table);
    json_t *properties = json_object(), *required = json_array();
    for (const struct mcp_argument *p = t->arguments; p->kind; p++) {
        json_object_set_new(properties, p->name, argument_schema(p, table));
        if (p->is_required)
            json_array_append_new(required, json_string(p->name));
    }
    if (t->command && has_json(t, table))
        json_object_set_new(properties, "format",
                            json_pack("{s:s, s:[s, s], s:s}", "type", "string", "enum", "text",
                                      "json", "description",
                                      "text (the default), or the document that --json prints"));
    json_t *schema = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                               "additionalProperties", 0);
    if (json_array_size(required) > 0)
        json_object_set(schema, "required", required);
    json_decref(required);
    return json_pack("{s:s, s:s, s:s, s:o, s:{s:b, s:b, s:b}}", "name", t->name, "title", t->title,
                     "description", t->description, "inputSchema", schema, "annotations",
                     "readOnlyHint", !t->is_writer, "destructiveHint", 0, "openWorldHint", 0);
}

// A command line in the making: options first, then what has its place.
struct words {
    struct arena *a;
    const struct mcp_roots *roots;
    const char *options[40], *places[40];
    int n_options, n_places;
    bool is_full;
};

static void add(struct words *w, bool is_place, const char *word) {
    int *n = is_place ? &w->n_places : &w->n_options;
    w->is_full |= *n >= 38;
    if (!w->is_full)
        (is_place ? w->places : w->options)[(*n)++] = word;
}

// "3", "last", "3.7", "last.7".
static bool is_run_name(const char *word, bool with_node) {
    size_t len = strncmp(word, "last", 4) == 0 ? 4 : strspn(word, "0123456789");
    if (len == 0 || len > 18)
        return false;
    if (!with_node)
        return word[len] == '\0';
    size_t digits = word[len] == '.' ? strspn(word + len + 1, "0123456789") : 0;
    return digits > 0 && digits <= 9 && word[len + 1 + digits] == '\0';
}

static bool is_made(const char *word) {
    return strcmp(word, "plain") == 0 || strcmp(word, "default") == 0 ||
           strcmp(word, "library") == 0 || is_run_name(word, true);
}

// The word that stands for a text of the call on the command line; NULL: it makes no sense.
static const char *translate(struct words *w, const struct mcp_argument *p, const char *value,
                             struct error *err) {
    bool is_name = false;
    switch (p->kind) {
    case ARGUMENT_CANDIDATE:
    case ARGUMENT_CANDIDATES:
    case ARGUMENT_OPTION_CANDIDATE:
        if (is_made(value))
            return value;
        return mcp_roots_find(w->roots, w->a, value, false, err);
    case ARGUMENT_FILE:
    case ARGUMENT_FILES:
    case ARGUMENT_OPTION_FILE:
        return mcp_roots_find(w->roots, w->a, value, false, err);
    case ARGUMENT_DIRECTORY:
        return mcp_roots_find(w->roots, w->a, value, true, err);
    case ARGUMENT_RUN:
    case ARGUMENT_RESUME:
        is_name = is_run_name(value, false);
        break;
    case ARGUMENT_NODE:
        is_name = is_run_name(value, true);
        break;
    case ARGUMENT_NAME:
        is_name = is_run_name(value, false) || is_run_name(value, true);
        break;
    case ARGUMENT_OPTION:
    case ARGUMENT_NONE:
        return value;
    }
    if (is_name)
        return value;
    error_set(err, ERROR_USAGE, "%s: '%s' is not a %s", p->name, value,
              p->kind == ARGUMENT_NODE ? "node, such as 3.7" : "run, such as 3 or last");
    return NULL;
}

static bool wrong_type(const struct mcp_argument *p, const char *expected, struct error *err) {
    return error_set(err, ERROR_USAGE, "%s: expected %s", p->name, expected);
}

// --name=value, so that no value can be taken for an option.
static bool add_option(struct words *w, const struct mcp_argument *p, const struct option_row *row,
                       const json_t *value, struct error *err) {
    enum option_type type = row ? row->type : OPTION_STRING;
    if (type == OPTION_FLAG) {
        if (!json_is_boolean(value))
            return wrong_type(p, "true or false", err);
        if (json_is_true(value))
            add(w, false, arena_printf(w->a, "--%s", p->name));
        return true;
    }
    if (type == OPTION_INT && json_is_integer(value)) {
        add(w, false,
            arena_printf(w->a, "--%s=%lld", p->name, (long long)json_integer_value(value)));
        return true;
    }
    // People write a number where the command line has a text ("seconds": 5).
    if (type != OPTION_INT && json_is_number(value)) {
        add(w, false, arena_printf(w->a, "--%s=%.15g", p->name, json_number_value(value)));
        return true;
    }
    if (type == OPTION_INT || type == OPTION_NUMBER || !json_is_string(value))
        return wrong_type(p, type == OPTION_STRING ? "a text" : "a number", err);
    const char *word = translate(w, p, json_string_value(value), err);
    if (word)
        add(w, false, arena_printf(w->a, "--%s=%s", p->name, word));
    return word != NULL;
}

static bool add_list(struct words *w, const struct mcp_argument *p, const json_t *value,
                     struct error *err) {
    size_t i, least = p->kind == ARGUMENT_CANDIDATES ? 2 : 1;
    json_t *one;
    if (!json_is_array(value) || json_array_size(value) < least)
        return wrong_type(p, least == 2 ? "a list of two texts or more" : "a list of texts", err);
    json_array_foreach(value, i, one) {
        if (!json_is_string(one))
            return wrong_type(p, "a list of texts", err);
        const char *word = translate(w, p, json_string_value(one), err);
        if (!word)
            return error_wrap(err, "%s", p->name);
        add(w, true, word);
    }
    return true;
}

static bool add_argument(struct words *w, const struct mcp_argument *p,
                         const struct command_options *table, const json_t *value,
                         struct error *err) {
    if (is_list(p->kind))
        return add_list(w, p, value, err);
    if (is_option(p->kind))
        return add_option(w, p, row_of(table, p->name), value, err);
    if (!json_is_string(value))
        return wrong_type(p, "a text", err);
    const char *word = translate(w, p, json_string_value(value), err);
    if (!word)
        return false;
    if (p->kind == ARGUMENT_DIRECTORY)
        add(w, false, "-o");
    if (p->kind == ARGUMENT_RESUME)
        add(w, false, "--resume");
    add(w, p->kind != ARGUMENT_DIRECTORY, word);
    return true;
}

static bool is_known(const struct mcp_tool *t, bool with_format, const char *name,
                     struct error *err) {
    const char *names[16] = {0};
    int n = 0;
    for (const struct mcp_argument *p = t->arguments; p->kind; p++)
        names[n++] = p->name;
    if (with_format)
        names[n++] = "format";
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    const char *nearest = str_nearest(name, names);
    struct str all = {0};
    for (int i = 0; i < n; i++)
        str_printf(&all, "%s%s", i ? ", " : "", names[i]);
    error_set(err, ERROR_USAGE, "%s: there is no argument '%.40s'%s%s%s; there %s %s", t->name,
              name, nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "",
              n == 1 ? "is" : "are", n ? str_text(&all) : "none");
    str_reset(&all);
    return false;
}

static bool read_format(const json_t *arguments, bool *wants_json, struct error *err) {
    const json_t *format = json_object_get(arguments, "format");
    const char *word = json_string_value(format);
    *wants_json = word && strcmp(word, "json") == 0;
    return !format || *wants_json || (word && strcmp(word, "text") == 0) ||
           error_set(err, ERROR_USAGE, "format: text or json");
}

static bool add_arguments(struct words *w, const struct mcp_tool *t,
                          const struct command_options *table, const json_t *arguments,
                          struct error *err) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)arguments, name, value) {
        if (!is_known(t, has_json(t, table), name, err))
            return false;
    }
    for (const struct mcp_argument *p = t->arguments; p->kind; p++) {
        value = json_object_get(arguments, p->name);
        if (!value && p->is_required)
            return error_set(err, ERROR_USAGE, "%s: '%s' is missing", t->name, p->name);
        if (value && !add_argument(w, p, table, value, err))
            return false;
    }
    if (t->seconds > 0 && !json_object_get(arguments, "seconds") &&
        !json_object_get(arguments, "resume"))
        add(w, false, arena_printf(w->a, "--seconds=%g", t->seconds));
    return true;
}

bool mcp_tool_call(struct arena *a, const struct mcp_tool *t,
                   const struct command_options *const *tables, const struct mcp_roots *roots,
                   const json_t *arguments, struct mcp_call *call, struct error *err) {
    const struct command_options *table = table_of(t, tables);
    struct words w = {.a = a, .roots = roots};
    *call = (struct mcp_call){0};
    add(&w, false, t->command);
    for (int i = 0; i < 4 && t->fixed[i]; i++)
        add(&w, false, t->fixed[i]);
    if (!read_format(arguments, &call->wants_json, err) ||
        !add_arguments(&w, t, table, arguments, err))
        return false;
    if (call->wants_json && t->answer == ANSWER_OUTPUT)
        add(&w, false, "--json");
    if (w.is_full)
        return error_set(err, ERROR_USAGE, "%s: too many arguments", t->name);
    const char **argv = arena_array(a, const char *, w.n_options + w.n_places + 2);
    int n = 0;
    for (int i = 0; i < w.n_options; i++)
        argv[n++] = w.options[i];
    // No "--" between them: none of the latter begins with a dash, and to `profile` it means that a
    // program follows.
    for (int i = 0; i < w.n_places; i++)
        argv[n++] = w.places[i];
    call->argv = argv;
    return true;
}
