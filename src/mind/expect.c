// The rules, in the order in which they are tried.
#include "mind/expect.h"

#include <math.h>
#include <string.h>

#include "tools/tool.h"

// Closer to 1 than this the closed form does not tell the two blocks apart.
static const double OPINION = 0.02;

// How far from reach a kernel is, or that it is busy with something else, says what all moves
// together could bring, not what one does.
static bool is_distance(const struct finding *f) {
    return strcmp(f->tool, tool_reach.name) == 0 || strcmp(f->tool, tool_disagree.name) == 0;
}

// Another emitter: other instructions, of which the finding knows only that they are missing.
static bool is_emitter(const struct move *m) {
    return !m->knob && strstr(m->words, " -> ");
}

double expect_gain(const struct expect_from *from, const struct finding *f, const struct move *m) {
    double closed = m->prior - from->prior,
           cause = f && f->expected_gain > 0 ? f->expected_gain : NAN;
    if (is_emitter(m))
        return isfinite(from->time_s)
                   ? fmin(from->time_s * exp(m->prior), from->time_s / from->reach_s)
                   : exp(closed);
    if (fabs(closed) < OPINION)
        return f && !is_distance(f) ? cause : NAN;
    if (!f || is_distance(f) || isnan(cause))
        return exp(closed);
    // Both see a gain: the smaller. One was measured and the other says slower: between the two.
    return closed > 0 ? fmin(cause, exp(closed)) : sqrt(cause * exp(closed));
}

bool expect_uses_finding(const char *feedback, const struct finding *f) {
    if (feedback && strcmp(feedback, "raw") == 0)
        return strcmp(f->tool, tool_reach.name) == 0;
    return !feedback || strcmp(feedback, "none") != 0;
}
