// Hardware counters of chosen launches, by CUPTI's range profiler: the driver runs such a kernel as
// often as it has passes, and restores memory in between. Everything that the context has allocated
// is saved for that, so a program that holds most of the card is refused.
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inject.h"

struct range_profiler {
    void *context;  // NULL: free
    void *host, *ranger;
    uint8_t *image, *data;
    size_t image_size, data_size, passes;
    bool is_open, has_failed;
    int running;  // launch that is being counted; -1: none
};
static struct range_profiler rangers[CONTEXTS_MAX];

static struct range_profiler *find(void *context) {
    struct range_profiler *free_one = NULL;
    for (int i = 0; i < CONTEXTS_MAX; i++) {
        if (rangers[i].context == context)
            return &rangers[i];
        if (!rangers[i].context && !free_one)
            free_one = &rangers[i];
    }
    if (free_one)
        *free_one = (struct range_profiler){.context = context, .running = -1};
    return free_one;
}

static int make_image(struct range_profiler *r, const char *chip) {
    struct host_open_params open = {.size = SIZE_TO(struct host_open_params, host), .chip = chip};
    int code = CUPTI(host_open, &open);
    r->host = open.host;
    struct host_add_params add = {SIZE_TO(struct host_add_params, n), NULL, r->host, state.counters,
                                  (size_t)state.n_counters};
    code = code ? code : CUPTI(host_add, &add);
    struct host_image_size_params size = {
        .size = SIZE_TO(struct host_image_size_params, image_size), .host = r->host};
    code = code ? code : CUPTI(host_image_size, &size);
    if (code)
        return code;
    r->image_size = size.image_size;
    r->image = calloc(1, r->image_size + 1);
    struct host_image_params image = {SIZE_TO(struct host_image_params, image), NULL, r->host,
                                      r->image_size, r->image};
    code = CUPTI(host_image, &image);
    struct host_passes_params passes = {SIZE_TO(struct host_passes_params, passes), NULL,
                                        r->image_size, r->image, 0};
    code = code ? code : CUPTI(host_passes, &passes);
    r->passes = passes.passes;
    return code;
}

static int open_ranger(struct range_profiler *r) {
    struct profiler_open_params begin = {.size = sizeof begin};
    uint32_t device = 0;
    int code = CUPTI(profiler_open, &begin);
    code = code ? code : CUPTI(device, r->context, &device);
    struct chip_name_params chip = {.size = SIZE_TO(struct chip_name_params, name),
                                    .device = device};
    code = code ? code : CUPTI(chip, &chip);
    code = code ? code : make_image(r, chip.name);
    struct range_enable_params enable = {.size = SIZE_TO(struct range_enable_params, ranger),
                                         .context = r->context};
    code = code ? code : CUPTI(range_enable, &enable);
    r->ranger = enable.ranger;
    struct range_data_size_params size = {.size = SIZE_TO(struct range_data_size_params, data_size),
                                          .ranger = r->ranger,
                                          .names = state.counters,
                                          .n = (size_t)state.n_counters,
                                          .max_ranges = 1,
                                          .max_nodes = 1};
    code = code ? code : CUPTI(range_data_size, &size);
    if (code)
        return code;
    r->data_size = size.data_size;
    r->data = calloc(1, r->data_size + 1);
    r->is_open = true;
    out_line("counters %zu", r->passes);
    return 0;
}

// Ranges are cut by the profiler itself, one for each kernel: those that a caller pushes are tens
// of microseconds too long.
static int start(struct range_profiler *r) {
    struct range_data_open_params open = {SIZE_TO(struct range_data_open_params, data), NULL,
                                          r->ranger, r->data_size, r->data};
    int code = CUPTI(range_data_open, &open);
    struct range_config_params config = {.size = SIZE_TO(struct range_config_params, level),
                                         .ranger = r->ranger,
                                         .image_size = r->image_size,
                                         .image = r->image,
                                         .data_size = r->data_size,
                                         .data = r->data,
                                         .range = CUPTI_RANGE_AUTO,
                                         .replay = CUPTI_REPLAY_KERNEL,
                                         .max_ranges = 1,
                                         .n_levels = 1,
                                         .min_level = 1,
                                         .level = 1};
    code = code ? code : CUPTI(range_config, &config);
    struct range_params begin = {SIZE_TO(struct range_params, ranger), NULL, r->ranger};
    return code ? code : CUPTI(range_start, &begin);
}

