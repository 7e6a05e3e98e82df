// A line buffer and two fields; nothing is assumed of how the bytes are split.
#include "llm/sse.h"

#include <string.h>

// Empty for the next one, keeping the memory.
static void clear(struct str *s) {
    s->len = 0;
    if (s->ptr)
        s->ptr[0] = 0;
}

static void dispatch(struct sse *s) {
    bool go_on =
        !s->has_data || s->on_event(s->ctx, str_text(&s->event), str_text(&s->data), s->data.len);
    clear(&s->data);
    clear(&s->event);
    s->has_data = false;
    if (!go_on)
        s->stopped = true;
}

static void set(struct str *field, const char *value, size_t len) {
    clear(field);
    str_append(field, value, len);
}

// "name: value", where one space after the colon belongs to neither.
static void field(struct sse *s, const char *line, size_t len) {
    const char *colon = memchr(line, ':', len);
    size_t name_len = colon ? (size_t)(colon - line) : len;
    const char *value = colon ? colon + 1 : line + len;
    size_t value_len = colon ? len - name_len - 1 : 0;
    if (value_len > 0 && *value == ' ') {
        value++;
        value_len--;
    }
    struct span name = {line, name_len};
    if (span_is(name, "data")) {
        if (s->has_data)
            str_append(&s->data, "\n", 1);
        str_append(&s->data, value, value_len);
        s->has_data = true;
    } else if (span_is(name, "event")) {
        set(&s->event, value, value_len);
    }
    if (s->data.cut || s->event.cut)
        s->stopped = s->too_large = true;
}

static void end_line(struct sse *s) {
    const char *line = str_text(&s->line);
    size_t len = s->line.len;
    if (!s->begun && len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3;
        len -= 3;
    }
    s->begun = true;
    if (s->line.cut)
        s->stopped = s->too_large = true;
    else if (len == 0)
        dispatch(s);
    else if (line[0] != ':')
        field(s, line, len);
    clear(&s->line);
}

bool sse_feed(struct sse *s, const char *bytes, size_t len) {
    s->line.max = s->data.max = s->event.max = SSE_EVENT_MAX;
    const char *end = bytes + len;
    while (bytes < end && !s->stopped) {
        if (s->after_cr && *bytes == '\n')
            bytes++;
        s->after_cr = false;
        const char *from = bytes;
        while (bytes < end && *bytes != '\n' && *bytes != '\r')
            bytes++;
        if (bytes > from)
            str_append(&s->line, from, (size_t)(bytes - from));
        if (bytes == end)
            break;
        s->after_cr = *bytes++ == '\r';
        end_line(s);
    }
    return !s->stopped;
}

void sse_reset(struct sse *s) {
    str_reset(&s->line);
    str_reset(&s->data);
    str_reset(&s->event);
    *s = (struct sse){.on_event = s->on_event, .ctx = s->ctx};
}
