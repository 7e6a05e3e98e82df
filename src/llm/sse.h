// Server-sent events, parsed as the bytes come: split anywhere, lines ended by LF, CRLF or CR,
// several `data:` lines of one event joined by a newline, comments and unknown fields dropped.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum { SSE_EVENT_MAX = 8 << 20 };  // bytes of one event

// Called for each event that has data; `event` is "" when the server did not name it. False
// ends the parsing.
typedef bool (*sse_fn)(void *ctx, const char *event, const char *data, size_t len);

struct sse {
    sse_fn on_event;
    void *ctx;
    struct str line, data, event;
    bool after_cr;  // a LF that follows belongs to the CR before it
    bool has_data;
    bool begun;    // past the place where a byte order mark may stand
    bool stopped;  // by on_event, or an event was too large (`too_large`)
    bool too_large;
};

// Take the next bytes. False once stopped.
bool sse_feed(struct sse *s, const char *bytes, size_t len);
void sse_reset(struct sse *s);
