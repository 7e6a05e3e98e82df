#include "mcp/mcp_pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

// Where a page of `text` ends: behind its last whole line, or within a line that is longer than a
// page, but in no case within a character.
static size_t page_end(const char *text) {
    size_t len = strlen(text);
    if (len <= MCP_PAGE_BYTES)
        return len;
    len = MCP_PAGE_BYTES;
    for (size_t i = len; i > MCP_PAGE_BYTES / 2; i--)
        if (text[i - 1] == '\n')
            return i;
    while (len > 1 && ((unsigned char)text[len] & 0xC0) == 0x80)
        len--;
    return len;
}

static json_t *block(const char *text) {
    return json_pack("{s:s, s:o}", "type", "text", "text", json_optional_text(text));
}

static json_t *page(const char *text, int64_t number, size_t from) {
    size_t len = page_end(text + from);
    char *part = strndup(text + from, len);
    json_t *content = json_pack("[o]", block(part));
    free(part);
    if (text[from + len]) {
        char words[160];
        snprintf(words, sizeof words,
                 "(%zu bytes more: call the tool `more` with cursor \"%" PRId64 "-%zu\")",
                 strlen(text + from + len), number, from + len);
        json_array_append_new(content, block(words));
    }
    return content;
}

json_t *mcp_pages_content(struct mcp_pages *p, const char *text) {
    if (strlen(text) <= MCP_PAGE_BYTES)
        return page(text, 0, 0);
    char **place = &p->texts[p->n_kept % MCP_PAGES_KEPT];
    free(*place);
    *place = strdup(text);
    return page(*place, ++p->n_kept, 0);
}

json_t *mcp_pages_more(struct mcp_pages *p, const char *cursor) {
    char number[24];
    const char *dash = strchr(cursor, '-');
    long long which, from;
    if (!dash || (size_t)(dash - cursor) >= sizeof number)
        return NULL;
    snprintf(number, sizeof number, "%.*s", (int)(dash - cursor), cursor);
    if (!str_to_int64(number, &which) || !str_to_int64(dash + 1, &from) || which < 1 ||
        which > p->n_kept || which <= p->n_kept - MCP_PAGES_KEPT || from < 0)
        return NULL;
    const char *text = p->texts[(which - 1) % MCP_PAGES_KEPT];
    bool is_within = (size_t)from < strlen(text) && ((unsigned char)text[from] & 0xC0) != 0x80;
    return is_within ? page(text, which, (size_t)from) : NULL;
}

void mcp_pages_reset(struct mcp_pages *p) {
    for (int i = 0; i < MCP_PAGES_KEPT; i++)
        free(p->texts[i]);
    *p = (struct mcp_pages){0};
}
