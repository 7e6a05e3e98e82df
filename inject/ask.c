// Reading `ask`, and writing what was seen.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "inject.h"

static void take_launch(const char *text) {
    struct wanted_launch *w = &state.launches[state.n_launches];
    int used = 0;
    if (state.n_launches == LAUNCHES_MAX ||
        sscanf(text, "%ld %u %u %u %u %u %u %n", &w->index, &w->grid[0], &w->grid[1], &w->grid[2],
               &w->block[0], &w->block[1], &w->block[2], &used) != 7)
        return;
    w->name = strdup(text + used);
    state.n_launches++;
}

static void take_mode(const char *text) {
    static const char *const names[] = {"none", "trace", "counters", "samples"};
    for (int i = 0; i < 4; i++)
        if (strcmp(text, names[i]) == 0)
            state.mode = (enum inject_mode)i;
}

static void take_line(char *line) {
    char *value = strchr(line, ' ');
    if (!value)
        return;
    *value++ = '\0';
    if (strcmp(line, "mode") == 0)
        take_mode(value);
    else if (strcmp(line, "cupti") == 0)
        snprintf(state.cupti_path, sizeof state.cupti_path, "%s", value);
    else if (strcmp(line, "counter") == 0 && !state.has_counters && state.n_counters < COUNTERS_MAX)
        state.counters[state.n_counters++] = strdup(value);
    else if (strcmp(line, "launch") == 0)
        take_launch(value);
    else if (strcmp(line, "code") == 0 && state.n_codes < CODES_MAX)
        state.codes[state.n_codes++] = strdup(value);
    else if (strcmp(line, "period") == 0)
        state.period = (int)strtol(value, NULL, 10);
    else if (strcmp(line, "memory") == 0)
        state.memory = (size_t)strtoull(value, NULL, 10);
}

static bool read_lines(void) {
    char path[1100], *line = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "%s/ask", state.dir);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    while (getline(&line, &room, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        take_line(line);
    }
    free(line);
    fclose(f);
    return true;
}

static bool open_output(void) {
    char path[1100];
    snprintf(path, sizeof path, "%s/out.%d", state.dir, (int)state.pid);
    state.out = state.out ? freopen(path, "we", state.out) : fopen(path, "we");
    return state.out != NULL;
}

bool ask_read(void) {
    const char *dir = getenv("HONE_INJECT_DIR");
    if (!dir || (size_t)snprintf(state.dir, sizeof state.dir, "%s", dir) >= sizeof state.dir ||
        !read_lines())
        return false;
    state.pid = getpid();
    return open_output() && state.mode != MODE_NONE;
}

bool ask_again(void) {
    for (int i = 0; i < state.n_launches; i++)
        free(state.launches[i].name);
    memset(state.launches, 0, sizeof state.launches);
    state.n_launches = 0;
    // Names that are in use by an open profiler stay where they are.
    state.has_counters = state.n_counters > 0;
    return read_lines() && open_output();
}

void out_line(const char *format, ...) {
    va_list args;
    va_start(args, format);
    flockfile(state.out);
    vfprintf(state.out, format, args);
    fputc('\n', state.out);
    funlockfile(state.out);
    va_end(args);
}

void out_error(const char *where, int code) {
    const char *text = "unknown";
    if (cupti.text)
        cupti.text(code, &text);
    out_line("error %s %s %d %s", where, failed_call, code, text);
    fflush(state.out);
}
