// ask:DIR: a person or an agent is the model. Each question is a file that says how it is
// called and where its answer goes; questions appear whole, by a rename. Who is killed while
// waiting and asks the same again finds the same question, and the answer if it has come.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/temporary.h"
#include "llm/provider.h"

enum { ANSWER_MAX = 4 << 20, LOOK_MS = 50, NAMES_MAX = 1000 };

static bool open_ask(struct llm *l, const char *rest, struct error *err) {
    struct stat st;
    l->place = strdup(rest);
    if (stat(rest, &st) == 0 && !S_ISDIR(st.st_mode))
        return error_set(err, ERROR_USAGE, "ask: %s is not a folder", rest);
    if (!file_make_dirs(rest, err))
        return error_wrap(err, "ask");
    temporary_remove_dead(rest);
    return true;
}

static const char *question_text(struct arena *a, const struct chat_request *q, const char *name) {
    struct str text = {0};
    str_printf(&text,
               "# Question %s\n\n"
               "Answer in this folder, in a file called\n\n    %s.answer.md\n\n"
               "with nothing but the answer in it. It is read once it has stopped growing; best "
               "write it\nunder another name and rename it. Everything below the line is the "
               "question.\n\n---\n\n",
               name, name);
    prompt_text(&text, q);
    return str_take(a, &text);
}

// Put the question there, unless this very question is there already. A name that is taken by
// another question (of a store that is gone) gets a number behind it.
static bool put_question(struct llm *l, struct arena *a, const struct chat_request *q,
                         const char **name, struct error *err) {
    for (int i = 1; i < NAMES_MAX; i++) {
        *name = i == 1 ? q->tag : arena_printf(a, "%s-%d", q->tag, i);
        const char *path = arena_printf(a, "%s/%s.md", l->place, *name);
        const char *text = question_text(a, q, *name);
        struct error ignored = {0};
        if (!file_exists(path))
            return file_write(path, text, strlen(text), err);
        const char *there = file_read(a, path, ANSWER_MAX, NULL, &ignored);
        if (there && strcmp(there, text) == 0)
            return true;
    }
    return error_set(err, ERROR_IO, "too many questions are called %s", q->tag);
}

static void look_again_later(void) {
    struct timespec ts = {.tv_nsec = LOOK_MS * 1000 * 1000};
    nanosleep(&ts, NULL);
}

static bool is_settled(const struct stat *now, const struct stat *before) {
    return now->st_size > 0 && now->st_size == before->st_size &&
           now->st_mtim.tv_sec == before->st_mtim.tv_sec &&
           now->st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

// Until the answer is there and has stopped growing. False: `t` says why not.
static bool await(struct llm *l, const char *path, struct attempt *t) {
    struct stat st, before = {0};
    int64_t start_ns = clock_now_ns();
    for (;;) {
        if (stat(path, &st) == 0) {
            if (is_settled(&st, &before))
                return true;
            before = st;
        } else if (stat(l->place, &st) != 0) {
            *t = attempt_set(ATTEMPT_FAILED, ERROR_UNSUPPORTED, "the folder %s is gone: %s",
                             l->place, strerror(errno));
            return false;
        }
        if (interrupt_seen()) {
            *t = attempt_set(ATTEMPT_FAILED, ERROR_INTERRUPTED, "interrupted");
            return false;
        }
        if ((double)(clock_now_ns() - start_ns) / 1e9 > l->deadline_s) {
            *t = attempt_set(ATTEMPT_FAILED, ERROR_TIMEOUT, "no answer came in time");
            return false;
        }
        look_again_later();
    }
}

static struct attempt attempt(struct llm *l, struct arena *a, const struct chat_request *q,
                              struct chat_answer *out) {
    struct error err = {0};
    struct attempt t;
    const char *name;
    struct stat st;
    if (stat(l->place, &st) != 0)
        return attempt_set(ATTEMPT_FAILED, ERROR_UNSUPPORTED, "the folder %s is gone: %s", l->place,
                           strerror(errno));
    if (!put_question(l, a, q, &name, &err))
        return attempt_set(ATTEMPT_FAILED, ERROR_UNSUPPORTED, "%.400s", err.text);
    const char *path = arena_printf(a, "%s/%s.answer.md", l->place, name);
    if (l->settings.on_note && !file_exists(path))
        l->settings.on_note(
            l->settings.note_ctx,
            arena_printf(a, "asked in %s/%s.md; waiting for %s.answer.md", l->place, name, name));
    if (!await(l, path, &t))
        return t;
    size_t len;
    char *text = file_read(a, path, ANSWER_MAX, &len, &err);
    if (!text)
        return attempt_set(ATTEMPT_FAILED, ERROR_USAGE, "%.400s", err.text);
    str_clean(text, len);
    prompt_read_answer(a, q, text, out);
    return attempt_answered();
}

const struct provider provider_ask = {
    .name = "ask",
    .usage = "ask:DIR",
    .is_patient = true,
    .open = open_ask,
    .attempt = attempt,
};
