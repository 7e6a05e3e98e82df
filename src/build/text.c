// Escape sequences, control characters and those that turn the direction of text are dropped,
// invalid UTF-8 becomes "?", and long texts are cut.
#include "build/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"

// Length of the UTF-8 sequence at `s`, 0 when it is none; `code` is what it stands for.
static size_t sequence(const unsigned char *s, size_t len, uint32_t *code) {
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (n == 0 || n > len || s[0] > 0xf4)
        return 0;
    *code = n == 1 ? s[0] : s[0] & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (s[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool is_surrogate = *code >= 0xd800 && *code < 0xe000;
    return *code < least[n] || *code > 0x10ffff || is_surrogate ? 0 : n;
}

static bool is_shown(uint32_t code) {
    if (code == '\n' || code == '\t')
        return true;
    bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    bool turns = (code >= 0x200b && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
                 (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
    return !is_control && !turns;
}

const char *text_clean(struct arena *a, const char *bytes, size_t len) {
    struct str out = {0};
    const unsigned char *s = (const unsigned char *)bytes;
    for (size_t i = 0; i < len;) {
        if (s[i] == 0x1b && i + 1 < len && s[i + 1] == '[') {  // ESC [ ... letter
            for (i += 2; i < len && (s[i] < 0x40 || s[i] > 0x7e);)
                i++;
            i += i < len;
            continue;
        }
        uint32_t code;
        size_t n = sequence(s + i, len - i, &code);
        if (n == 0)
            str_puts(&out, "?");
        else if (is_shown(code))
            str_append(&out, bytes + i, n);
        i += n ? n : 1;
    }
    return str_take(a, &out);
}

const char *text_head(struct arena *a, const char *text, int max_lines, size_t max_bytes) {
    size_t len = 0;
    for (int lines = 0; text[len] && lines < max_lines && len < max_bytes; len++)
        lines += text[len] == '\n';
    bool is_cut = text[len] != '\0';
    const char *head = text_clean(a, text, len);
    return is_cut ? arena_printf(a, "%s\n[...]", head) : head;
}
