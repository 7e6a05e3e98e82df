#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "mcp/mcp_server.h"
#include "mcp/mcp_tools.h"
#include "scratch.h"

static const struct command_options **tables(void) {
    static const struct command_options *all[13];
    const struct command *commands[] = {&cmd_check,   &cmd_sol,      &cmd_emit,     &cmd_eval,
                                        &cmd_profile, &cmd_diagnose, &cmd_optimize, &cmd_runs,
                                        &cmd_show,    &cmd_export,   &cmd_import};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        all[i] = commands[i]->options;
    return all;
}

Test(mcp, finds_lines_however_they_are_cut) {
    const char text[] = "{\"a\":1}\n\n{}\nrest";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        struct mcp_lines l = {0};
        struct str all = {0};
        struct span line;
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            size_t left = sizeof text - 1 - at;
            mcp_lines_add(&l, text + at, left < piece ? left : piece);
            while (mcp_lines_next(&l, &line) == MCP_LINE_WHOLE)
                str_printf(&all, "<%.*s>", (int)line.len, line.ptr);
        }
        cr_assert_str_eq(str_text(&all), "<{\"a\":1}><><{}>");
        str_reset(&all);
        mcp_lines_reset(&l);
    }
}

Test(mcp, drops_a_line_that_is_too_long_and_goes_on) {
    struct mcp_lines l = {0};
    struct span line;
    static char chunk[1 << 16];
    memset(chunk, 'a', sizeof chunk);
    for (size_t n = 0; n <= 3 * (size_t)MCP_LINE_MAX; n += sizeof chunk) {
        mcp_lines_add(&l, chunk, sizeof chunk);
        cr_assert_eq(mcp_lines_next(&l, &line), MCP_LINE_NONE);
    }
    cr_assert_leq(l.text.cap, 3 * (size_t)MCP_LINE_MAX, "it is not kept");
    mcp_lines_add(&l, "\n{}\n", 4);
    cr_assert_eq(mcp_lines_next(&l, &line), MCP_LINE_TOO_LONG);
    cr_assert_eq(mcp_lines_next(&l, &line), MCP_LINE_WHOLE);
    cr_assert(span_is(line, "{}"));
    cr_assert_eq(mcp_lines_next(&l, &line), MCP_LINE_NONE);
    mcp_lines_reset(&l);
}

Test(mcp, tells_messages_from_mistakes) {
    static const struct {
        const char *text;
        enum mcp_kind kind;
        int code;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", MCP_REQUEST, 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\",\"params\":{}}", MCP_REQUEST, 0},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", MCP_NOTIFICATION, 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MCP_RESPONSE, 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", MCP_RESPONSE, 0},
        {"{", MCP_BAD, MCP_PARSE},
        {"", MCP_BAD, MCP_PARSE},
        {"{\"id\":1,\"id\":2}", MCP_BAD, MCP_PARSE},
        {"[]", MCP_BAD, MCP_INVALID},
        {"{\"id\":1,\"method\":\"ping\"}", MCP_BAD, MCP_INVALID},
        {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", MCP_BAD, MCP_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", MCP_BAD, MCP_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", MCP_BAD, MCP_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", MCP_BAD, MCP_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", MCP_BAD,
         MCP_BAD_PARAMS},
        {"{\"jsonrpc\":\"2.0\",\"id\":1}", MCP_BAD, MCP_INVALID},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mcp_message m;
        mcp_message_parse(&m, cases[i].text, strlen(cases[i].text));
        cr_expect_eq(m.kind, cases[i].kind, "%s", cases[i].text);
        cr_expect_eq(m.code, cases[i].code, "%s", cases[i].text);
        cr_expect_eq(m.why[0] != '\0', m.kind == MCP_BAD, "%s", cases[i].text);
        mcp_message_reset(&m);
    }
}

