#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdlib.h>

#include "base/log.h"

Test(log, is_quiet_by_default, .init = cr_redirect_stderr) {
    unsetenv("HONE_LOG");
    log_init();
    log_info("one");
    log_debug("two");
    fprintf(stderr, "end\n");
    fflush(stderr);
    cr_assert_stderr_eq_str("end\n");
}

Test(log, level_comes_from_the_environment, .init = cr_redirect_stderr) {
    setenv("HONE_LOG", "info", 1);
    log_init();
    cr_assert_eq(log_get_level(), LOG_INFO);
    log_info("one %d", 1);
    log_debug("two");
    setenv("HONE_LOG", "debug", 1);
    log_init();
    log_debug("three");
    setenv("HONE_LOG", "nonsense", 1);
    log_init();
    cr_assert_eq(log_get_level(), LOG_DEBUG, "an unknown level changes nothing");
    log_set_level(LOG_QUIET);
    log_info("four");
    fflush(stderr);
    cr_assert_stderr_eq_str("hone: one 1\nhone: three\n");
}
