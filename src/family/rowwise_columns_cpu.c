// rowwise on a CPU where the last axis is kept: elements of a row lie far apart, and those of
// neighbouring rows side by side (an RMS norm over channels, a softmax over axis 0).
//
// A block has a strip of neighbouring rows, some vectors wide, and walks over its columns: each
// reduction has an accumulator for every vector of rows, in registers. A strip is a piece of a few
// hundred bytes out of every column; columns whose distance is a power of two share few sets of the
// caches, so that a second walk would find most of them gone. What later walks need is therefore
// copied into a local array (`keep local`), and memory is read once. RMS norm over 64 channels of
// 8 x 64 x 128 x 128: statistics and results as two stages read x twice.
//
// Reading and storing by turns leaves one half of memory's way idle, so `overlap strips` stores
// each strip while the next one is read: a block has COLUMNS_CPU_RUN of them, and what is kept of
// two. rowwise_columns_cpu_lower.c has the loops.

#include "family/rowwise_columns_cpu.h"
#include "base/arena.h"
#include "family/emitter.h"
#include "family/knobs.h"
#include "family/rows_keep.h"

static const int strip_grid[] = {1, 2, 4, 8, 16, COLUMNS_CPU_STRIP_MAX, -1};
static const int ahead_grid[] = {0, 2, 4, 8, 16, -1};
static const char *const overlap_words[] = {"none", "strips", NULL};

static const struct knob knobs[] = {
    {.name = "vec",
     .summary = "lanes of a vector: rows",
     .n_parts = 1,
     .grid = {knob_cpu_vec_grid}},
    {.name = "strip",
     .summary = "vectors of rows side by side in a block",
     .n_parts = 1,
     .grid = {strip_grid}},
    {.name = "keep",
     .summary = "read again in later walks, or keep in a local array",
     .words = knob_keep_local_words},
    {.name = "ahead",
     .summary = "prefetch this many elements of a row ahead",
     .n_parts = 1,
     .grid = {ahead_grid}},
    {.name = "overlap",
     .summary = "store a strip while the next one is read",
     .words = overlap_words},
    KNOB_DIVIDE,
    KNOB_CPU_STORE,
    {0},
};

struct figures {
    int64_t n_inner;  // rows side by side in memory
    int n_kept;       // values of an element that later walks need
};

static struct figures find_figures(const struct form *form) {
    struct arena scratch = {0};
    struct rows_keep keep;
    struct lowering l = {.arena = &scratch, .region = form->region};
    rows_build_space(&l, form->rows);
    rows_plan_keep(form->rows, &scratch, false, &keep);
    struct figures f = {l.space.count[columns_cpu_lane_group(&l.space, form->rows)], keep.n_kept};
    arena_reset(&scratch);
    return f;
}

static bool accepts(const struct form *form, const struct target *t, struct objection *why) {
    (void)t;
    return !form->rows->is_along ||
           objection(why, NULL, "elements of a row are neighbours in memory, not those of rows");
}

static int64_t kept_bytes(const struct form *form, const struct kernel_stage *s) {
    int64_t rows = (int64_t)stage_number(s, "vec", 0) * stage_number(s, "strip", 0);
    int twice = stage_word_is(s, "overlap", "strips") ? 2 : 1;
    return 4 * twice * find_figures(form).n_kept * form->rows->n_columns * rows;
}

// Strips are stored a turn later out of what was kept of them, and all are whole.
static bool legal_overlap(const struct form *form, const struct kernel_stage *s,
                          struct objection *why) {
    int64_t width = (int64_t)stage_number(s, "vec", 0) * stage_number(s, "strip", 0);
    if (stage_word_is(s, "overlap", "none"))
        return true;
    if (!rows_any_full_value(form->rows))
        return objection(why, "overlap",
                         "there are no strips to store: the nearest is overlap none");
    if (find_figures(form).n_inner % width != 0)
        return objection(why, "overlap",
                         "%lld rows side by side are no multiple of strips of %lld: the nearest is "
                         "overlap none",
                         (long long)find_figures(form).n_inner, (long long)width);
    return true;
}

static bool is_legal(const struct form *form, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    if (!legal_vector(t, s, why) || !legal_lanes(s, form->lanes, why))
        return false;
    if (!legal_overlap(form, s, why))
        return false;
    int64_t bytes = stage_word_is(s, "keep", "local") ? kept_bytes(form, s) : 0;
    if (bytes > LOCAL_BYTES_MAX)
        return objection(why, "keep",
                         "keep local needs %lld bytes for a strip, above %d: the nearest is a "
                         "smaller strip, or keep reread",
                         (long long)bytes, LOCAL_BYTES_MAX);
    return stage_word_is(s, "store", "cached") || legal_stream(s, find_figures(form).n_inner, why);
}

