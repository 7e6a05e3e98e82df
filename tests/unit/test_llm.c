#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "llm/budget.h"
#include "llm/llm.h"
#include "llm/prices.h"
#include "llm/secret.h"
#include "llm/sse.h"
#include "record/exchange.h"

static struct arena a;
static struct error err;

// ---- events

struct seen {
    struct str text;
    int stop_after;
    int n;
};

static bool note_event(void *ctx, const char *event, const char *data, size_t len) {
    struct seen *s = ctx;
    str_printf(&s->text, "[%s|%.*s]", event, (int)len, data);
    return ++s->n != s->stop_after;
}

static const char *events_of(const char *stream, size_t piece) {
    struct seen seen = {0};
    struct sse s = {.on_event = note_event, .ctx = &seen};
    for (size_t at = 0, len = strlen(stream); at < len; at += piece)
        sse_feed(&s, stream + at, len - at < piece ? len - at : piece);
    sse_reset(&s);
    return str_take(&a, &seen.text);
}

Test(sse, joins_what_was_cut_anywhere) {
    static const struct {
        const char *stream, *events;
    } rows[] = {
        {"data: a\n\n", "[|a]"},
        {"event: x\ndata: a\ndata: b\n\n", "[x|a\nb]"},
        {"event: x\ndata: a\n\ndata: b\n\n", "[x|a][|b]"},
        {"data: a\r\n\r\ndata: b\r\rdata: c\n\n", "[|a][|b][|c]"},
        {": comment\n\nid: 7\nretry: 1\ndata:a\ndata\n\n", "[|a\n]"},
        {"event: lonely\n\ndata:  two\n\n", "[| two]"},
        {"\xef\xbb\xbf"
         "data: a\n\n",
         "[|a]"},
        {"data: unfinished", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t piece = 1; piece < 12; piece++)
            cr_expect_str_eq(events_of(rows[i].stream, piece), rows[i].events);
}

Test(sse, stops_when_told_and_when_too_large) {
    struct seen seen = {.stop_after = 1};
    struct sse s = {.on_event = note_event, .ctx = &seen};
    cr_expect(!sse_feed(&s, "data: a\n\ndata: b\n\n", 18));
    cr_expect_eq(seen.n, 1);
    cr_expect(!s.too_large);
    sse_reset(&s);
    str_reset(&seen.text);
    char *line = malloc(SSE_EVENT_MAX + 16);
    memset(line, 'x', SSE_EVENT_MAX + 16);
    memcpy(line, "data: ", 6);
    cr_expect(sse_feed(&s, line, SSE_EVENT_MAX + 16));
    cr_expect(!sse_feed(&s, "\n", 1));
    cr_expect(s.too_large);
    sse_reset(&s);
    free(line);
}

// ---- keys

static const char *key_file(const char *text, mode_t mode) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/hone-key-XXXXXX");
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    fchmod(fd, mode);
    close(fd);
    return path;
}

Test(secret, comes_from_a_variable_or_a_private_file) {
    struct secrets s;
    struct rlimit core;
    getrlimit(RLIMIT_CORE, &core);
    core.rlim_cur = core.rlim_max;
    setrlimit(RLIMIT_CORE, &core);
    setenv("ANTHROPIC_API_KEY", "sk-variable-1", 1);
    cr_assert(secrets_read(&s, "ANTHROPIC_API_KEY", NULL, &err), "%s", err.text);
    cr_expect_str_eq(s.key, "sk-variable-1");
    cr_expect_str_eq(s.origin, "ANTHROPIC_API_KEY");
    cr_expect(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0, "it would be in a core");
    const char *path = key_file("sk-file-12345\n", 0600);
    cr_assert(secrets_read(&s, "ANTHROPIC_API_KEY", path, &err), "%s", err.text);
    cr_expect_str_eq(s.key, "sk-file-12345");
    unlink(path);
    path = key_file("sk-file-12345\n", 0640);
    cr_expect(!secrets_read(&s, NULL, path, &err));
    cr_expect_eq(err.kind, ERROR_USAGE);
    unlink(path);
    path = key_file("", 0600);
    cr_expect(!secrets_read(&s, NULL, path, &err));
    unlink(path);
    cr_expect(!secrets_read(&s, NULL, path, &err), "a file that is gone");
    unsetenv("ANTHROPIC_API_KEY");
    cr_expect(secrets_read(&s, "ANTHROPIC_API_KEY", "", &err));
    cr_expect_str_eq(s.key, "");
}

