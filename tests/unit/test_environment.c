#include <criterion/criterion.h>

#include "base/arena.h"
#include "eval/environment.h"
#include "record/profile.h"

Test(environment, reads_what_a_hypervisor_took) {
    cr_expect_eq(environment_parse_steal("cpu  1 2 3 4 5 6 7 81 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n"),
                 81);
    cr_expect_eq(environment_parse_steal("cpu  1 2 3 4 5 6 7\n"), -1);  // an old kernel
    cr_expect_eq(environment_parse_steal(""), -1);
    cr_expect_eq(environment_parse_steal("intr 5\n"), -1);
}

Test(environment, absent_is_not_zero) {
    struct environment e = {.stat_fd = -1, .throttle_fd = -1};
    cr_expect_eq(environment_steal(&e), -1);
    cr_expect_eq(environment_throttles(&e), -1);
    environment_close(&e);
}

Test(environment, says_what_pages_there_are) {
    struct arena a = {0};
    const char *off = "always within_size advise [never] deny force\n";
    cr_expect_str_eq(environment_page_text(&a, 4096, off), "4 KiB");
    cr_expect_str_eq(environment_page_text(&a, 65536, ""), "64 KiB");
    cr_expect_str_eq(environment_page_text(&a, 4096, "[always] within_size advise never\n"),
                     "4 KiB, huge where they fit");
    cr_expect_str_eq(environment_page_text(&a, 4096, "always [within_size] advise never\n"),
                     "4 KiB, huge where they fit");
    cr_expect(strstr(environment_pages(&a), " KiB"));
    arena_reset(&a);
}

Test(environment, tells_of_this_machine) {
    struct environment e;
    struct profile p = {0};
    environment_open(&e);
    cr_expect(environment_steal(&e) >= 0);
    environment_close(&e);
    environment_describe(&p);
    cr_expect(profile_get(&p, METRIC_MACHINE_LOAD) >= 0);
}
