// Samples of the program counter: where warps stand, and what they wait for. Rows are summed by
// instruction and written at the end, those of the kernels that were asked for.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "inject.h"

enum { REASONS_MAX = 64, PCS = 4096, ROWS_MAX = 1 << 17 };

struct row {
    uint64_t crc, pc;
    char *function;  // NULL: free
    uint32_t samples[REASONS_MAX];
};

struct sampler {
    void *context;  // NULL: free
    size_t n_reasons;
    char *names[REASONS_MAX];
    uint32_t index[REASONS_MAX];
    // CUPTI fills `landing` by itself at the end; to ask for data with that one would lose it.
    struct sample_data landing, fetched;
    uint64_t n_samples, n_dropped, n_foreign;
};

static struct sampler samplers[CONTEXTS_MAX];
static struct row *rows;  // open addressing
static size_t n_rows;

static void make_buffer(struct sample_data *b, size_t n_reasons) {
    *b = (struct sample_data){.size = sizeof *b, .room = PCS};
    b->pcs = calloc(PCS, sizeof *b->pcs);
    for (size_t i = 0; i < PCS; i++) {
        b->pcs[i].size = sizeof b->pcs[i];
        b->pcs[i].reasons = calloc(n_reasons, sizeof(struct sample_reason));
    }
}

static int read_reasons(struct sampler *s) {
    struct sample_count_params count = {
        .size = SIZE_TO(struct sample_count_params, n), .context = s->context, .n = &s->n_reasons};
    int code = CUPTI(sample_count, &count);
    if (code || s->n_reasons > REASONS_MAX)
        return code ? code : -1;
    for (size_t i = 0; i < s->n_reasons; i++)
        s->names[i] = calloc(1, CUPTI_REASON_BYTES);
    struct sample_reasons_params names = {.size = SIZE_TO(struct sample_reasons_params, names),
                                          .context = s->context,
                                          .n = s->n_reasons,
                                          .index = s->index,
                                          .names = s->names};
    return CUPTI(sample_names, &names);
}

static int configure(struct sampler *s) {
    struct sample_setting all[5] = {
        {.kind = CUPTI_SAMPLING_MODE, .value.number = CUPTI_MODE_CONTINUOUS},
        {.kind = CUPTI_SAMPLING_REASONS, .value.reasons = {s->n_reasons, s->index}},
        {.kind = CUPTI_SAMPLING_BUFFER, .value.buffer = &s->landing},
        {.kind = CUPTI_SAMPLING_CONTROL, .value.number = 0},
        {.kind = CUPTI_SAMPLING_PERIOD, .value.number = (uint32_t)state.period},
    };
    struct sample_settings_params set = {.size = SIZE_TO(struct sample_settings_params, settings),
                                         .context = s->context,
                                         .n = state.period > 0 ? 5 : 4,
                                         .settings = all};
    return CUPTI(sample_set, &set);
}

// A module that is loaded before this yields no rows, so it is done when a context is made.
void samples_open(void *context) {
    struct sampler *s = NULL;
    for (int i = 0; i < CONTEXTS_MAX && !s; i++)
        if (!samplers[i].context)
            s = &samplers[i];
    if (!s)
        return;
    *s = (struct sampler){.context = context};
    struct sample_params enable = {.size = SIZE_TO(struct sample_params, context),
                                   .context = context};
    int code = CUPTI(sample_enable, &enable);
    code = code ? code : read_reasons(s);
    if (!code) {
        make_buffer(&s->landing, s->n_reasons);
        make_buffer(&s->fetched, s->n_reasons);
        code = configure(s);
    }
    if (!code)
        return;
    out_error("samples", code);
    s->context = NULL;
}

