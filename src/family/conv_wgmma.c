// conv on tensor cores that a warpgroup drives (wgmma, sm_90a), for f16, bf16, tf32, and f32 by
// three products of tf32 parts; one to three axes, strides, dilation, padding, groups, transposed
// or not.
//
// Rows of the product are the out channels of a group, columns are cells of the grid that windows
// begin at (conv_wgmma.h), and K is taps, channels innermost. Image and weights are copied before
// (conv_rows.c); from then on both are matrices whose boxes the copy engine brings, those of the
// image from as many rows further as the tap says.
//
// A block has one warp that copies and one or two warpgroups that multiply; walks along K are
// short, so that two blocks on a multiprocessor are worth more than large tiles: one stores while
// the other multiplies.
#include "family/conv_wgmma.h"

#include <math.h>

#include "family/conv_mma.h"
#include "family/gpu.h"
#include "family/wgmma_knobs.h"

static const int min_blocks_grid[] = {1, 2, 3, 4, -1};

static const struct knob knobs[] = {
    WGMMA_KNOB_TILE,
    WGMMA_KNOB_WARPGROUPS,
    WGMMA_KNOB_STAGES,
    {.name = "minblocks",
     .summary = "blocks that a multiprocessor shall hold",
     .n_parts = 1,
     .grid = {min_blocks_grid}},
    {0},
};

// Terms that are added before a sum is put aside, as in gemm_wgmma.c; what a thread needs besides
// sums.
enum { CHUNK_TERMS = 128, CHUNK_TF32 = 512, CHUNK_PARTS = 32, REGISTERS_ELSE = 40 };
// What a plan may have of scratch.
#define SCRATCH_MAX ((int64_t)24000 << 20)

// Fewer out channels of a group leave most of a product of 64 rows empty.
static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    return conv_accepts(f, &(struct conv_products){"wgmma", 64, 8, "mma"}, why);
}

// ---- sizes

static int64_t round_up(int64_t n, int64_t by) {
    return (n + by - 1) / by * by;
}

// How many slices `run` elements are: products count, and a little every slice.
static void cut_run(struct conv_wgmma_sizes *z) {
    int64_t least = (z->run + z->depth - 1) / z->depth;
    double best = INFINITY;
    for (int64_t subs = least; subs < least + 3; subs++) {
        int64_t steps = (z->run + subs * z->step - 1) / (subs * z->step);
        double cost = (double)(subs * steps) + 0.5 * (double)subs;
        if (cost < best) {
            best = cost;
            z->subs = subs;
            z->steps = (int)steps;
        }
    }
}

// Do windows read neighbouring cells along the last axis?
static bool can_overlap(const struct conv_form *f, const struct conv_class *c) {
    const struct conv_axis *x = &c->axis[f->n_axes - 1];
    return x->in_tap == x->in_step && x->taps > 1;
}

// One box for taps whose places are neighbouring cells, or cells that are not far from each other.
static void set_share(const struct conv_form *f, const struct conv_class *c,
                      struct conv_wgmma_sizes *z) {
    const int64_t most = z->parts > 1 ? 8 : 64;  // rows that are copied twice by neighbouring tiles
    const struct conv_axis *x = &c->axis[f->n_axes - 1];
    z->share = z->shift = 1;
    if (z->pack < f->n_axes || z->overlaps || x->in_tap % x->in_step != 0 ||
        (x->taps - 1) * (x->in_tap / x->in_step) > most)
        return;
    z->share = (int)x->taps;
    z->shift = (int)(x->in_tap / x->in_step);
}

// A grid that is a little wider lets eight results, or two, be stored at once.
static int64_t align_cells(int64_t cells, int64_t results) {
    int64_t wider = round_up(cells, 8);
    if (results % 8 == 0 && wider * 32 <= cells * 33)
        return wider;
    return results % 2 == 0 ? round_up(cells, 2) : cells;
}

// The image as rows with taps of the axes from `pack` on in them, and K of class `c`.
static void set_rows(const struct conv_form *f, const struct conv_class *c, int pack,
                     struct conv_wgmma_sizes *z) {
    int64_t each = 16 / z->element_bytes;
    z->pack = pack;
    z->channels = round_up(f->in, each);
    z->overlaps = pack == f->n_axes && z->channels < z->depth / 2 && can_overlap(f, c);
    set_share(f, c, z);
    z->cells = z->rows = z->outer = 1;
    int64_t packed = f->in;
    for (int i = 0; i < f->n_axes; i++) {
        const struct conv_axis *x = &c->axis[i];
        z->phases[i] = i < pack ? x->in_step : 1;
        z->grid[i] = i < pack ? (f->padded[i] + x->in_step - 1) / x->in_step : x->out;
        if (i == f->n_axes - 1 && f->n_classes == 1)
            z->grid[i] = align_cells(z->grid[i], x->out);
        z->cells *= z->grid[i];
        z->rows *= z->phases[i];
        if (i >= pack)
            packed *= x->taps;
        else if (!z->overlaps || i < f->n_axes - 1)
            z->outer *= x->taps;
    }
    // Rows that begin inside a sector of 32 bytes are slow: 1.4 ms instead of 1.0 in 54-cube.
    z->row = pack < f->n_axes ? round_up(packed, 2 * each) : z->channels;
    z->columns = f->batch * z->cells;
    z->rows *= z->columns;
    z->run = z->overlaps ? z->channels * c->axis[f->n_axes - 1].taps : z->row;
    cut_run(z);
    z->slices = z->outer * z->subs;
}

