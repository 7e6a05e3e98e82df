// A server can send any bytes, cut anywhere: the parser must take them all, and the same
// events must come of them however they were cut.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"
#include "llm/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool take(void *ctx, const char *event, const char *bytes, size_t len) {
    struct sha256 *h = ctx;
    sha256_add_text(h, event);
    sha256_add(h, &len, sizeof len);
    sha256_add(h, bytes, len);
    return len != 7;  // now and then somebody has enough
}

static void digest(const uint8_t *data, size_t size, size_t piece, char hex[SHA256_HEX]) {
    struct sha256 h;
    sha256_init(&h);
    struct sse s = {.on_event = take, .ctx = &h};
    for (size_t at = 0; at < size; at += piece)
        if (!sse_feed(&s, (const char *)data + at, size - at < piece ? size - at : piece))
            break;
    sse_reset(&s);
    sha256_hex(&h, hex);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char whole[SHA256_HEX], cut[SHA256_HEX];
    if (size == 0)
        return 0;
    digest(data, size, size, whole);
    for (size_t piece = 1; piece <= 5; piece += 2) {
        digest(data, size, piece, cut);
        for (int i = 0; i < SHA256_HEX; i++)
            if (whole[i] != cut[i])
                abort();
    }
    return 0;
}