static struct row *row_of(const struct sample_pc *d) {
    if (!rows)
        rows = calloc(ROWS_MAX, sizeof *rows);
    uint64_t at = (d->crc * 31 + d->pc) * 0x9e3779b97f4a7c15u >> 40;
    for (at %= ROWS_MAX; rows[at].function; at = (at + 1) % ROWS_MAX)
        if (rows[at].pc == d->pc && rows[at].crc == d->crc &&
            strcmp(rows[at].function, d->function) == 0)
            return &rows[at];
    if (n_rows >= ROWS_MAX / 2)
        return NULL;
    n_rows++;
    rows[at] = (struct row){.crc = d->crc, .pc = d->pc, .function = strdup(d->function)};
    return &rows[at];
}

static void take(struct sampler *s, struct sample_data *b) {
    for (size_t i = 0; i < b->n_pcs; i++) {
        const struct sample_pc *d = &b->pcs[i];
        struct row *r = d->function && is_wanted_code(d->function) ? row_of(d) : NULL;
        for (size_t j = 0; r && j < d->n_reasons; j++)
            for (size_t k = 0; k < s->n_reasons; k++)
                if (s->index[k] == d->reasons[j].reason)
                    r->samples[k] += d->reasons[j].samples;
    }
    s->n_samples += b->n_samples;
    s->n_dropped += b->n_dropped;
    s->n_foreign += b->n_foreign;
    b->n_pcs = b->n_samples = b->n_dropped = b->n_foreign = 0;
}

static int drain(struct sampler *s) {
    take(s, &s->landing);
    do {
        struct sample_get_params get = {.size = SIZE_TO(struct sample_get_params, data),
                                        .context = s->context,
                                        .data = &s->fetched};
        int code = CUPTI(sample_get, &get);
        if (code)
            return code;
        size_t left = s->fetched.n_left, had = s->fetched.n_pcs;
        take(s, &s->fetched);
        if (left == 0 || had == 0)
            break;
    } while (true);
    return 0;
}

static const char *short_name(const char *reason) {
    static const char prefix[] = "smsp__pcsamp_warps_issue_stalled_";
    return strncmp(reason, prefix, sizeof prefix - 1) ? NULL : reason + sizeof prefix - 1;
}

// "X_not_issued" is contained in X already.
static bool is_part(const char *name) {
    const char *tail = strstr(name, "_not_issued");
    return tail && !tail[11];
}

static void write_row(const struct sampler *s, const struct row *r) {
    struct source_line_params source = {
        .size = SIZE_TO(struct source_line_params, dir), .function = r->function, .pc = r->pc};
    if (modules_find(r->crc, &source.cubin, &source.cubin_size) && cupti.source_line(&source) != 0)
        source.line = 0;
    flockfile(state.out);
    fprintf(state.out, "pc %016" PRIx64 " %" PRIu64 " %u %s", r->crc, r->pc, source.line,
            r->function);
    for (size_t k = 0; k < s->n_reasons; k++) {
        const char *name = short_name(s->names[k]);
        if (r->samples[k] && name && !is_part(name))
            fprintf(state.out, " %s=%u", name, r->samples[k]);
    }
    fprintf(state.out, "\t%s\n", source.line && source.file ? source.file : "");
    funlockfile(state.out);
    free(source.file);
    free(source.dir);
}

static void close_sampler(struct sampler *s) {
    int code = drain(s);
    struct sample_params disable = {.size = SIZE_TO(struct sample_params, context),
                                    .context = s->context};
    if (!code)
        code = CUPTI(sample_disable, &disable);
    take(s, &s->landing);
    if (code)
        out_error("samples", code);
    out_line("samples %" PRIu64 " %" PRIu64 " %" PRIu64, s->n_samples, s->n_dropped, s->n_foreign);
    for (size_t i = 0; rows && i < ROWS_MAX; i++)
        if (rows[i].function) {
            write_row(s, &rows[i]);
            free(rows[i].function);
        }
    free(rows);
    rows = NULL;
    n_rows = 0;
    fflush(state.out);
    s->context = NULL;
}

void samples_finish(void *context) {
    for (int i = 0; i < CONTEXTS_MAX; i++)
        if (samplers[i].context && (!context || samplers[i].context == context))
            close_sampler(&samplers[i]);
}