Test(secret, refuses_what_would_break_a_header) {
    struct secrets s;
    setenv("OPENAI_API_KEY", "sk-a\r\nx-evil: 1", 1);
    cr_expect(!secrets_read(&s, "OPENAI_API_KEY", NULL, &err));
    cr_expect(strstr(err.text, "evil") == NULL, "the key is in the message");
}

Test(secret, is_taken_out_of_texts) {
    struct secrets s;
    setenv("ANTHROPIC_API_KEY", "sk-secret-1", 1);
    setenv("OPENAI_API_KEY", "sk-other-22", 1);
    setenv("HONE_LLM_KEY", "short", 1);
    cr_assert(secrets_read(&s, "ANTHROPIC_API_KEY", NULL, &err));
    char text[] = "a sk-secret-1sk-secret-1 b sk-other-22 short sk-secret";
    secrets_strip(&s, text);
    cr_expect_str_eq(text, "a ********************** b *********** short sk-secret");
    secrets_strip(&s, NULL);
    secrets_wipe(&s);
    cr_expect_str_eq(s.key, "");
}

// ---- a command as the model

static struct llm *open_llm(const char *spec) {
    struct llm *l = NULL;
    struct llm_settings settings = {.spec = spec, .n_retries = 1, .backoff_s = 0.001};
    cr_assert(llm_open(&l, &settings, &err), "%s", err.text);
    return l;
}

static const struct chat_tool tool = {
    .name = "sol", .description = "The bound.", .schema = "{\"type\": \"object\"}"};
static const struct chat_message question = {.role = CHAT_USER, .text = "what?"};
static const struct chat_request request = {.tag = "run1-node001-0-plan",
                                            .system = "be brief",
                                            .messages = &question,
                                            .n_messages = 1,
                                            .tools = &tool,
                                            .n_tools = 1,
                                            .max_tokens = 100};

Test(llm, a_command_reads_the_question_and_writes_the_answer) {
    struct llm *l = open_llm("exec:cat");
    struct chat_answer answer;
    cr_assert(llm_call(l, &a, &request, &answer, &err), "%s", err.text);
    cr_expect(strstr(answer.text, "be brief") && strstr(answer.text, "what?"));
    cr_expect(strstr(answer.text, "`sol`: The bound."));
    cr_expect_eq(answer.usage.out, -1, "nobody counted");
    cr_expect_eq(answer.stop, CHAT_END);
    llm_close(l);
}

