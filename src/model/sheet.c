// Figures of a card's row, of its architecture, or of threads x clock x vector width.
#include "model/sheet.h"

#include <string.h>

// Two units for multiply-adds and two for loads, each as wide as a vector register, is what x86
// and Arm server cores have.
enum { UNITS = 2 };

static bool of_cpu(const struct target *t, struct sheet *s) {
    if (!t->top_clock_known || t->top_clock_hz <= 0 || t->n_threads <= 0 || t->vector_bytes <= 0)
        return false;
    double bytes = (double)UNITS * t->n_threads * t->top_clock_hz * t->vector_bytes;
    s->bytes_per_s = bytes;
    s->per_s[PIPE_F32] = bytes / 4 * 2;
    s->per_s[PIPE_F64] = s->vector_f64_per_s = bytes / 8 * 2;
    return true;
}

bool sheet_of(const struct target *t, struct sheet *s) {
    const char *source;
    *s = (struct sheet){0};
    if (!t->is_gpu)
        return of_cpu(t, s);
    if (sheet_of_card(t, s, &source))
        return true;
    s->bytes_per_s = t->peak_bytes_per_s;
    memcpy(s->per_s, t->peak_per_s, sizeof s->per_s);
    s->vector_f64_per_s = t->peak_per_s[PIPE_F64];
    return t->peak_bytes_per_s > 0 && t->peak_per_s[PIPE_F32] > 0;
}

const char *sheet_absent(void) {
    return "this machine hides its clock, so its peaks are not known";
}

const char *sheet_source(const struct target *t) {
    struct sheet s;
    const char *source = NULL;
    if (!t->is_gpu)
        return "threads, clock and vector width, two units each; traffic by the cores' own loads";
    if (!sheet_of_card(t, &s, &source))
        return "figures of the architecture at the card's top clock";
    return source;
}
