#include "mind/priors.h"

#include <math.h>
#include <stddef.h>

#include "base/arena.h"
#include "record/move_kind.h"

struct prior priors_expect(const struct priors *p, const char *words, const char *tool,
                           const char *bottleneck) {
    struct arena scratch = {0};
    struct prior out = {0};
    const char *kind = p ? move_kind(&scratch, words) : NULL;
    if (kind)
        out = p->expect(p->ctx, kind, tool, bottleneck);
    arena_reset(&scratch);
    return out;
}

double prior_log_gain(const struct prior *p) {
    if (!(p->weight > 0 && p->gain > 0))
        return 0;
    return log(p->gain) * p->weight / (p->weight + PRIOR_DOUBT);
}
