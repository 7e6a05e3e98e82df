#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"

Test(clock, never_goes_back) {
    int64_t before = clock_now_ns();
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_now_ns();
        cr_assert_geq(now, before);
        before = now;
    }
}

Test(clock, timestamp_is_iso_8601) {
    struct arena a = {0};
    int year, month, day, hour, minute, second, end = 0;
    const char *text = clock_timestamp(&a);
    cr_assert_eq(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &year, &month, &day, &hour, &minute,
                        &second, &end),
                 6);
    cr_assert_eq(end, 20);
    cr_assert_geq(year, 2020);
    arena_reset(&a);
}

Test(clock, durations_have_three_digits) {
    static const struct {
        double ns;
        const char *text;
    } rows[] = {
        {0, "0 ns"},         {0.25, "0.25 ns"},     {999.4, "999 ns"},     {999.6, "1 µs"},
        {4200, "4.2 µs"},    {1.5342e6, "1.53 ms"}, {999.6e6, "1 s"},      {12e9, "12 s"},
        {99.94e9, "99.9 s"}, {99.96e9, "1.67 min"}, {3600e9, "60 min"},    {1e15, "16667 min"},
        {-4200, "-4.2 µs"},  {NAN, "unknown"},      {INFINITY, "unknown"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_assert_str_eq(clock_duration(&a, rows[i].ns), rows[i].text);
    arena_reset(&a);
}

Test(clock, interrupt_sets_the_flag) {
    interrupt_init();
    cr_assert_not(interrupt_seen());
    raise(SIGPIPE);
    cr_assert_not(interrupt_seen());
    raise(SIGTERM);
    cr_assert(interrupt_seen());
    raise(SIGTERM);  // only a second Ctrl-C ends us
}

Test(clock, one_interrupt_that_comes_twice_is_one) {
    cr_expect_not(interrupt_is_second(1000, 2000));
    cr_expect(interrupt_is_second(1000, 1000 + 400000000));
}

Test(clock, second_interrupt_ends_the_process) {
    pid_t pid = fork();
    if (pid == 0) {
        interrupt_init();
        for (;;)
            raise(SIGINT);
    }
    int status;
    waitpid(pid, &status, 0);
    cr_assert(WIFEXITED(status));
    cr_assert_eq(WEXITSTATUS(status), 130);
}
