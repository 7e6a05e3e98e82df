#include "cmd/live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS = 80, LINES_MAX = sizeof((struct live *)0)->widths / sizeof(int) };

bool live_is_terminal(int fd) {
    const char *term = getenv("TERM");
    return isatty(fd) && !(term && strcmp(term, "dumb") == 0);
}

bool live_has_colours(void) {
    const char *none = getenv("NO_COLOR");
    return !(none && *none);
}

int live_columns(const struct live *l) {
    struct winsize size;
    bool ok = ioctl(fileno(l->to), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return ok ? size.ws_col : COLUMNS;
}

void live_clear(struct live *l) {
    int columns = live_columns(l), rows = 0;
    if (l->n_lines == 0)
        return;
    for (int i = 0; i < l->n_lines; i++)
        rows += l->widths[i] > columns ? (l->widths[i] + columns - 1) / columns : 1;
    fprintf(l->to, "\r\033[%dA\033[J", rows);
    l->n_lines = 0;
}

// Letters, without colours.
static int width_of(const char *line, size_t len) {
    int width = 0;
    for (size_t i = 0; i < len; i++) {
        if (line[i] == '\033')
            i += strcspn(line + i, "m");
        else
            width += ((unsigned char)line[i] & 0xc0) != 0x80;
    }
    return width;
}

void live_draw(struct live *l, const char *text) {
    live_clear(l);
    for (const char *line = text; *line && l->n_lines < LINES_MAX;) {
        size_t len = strcspn(line, "\n");
        l->widths[l->n_lines++] = width_of(line, len);
        fwrite(line, 1, len, l->to);
        fputs("\n", l->to);
        line += len + (line[len] == '\n');
    }
}
