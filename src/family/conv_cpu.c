// conv on a CPU: an implicit product; conv_cpu.h has the idea.
#include "family/conv_cpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int vec_grid[] = {4, 8, 16, -1};
static const int pixels_grid[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 32, 48, 64, 128, -1};
static const int wide_grid[] = {1, 2, 3, 4, 6, 8, 12, 16, 32, 48, 64, -1};
static const int rows_grid[] = {1, 2, 4, 8, 16, 32, -1};
static const int channels_grid[] = {1,  2,  3,  4,   6,   8,   12,  16,  24, 32,
                                    48, 64, 96, 128, 192, 256, 384, 512, -1};
static const int depth_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, -1};

static const char *const lanes_words[] = {"channels", "columns", NULL};

enum { KNOB_TILE, KNOB_MICRO, KNOB_DEPTH };

static const struct knob knobs[] = {
    [KNOB_TILE] = {.name = "tile",
                   .summary = "rows of results and out channels that a block computes",
                   .n_parts = 2,
                   .grid = {rows_grid, channels_grid}},
    [KNOB_MICRO] = {.name = "micro",
                    .summary = "results side by side, and their channels, held in registers",
                    .n_parts = 2,
                    .grid = {pixels_grid, wide_grid}},
    [KNOB_DEPTH] = {.name = "depth",
                    .summary = "channels of the image copied at a time",
                    .n_parts = 1,
                    .grid = {depth_grid}},
    {.name = "lanes",
     .summary = "what lies side by side in a vector: out channels, or results of a row",
     .words = lanes_words},
    {.name = "vec", .summary = "lanes of a vector", .n_parts = 1, .grid = {vec_grid}},
    {0},
};

enum { SPAN_COLUMNS = 512 };  // results of a row that a block computes at once, at most

// ---- sizes

static int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// What windows of `n` neighbouring results cover.
static int64_t covered(const struct conv_axis *x, int64_t n) {
    return (n - 1) * x->in_step + (x->taps - 1) * x->in_tap + 1;
}

struct conv_cpu_sizes conv_cpu_sizes(const struct conv_form *f, const struct conv_class *c,
                                     const struct kernel_stage *s) {
    int row_axis = conv_cpu_row_axis(f), plane_axis = conv_cpu_plane_axis(f);
    const struct conv_axis *column = &c->axis[conv_cpu_column_axis(f)];
    struct conv_cpu_sizes z = {.by_columns = stage_word_is(s, "lanes", "columns"),
                               .lanes = stage_number(s, "vec", 0),
                               .pixels = stage_number(s, "micro", 0),
                               .wide = stage_number(s, "micro", 1),
                               .rows = 1,
                               .row_tiles = 1,
                               .leads = 1,
                               .image_rows = 1};
    z.n_vectors = (z.by_columns ? z.pixels : z.wide) / z.lanes;
    z.n_sums = z.n_vectors * (z.by_columns ? z.wide : z.pixels);
    z.panels_all = ceil_div(f->out, z.wide);
    z.panels = least(z.panels_all, stage_number(s, "tile", 1) / z.wide);
    z.depth = least(f->in, stage_number(s, "depth", 0));
    z.columns = ceil_div(column->out, ceil_div(column->out, SPAN_COLUMNS));
    z.columns = ceil_div(z.columns, z.pixels) * z.pixels;
    z.spans = ceil_div(column->out, z.columns);
    z.image_columns = covered(column, z.columns);
    z.pitch = ceil_div(z.image_columns, z.lanes) * z.lanes;
    if (row_axis >= 0) {
        z.rows = least(stage_number(s, "tile", 0), c->axis[row_axis].out);
        z.row_tiles = ceil_div(c->axis[row_axis].out, z.rows);
        z.image_rows = covered(&c->axis[row_axis], z.rows);
    }
    if (plane_axis >= 0)
        z.leads = c->axis[plane_axis].taps;
    return z;
}

int64_t conv_cpu_image_count(const struct conv_cpu_sizes *z) {
    return z->depth * z->leads * z->image_rows * z->pitch;
}

int64_t conv_cpu_tile_count(const struct conv_cpu_sizes *z) {
    return z->rows * z->columns * z->panels * z->wide;
}