// Seconds that rows of this kind take, for a comparison: products, and the way to memory and back.
static double rows_seconds(const struct conv_form *f, const struct conv_wgmma_sizes *z) {
    double products = (double)z->slices * (z->steps + 0.5) * z->step * 2 * z->parts;
    double rate = z->storage == DTYPE_I32 ? 250e12 : 500e12;
    products *= (double)z->columns * (double)(f->groups * round_up(f->out, WGMMA_ROWS)) / rate;
    double bytes = (double)f->groups * (double)z->rows * (double)(z->row * z->element_bytes);
    return products + 2 * z->parts * bytes / 3.5e12;
}

static void choose_rows(const struct conv_form *f, struct conv_wgmma_sizes *z) {
    const struct conv_class *c = &f->classes[0];
    struct conv_wgmma_sizes best = *z;
    set_rows(f, c, f->n_axes, &best);
    for (int pack = f->n_axes - 1; pack >= 0 && !f->transposed; pack--) {
        struct conv_wgmma_sizes other = *z;
        set_rows(f, c, pack, &other);
        if (rows_seconds(f, &other) < 0.9 * rows_seconds(f, &best))
            best = other;
    }
    *z = best;
}

// Are all results rounded to 16 bits or less?
static bool is_narrow(const struct region *r) {
    for (int i = 0; i < r->n_values; i++)
        if (dtype_infos[r->graph->nodes[r->value[i]].dtype].bits > 16)
            return false;
    return true;
}

static int64_t chunk_of(const struct form *f, const struct conv_wgmma_sizes *z) {
    int64_t terms = z->parts > 1 ? CHUNK_PARTS : z->storage == DTYPE_I32 ? CHUNK_TF32 : CHUNK_TERMS;
    int64_t all = z->slices * conv_slice(z);
    if (is_narrow(f->region) || all <= (z->parts > 1 ? 1 : 2) * terms)
        return 0;
    return terms > conv_slice(z) ? terms / conv_slice(z) : 1;
}

// Results pass shared memory on their way, 128 bytes of a warp's 16 rows at a time: straight from
// registers they would be pieces of 16 and 32 bytes, of which most begin and end inside a sector.
static int64_t staged_bytes(const struct conv_wgmma_sizes *z, const struct form *f, int value) {
    int bits = dtype_infos[form_node(f, f->region->value[value])->dtype].bits;
    return bits == 16 || bits == 32 ? (int64_t)z->consumers * 4 * CONV_PASSAGE_BYTES : 0;
}

struct conv_wgmma_sizes conv_wgmma_sizes(const struct form *f, const struct conv_class *class,
                                         const struct kernel_stage *s) {
    const struct conv_form *c = f->conv;
    enum mma_kind kind = MMA_KIND_F16;
    enum dtype type = form_node(f, c->x)->dtype;
    mma_find_kind(f, type, &kind);
    struct conv_wgmma_sizes z = {.storage = type == DTYPE_F32 ? DTYPE_I32 : type};
    z.parts = kind == MMA_KIND_TF32X3 ? 2 : 1;
    z.element_bytes = (int)dtype_size(z.storage, 1);
    z.depth = WGMMA_ROW_BYTES / z.element_bytes;
    z.step = z.depth / WGMMA_STEPS;
    choose_rows(c, &z);
    set_rows(c, class, z.pack, &z);
    z.tile_rows = stage_number(s, "tile", 0);
    z.tile_columns = stage_number(s, "tile", 1);
    z.consumers = stage_number(s, "warpgroups", 0);
    z.stages = stage_number(s, "stages", 0);
    z.resident = stage_number(s, "minblocks", 0);
    z.own = z.tile_rows / z.consumers;
    z.threads = WGMMA_GROUP * z.consumers + (z.consumers > 1 ? WGMMA_GROUP : GPU_WARP);
    for (int i = 0; i < f->region->n_values; i++)
        if (!c->is_strided && z.staged_bytes < staged_bytes(&z, f, i))
            z.staged_bytes = staged_bytes(&z, f, i);
    z.chunk = chunk_of(f, &z);
    int64_t rows = z.tile_columns + (int64_t)(z.share - 1) * z.shift;
    z.boxes = rows > 256 ? 2 : 1;
    z.box = (int)round_up(rows, 8 * z.boxes);
    return z;
}

