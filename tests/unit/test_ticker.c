// The progress line: as wide as the terminal, and only on one.
#include <criterion/criterion.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/ticker.h"

static const char *line(const char *text, double elapsed_s, int columns) {
    static char out[256];
    ticker_line(out, sizeof out, text, elapsed_s, columns);
    return out;
}

Test(ticker, fits_every_terminal) {
    const char *text = "judging a-rather-long-name-of-a-candidate.c (2 of 3)";
    cr_expect_str_eq(line("judging a.c", 3.4, 80), "judging a.c, 3 s\n");
    cr_expect_str_eq(line(text, 12, 40), "judging a-rather-long-name-of-a-c, 12 s\n");
    cr_expect_str_eq(line("\xc2\xb5\xc2\xb5\xc2\xb5", 1, 8), "\xc2\xb5\xc2\xb5, 1 s\n",
                     "letters are whole");
    for (int columns = 1; columns < 60; columns++)
        cr_expect_leq(strlen(line(text, 100, columns)), (size_t)columns, "%d columns", columns);
}

// Is it shown where standard error is `fd`?
static bool is_shown(int fd, const char *term, bool is_quiet) {
    struct ticker p;
    setenv("TERM", term, 1);
    int before = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    ticker_start(&p, is_quiet);
    bool shown = p.is_shown;
    ticker_say(&p, "waiting for %s", "something");
    ticker_clear(&p);
    ticker_stop(&p);
    dup2(before, STDERR_FILENO);
    close(before);
    return shown;
}

Test(ticker, is_for_terminals_alone) {
    int master, slave, ends[2];
    cr_assert_eq(openpty(&master, &slave, NULL, NULL, NULL), 0);
    cr_assert_eq(pipe(ends), 0);
    cr_expect(is_shown(slave, "xterm", false));
    cr_expect(!is_shown(slave, "xterm", true), "--quiet");
    cr_expect(!is_shown(slave, "dumb", false));
    cr_expect(!is_shown(ends[1], "xterm", false), "a pipe");
}
