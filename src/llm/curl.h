// HTTP through libcurl, which is opened at the first call and not before: linking it would
// cost every start of hone 33 libraries. No header of curl's is needed to build.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct error;
struct http;  // one connection that is kept between calls

enum { HTTP_BODY_MAX = 32 << 20 };

struct http_request {
    const char *url;
    const char *const *headers;  // "name: value", NULL-terminated
    const char *body;            // posted; NULL: GET
    size_t body_len;
    double connect_s;  // for the connection
    double idle_s;     // without a byte
    double total_s;    // for everything
    // Called with the bytes of an event stream (status 200, text/event-stream); false ends it.
    bool (*on_data)(void *ctx, const char *bytes, size_t len);
    void *ctx;
};

struct http_response {
    int status;            // 0: no answer came
    bool is_stream;        // on_data had the body
    const char *body;      // otherwise, in the arena; '?' for what is no UTF-8
    double retry_after_s;  // NAN: not said
    int should_retry;      // x-should-retry: 1, 0, or -1 when not said
    char failure[320];     // of the transport, "" when there was none
    bool is_hopeless;      // the failure will not go away by itself: TLS, the URL, the file system
    bool is_ended;         // by on_data
    bool is_interrupted;   // by Ctrl-C
};

// Open the library. ERROR_UNSUPPORTED when it is not there.
bool http_open(struct http **out, struct error *err);
void http_send(struct http *h, struct arena *a, const struct http_request *q,
               struct http_response *out);
const char *http_version(const struct http *h);  // "libcurl/7.88.1 OpenSSL/3.0.9 ..."
void http_close(struct http *h);
