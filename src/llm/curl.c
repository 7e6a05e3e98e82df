// The part of libcurl's binary interface that we use. Its numbers are fixed for ever: an
// option's is its kind (0 long, 10000 pointer, 20000 function, 30000 64-bit) plus its place.
// Nothing here is newer than 7.81.
#include "llm/curl.h"

#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/str.h"

enum {
    OPT_WRITEDATA = 10001,
    OPT_URL = 10002,
    OPT_ERRORBUFFER = 10010,
    OPT_POSTFIELDS = 10015,
    OPT_USERAGENT = 10018,
    OPT_HTTPHEADER = 10023,
    OPT_HEADERDATA = 10029,
    OPT_XFERINFODATA = 10057,
    OPT_NOPROGRESS = 43,
    OPT_POST = 47,
    OPT_HTTPGET = 80,
    OPT_NOSIGNAL = 99,
    OPT_TIMEOUT_MS = 155,
    OPT_CONNECTTIMEOUT_MS = 156,
    OPT_PROTOCOLS = 181,
    OPT_WRITEFUNCTION = 20011,
    OPT_HEADERFUNCTION = 20079,
    OPT_XFERINFOFUNCTION = 20219,
    OPT_POSTFIELDSIZE_LARGE = 30120,
    INFO_RESPONSE_CODE = 0x200002,
    INFO_CONTENT_TYPE = 0x100012,
    INFO_RETRY_AFTER = 0x600039,
    GLOBAL_DEFAULT = 3,
    PROTOCOL_HTTP = 1,
    PROTOCOL_HTTPS = 2,
    ERROR_SIZE = 256,
};

// The results of curl_easy_perform that we distinguish.
enum {
    CODE_OK = 0,
    CODE_UNSUPPORTED_PROTOCOL = 1,
    CODE_URL_MALFORMAT = 3,
    CODE_WRITE_ERROR = 23,
    CODE_TIMEDOUT = 28,
    CODE_ABORTED = 42,
    CODE_SSL_CERTIFICATE = 58,
    CODE_SSL_CIPHER = 59,
    CODE_PEER_FAILED_VERIFICATION = 60,
    CODE_SSL_CACERT_BADFILE = 77,
};

struct slist;
typedef size_t (*bytes_fn)(char *bytes, size_t size, size_t n, void *ctx);
typedef int (*progress_fn)(void *ctx, int64_t dl_total, int64_t dl, int64_t ul_total, int64_t ul);

struct http {
    void *library, *easy;
    int (*global_init)(long flags);
    void *(*easy_init)(void);
    void (*easy_reset)(void *easy);
    void (*easy_cleanup)(void *easy);
    int (*setopt)(void *easy, int option, ...);
    int (*getinfo)(void *easy, int info, ...);
    int (*perform)(void *easy);
    const char *(*strerror)(int code);
    struct slist *(*slist_append)(struct slist *list, const char *text);
    void (*slist_free_all)(struct slist *list);
    char *(*version)(void);
};

// One exchange under way.
struct transfer {
    struct http *http;
    const struct http_request *q;
    struct http_response *out;
    struct str body;
    int64_t start_ns;
    int64_t last_ns;  // when a byte came or went
    int64_t sent;
    double retry_after_ms;  // a header of OpenAI's; NAN: none
    bool is_idle, is_too_large;
};