Test(llm, a_tool_call_may_come_as_text) {
    static const struct {
        const char *spec, *name, *arguments;
    } rows[] = {
        {"exec:echo '{\"tool\": \"sol\", \"arguments\": {\"n\": 1}}'", "sol", "{\"n\":1}"},
        {"exec:printf '```json\\n{\"tool\": \"sol\"}\\n```\\n'", "sol", "{}"},
        {"exec:echo '{\"tool\": 7}'", NULL, NULL},
        {"exec:echo 'I would call {\"tool\": \"sol\"}'", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct llm *l = open_llm(rows[i].spec);
        struct chat_answer answer;
        cr_assert(llm_call(l, &a, &request, &answer, &err), "%s", err.text);
        cr_assert_eq(answer.n_calls, rows[i].name != NULL, "row %zu", i);
        if (rows[i].name) {
            cr_expect_str_eq(answer.calls[0].name, rows[i].name);
            cr_expect_str_eq(answer.calls[0].arguments, rows[i].arguments);
            cr_expect_eq(answer.stop, CHAT_TOOLS);
        }
        llm_close(l);
    }
}

Test(llm, a_key_that_a_command_prints_is_struck_out) {
    setenv("OPENAI_API_KEY", "sk-canary-99", 1);
    struct llm *l = open_llm("exec:printenv OPENAI_API_KEY");
    struct chat_answer answer;
    cr_assert(llm_call(l, &a, &request, &answer, &err), "%s", err.text);
    cr_expect_str_eq(answer.text, "************\n");
    llm_close(l);
}

// ---- a folder as the model

Test(llm, a_question_waits_in_its_folder_for_the_answer) {
    char dir[] = "/tmp/hone-ask-XXXXXX";
    cr_assert(mkdtemp(dir));
    const char *answer_path = arena_printf(&a, "%s/run1-node001-0-plan.answer.md", dir);
    cr_assert(file_write(answer_path, "forty-two", 9, &err));
    struct llm *l = open_llm(arena_printf(&a, "ask:%s", dir));
    struct chat_answer answer;
    cr_assert(llm_call(l, &a, &request, &answer, &err), "%s", err.text);
    cr_expect_str_eq(answer.text, "forty-two");
    const char *asked =
        file_read(&a, arena_printf(&a, "%s/run1-node001-0-plan.md", dir), 100000, NULL, &err);
    cr_assert(asked, "%s", err.text);
    cr_expect(strstr(asked, "run1-node001-0-plan.answer.md") && strstr(asked, "what?"));
    // The same question again, after a kill say: the same file, the same answer.
    cr_assert(llm_call(l, &a, &request, &answer, &err), "%s", err.text);
    cr_expect(!file_exists(arena_printf(&a, "%s/run1-node001-0-plan-2.md", dir)));
    // Another question of the same name is not confused with it.
    struct chat_request other = request;
    other.system = "be long";
    other.timeout_s = 0.01;
    cr_expect(!llm_call(l, &a, &other, &answer, &err));
    cr_expect_eq(err.kind, ERROR_TIMEOUT);
    cr_expect(file_exists(arena_printf(&a, "%s/run1-node001-0-plan-2.md", dir)));
    cr_assert(file_remove_tree(dir, &err));
    cr_expect(!llm_call(l, &a, &request, &answer, &err), "the folder is gone");
    cr_expect_eq(err.kind, ERROR_UNSUPPORTED);
    llm_close(l);
}

// ---- records

Test(exchange, survives_its_json) {
    static const struct chat_call call = {"id1", "sol", "{\"a\": 1}"};
    struct exchange e = {
        .number = 3,
        .node = 7,
        .step = 1,
        .evals_left = 4,
        .state = EXCHANGE_ANSWERED,
        .role = "plan",
        .provider = "exec",
        .model = NULL,
        .hash = chat_request_hash(&a, &request),
        .request = request,
        .answer = {.text = "t",
                   .calls = &call,
                   .n_calls = 1,
                   .stop = CHAT_LENGTH,
                   .usage = {.in_fresh = 5,
                             .in_cache_read = -1,
                             .in_cache_write = 0,
                             .out = 2,
                             .out_reasoning = -1,
                             .n_requests = 2,
                             .wall_s = 0.5}},
        .reserved_usd = NAN,
        .cost_usd = 0.25,
        .reserved_in = 10,
        .reserved_out = 20,
    };
    json_t *json = exchange_to_json(&e);
    const char *text = json_print(&a, json);
    struct exchange back;
    cr_assert(exchange_from_json(&a, json, &back, &err), "%s", err.text);
    json_t *again = exchange_to_json(&back);
    cr_expect_str_eq(json_print(&a, again), text);
    cr_expect(isnan(back.reserved_usd) && back.answer.usage.in_cache_read == -1);
    cr_expect_str_eq(back.hash, chat_request_hash(&a, &back.request));
    cr_expect_eq(back.evals_left, 4);
    json_object_set_new(json, "state", json_string("lost"));
    cr_expect(!exchange_from_json(&a, json, &back, &err));
    json_decref(json);
    json_decref(again);
}

// ---- money

static bool price_of(const char *table, const char *model, struct price *p) {
    char path[] = "/tmp/hone-prices-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, table, strlen(table)) == (ssize_t)strlen(table));
    close(fd);
    bool ok = prices_find(&a, path, model, p, &err);
    unlink(path);
    return ok;
}

Test(prices, come_from_the_users_table_first) {
    static const char table[] = "# mine\nhouse-* 1 2 0.5 -  # tokens\nclaude-sonnet-4-5 7 8 - -\n";
    struct price p;
    cr_assert(price_of(table, "house-model", &p), "%s", err.text);
    cr_expect(p.in == 1 && p.out == 2 && p.cache_read == 0.5 && isnan(p.cache_write));
    cr_assert(price_of(table, "claude-sonnet-4-5", &p));
    cr_expect_eq(p.in, 7);
    cr_assert(price_of(table, "claude-haiku-4-5-x", &p), "ours comes after it");
    cr_expect_eq(p.out, 5);
    cr_assert(price_of(table, "nobody-knows", &p));
    cr_expect(isnan(p.in) && !p.origin);
    cr_expect_str_eq(price_text(&a, &p), "unknown");
}

Test(prices, nonsense_names_its_line) {
    static const char *const tables[] = {"m 1 2 3\n", "m 1 2 3 4 5\n", "m 1 2 -1 3\n",
                                         "m 1 2 nan 3\n", "m one 2 3 4\n"};
    struct price p;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        cr_expect(!price_of(tables[i], "other", &p), "%s", tables[i]);
        cr_expect_eq(err.kind, ERROR_USAGE);
        cr_expect(strstr(err.text, ":1: "), "%s", err.text);
    }
    cr_expect(!prices_find(&a, "/no/such/table", "m", &p, &err));
}

