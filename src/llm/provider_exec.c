// exec:COMMAND: any program that reads a question and writes an answer; a coding agent's
// command line, say. No shell: the command is words, quoted as a shell would have them.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/process.h"
#include "llm/provider.h"

enum { WORDS_MAX = 64, OUTPUT_MAX = 4 << 20 };

struct command {
    struct arena a;
    const char *argv[WORDS_MAX + 1];
    int n_words;
};

// One word from *at, with '...', "..." and \x as in a shell; NULL: no closing quote.
static const char *next_word(struct arena *a, const char **at) {
    struct str word = {0};
    char quote = '\0';
    const char *c = *at;
    for (; *c && (quote || !strchr(" \t\n", *c)); c++) {
        if (!quote && (*c == '\'' || *c == '"'))
            quote = *c;
        else if (quote && *c == quote)
            quote = '\0';
        else if (*c == '\\' && quote != '\'' && c[1])
            str_append(&word, ++c, 1);
        else
            str_append(&word, c, 1);
    }
    *at = c;
    const char *text = str_take(a, &word);
    return quote ? NULL : text;
}

static bool split(struct command *c, const char *text, struct error *err) {
    for (const char *at = text; *(at += strspn(at, " \t\n"));) {
        if (c->n_words == WORDS_MAX)
            return error_set(err, ERROR_USAGE, "exec: a command of more than %d words", WORDS_MAX);
        const char *word = next_word(&c->a, &at);
        if (!word)
            return error_set(err, ERROR_USAGE, "exec: a quote is not closed in '%s'", text);
        c->argv[c->n_words++] = word;
    }
    return c->n_words > 0 || error_set(err, ERROR_USAGE, "expected exec:COMMAND");
}

static bool open_exec(struct llm *l, const char *rest, struct error *err) {
    struct command *c = calloc(1, sizeof *c);
    l->state = c;
    l->place = strdup(rest);
    if (!split(c, rest, err))
        return false;
    const char *program = file_find_program(&c->a, c->argv[0]);
    if (!program)
        return error_set(err, ERROR_UNSUPPORTED, "exec: there is no program '%s'", c->argv[0]);
    c->argv[0] = program;
    return true;
}

static void close_exec(struct llm *l) {
    struct command *c = l->state;
    if (c)
        arena_reset(&c->a);
    free(c);
}

static struct attempt attempt(struct llm *l, struct arena *a, const struct chat_request *q,
                              struct chat_answer *out) {
    struct command *c = l->state;
    struct str prompt = {0};
    prompt_text(&prompt, q);
    struct process_spec spec = {
        .argv = c->argv,
        .input = str_text(&prompt),
        .input_len = prompt.len,
        .keep_environment = true,  // its own key and settings are there
        .timeout_ns = (int64_t)(l->deadline_s * 1e9),
        .max_output = OUTPUT_MAX,
        .ends_when_cut = true,
    };
    struct process_result result;
    struct error err = {0};
    bool ran = process_run(a, &spec, &result, &err);
    str_reset(&prompt);
    if (!ran)
        return attempt_set(ATTEMPT_FAILED, err.kind, "%.400s", err.text);
    if (result.was_cut)
        return attempt_set(ATTEMPT_FAILED, ERROR_IO, "%s: its answer is longer than %d MiB",
                           c->argv[0], OUTPUT_MAX >> 20);
    if (result.timed_out)
        return attempt_set(ATTEMPT_LATER, ERROR_TIMEOUT, "%s: no answer within %.0f s", c->argv[0],
                           l->deadline_s);
    if (result.signal)
        return attempt_set(ATTEMPT_LATER, ERROR_IO, "%s: ended by signal %d", c->argv[0],
                           result.signal);
    if (result.exit_status != 0)
        return attempt_set(ATTEMPT_LATER, ERROR_IO, "%s: exit status %d: %.*s", c->argv[0],
                           result.exit_status, (int)strcspn(result.err, "\n"), result.err);
    prompt_read_answer(a, q, result.out, out);
    return attempt_answered();
}

const struct provider provider_exec = {
    .name = "exec",
    .usage = "exec:COMMAND",
    .open = open_exec,
    .attempt = attempt,
    .close = close_exec,
};
