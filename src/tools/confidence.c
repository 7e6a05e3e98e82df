// Rules that anybody can follow by hand, the same for every tool:
//
//   what was counted or timed while the kernel ran        0.9
//   what the driver, the assembler or the plan say of it  0.8
//   what was read off its machine code, or derived        0.6
//
// of the numbers of the finding that which is surest, the numbers that have a line that they
// crossed before the others; less the nearer to that line it is; less where the tool only says
// that, not why; and less where it is a time on a machine that did something else as well.
#include "tools/confidence.h"

#include <math.h>

#include "tools/tool_private.h"

static const double by_source[SOURCE_COUNT] = {
    [SOURCE_TIMING] = 0.9, [SOURCE_TIMELINE] = 0.9, [SOURCE_MACHINE] = 0.9,
    [SOURCE_PLAN] = 0.8,   [SOURCE_DRIVER] = 0.8,   [SOURCE_ASSEMBLER] = 0.8,
    [SOURCE_CODE] = 0.6,   [SOURCE_SASS] = 0.6,     [SOURCE_COUNTER] = 0.9};
static const double DERIVED = 0.6, AT_LINE = 0.7, SYMPTOM = 0.6, DISTURBED = 0.6;
// So many times beyond its line nobody doubts a number; of the samples of a quiet machine fewer
// than that are disturbed.
static const double CLEAR = 1.5, QUIET = 0.25;

// 0.7 at the line, 1 where it is CLEAR times beyond.
static double margin(const struct evidence *e) {
    double value = fabs(e->value), limit = fabs(e->limit);
    if (!isfinite(e->limit) || !(value > 0) || !(limit > 0))
        return 1;
    double beyond = fmin(CLEAR, fmax(value / limit, limit / value));
    return AT_LINE + (1 - AT_LINE) * (beyond - 1) / (CLEAR - 1);
}

double finding_confidence(const struct tool *t, const struct tool_subject *s,
                          const struct finding *f) {
    double best = 0;
    bool has_line = false, is_time = false;
    for (int i = 0; i < f->n_numbers; i++)
        has_line |= isfinite(f->numbers[i].limit);
    for (int i = 0; i < f->n_numbers; i++) {
        enum metric_id id;
        const struct evidence *e = &f->numbers[i];
        if (!metric_find(e->metric, &id) || (has_line && !isfinite(e->limit)))
            continue;
        double sure = by_source[metric_table[id].source] * margin(e);
        if (sure > best)
            is_time = metric_table[id].source == SOURCE_TIMING;
        best = fmax(best, sure);
    }
    if (best == 0)
        best = DERIVED;
    if (t->is_symptom)
        best *= SYMPTOM;
    bool is_disturbed =
        subject_is_disturbed(s) || metrics_get(&s->in->profile->call, METRIC_STOLEN_SHARE) > QUIET;
    if (is_time && is_disturbed)
        best *= DISTURBED;
    return best;
}