Test(mcp, refuses_deep_nesting) {
    struct str deep = {0};
    for (int i = 0; i < 10000; i++)
        str_puts(&deep, "{\"a\":");
    struct mcp_message m;
    mcp_message_parse(&m, deep.ptr, deep.len);
    cr_assert_eq(m.code, MCP_PARSE);
    mcp_message_reset(&m);
    str_reset(&deep);
}

static const char *block(const json_t *content, size_t i) {
    return json_string_value(json_object_get(json_array_get(content, i), "text"));
}

Test(mcp, long_results_come_in_pages_that_make_the_whole) {
    struct mcp_pages p = {0};
    struct str text = {0}, all = {0};
    for (int i = 0; i < 9000; i++)
        str_printf(&text, i % 7 ? "%d \xf0\x9f\x94\xa5" : "line %d\n", i);
    json_t *content = mcp_pages_content(&p, text.ptr);
    for (int n = 0;; n++) {
        cr_assert_lt(n, 20);
        cr_assert_leq(strlen(block(content, 0)), MCP_PAGE_BYTES);
        str_puts(&all, block(content, 0));
        if (json_array_size(content) < 2)
            break;
        char cursor[40];
        cr_assert_eq(sscanf(strstr(block(content, 1), "cursor \""), "cursor \"%39[^\"]", cursor),
                     1);
        json_decref(content);
        content = mcp_pages_more(&p, cursor);
        cr_assert_not_null(content, "%s", cursor);
    }
    cr_assert_str_eq(all.ptr, text.ptr);
    json_decref(content);
    static const char *const wrong[] = {
        "", "-", "1", "1-", "2-5", "0-0", "1--1", "1-99999999", "x-y", "99999999999999999999-1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_expect_null(mcp_pages_more(&p, wrong[i]), "%s", wrong[i]);
    mcp_pages_reset(&p);
    str_reset(&text);
    str_reset(&all);
}

Test(mcp, files_outside_of_the_roots_are_refused) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a);
    char path[600];
    cr_assert_eq(chdir(dir), 0);
    cr_assert_eq(mkdir("in", 0700) | mkdir("inner", 0700) | mkdir("in/a b", 0700), 0);
    cr_assert_eq(symlink("/etc", "in/out"), 0);
    struct mcp_roots r = {0};
    snprintf(path, sizeof path, "file://%s/in", dir);
    cr_assert(mcp_roots_add(&r, &a, path));
    cr_expect_not_null(mcp_roots_find(&r, &a, "a b", false, &err));
    snprintf(path, sizeof path, "file://%s/in/a%%20b", dir);
    cr_expect_not_null(mcp_roots_find(&r, &a, path, false, &err));
    cr_expect_not_null(mcp_roots_find(&r, &a, "new/one", true, &err), "%s", err.text);
    static const char *const wrong[] = {"..",          "../inner", "out/passwd",
                                        "/etc/passwd", "",         "nothing"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bool is_root = strcmp(wrong[i], "") == 0;
        cr_expect_eq(mcp_roots_find(&r, &a, wrong[i], false, &err) != NULL, is_root, "%s",
                     wrong[i]);
    }
    static const char *const wrong_new[] = {"../x", "new/../../x", "out/x", "/tmp/x"};
    for (size_t i = 0; i < sizeof wrong_new / sizeof wrong_new[0]; i++)
        cr_expect_null(mcp_roots_find(&r, &a, wrong_new[i], true, &err), "%s", wrong_new[i]);
    scratch_remove(dir);
    arena_reset(&a);
}

// The command line of a call; "" and the words of the mistake where there is none.
static const char *line(struct arena *a, const char *tool, const char *arguments) {
    struct mcp_roots r = {0};
    struct error err = {0};
    struct mcp_call call;
    struct str words = {0};
    cr_assert(mcp_roots_add(&r, a, "/"));
    json_t *json = json_parse(arguments, strlen(arguments), &err);
    cr_assert_not_null(json, "%s", err.text);
    if (mcp_tool_call(a, mcp_tools_find(tool), tables(), &r, json, &call, &err))
        for (int i = 0; call.argv[i]; i++)
            str_printf(&words, "%s%s", i ? " " : "", call.argv[i]);
    else
        str_printf(&words, "! %s", err.text);
    json_decref(json);
    return str_take(a, &words);
}

