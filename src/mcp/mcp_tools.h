// The tools: a row each, over a command of ours. What an option means is said by the command's own
// table, so that `tools/list`, `--help` and docs/cli cannot differ.
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct command_options;
struct error;
struct mcp_roots;

enum mcp_argument_kind {
    ARGUMENT_NONE,              // ends the list
    ARGUMENT_FILE,              // a file that is there, in its place on the command line
    ARGUMENT_FILES,             // several
    ARGUMENT_CANDIDATE,         // a file, RUN.NODE, or a word such as plain
    ARGUMENT_CANDIDATES,        // two or more
    ARGUMENT_RUN,               // a run: "3", "last"
    ARGUMENT_NODE,              // a node of one: "3.7"
    ARGUMENT_NAME,              // either
    ARGUMENT_DIRECTORY,         // one to be made: -o
    ARGUMENT_RESUME,            // a run to go on with: --resume RUN
    ARGUMENT_OPTION,            // an option of the command, of the same name
    ARGUMENT_OPTION_FILE,       // whose value is a file
    ARGUMENT_OPTION_CANDIDATE,  // or a candidate
};

struct mcp_argument {
    const char *name;
    enum mcp_argument_kind kind;
    const char *text;  // what it is; NULL: as the command's table says
    bool is_required;
};

// What becomes of what the command prints.
enum mcp_answer {
    ANSWER_OUTPUT,    // it is the result
    ANSWER_EVENTS,    // it prints events; the run that the last line names is reported then
    ANSWER_FINDINGS,  // of the document hone.node/1 the findings are the result
};

struct mcp_tool {
    const char *name, *title, *description;
    const char *command;  // NULL: the server answers by itself
    const char *fixed[4];
    struct mcp_argument arguments[12];
    enum mcp_answer answer;
    bool is_long;    // measures: one at a time
    bool is_writer;  // changes files that are not a cache
    double seconds;  // of --seconds, unless it is given; 0: nothing
};

extern const struct mcp_tool mcp_tools[];  // ends with a row whose name is NULL

const struct mcp_tool *mcp_tools_find(const char *name);
// {"name", "title", "description", "inputSchema", "annotations"}
json_t *mcp_tool_json(const struct mcp_tool *t, const struct command_options *const *tables);

struct mcp_call {
    const char *const *argv;  // behind the program's own name; NULL-terminated
    bool wants_json;
};

// The command line of a call; false, with a message for the caller, when the arguments make no
// sense.
bool mcp_tool_call(struct arena *a, const struct mcp_tool *t,
                   const struct command_options *const *tables, const struct mcp_roots *roots,
                   const json_t *arguments, struct mcp_call *call, struct error *err);