// The widest strip whose kept values leave half of the second cache to what passes through it.
static void default_strip(const struct form *form, const struct target *t, struct kernel_stage *s,
                          int widest) {
    int64_t room = t->l2_bytes > 0 ? t->l2_bytes / 2 : LOCAL_BYTES_MAX / 4;
    room = room < LOCAL_BYTES_MAX ? room : LOCAL_BYTES_MAX;
    for (int i = widest; i >= 0; i--) {
        stage_set(s, "strip", 0, strip_grid[i]);
        if (kept_bytes(form, s) <= room)
            break;
    }
    if (kept_bytes(form, s) <= room && find_figures(form).n_kept > 0)
        stage_set_word(s, "keep", "local");
    else if (find_figures(form).n_kept > 0)
        stage_set(s, "strip", 0, strip_grid[widest]);
}

// Does what a strip reads, of three of them on every thread, stay in a quarter of the last cache?
static bool is_near(const struct form *form, const struct target *t, const struct kernel_stage *s) {
    struct region_work w;
    region_count(form->region, &w);
    double width = (double)stage_number(s, "vec", 0) * stage_number(s, "strip", 0);
    double strip = w.bytes_read / (double)form->rows->n_rows * width;
    return 3 * strip * t->n_threads <= (double)t->llc_bytes / 4;
}

// The widest strips, each while the one before is stored, where there are blocks enough. That one
// is read again from the caches: storing values in an array and loading them takes longer (the RMS
// norm above on two cores of an EPYC, Zen 4, 1.84 ms by strips of 16 vectors that are kept, 1.47
// read again, 1.33 by strips of 32; 6 other shapes, softmax too: 15 to 27% less).
static void default_overlap(const struct form *form, const struct target *t,
                            struct kernel_stage *s) {
    for (int i = 5; strip_grid[i] >= 8; i--) {
        struct kernel_stage next = *s;
        struct objection why;
        stage_set(&next, "strip", 0, strip_grid[i]);
        stage_set_word(&next, "overlap", "strips");
        stage_set_word(&next, "keep", "reread");
        int64_t width = (int64_t)stage_number(&next, "vec", 0) * strip_grid[i];
        if (form->rows->n_rows / width / COLUMNS_CPU_RUN >= 8 * (int64_t)t->n_threads &&
            is_near(form, t, &next) && is_legal(form, t, &next, &why)) {
            *s = next;
            return;
        }
    }
}

static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    struct region_work w;
    struct objection why;
    region_count(form->region, &w);
    stage_set(s, "vec", 0, default_vec(t, form->lanes));
    default_strip(form, t, s, 3);
    if (!is_long_stream(t, w.bytes_read))
        return;
    if (is_long_stream(t, w.bytes_written))
        default_overlap(form, t, s);
    stage_set(s, "ahead", 0, stage_word_is(s, "overlap", "strips") ? 4 : 16);
    stage_set_word(s, "divide", "reciprocal");
    stage_set_word(s, "store", is_long_stream(t, w.bytes_written) ? "stream" : "cached");
    if (!is_legal(form, t, s, &why))  // rows of results that do not begin at multiples of vectors
        stage_set_word(s, "store", "cached");
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct figures figures = find_figures(f);
    double width = (double)stage_number(s, "vec", 0) * stage_number(s, "strip", 0);
    // What is read again comes from memory, or with `overlap` from near; what is kept is stored.
    bool is_kept = stage_word_is(s, "keep", "local") || figures.n_kept == 0;
    bool is_overlapped = stage_word_is(s, "overlap", "strips");
    double again = is_kept ? 1 : is_overlapped && is_near(f, t, s) ? 0.85 : 1.8;
    double serial = stage_number(s, "ahead", 0) ? 0.4 : 0.7;
    serial -= is_overlapped ? 0.3 : 0;
    double work = stage_word_is(s, "divide", "exact") ? 1.15 : 1;
    double seconds = estimate_stream(f->region, t, s, work, serial);
    // Short pieces are fetched line by line.
    double pieces = 1 + 16 / width;
    double blocks = (double)f->rows->n_rows / width;
    return seconds * pieces * again * (1 + 0.5 * t->n_threads / (blocks + t->n_threads)) +
           blocks * 100e-9;
}

const struct emitter rowwise_columns_cpu = {
    .name = "columns",
    .summary = "rows along other axes than the last, neighbouring ones by strips",
    .knobs = knobs,
    .runs_on = emitter_runs_on_cpu,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = columns_cpu_lower,
    .estimate = estimate,
};
