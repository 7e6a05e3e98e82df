// Prompts: what a person asks for by name in the client, in the words that make a model use the
// tools in a good order.
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "mcp/mcp_server.h"

struct row {
    const char *name, *title, *description;
    const char *argument, *meaning;  // the one that it takes
    const char *before, *after;      // the text, around the argument
};

static const struct row rows[] = {
    {"optimize", "Optimise a problem", "Find the fastest correct kernel for a problem", "problem",
     "path of the .hone file", "Make the fastest correct kernel for the problem in ",
     ".\n\n"
     "1. `check` it, then `sol`: what bounds it, and what is the reach?\n"
     "2. `optimize` it. The report says how far from reach the champion is, and what still limits "
     "it.\n"
     "3. If it is below 0.9 of reach, read `findings` of the champion, write a kernel block or a "
     "source file of your own next to the problem (`emit` and `show` with source give one to "
     "start from; the resource hone://docs/families has the knobs), and `eval` it with the "
     "champion as baseline. Keep what is faster with an interval above 1; say what was not.\n"
     "4. End with the time, the speed-up with its interval and against what, the fraction of "
     "reach, and what was tried in vain. `export` the champion only if that was asked for.\n\n"
     "State only numbers that a tool gave you."},
    {"explain", "Why is a kernel slow?", "Explain what limits a node of a stored run", "node",
     "RUN.NODE, such as 3.7", "Explain why node ",
     " is not faster. Use `show` with its source, `findings`, and `sol` of its problem. Rank the "
     "causes by what they cost, give the evidence for each, and propose the one change that is "
     "worth most. State only numbers that a tool gave you."},
    {0},
};

json_t *mcp_prompts_list(void) {
    json_t *all = json_array();
    for (const struct row *r = rows; r->name; r++)
        json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:[{s:s, s:s, s:b}]}", "name",
                                             r->name, "title", r->title, "description",
                                             r->description, "arguments", "name", r->argument,
                                             "description", r->meaning, "required", 1));
    return json_pack("{s:o}", "prompts", all);
}

json_t *mcp_prompt_get(struct arena *a, const char *name, const json_t *arguments,
                       struct error *err) {
    for (const struct row *r = rows; r->name; r++) {
        if (!name || strcmp(r->name, name) != 0)
            continue;
        const char *value = mcp_text(arguments, r->argument);
        if (!value) {
            error_set(err, ERROR_USAGE, "the argument '%s' is missing", r->argument);
            return NULL;
        }
        const char *text = arena_printf(a, "%s%s%s", r->before, value, r->after);
        return json_pack("{s:s, s:[{s:s, s:{s:s, s:s}}]}", "description", r->description,
                         "messages", "role", "user", "content", "type", "text", "text", text);
    }
    error_set(err, ERROR_USAGE, "there is no prompt '%.40s'", name ? name : "");
    return NULL;
}
