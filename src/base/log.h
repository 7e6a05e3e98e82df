// Diagnostics for the developer, on stderr, off by default. `HONE_LOG=debug` or
// `--verbose` turns them on. What a user must read is not a log line.
#pragma once

#include <stdbool.h>

enum log_level { LOG_QUIET, LOG_INFO, LOG_DEBUG };

void log_init(void);  // reads HONE_LOG
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
