// A few lines at the bottom of a terminal that are taken away and drawn again; what stays scrolls
// by above them. Neither the cursor nor any mode of the terminal is changed, so a process that is
// killed leaves nothing behind but text. It may become narrower at any time: lines that the
// terminal then wraps are taken away with all their rows.
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct str;

struct live {
    FILE *to;
    int widths[16];  // columns of the lines that are drawn
    int n_lines;
};

// Is it a terminal that can do that? And may it have colours (NO_COLOR)?
bool live_is_terminal(int fd);
bool live_has_colours(void);

int live_columns(const struct live *l);  // 80 where it is unknown

void live_clear(struct live *l);
// `text` has a line each, ended by "\n", none wider than the terminal.
void live_draw(struct live *l, const char *text);
