// What a model may call while it thinks: queries, never changes, and costs no evaluation. Each
// result is bounded, and so are all of a turn's together.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "family/lower.h"
#include "family/source_plan.h"
#include "lang/lang.h"
#include "mind/team_private.h"
#include "record/plan.h"

enum { RESULT_MAX = 6000, HISTORY_MAX = 20 };

const struct chat_tool team_tools[] = {
    {"check_kernel",
     "Is this kernel block legal on this target? Gives the complete block, or the reason and the "
     "nearest legal value. Of source it checks the plan in its #pragma hone lines; nothing is "
     "compiled. Costs no evaluation.",
     "{\"type\": \"object\", \"properties\": {\"text\": {\"type\": \"string\"}}, \"required\": "
     "[\"text\"]}"},
    {"sol", "The bound of the problem on this machine: least work, limit, reach.",
     "{\"type\": \"object\", \"properties\": {}}"},
    {"findings", "What limits a node of the tree, and what it was.",
     "{\"type\": \"object\", \"properties\": {\"node\": {\"type\": \"integer\"}}, \"required\": "
     "[\"node\"]}"},
    {"history",
     "Nodes whose change, reason or kernel block holds these words, with what came of them; the "
     "newest first.",
     "{\"type\": \"object\", \"properties\": {\"query\": {\"type\": \"string\"}}, \"required\": "
     "[\"query\"]}"},
};
const int n_team_tools = sizeof team_tools / sizeof team_tools[0];

static void check_source(struct arena *a, const struct brief *b, const char *text,
                         struct str *out) {
    struct plan plan;
    struct error err = {0};
    if (!source_plan(a, b->problem, b->target, text, &plan, &err)) {
        str_puts(out, err.text);
        return;
    }
    str_puts(out, "the plan is legal; nothing was compiled:\n");
    for (int i = 0; i < plan.n_steps; i++) {
        const struct plan_step *s = &plan.steps[i];
        if (s->kind == STEP_FILL)
            str_printf(out, "fill %s\n", plan.buffers[s->fill_buffer].name);
        else
            str_printf(out, "launch %s: %lld blocks of %lld threads, %lld bytes of shared memory\n",
                       s->function, (long long)s->grid,
                       b->target->is_gpu
                           ? (long long)(s->shape.block[0] * s->shape.block[1] * s->shape.block[2])
                           : 1LL,
                       (long long)s->shape.shared_bytes);
    }
}

static void check_kernel(struct arena *a, const struct brief *b, const char *text,
                         struct str *out) {
    if (strstr(text, "#pragma hone")) {
        check_source(a, b, text, out);
        return;
    }
    struct lang_file file = {0};
    const char *diagnostics = "";
    struct error err = {0};
    struct lang_source source = {.file = "text", .text = text, .len = strlen(text)};
    if (!lang_parse(a, &source, &file, &diagnostics, &err))
        str_puts(out, *diagnostics ? diagnostics : err.text);
    else if (file.n_kernels != 1)
        str_printf(out, "expected one kernel block, found %d", file.n_kernels);
    else if (!lower_check(a, b->problem, b->target, file.kernels[0], &err))
        str_puts(out, err.text);
    else
        str_printf(out, "legal; complete:\n%s", kernel_print(a, file.kernels[0]));
}

static void put_node(struct str *out, const struct search_node *n) {
    struct arena a = {0};
    str_printf(out, "node %d (from node %d): %s", n->number, n->parent,
               n->state == NODE_EVALUATED ? verdict_kind_name(n->verdict.kind) : "not judged yet");
    if (isfinite(n->time_s))
        str_printf(out, ", %s", clock_duration(&a, n->time_s * 1e9));
    str_printf(out, "; %s\n",
               n->number == 0 ? "the default kernel"
               : n->change    ? n->change
                              : n->move);
    arena_reset(&a);
}

static void findings(const struct team_settings *s, const struct brief *b, json_int_t number,
                     struct str *out) {
    const struct search_node *n = NULL;
    for (int i = 0; i < b->all.n; i++)
        if (b->all.nodes[i]->number == number)
            n = b->all.nodes[i];
    if (!n) {
        str_printf(out, "there is no node %lld; the newest is %d", (long long)number, b->all.n - 1);
        return;
    }
    put_node(out, n);
    if (verdict_is_failure(n->verdict.kind) && n->verdict.evidence)
        str_printf(out, "%s\n", n->verdict.evidence);
    window_findings(out, s, b, n);
    if (n->candidate.kernel)
        str_puts(out, n->candidate.kernel);
}

static bool holds(const char *text, const char *query) {
    return text && strcasestr(text, query);
}

static void history(const struct brief *b, const char *query, struct str *out) {
    int n_found = 0;
    for (int i = b->all.n - 1; i >= 0 && n_found < HISTORY_MAX; i--) {
        const struct search_node *n = b->all.nodes[i];
        if (!holds(n->move, query) && !holds(n->change, query) && !holds(n->reason, query) &&
            !holds(n->candidate.kernel, query))
            continue;
        put_node(out, n);
        n_found++;
    }
    if (n_found == 0)
        str_printf(out, "nothing that was tried holds '%.100s'", query);
}

// Whom a call is for: how much it is told, and of what.
struct caller {
    const struct team_settings *settings;
    const struct brief *brief;
};

static void run(struct arena *a, const struct caller *who, const struct chat_call *c,
                const json_t *arguments, struct str *out) {
    const struct brief *b = who->brief;
    const char *text = json_string_value(json_object_get(arguments, "text"));
    const char *query = json_string_value(json_object_get(arguments, "query"));
    const json_t *node = json_object_get(arguments, "node");
    if (strcmp(c->name, "sol") == 0)
        str_puts(out, window_bound(a, b));
    else if (strcmp(c->name, "check_kernel") == 0 && text)
        check_kernel(a, b, text, out);
    else if (strcmp(c->name, "findings") == 0 && json_is_integer(node))
        findings(who->settings, b, json_integer_value(node), out);
    else if (strcmp(c->name, "history") == 0 && query)
        history(b, query, out);
    else if (strcmp(c->name, "check_kernel") == 0 || strcmp(c->name, "findings") == 0 ||
             strcmp(c->name, "history") == 0)
        str_printf(out, "%s lacks its argument; see its schema", c->name);
    else
        str_printf(out,
                   "there is no tool '%.60s'; there are check_kernel, sol, findings and history",
                   c->name);
}

const char *tool_result(struct arena *a, const struct team_settings *s, const struct brief *b,
                        const struct chat_call *c) {
    struct caller who = {s, b};
    struct str out = {.max = RESULT_MAX};
    const char *text = *c->arguments ? c->arguments : "{}";
    json_error_t where;
    json_t *arguments = json_loads(text, 0, &where);
    if (!json_is_object(arguments))
        str_printf(&out, "the arguments are no JSON object: %s", where.text);
    else
        run(a, &who, c, arguments, &out);
    json_decref(arguments);
    if (out.len > 0)
        str_clean(out.ptr, out.len);
    bool was_cut = out.cut;
    const char *result = str_take(a, &out);
    return was_cut ? arena_printf(a, "%s\n(cut here)", result) : result;
}
