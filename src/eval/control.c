// futex(2), which has no wrapper in the C library.
#include "eval/control.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool futex_wait(_Atomic uint32_t *word, uint32_t value, int64_t timeout_ns) {
    struct timespec t = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
    return syscall(SYS_futex, word, FUTEX_WAIT, value, timeout_ns < 0 ? NULL : &t, NULL, 0) == 0;
}

void futex_wake_all(_Atomic uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
