// One look at the words behind the stage's name: how many arrows, how many words before the first.
#include "record/move_kind.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static const char ARROW[] = " -> ";

// The product of `64x64x256`.
static double size_of(const char *text) {
    double size = 1;
    for (char *end; isdigit((unsigned char)*text); text = *end == 'x' ? end + 1 : end)
        size *= (double)strtol(text, &end, 10);
    return size;
}

static int count_words(const char *text, size_t len) {
    int n = len > 0;
    for (size_t i = 0; i < len; i++)
        n += text[i] == ' ';
    return n;
}

// "KNOB OLD -> NEW, ..." or "FAMILY -> FAMILY as EMITTER".
static const char *kind_of_change(struct arena *a, const char *text, const char *arrow) {
    const char *now = arrow + sizeof ARROW - 1, *old = strchr(text, ' ') + 1;
    const char *to = arena_strndup(a, now, strcspn(now, ","));
    if (count_words(text, (size_t)(arrow - text)) != 2)
        return arena_printf(a, "emitter %s", to);
    const char *knob = arena_strndup(a, text, strcspn(text, " "));
    if (!isdigit((unsigned char)*old) || !isdigit((unsigned char)*to))
        return arena_printf(a, "%s %s", knob, to);
    return arena_printf(a, "%s %s", knob, size_of(to) > size_of(old) ? "up" : "down");
}

const char *move_kind(struct arena *a, const char *words) {
    if (!words)
        return NULL;
    if (strncmp(words, "merge ", 6) == 0 && strstr(words, " into "))
        return "merge";
    if (strncmp(words, "split ", 6) == 0 && strstr(words, " at "))
        return "split";
    if (strncmp(words, "lay out ", 8) == 0 && strstr(words, " for "))
        return "layout";
    if (strncmp(words, "cross with ", 11) == 0)
        return "cross";
    const char *colon = strstr(words, ": ");
    if (!colon || colon == words || memchr(words, ' ', (size_t)(colon - words)))
        return NULL;
    const char *text = colon + 2, *arrow = strstr(text, ARROW);
    if (strncmp(text, "as ", 3) == 0)
        return arena_printf(a, "emitter %s", arena_strndup(a, text + 3, strcspn(text + 3, ",")));
    if (!arrow || arrow == text)
        return NULL;
    if (strstr(arrow + 1, ARROW))
        return "several";
    return kind_of_change(a, text, arrow);
}
