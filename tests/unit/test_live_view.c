// The live view on a terminal whose size changes, at moments that the test says.
#include <criterion/criterion.h>
#include <pty.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/live_view.h"
#include "record/event.h"
#include "record/run.h"

static int master, slave;
static struct live_view view;

static void resize(int columns) {
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    cr_assert_eq(ioctl(slave, TIOCSWINSZ, &size), 0);
}

static void set_up(void) {
    cr_assert_eq(openpty(&master, &slave, NULL, NULL, NULL), 0);
    resize(80);
    view = (struct live_view){.live = {.to = fdopen(slave, "w")}, .style = {.is_plain = true}};
    pthread_mutex_init(&view.lock, NULL);  // without the thread: the test says when it ticks
}

// What was drawn since the last call. A terminal hands it over when it gets to it, and in pieces: a
// mark behind it says that all of it is there.
static const char *seen(void) {
    static char text[8192];
    size_t n = 0;
    fflush(view.live.to);
    cr_assert_eq(write(slave, "\001", 1), 1);
    while (n == 0 || text[n - 1] != '\001') {
        ssize_t more = read(master, text + n, sizeof text - n);
        cr_assert_gt(more, 0);
        n += (size_t)more;
    }
    text[n - 1] = '\0';
    return text;
}

static void show(void) {
    struct run run = {.id = 1, .max_seconds = 100, .max_evals = 9};
    struct search_node node = {.number = 2, .move = "y: rows 2 -> 16", .reason = "rows"};
    struct event e = {
        .kind = EVENT_PROPOSED, .run = &run, .node = &node, .best = -1, .elapsed_s = 10};
    node.reason = "a reason that is longer than forty columns and not than eighty";
    live_view_show(&view, &e, "");
}

TestSuite(live_view, .init = set_up);

Test(live_view, its_clock_goes_on_while_nothing_happens) {
    show();
    cr_assert(strstr(seen(), "time     10 s, at most 90 s left"));
    live_view_tick(&view, view.at_ns + 7000000000);
    const char *text = seen();
    cr_assert(strstr(text, "time     17 s, at most 83 s left"), "%s", text);
    cr_assert(strstr(text, "judging  1.2 y: rows 2 -> 16"), "%s", text);
    cr_assert(strstr(text, "\033[5A\033[J"), "the five lines before are taken away: %s", text);
    live_view_clear(&view);
    seen();
    live_view_tick(&view, view.at_ns + 9000000000);
    cr_assert_str_eq(seen(), "", "there is nothing to draw between two runs");
}

Test(live_view, follows_a_terminal_that_becomes_narrower_and_wider) {
    show();
    cr_assert(strstr(seen(), "not than eighty"));
    resize(40);
    live_view_tick(&view, view.at_ns);
    // The line of 71 columns has two rows by now: six are taken away, and none is wider than 39.
    const char *text = seen(), *drawn = strstr(text, "\033[6A\033[J");
    cr_assert(drawn, "%s", text);
    for (const char *line = drawn + 7; *line; line += strcspn(line, "\n") + 1)
        cr_assert_leq(strcspn(line, "\r\n"), 39, "%s", line);
    cr_assert_not(strstr(drawn, "eighty"));
    resize(80);
    live_view_tick(&view, view.at_ns);
    cr_assert(strstr(seen(), "not than eighty"), "what was cut is there again");
}