static void write_values(int launch, const double *values) {
    flockfile(state.out);
    fprintf(state.out, "counted %d", launch);
    for (int i = 0; i < state.n_counters; i++) {
        if (isfinite(values[i]))
            fprintf(state.out, " %.10g", values[i]);
        else
            fputs(" -", state.out);
    }
    fputc('\n', state.out);
    fflush(state.out);
    funlockfile(state.out);
}

static int stop(struct range_profiler *r) {
    double values[COUNTERS_MAX];
    struct range_stop_params end = {.size = SIZE_TO(struct range_stop_params, is_done),
                                    .ranger = r->ranger};
    int code = CUPTI(range_stop, &end);
    struct range_decode_params decode = {.size = SIZE_TO(struct range_decode_params, n_dropped),
                                         .ranger = r->ranger};
    code = code ? code : CUPTI(range_decode, &decode);
    struct range_data_info_params info = {.size = SIZE_TO(struct range_data_info_params, n_ranges),
                                          .data = r->data,
                                          .data_size = r->data_size};
    code = code ? code : CUPTI(range_data_info, &info);
    if (code || info.n_ranges == 0)
        return code;
    struct host_evaluate_params evaluate = {.size = SIZE_TO(struct host_evaluate_params, values),
                                            .host = r->host,
                                            .data = r->data,
                                            .data_size = r->data_size,
                                            .names = state.counters,
                                            .n = (size_t)state.n_counters,
                                            .values = values};
    code = CUPTI(host_evaluate, &evaluate);
    if (!code)
        write_values(r->running, values);
    return code;
}

// Is so much of the card taken that saving all of it for every pass would take minutes? What this
// program has must fit in memory a second time; where nobody said how much that is, it may be all.
static bool is_memory_full(void) {
    void *driver = driver_library();
    int (*ask)(size_t *, size_t *) = driver ? dlsym(driver, "cuMemGetInfo_v2") : NULL;
    size_t free_bytes = 0, all = 0;
    if (!ask || ask(&free_bytes, &all) != 0)
        return false;
    if (free_bytes >= (state.memory ? state.memory : all / 2))
        return false;
    out_line("error counters memory 0 %zu of %zu bytes of the card are taken", all - free_bytes,
             all);
    fflush(state.out);
    return true;
}

static bool is_same(const struct wanted_launch *w, const char *name, const unsigned *grid,
                    const unsigned *block) {
    return memcmp(w->grid, grid, sizeof w->grid) == 0 &&
           memcmp(w->block, block, sizeof w->block) == 0 && strcmp(w->name, name) == 0;
}

void ranges_before(void *context, const char *name, const unsigned *grid, const unsigned *block) {
    int chosen = -1;
    for (int i = 0; i < state.n_launches; i++) {
        struct wanted_launch *w = &state.launches[i];
        if (!is_same(w, name, grid, block))
            continue;
        if (!w->is_taken && w->seen == w->index)
            chosen = i;
        w->seen++;
    }
    struct range_profiler *r = chosen >= 0 ? find(context) : NULL;
    if (!r || r->has_failed || r->running >= 0)
        return;
    if (!r->is_open && is_memory_full()) {
        r->has_failed = true;
        return;
    }
    size_t held;
    if (memory_held(&held))
        out_line("held %d %zu", chosen, held);
    memory_ours_begins();
    int code = r->is_open ? 0 : open_ranger(r);
    code = code ? code : start(r);
    if (code) {
        out_error("counters", code);
        r->has_failed = true;
        return;
    }
    r->running = chosen;
    state.launches[chosen].is_taken = true;
}

void ranges_after(void *context) {
    struct range_profiler *r = find(context);
    if (!r || r->running < 0)
        return;
    int code = stop(r);
    if (code)
        out_error("counters", code);
    r->running = -1;
    memory_ours_ends();
}

void ranges_finish(void *context) {
    for (int i = 0; i < CONTEXTS_MAX; i++) {
        struct range_profiler *r = &rangers[i];
        if (!r->context || (context && r->context != context))
            continue;
        ranges_after(r->context);
        struct range_params off = {SIZE_TO(struct range_params, ranger), NULL, r->ranger};
        struct host_close_params close = {SIZE_TO(struct host_close_params, host), NULL, r->host};
        if (r->is_open) {
            cupti.range_disable(&off);
            cupti.host_close(&close);
        }
        free(r->image);
        free(r->data);
        *r = (struct range_profiler){0};
    }
}
