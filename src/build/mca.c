// The loop without addresses, jumps and what objdump remarks, through llvm-mca's summary.
#include "build/mca.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/str.h"

enum { TURNS = 100 };

const char *mca_question(struct arena *a, const char *loop, size_t len) {
    struct str s = {0};
    bool has_call = false;
    for (const char *at = loop, *end = loop + len; at < end;) {
        size_t line = strcspn(at, "\n");
        line = at + line > end ? (size_t)(end - at) : line;
        const char *tab = memchr(at, '\t', line);
        const char *name = tab ? tab + 1 : at + line;
        size_t n = strcspn(name, "\n#<");
        n = name + n > at + line ? (size_t)(at + line - name) : n;
        has_call |= strncmp(name, "call", 4) == 0;
        bool is_left_out = *name == 'j' || strncmp(name, "nop", 3) == 0 ||
                           strncmp(name, "data16", 6) == 0 || strncmp(name, "cs nop", 6) == 0;
        if (n > 0 && !is_left_out)
            str_printf(&s, "%.*s\n", (int)n, name);
        at += line + (at + line < end);
    }
    const char *text = str_take(a, &s);
    return has_call ? NULL : text;
}

static double number_behind(const char *text, const char *words) {
    const char *at = strstr(text, words);
    return at ? strtod(at + strlen(words), NULL) : 0;
}

bool mca_answer(const char *text, double *cycles, double *unit_cycles) {
    double turns = number_behind(text, "Iterations:");
    *cycles = turns > 0 ? number_behind(text, "Total Cycles:") / turns : 0;
    *unit_cycles = number_behind(text, "Block RThroughput:");
    return *cycles > 0 && *unit_cycles > 0;
}

bool mca_examine(struct arena *a, const char *loop, size_t len, double *cycles,
                 double *unit_cycles) {
    const char *program = file_find_program(a, "llvm-mca");
    const char *question = program ? mca_question(a, loop, len) : NULL;
    if (!question || !*question)
        return false;
    const char *argv[] = {program,
                          "-mcpu=native",
                          arena_printf(a, "--iterations=%d", TURNS),
                          "--all-views=false",
                          "--summary-view",
                          NULL};
    struct process_spec spec = {.argv = argv,
                                .input = question,
                                .input_len = strlen(question),
                                .timeout_ns = 10000000000,
                                .max_output = 1 << 20};
    struct process_result p;
    struct error ignored = {0};
    return process_run(a, &spec, &p, &ignored) && p.exit_status == 0 &&
           mca_answer(p.out, cycles, unit_cycles);
}