Test(budget, reserves_the_worst_and_settles_what_was) {
    struct budget b = {.price = {.in = 3, .out = 15, .cache_read = 0.3, .cache_write = 3.75},
                       .max_usd = 0.01};
    struct reservation r;
    cr_expect_null(budget_reserve(&b, &request, &r));
    cr_expect_eq(r.out, request.max_tokens);
    cr_expect_float_eq(r.usd, ((double)r.in * 3.75 + 100 * 15) / 1e6, 1e-12);
    struct chat_usage u = {
        .in_fresh = 1000, .in_cache_read = 1000, .in_cache_write = -1, .out = 100};
    double usd = budget_settle(&b, &r, &u);
    cr_expect_float_eq(usd, 0.003 + 0.0003 + 0.0015, 1e-12);
    cr_expect(b.in == 2000 && b.in_cached == 1000 && b.out == 100 && b.n_uncounted == 0);
    u.in_fresh = 2500;
    budget_settle(&b, &r, &u);
    cr_expect_str_eq(budget_reserve(&b, &request, &r), "money");
}

Test(budget, what_is_not_known_is_not_nothing) {
    struct budget b = {.price = price_unknown(), .max_usd = 0.000001, .max_tokens = 1000};
    struct reservation r;
    struct chat_usage u = chat_usage_unknown();
    cr_expect_null(budget_reserve(&b, &request, &r), "no price, no money to watch");
    double usd = budget_settle(&b, &r, &u);
    cr_expect(isnan(usd));
    cr_expect(b.n_unpriced == 1 && b.n_uncounted == 1 && b.usd == 0);
    cr_expect_eq(b.in + b.out, r.in + r.out, "our estimate stands in");
    for (int i = 0; i < 10; i++)
        budget_settle(&b, &r, &u);
    cr_expect_str_eq(budget_reserve(&b, &request, &r), "tokens");
    b.max_calls = 11;
    cr_expect_str_eq(budget_reserve(&b, &request, &r), "calls");
    struct budget counted = {.price = {.in = 1, .out = NAN, .cache_read = NAN, .cache_write = NAN}};
    struct chat_usage some = {.in_fresh = 5, .in_cache_read = 0, .in_cache_write = 0, .out = 5};
    cr_expect(isnan(price_cost(&counted.price, &some)));
    some.out = 0;
    cr_expect_float_eq(price_cost(&counted.price, &some), 5e-6, 1e-15);
}