Test(mcp, a_call_becomes_a_command_line) {
    struct arena a = {0};
    static const char *const cases[][3] = {
        {"check", "{\"problem\":\"/etc/passwd\",\"dim\":\"M=4\",\"format\":\"json\"}",
         "check --dim=M=4 --json /etc/passwd"},
        {"eval",
         "{\"problem\":\"/etc/passwd\",\"candidate\":\"3.7\",\"baseline\":\"plain\",\"seconds\":5}",
         "eval --baseline=plain --seconds=5 /etc/passwd 3.7"},
        {"compare", "{\"problem\":\"/etc/passwd\",\"candidates\":[\"default\",\"/etc/group\"]}",
         "eval /etc/passwd default /etc/group"},
        {"optimize", "{\"problem\":\"/etc/passwd\"}", "optimize --events --seconds=40 /etc/passwd"},
        {"optimize", "{\"resume\":\"3\",\"seconds\":9}",
         "optimize --events --resume --seconds=9 3"},
        {"show", "{\"name\":\"last\",\"source\":false}", "show last"},
        {"export", "{\"directory\":\"/tmp/new-one\"}", "export -o /tmp/new-one"},
        {"import", "{\"file\":\"/etc/passwd\",\"output\":\"/tmp/new.hone\",\"verify\":true}",
         "import -o /tmp/new.hone --verify /etc/passwd"},
        {"findings", "{\"node\":\"3.7\"}", "show --json 3.7"},
        {"runs", "{}", "runs"},
        {"show", "{\"name\":\"--store=/x\"}",
         "! name: '--store=/x' is not a run, such as 3 or last"},
        {"findings", "{\"node\":\"3\"}", "! node: '3' is not a node, such as 3.7"},
        {"findings", "{}", "! findings: 'node' is missing"},
        {"check", "{\"problem\":7}", "! problem: expected a text"},
        {"check", "{\"problem\":\"/etc/passwd\",\"verbose\":1}",
         "! verbose: expected true or false"},
        {"check", "{\"problem\":\"/etc/passwd\",\"format\":\"xml\"}", "! format: text or json"},
        {"emit", "{\"problem\":\"/etc/passwd\",\"json\":true}",
         "! emit: there is no argument 'json'; there are problem, kernel, target, plain, dim"},
        {"check", "{\"file\":\"/etc/passwd\"}",
         "! check: there is no argument 'file'; there are problem, dim, verbose, format"},
        {"check", "{\"problm\":\"/etc/passwd\"}",
         "! check: there is no argument 'problm' (did you mean 'problem'?); there are problem, "
         "dim, "
         "verbose, format"},
        {"compare", "{\"problem\":\"/etc/passwd\",\"candidates\":[\"plain\"]}",
         "! candidates: expected a list of two texts or more"},
        {"optimize", "{\"problem\":\"/etc/passwd\",\"evals\":\"9\"}", "! evals: expected a number"},
        {"optimize", "{\"problem\":\"/etc/passwd\",\"llm\":\"x:y\"}",
         "! optimize: there is no argument 'llm'; there are problem, resume, start, seconds, "
         "evals, "
         "until, target, dim, seed, format"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_str_eq(line(&a, cases[i][0], cases[i][1]), cases[i][2]);
    arena_reset(&a);
}

Test(mcp, every_tool_has_a_schema_from_its_command) {
    for (const struct mcp_tool *t = mcp_tools; t->name; t++) {
        json_t *json = mcp_tool_json(t, tables()), *one;
        const char *name;
        json_t *properties = json_object_get(json_object_get(json, "inputSchema"), "properties");
        cr_expect_not_null(properties, "%s", t->name);
        json_object_foreach(properties, name, one) {
            cr_expect(json_is_string(json_object_get(one, "type")), "%s %s", t->name, name);
            cr_expect(json_is_string(json_object_get(one, "description")), "%s %s", t->name, name);
        }
        json_decref(json);
    }
}

// What the server answers to a line, without its children.
static const char *answer(struct mcp_server *s, const char *text) {
    struct mcp_message m;
    s->unsent.len = 0;
    mcp_message_parse(&m, text, strlen(text));
    mcp_take(s, &m);
    mcp_message_reset(&m);
    return s->unsent.len ? s->unsent.ptr : "";
}

#define MODERN_META                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"%s\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{%s}}"

Test(mcp, both_eras_are_served_and_order_is_kept) {
    struct mcp_server s = {.tables = tables()};
    char text[600];
    cr_assert(mcp_roots_add(&s.roots, &s.a, "/"));
    cr_expect(
        strstr(answer(&s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"), "-32600"));
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" MODERN_META
             "}}",
             "2026-07-28", "");
    cr_expect(strstr(answer(&s, text), "\"resultType\":\"complete\""));
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" MODERN_META
             "}}",
             "2027-01-01", "");
    cr_expect(strstr(answer(&s, text), "\"code\":-32022"));
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
             "call\",\"params\":{\"name\":\"runs\"," MODERN_META "}}",
             "2026-07-28", "\"roots\":{}");
    cr_expect(strstr(answer(&s, text), "\"input_required\""), "the roots come with the call");
    const char *first = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                        "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"roots\":{}}}}";
    cr_expect(strstr(answer(&s, first), "\"protocolVersion\":\"2025-06-18\""));
    cr_expect(strstr(answer(&s, first), "-32600"), "once only");
    cr_expect(strstr(answer(&s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
                     "roots/list"));
    answer(&s, "{\"jsonrpc\":\"2.0\",\"id\":\"hone-roots\",\"result\":{\"roots\":[{\"uri\":\"file:/"
               "//etc\"}]}}");
    cr_expect_str_eq(s.roots.paths[0], "/etc");
    cr_expect(!strstr(answer(&s, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}"),
                      "resultType"));
    cr_expect(
        strstr(answer(&s, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/read\",\"params\":"
                          "{\"uri\":\"hone://docs/language\"}}"),
               "text/markdown"));
    cr_expect(
        strstr(answer(&s, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/read\",\"params\":"
                          "{\"uri\":\"hone://run/x/tree\"}}"),
               "-32002"));
    cr_expect_str_eq(
        answer(&s, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/read\",\"params\":"
                   "{\"uri\":\"hone://run/3/node/4\"}}"),
        "");
    cr_expect_eq(s.n_jobs, 1);
    cr_expect(
        strstr(answer(&s, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":"
                          "{\"name\":\"runs\"}}"),
               "under way"));
    answer(&s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
               "cancelled\",\"params\":{\"requestId\":3}}");
    cr_expect_eq(s.n_jobs, 0);
    mcp_server_reset(&s);
}

Test(mcp, an_event_is_said_in_a_line) {
    static const char *const cases[][2] = {
        {"{\"event\":\"note\",\"words\":\"  caches\",\"run\":null}", "caches"},
        {"{\"event\":\"evaluated\",\"node\":{\"number\":3,\"verdict\":\"ok\",\"speedup\":{\"over\":"
         "\"default\",\"value\":1.5}},\"best\":3,\"best_s\":0.002,\"reach_s\":0.001}",
         "evaluated node 3: ok, 1.50x over default; best 2 ms by node 3, 50% of reach"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct error err = {0};
        char text[256] = "";
        json_t *event = json_parse(cases[i][0], strlen(cases[i][0]), &err);
        mcp_event_text(event, text, sizeof text);
        cr_expect_str_eq(text, cases[i][1]);
        json_decref(event);
    }
}
