// A conversation for models that take text and give text: a command, a person.
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "llm/provider.h"

static void add_tools(struct str *out, const struct chat_request *q) {
    if (q->n_tools == 0)
        return;
    str_puts(out, "\n\n## Tools\n\n"
                  "To use one, answer with nothing but one JSON object, "
                  "{\"tool\": \"NAME\", \"arguments\": {...}}; you will be asked again with its "
                  "result. Otherwise answer the question itself.\n\n");
    for (int i = 0; i < q->n_tools; i++)
        str_printf(out, "- `%s`: %s Arguments: `%s`\n", q->tools[i].name, q->tools[i].description,
                   q->tools[i].schema);
}

static void add_message(struct str *out, const struct chat_message *m) {
    static const char *const heads[] = {[CHAT_USER] = "",
                                        [CHAT_ASSISTANT] = "## Your answer\n\n",
                                        [CHAT_TOOL] = "## Result of the tool\n\n"};
    str_puts(out, "\n\n");
    str_puts(out, heads[m->role]);
    str_puts(out, m->text ? m->text : "");
    for (int i = 0; i < m->n_calls; i++)
        str_printf(out, "{\"tool\": \"%s\", \"arguments\": %s}\n", m->calls[i].name,
                   m->calls[i].arguments);
}

void prompt_text(struct str *out, const struct chat_request *q) {
    str_puts(out, q->system ? q->system : "");
    add_tools(out, q);
    for (int i = 0; i < q->n_messages; i++)
        add_message(out, &q->messages[i]);
    str_puts(out, "\n");
}

// The JSON object that `text` is, alone or between the lines of one fence; NULL: it is none.
static json_t *only_object(const char *text) {
    const char *from = text + strspn(text, " \t\r\n");
    if (strncmp(from, "```", 3) == 0)
        from += strcspn(from, "\n");
    const char *end = strrchr(from, '}');
    from += strspn(from, " \t\r\n");
    if (*from != '{' || !end || strspn(end + 1, " \t\r\n`") != strlen(end + 1))
        return NULL;
    json_t *json = json_loadb(from, (size_t)(end - from + 1), 0, NULL);
    return json;
}

void prompt_read_answer(struct arena *a, const struct chat_request *q, const char *text,
                        struct chat_answer *out) {
    *out = (struct chat_answer){.text = text, .stop = CHAT_END, .usage = chat_usage_unknown()};
    json_t *json = q->n_tools > 0 ? only_object(text) : NULL;
    const char *tool = json_string_value(json_object_get(json, "tool"));
    if (tool) {
        const json_t *arguments = json_object_get(json, "arguments");
        struct chat_call *call = arena_new(a, struct chat_call);
        call->id = arena_printf(a, "call_%d", q->n_messages);
        call->name = arena_strdup(a, tool);
        call->arguments = arguments ? json_print(a, arguments) : "{}";
        out->calls = call;
        out->n_calls = 1;
        out->stop = CHAT_TOOLS;
        out->text = "";
    }
    json_decref(json);
}