// ---- rules

// Of the class that takes most.
static int64_t local_bytes(const struct conv_form *f, const struct kernel_stage *s) {
    int64_t most = 0;
    for (int i = 0; i < f->n_classes; i++) {
        struct conv_cpu_sizes z = conv_cpu_sizes(f, &f->classes[i], s);
        int64_t bytes = 4 * (conv_cpu_image_count(&z) + conv_cpu_tile_count(&z));
        most = bytes > most ? bytes : most;
    }
    return most;
}

// ---- what it takes

// A stage whose local arrays are least: one row, one channel, results in lanes.
static struct kernel_stage smallest_stage(void) {
    struct kernel_stage s = {0};
    for (const struct knob *k = knobs; k->name; k++)
        s.knobs[s.n_knobs++] = (struct kernel_knob){
            .name = k->name, .n_parts = k->n_parts, .part = {1, 1}, .word = "columns"};
    stage_set(&s, "micro", 0, LANES_MAX);
    stage_set(&s, "vec", 0, LANES_MAX);
    return s;
}

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct conv_form *c = f->conv;
    const char *name = form_node(f, c->anchor)->name;
    enum dtype a = form_node(f, c->x)->dtype, b = form_node(f, c->w)->dtype;
    if (loop_arithmetic(a) != LOOP_F32 || loop_arithmetic(b) != LOOP_F32)
        return objection(why, NULL,
                         "conv adds up in f32 here, and operands of %s are %s and %s; take nest",
                         name, dtype_name(a), dtype_name(b));
    struct kernel_stage smallest = smallest_stage();
    if (local_bytes(c, &smallest) > LOCAL_BYTES_MAX)
        return objection(
            why, NULL,
            "what windows of %s cover of one channel takes %lld bytes, above the %d of "
            "local arrays; take nest",
            name, (long long)local_bytes(c, &smallest), LOCAL_BYTES_MAX);
    return true;
}

// The next value below on the grid; false: it is the least.
static bool lower_knob(struct kernel_stage *s, int knob, int part, int least_value) {
    const struct knob *k = &knobs[knob];
    int at = knob_position(k, part, stage_number(s, k->name, part));
    if (at <= 0 || k->grid[part][at - 1] < least_value)
        return false;
    stage_set(s, k->name, part, k->grid[part][at - 1]);
    return true;
}

// The stage with local arrays that fit: first fewer channels of the image, then rows, then channels
// of results. False: not even the least ones do.
static bool shrink(const struct conv_form *f, struct kernel_stage *s, int64_t bytes) {
    while (local_bytes(f, s) > bytes)
        if (!lower_knob(s, KNOB_DEPTH, 0, 8) && !lower_knob(s, KNOB_TILE, 0, 1) &&
            !lower_knob(s, KNOB_TILE, 1, stage_number(s, "micro", 1)) &&
            !lower_knob(s, KNOB_DEPTH, 0, 1))
            return false;
    return true;
}

static int registers_of(const struct target *t) {
    return t->vector_bytes >= 64 ? 32 : 16;
}

// The micro-kernel's two sides: of vectors, which is part `lane_part` of the knob, and of scalars.
static bool legal_micro(const struct target *t, const struct kernel_stage *s,
                        struct objection *why) {
    int micro[2] = {stage_number(s, "micro", 0), stage_number(s, "micro", 1)};
    int vec = stage_number(s, "vec", 0), all = registers_of(t);
    int lane_part = stage_word_is(s, "lanes", "columns") ? 0 : 1;
    int *in_lanes = &micro[lane_part], *others = &micro[1 - lane_part];
    if (*in_lanes % vec != 0) {
        int given = *in_lanes;
        *in_lanes = given < vec ? vec : given / vec * vec;
        return objection(why, "micro",
                         "the %d %s of micro are no multiple of vec %d: the nearest is %dx%d",
                         given, lane_part ? "channels" : "results", vec, micro[0], micro[1]);
    }
    int vectors = *in_lanes / vec, used = *others * vectors + vectors + 1;
    if (used > all) {
        objection(why, "micro", "micro %dx%d with vec %d takes %d vector registers of %d", micro[0],
                  micro[1], vec, used, all);
        *others = knob_at_most(&knobs[KNOB_MICRO], 1 - lane_part, (all - 1 - vectors) / vectors);
        size_t n = strlen(why->text);
        snprintf(why->text + n, sizeof why->text - n, ": the nearest is %dx%d", micro[0], micro[1]);
        return false;
    }
    return true;
}