int64_t conv_wgmma_tiles(const struct conv_form *f, const struct conv_wgmma_sizes *z) {
    return f->groups * ((f->out + z->tile_rows - 1) / z->tile_rows) *
           ((z->columns + z->tile_columns - 1) / z->tile_columns);
}

int conv_wgmma_piece(const struct conv_form *f, const struct conv_wgmma_sizes *z, int bytes) {
    int64_t cells = z->grid[f->n_axes - 1], out = f->classes[0].axis[f->n_axes - 1].out;
    int piece = f->is_strided ? 1 : 16 / bytes;
    while (piece > 1 && (cells % piece != 0 || out % piece != 0))
        piece = piece > 2 ? 2 : 1;
    return piece;
}

// ---- rules

static int64_t sums_of(const struct conv_wgmma_sizes *z) {
    return (int64_t)z->own * z->tile_columns / WGMMA_GROUP * (z->chunk ? 2 : 1);
}

static int64_t shared_bytes(const struct conv_wgmma_sizes *z) {
    int64_t images = z->share > 1 ? CONV_IMAGE_STAGES : z->stages;
    int64_t rows = z->stages * z->tile_rows + images * z->box;
    return rows * WGMMA_ROW_BYTES * z->parts + (z->stages + CONV_IMAGE_STAGES) * 16 +
           z->staged_bytes + 32;
}

// Registers of a thread that multiplies: as many as all warps of a quarter of the multiprocessor
// leave to each; of two warpgroups that of the copies gives up some.
static int64_t registers_of(const struct target *t, const struct conv_wgmma_sizes *z) {
    if (z->consumers > 1)
        return z->resident == 1 ? CONV_REGISTERS_MORE : 0;
    int64_t warps = (z->threads / GPU_WARP * z->resident + 3) / 4;
    int64_t each = t->registers_per_sm / 4 / (GPU_WARP * warps) / 8 * 8;
    return each < 255 ? each : 255;
}

static bool legal_block(const struct target *t, const struct conv_wgmma_sizes *z,
                        struct objection *why) {
    if (z->own < WGMMA_ROWS)
        return objection(why, "warpgroups",
                         "%d warpgroups have %d rows each, and a product has 64: the nearest is %d",
                         z->consumers, z->own, z->tile_rows / WGMMA_ROWS);
    int64_t room = registers_of(t, z) - REGISTERS_ELSE;
    if (sums_of(z) > room)
        return objection(why, "tile",
                         "%lld sums for each thread%s are more than %lld registers: the nearest is "
                         "half the columns, or minblocks 1",
                         (long long)sums_of(z), z->chunk ? ", with those put aside," : "",
                         (long long)room);
    if (!gpu_legal_shared(t, "stages", shared_bytes(z), "fewer stages", why))
        return false;
    if (z->resident > 1 && z->resident * (shared_bytes(z) + 1024) > t->shared_per_sm)
        return objection(why, "minblocks",
                         "a multiprocessor has no room for %d such blocks: the nearest is "
                         "minblocks %d",
                         z->resident, z->resident - 1);
    return true;
}

static double scratch_bytes(const struct conv_form *f, const struct conv_wgmma_sizes *z) {
    return (double)z->parts * (double)f->groups * (double)z->rows *
           (double)(z->row * z->element_bytes);
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    const struct conv_form *c = f->conv;
    for (int i = 0; i < c->n_classes; i++) {
        struct conv_wgmma_sizes z = conv_wgmma_sizes(f, &c->classes[i], s);
        if (!legal_block(t, &z, why))
            return false;
        if ((double)c->groups * (double)z.rows > (double)(INT32_MAX - z.tile_columns) ||
            (double)conv_wgmma_tiles(c, &z) * (double)z.slices > (double)INT32_MAX)
            return objection(why, NULL,
                             "the image has %lld places, and the copy engine counts below 2^31; "
                             "take mma",
                             (long long)(c->groups * z.rows));
        if (scratch_bytes(c, &z) > (double)SCRATCH_MAX)
            return objection(why, NULL,
                             "the image as rows takes %.0f bytes of scratch, above %lld; take mma",
                             scratch_bytes(c, &z), (long long)SCRATCH_MAX);
    }
    return true;
}

// ---- estimates

