// Resources: texts that the binary carries, and what is stored about runs.
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/json.h"
#include "base/str.h"
#include "mcp/mcp_server.h"

struct row {
    const char *uri;  // {run} and {node} stand for numbers, or `last`
    const char *name, *title, *type;
    const char *text;     // name of an embedded text; NULL: a command gives it
    const char *argv[4];  // "{}" is what stands for {run} or {run}.{node}
};

static const struct row rows[] = {
    {"hone://docs/language",
     "language",
     "The language of problems and kernels",
     "text/markdown",
     "language.md",
     {0}},
    {"hone://docs/families",
     "families",
     "Families of kernels and their knobs",
     "text/markdown",
     "families.md",
     {0}},
    {"hone://runs",
     "runs",
     "All runs that are stored here",
     "application/json",
     NULL,
     {"runs", "--json"}},
    {"hone://run/{run}/report",
     "report",
     "The story of a run",
     "text/plain",
     NULL,
     {"report", "{}"}},
    {"hone://run/{run}/tree",
     "tree",
     "A run's tree of candidates",
     "text/plain",
     NULL,
     {"show", "{}"}},
    {"hone://run/{run}/tree.json",
     "tree.json",
     "A run with all its nodes, hone.show/1",
     "application/json",
     NULL,
     {"show", "--json", "{}"}},
    {"hone://run/{run}/node/{node}",
     "node",
     "A node with its source",
     "text/plain",
     NULL,
     {"show", "--source", "{}"}},
    {0},
};

static bool is_template(const struct row *r) {
    return strchr(r->uri, '{') != NULL;
}

// Does `uri` have the form of a row? What stands for {run} and {node} goes to `name`, with a point
// between them.
static bool matches(const char *form, const char *uri, struct str *name) {
    while (*form && *uri) {
        if (*form != '{') {
            if (*form++ != *uri++)
                return false;
            continue;
        }
        size_t len = strncmp(uri, "last", 4) == 0 ? 4 : strspn(uri, "0123456789");
        if (len == 0 || len > 18)
            return false;
        str_printf(name, "%s%.*s", name->len ? "." : "", (int)len, uri);
        uri += len;
        form = strchr(form, '}') + 1;
    }
    return !*form && !*uri;
}

static const struct row *find(const char *uri, struct str *name) {
    for (const struct row *r = rows; r->uri; r++) {
        str_reset(name);
        if (matches(r->uri, uri, name))
            return r;
    }
    return NULL;
}

const char *const *mcp_resource_argv(struct arena *a, const char *uri) {
    struct str name = {0};
    const struct row *r = find(uri, &name);
    const char **argv = NULL;
    if (r && !r->text) {
        argv = arena_array(a, const char *, 5);
        for (int i = 0; i < 4 && r->argv[i]; i++)
            argv[i] = strcmp(r->argv[i], "{}") == 0 ? arena_strdup(a, str_text(&name)) : r->argv[i];
    }
    str_reset(&name);
    return argv;
}

const char *mcp_resource_text(const char *uri) {
    struct str name = {0};
    const struct row *r = find(uri, &name);
    str_reset(&name);
    return r && r->text ? embedded_text(r->text) : NULL;
}

const char *mcp_resource_type(const char *uri) {
    struct str name = {0};
    const struct row *r = find(uri, &name);
    str_reset(&name);
    return r ? r->type : "text/plain";
}

static json_t *list(bool templates, const char *key) {
    json_t *all = json_array();
    for (const struct row *r = rows; r->uri; r++)
        if (is_template(r) == templates)
            json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s}", key, r->uri, "name",
                                                 r->name, "title", r->title, "mimeType", r->type));
    return all;
}

json_t *mcp_resources_list(void) {
    return json_pack("{s:o}", "resources", list(false, "uri"));
}

json_t *mcp_resource_templates(void) {
    return json_pack("{s:o}", "resourceTemplates", list(true, "uriTemplate"));
}