// The value of the grid next to `channels` that is a multiple of `wide`, which is one itself.
static int nearest_channels(int channels, int wide) {
    int nearest = wide;
    for (const int *c = channels_grid; *c > 0; c++)
        if (*c % wide == 0 && abs(*c - channels) < abs(nearest - channels))
            nearest = *c;
    return nearest;
}

static bool is_legal(const struct form *form, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    const struct conv_form *f = form->conv;
    int channels = stage_number(s, "tile", 1), wide = stage_number(s, "micro", 1);
    if (!legal_vector(t, s, why) || !legal_micro(t, s, why))
        return false;
    if (channels % wide != 0)
        return objection(why, "tile",
                         "a tile of %d channels is no multiple of the %d of micro: the nearest is "
                         "tile %dx%d",
                         channels, wide, stage_number(s, "tile", 0),
                         nearest_channels(channels, wide));
    if (local_bytes(f, s) > LOCAL_BYTES_MAX) {
        struct kernel_stage fits = *s;
        bool ok = shrink(f, &fits, LOCAL_BYTES_MAX);
        return objection(why, "tile",
                         "tile %dx%d with depth %d needs %lld bytes of local arrays, above %d: %s "
                         "tile %dx%d with depth %d",
                         stage_number(s, "tile", 0), channels, stage_number(s, "depth", 0),
                         (long long)local_bytes(f, s), LOCAL_BYTES_MAX,
                         ok ? "the nearest is" : "and so does", stage_number(&fits, "tile", 0),
                         stage_number(&fits, "tile", 1), stage_number(&fits, "depth", 0));
    }
    return true;
}

// ---- how long it takes

// Cycles of one term of the micro-kernel's sums: two products, or two loads, a cycle, and no sum
// more often than once in four.
static double term_cycles(const struct conv_cpu_sizes *z, int64_t step) {
    double vector = z->by_columns && step > 1 ? z->lanes : 1;  // what a strided one costs
    double loads = z->n_vectors * vector + (double)z->n_sums / z->n_vectors;
    return fmax(4, fmax(z->n_sums / 2.0, loads / 2));
}

static double class_seconds(const struct conv_form *f, const struct conv_class *c,
                            const struct target *t, const struct kernel_stage *s) {
    struct conv_cpu_sizes z = conv_cpu_sizes(f, c, s);
    double threads = t->n_threads > 0 ? t->n_threads : 1;
    double peak = t->ceilings.present ? t->ceilings.f32_flops_per_s : 1e11 * threads;
    double hertz = peak / (threads * 2 * 2 * t->vector_bytes / 4);
    int plane_axis = conv_cpu_plane_axis(f);
    double planes = plane_axis >= 0 ? (double)c->axis[plane_axis].out : 1;
    double parts = (double)ceil_div(z.panels_all, z.panels);
    double places = (double)f->batch * (double)f->groups * planes * (double)z.row_tiles *
                    (double)z.spans;  // blocks, but for those of other channels
    double rows = (double)z.rows, columns = (double)z.columns,
           turns = (double)f->in / (double)z.depth;
    double kernels = rows * columns / z.pixels * (double)z.panels_all;  // of all channels' blocks
    double terms = (double)f->in * (double)c->taps;
    int64_t step = c->axis[conv_cpu_column_axis(f)].in_step;
    double product = kernels * (terms * term_cycles(&z, step) + turns * (20 + 2 * z.n_sums));
    // gcc 12 holds elements of the image next to the sums: of 28 sums it moves some to the stack.
    if (z.n_sums + z.n_vectors > registers_of(t) * 3 / 4)
        product *= 1.15;
    // Panels of a turn that leave the first cache come from the second one, a line in three cycles.
    double panel = (double)z.depth * (double)c->taps * z.wide * 4;
    if (panel > 24e3)
        product += kernels * terms * z.wide / 16;
    double image = parts * (double)f->in * (double)z.leads * (double)z.image_rows *
                   (6 + 3.0 * (double)z.pitch / z.lanes);
    double weights = 1.5 * (double)f->out * terms;  // of each block, from the third cache
    double results = (z.by_columns ? 0.3 : 2.0) * rows * columns * (double)f->out;
    if (4.0 * (double)(conv_cpu_image_count(&z) + conv_cpu_tile_count(&z)) >
        0.75 * (double)t->l2_bytes)
        product *= 1.2;
    double cycles = places * (product + image + weights / 16 + results);
    double blocks = places * parts;
    cycles *= ceil(blocks / threads) * threads / blocks;
    cycles += 3 * (double)f->groups * (double)f->out * terms;
    return cycles / hertz / threads;
}