// One tile on a multiprocessor that has it to itself.
static double tile_seconds(const struct conv_wgmma_sizes *z, const struct target *t) {
    double clock = t->top_clock_hz > 0 ? t->top_clock_hz : 1.7e9;
    int warpgroups = z->consumers * z->resident;
    double step = z->tile_columns / 2.0 * z->tile_rows / WGMMA_ROWS * (z->parts > 1 ? 3 : 1);
    // One warpgroup alone waits for its products, and narrow ones for shared memory.
    if (warpgroups == 1)
        step *= 1.25;
    if (z->tile_columns < 128)
        step *= 1.3;
    double slice = step * z->steps + 40;
    double stored = (double)z->tile_rows * z->tile_columns / (z->resident > 1 ? 24.0 : 12.0);
    return ((double)z->slices * slice / 0.8 + stored + 300) / clock;
}

// How much longer boxes of short rows take, by what was measured: rows of 16 bytes begin inside a
// sector (54-cube in f32 2.8 ms, by mma 1.4, in tf32 1.47 and 1.04), two parts of few channels are
// copied for little (50-alexnet 1.9 ms, by mma 1.6).
static double short_rows(const struct conv_form *f, const struct conv_wgmma_sizes *z) {
    if (z->overlaps && z->row * z->element_bytes < 32)
        return z->element_bytes == 4 ? 6 : 4;
    return z->parts > 1 && z->pack < f->n_axes ? 2.5 : 1;
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct conv_form *c = f->conv;
    struct region_work w;
    region_count(f->region, &w);
    double seconds = 0, rate = gpu_bytes_per_s(t), image = 0;
    for (int i = 0; i < c->n_classes; i++) {
        struct conv_wgmma_sizes z = conv_wgmma_sizes(f, &c->classes[i], s);
        double tiles = ceil((double)conv_wgmma_tiles(c, &z) / t->sms) * tile_seconds(&z, t);
        seconds += tiles * short_rows(c, &z) + 4e-6;
        image = scratch_bytes(c, &z);
    }
    double memory = (image + w.bytes_written) / rate;
    seconds = fmax(seconds, memory) + 0.15 * fmin(seconds, memory);
    // The image is read, and written as rows.
    return seconds + (w.bytes_read + image) / (0.75 * rate) + 6e-6;
}

// ---- what a stage begins with: the legal one that should be fastest

static const struct shape_row {
    int rows, columns, warpgroups, resident;
} shapes[] = {{128, 128, 1, 2}, {128, 256, 2, 1}, {64, 256, 1, 2}, {128, 128, 2, 1},
              {64, 128, 1, 3},  {64, 128, 1, 2},  {64, 64, 1, 4},  {64, 64, 1, 1}};

// With as many stages as there is room for, up to six.
static bool set_shape(const struct form *f, const struct target *t, struct kernel_stage *s,
                      const struct shape_row *r) {
    stage_set(s, "tile", 0, r->rows);
    stage_set(s, "tile", 1, r->columns);
    stage_set(s, "warpgroups", 0, r->warpgroups);
    stage_set(s, "minblocks", 0, r->resident);
    return wgmma_fill_stages(&conv_wgmma, f, t, s, 6);
}

// What measured best on an H200 of those that should take about as long: wide tiles for words and
// for short walks along K, whose stores count, two blocks that relieve each other otherwise.
static bool is_preferred(const struct form *f, const struct shape_row *r,
                         const struct kernel_stage *s) {
    struct conv_wgmma_sizes z = conv_wgmma_sizes(f, &f->conv->classes[0], s);
    bool is_short = z.slices * conv_slice(&z) <= 256;
    if (f->conv->out <= WGMMA_ROWS)
        return r->rows == WGMMA_ROWS && r->columns == (z.chunk ? 128 : 256) && r->resident == 2;
    if (z.chunk)
        return r->columns == 128 && r->warpgroups == 2;
    return z.storage == DTYPE_I32 || is_short ? r->columns == 256 && r->warpgroups == 2
                                              : r->rows == 128 && r->resident == 2;
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    const struct shape_row *best = &shapes[sizeof shapes / sizeof *shapes - 1];
    double least = INFINITY;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        double seconds = set_shape(f, t, s, &shapes[i]) ? estimate(f, t, s) : INFINITY;
        seconds *= is_preferred(f, &shapes[i], s) ? 0.75 : 1;
        if (seconds < least) {
            least = seconds;
            best = &shapes[i];
        }
    }
    set_shape(f, t, s, best);
}

const struct emitter conv_wgmma = {
    .name = "wgmma",
    .summary = "a convolution on tensor cores, copies and products by different warps",
    .knobs = knobs,
    .runs_on = wgmma_runs_on,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = conv_wgmma_lower,
    .estimate = estimate,
};
