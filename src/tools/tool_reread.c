// More traffic than the problem needs: inputs that are read from memory again and again.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double TOLERATED = 1.2, BAD = 2;
// Small figures are other launches' lines on their way out of the caches.
static const double SMALL_BYTES = 16e6;

static const struct action once[] = {
    MERGE("merge stages, so that no value goes to memory and back"),
    WORD("keep", "register", "keep the row in registers instead of reading it again"),
    TURN("tile", +1, "larger tiles, so that data are used more often while they are near"),
    TURN("rows", +1, "more rows per block"),
    WORDS("use each value fully once it is read: tiles in shared memory and registers, loops over "
          "the same data together"),
    WORDS(
        "an order of blocks in which neighbours in time share data, so that it is still in the L2 "
        "cache"),
};

// Over all launches; NAN where some was not counted.
static double sum_of(const struct profile *p, enum metric_id id) {
    double sum = 0;
    for (int i = 0; i < p->n_launches; i++)
        sum += launch_get(&p->launches[i], id);
    return p->n_launches > 0 ? sum : NAN;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    const struct bound *b = s->in->bound;
    double least = b ? b->work.bytes_read + b->work.bytes_again + b->work.bytes_written : NAN;
    double read = sum_of(s->in->profile, METRIC_DRAM_READ_BYTES);
    double written = sum_of(s->in->profile, METRIC_DRAM_WRITE_BYTES);
    double moved = read + written, times = moved / least;
    double busy = s->measured.memory_busy;
    if (!(times > TOLERATED) || !(moved - least > SMALL_BYTES))
        return false;
    f->severity = times > BAD && busy > 0.4 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "more is moved from and to memory than the problem needs";
    f->evidence = arena_printf(a, "%s, %.2f times the least (%s)", bound_quantity(a, moved, "B"),
                               times, bound_quantity(a, least, "B"));
    f->expected_gain = 1 / (1 - (isfinite(busy) ? busy : 1) * (1 - 1 / times));
    tool_add_number(f, METRIC_DRAM_READ_BYTES, read, b->work.bytes_read + b->work.bytes_again);
    tool_add_number(f, METRIC_DRAM_WRITE_BYTES, written, b->work.bytes_written);
    tool_add_actions(f, s, once, ARRAY_LEN(once));
    return true;
}

const struct tool tool_reread = {
    .name = "reread",
    .summary = "traffic beyond the least that the problem needs",
    .devices = ON_GPU,
    .examine = examine,
};