static double estimate(const struct form *form, const struct target *t,
                       const struct kernel_stage *s) {
    const struct conv_form *f = form->conv;
    struct region_work w;
    region_count(form->region, &w);
    double seconds = 0;
    for (int i = 0; i < f->n_classes; i++)
        seconds += class_seconds(f, &f->classes[i], t, s);
    double bandwidth = t->ceilings.present ? ceilings_bandwidth(&t->ceilings, 0.5) : 1e10;
    return fmax(seconds, (w.bytes_read + w.bytes_written) / bandwidth);
}

// ---- what a stage begins with: the legal one that should be fastest

struct search {
    const struct form *form;
    const struct target *target;
    struct kernel_stage best;
    double seconds;
};

static void try_stage(struct search *x, struct kernel_stage s) {
    struct objection why;
    if (stage_number(&s, "tile", 1) % stage_number(&s, "micro", 1) != 0)
        return;
    shrink(x->form->conv, &s, LOCAL_BYTES_MAX / 2);
    double seconds =
        is_legal(x->form, x->target, &s, &why) ? estimate(x->form, x->target, &s) : INFINITY;
    if (seconds < x->seconds) {
        x->seconds = seconds;
        x->best = s;
    }
}

// Every micro-kernel with a few tiles.
static void try_micro(struct search *x, struct kernel_stage s) {
    static const int panels[] = {1, 4, 8}, rows[] = {1, 4, 8, 16}, depth[] = {8, 16, 32};
    struct objection why;
    if (!legal_micro(x->target, &s, &why))
        return;
    for (int i = 0; i < 4 * 3 * 3; i++) {
        int channels = panels[i / 4 % 3] * stage_number(&s, "micro", 1);
        stage_set(&s, "tile", 0, rows[i % 4]);
        stage_set(&s, "tile", 1, knob_at_most(&knobs[KNOB_TILE], 1, channels));
        stage_set(&s, "depth", 0, depth[i / 12]);
        try_stage(x, s);
    }
}

static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    struct search x = {.form = form, .target = t, .best = *s, .seconds = INFINITY};
    for (int word = 0; lanes_words[word]; word++) {
        int64_t along =
            word ? form->conv->classes[0].axis[form->conv->n_axes - 1].out : form->conv->out;
        int vec = t->vector_bytes >= 64 ? 16 : t->vector_bytes >= 32 ? 8 : 4;
        while (vec > 4 && vec / 2 >= along)
            vec /= 2;
        stage_set(s, "vec", 0, vec);
        stage_set_word(s, "lanes", lanes_words[word]);
        for (int p = 0; pixels_grid[p] > 0; p++)
            for (int w = 0; wide_grid[w] > 0 && (w == 0 || wide_grid[w - 1] < form->conv->out);
                 w++) {
                stage_set(s, "micro", 0, pixels_grid[p]);
                stage_set(s, "micro", 1, wide_grid[w]);
                try_micro(&x, *s);
            }
    }
    *s = x.best;
}

const struct emitter conv_cpu = {
    .name = "cpu",
    .summary = "a convolution with elementwise work before and after",
    .knobs = knobs,
    .runs_on = emitter_runs_on_cpu,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = conv_cpu_lower,
    .estimate = estimate,
};