static bool open_library(struct http *h, struct error *err) {
    static const char *const sonames[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
    const char *named = getenv("HONE_LIBCURL");  // for tests of its absence
    for (int i = 0; !named && !h->library && sonames[i]; i++)
        h->library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (named)
        h->library = dlopen(named, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (h->library)
        return true;
    return error_set(err, ERROR_UNSUPPORTED,
                     "libcurl is not installed, and models are reached through it "
                     "(Debian: apt-get install libcurl4)");
}

static bool load(struct http *h, struct error *err) {
    const struct {
        const char *name;
        void **slot;
    } symbols[] = {
        {"curl_global_init", (void **)&h->global_init},
        {"curl_easy_init", (void **)&h->easy_init},
        {"curl_easy_reset", (void **)&h->easy_reset},
        {"curl_easy_cleanup", (void **)&h->easy_cleanup},
        {"curl_easy_setopt", (void **)&h->setopt},
        {"curl_easy_getinfo", (void **)&h->getinfo},
        {"curl_easy_perform", (void **)&h->perform},
        {"curl_easy_strerror", (void **)&h->strerror},
        {"curl_slist_append", (void **)&h->slist_append},
        {"curl_slist_free_all", (void **)&h->slist_free_all},
        {"curl_version", (void **)&h->version},
    };
    if (!open_library(h, err))
        return false;
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        *symbols[i].slot = dlsym(h->library, symbols[i].name);
        if (!*symbols[i].slot)
            return error_set(err, ERROR_UNSUPPORTED, "libcurl lacks %s", symbols[i].name);
    }
    if (h->global_init(GLOBAL_DEFAULT) != CODE_OK || !(h->easy = h->easy_init()))
        return error_set(err, ERROR_UNSUPPORTED, "libcurl does not start");
    return true;
}

bool http_open(struct http **out, struct error *err) {
    struct http *h = calloc(1, sizeof *h);
    assert(h);
    if (load(h, err)) {
        log_debug("%s", h->version());
        *out = h;
        return true;
    }
    http_close(h);
    return false;
}

void http_close(struct http *h) {
    if (!h)
        return;
    if (h->easy)
        h->easy_cleanup(h->easy);
    if (h->library)
        dlclose(h->library);
    free(h);
}

const char *http_version(const struct http *h) {
    return h->version();
}

static int status_of(struct transfer *t) {
    long status = 0;
    t->http->getinfo(t->http->easy, INFO_RESPONSE_CODE, &status);
    return (int)status;
}

static bool is_event_stream(struct transfer *t) {
    char *type = NULL;
    t->http->getinfo(t->http->easy, INFO_CONTENT_TYPE, &type);
    return type && strncasecmp(type, "text/event-stream", 17) == 0;
}

// Called by curl with bytes of the body. Taking fewer than given ends the transfer.
static size_t on_body(char *bytes, size_t size, size_t n, void *ctx) {
    struct transfer *t = ctx;
    size_t len = size * n;
    t->last_ns = clock_now_ns();
    if (!t->out->is_stream)
        t->out->is_stream = t->q->on_data && status_of(t) == 200 && is_event_stream(t);
    if (t->out->is_stream) {
        t->out->is_ended = !t->q->on_data(t->q->ctx, bytes, len);
        return t->out->is_ended ? 0 : len;
    }
    str_append(&t->body, bytes, len);
    t->is_too_large = t->body.cut;
    return t->is_too_large ? 0 : len;
}

// The value of header `name` when the line is that one, else NULL.
static const char *value_of(struct span line, const char *name) {
    size_t len = strlen(name);
    if (line.len <= len || strncasecmp(line.ptr, name, len) != 0 || line.ptr[len] != ':')
        return NULL;
    const char *value = line.ptr + len + 1;
    return value + strspn(value, " \t");
}

static size_t on_header(char *bytes, size_t size, size_t n, void *ctx) {
    struct transfer *t = ctx;
    size_t len = size * n;
    char line[128];
    snprintf(line, sizeof line, "%.*s", (int)(len < 120 ? len : 120), bytes);
    struct span span = {line, strlen(line)};
    const char *value;
    t->last_ns = clock_now_ns();
    if ((value = value_of(span, "x-should-retry")))
        t->out->should_retry = strncasecmp(value, "true", 4) == 0;
    if ((value = value_of(span, "retry-after-ms")))
        t->retry_after_ms = strtod(value, NULL);
    return len;
}

// Called by curl at least once a second.
static int on_progress(void *ctx, int64_t dl_total, int64_t dl, int64_t ul_total, int64_t ul) {
    (void)dl_total, (void)dl, (void)ul_total;
    struct transfer *t = ctx;
    int64_t now_ns = clock_now_ns();
    if (ul != t->sent) {
        t->sent = ul;
        t->last_ns = now_ns;
    }
    t->out->is_interrupted = interrupt_seen();
    t->is_idle = t->q->idle_s > 0 && (double)(now_ns - t->last_ns) / 1e9 > t->q->idle_s;
    return t->out->is_interrupted || t->is_idle;
}

static void set_up(struct transfer *t, struct slist *headers, char *error_text) {
    struct http *h = t->http;
    const struct http_request *q = t->q;
    void *e = h->easy;
    h->setopt(e, OPT_URL, q->url);
    h->setopt(e, OPT_PROTOCOLS, (long)(PROTOCOL_HTTP | PROTOCOL_HTTPS));
    h->setopt(e, OPT_HTTPHEADER, headers);
    h->setopt(e, OPT_USERAGENT, "hone/" HONE_VERSION);
    if (q->body) {
        h->setopt(e, OPT_POST, 1L);
        h->setopt(e, OPT_POSTFIELDS, q->body);
        h->setopt(e, OPT_POSTFIELDSIZE_LARGE, (int64_t)q->body_len);
    } else {
        h->setopt(e, OPT_HTTPGET, 1L);
    }
    h->setopt(e, OPT_NOSIGNAL, 1L);
    h->setopt(e, OPT_ERRORBUFFER, error_text);
    h->setopt(e, OPT_CONNECTTIMEOUT_MS, (long)(q->connect_s * 1000));
    h->setopt(e, OPT_TIMEOUT_MS, (long)(q->total_s * 1000));
    h->setopt(e, OPT_WRITEFUNCTION, (bytes_fn)on_body);
    h->setopt(e, OPT_WRITEDATA, t);
    h->setopt(e, OPT_HEADERFUNCTION, (bytes_fn)on_header);
    h->setopt(e, OPT_HEADERDATA, t);
    h->setopt(e, OPT_NOPROGRESS, 0L);
    h->setopt(e, OPT_XFERINFOFUNCTION, (progress_fn)on_progress);
    h->setopt(e, OPT_XFERINFODATA, t);
}

static bool is_hopeless(int code) {
    return code == CODE_UNSUPPORTED_PROTOCOL || code == CODE_URL_MALFORMAT ||
           code == CODE_SSL_CERTIFICATE || code == CODE_SSL_CIPHER ||
           code == CODE_PEER_FAILED_VERIFICATION || code == CODE_SSL_CACERT_BADFILE;
}

// What the transport has to say beyond the server's answer.
static void explain(struct transfer *t, int code, const char *error_text) {
    struct http_response *out = t->out;
    size_t size = sizeof out->failure;
    bool is_over = (double)(clock_now_ns() - t->start_ns) / 1e9 >= 0.99 * t->q->total_s;
    if (code == CODE_OK || out->is_ended)
        return;
    if (out->is_interrupted)
        snprintf(out->failure, size, "interrupted");
    else if (t->is_idle)
        snprintf(out->failure, size, "silent for %g s", t->q->idle_s);
    else if (t->is_too_large)
        snprintf(out->failure, size, "the answer is larger than %d MiB", HTTP_BODY_MAX >> 20);
    else if (code == CODE_TIMEDOUT && is_over)
        snprintf(out->failure, size, "not done within %g s", t->q->total_s);
    else
        snprintf(out->failure, size, "%.300s", *error_text ? error_text : t->http->strerror(code));
    out->is_hopeless = is_hopeless(code) || t->is_too_large;
}

static void read_retry_after(struct transfer *t) {
    int64_t seconds = 0;
    t->out->retry_after_s = t->retry_after_ms / 1000;
    if (isnan(t->retry_after_ms) &&
        t->http->getinfo(t->http->easy, INFO_RETRY_AFTER, &seconds) == CODE_OK && seconds > 0)
        t->out->retry_after_s = (double)seconds;
}

void http_send(struct http *h, struct arena *a, const struct http_request *q,
               struct http_response *out) {
    *out = (struct http_response){.body = "", .should_retry = -1, .retry_after_s = NAN};
    struct transfer t = {.http = h,
                         .q = q,
                         .out = out,
                         .body = {.max = HTTP_BODY_MAX},
                         .start_ns = clock_now_ns(),
                         .last_ns = clock_now_ns(),
                         .retry_after_ms = NAN};
    char error_text[ERROR_SIZE] = "";
    struct slist *headers = NULL;
    for (const char *const *header = q->headers; *header; header++)
        headers = h->slist_append(headers, *header);
    set_up(&t, headers, error_text);
    int code = h->perform(h->easy);
    out->status = status_of(&t);
    explain(&t, code, error_text);
    read_retry_after(&t);
    h->easy_reset(h->easy);  // keeps the connection, forgets pointers into this frame
    h->slist_free_all(headers);
    if (t.body.len > 0) {
        str_clean(t.body.ptr, t.body.len);
        out->body = str_take(a, &t.body);
    }
    str_reset(&t.body);
}
