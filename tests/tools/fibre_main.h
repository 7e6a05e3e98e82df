// The main function of a program that runs emitted CUDA on the fibre runtime. Included after
// dev.h and before the emitted text (whose sizes are macros and could hit our names).
//
//     program INPUTS OUTPUTS SEED MUTANT
//
// INPUTS holds the inputs' elements one after the other; OUTPUTS gets those of the outputs.
#include <sys/time.h>

#include "dev.h"

enum hone_role { HONE_IN, HONE_OUT, HONE_SCRATCH, HONE_ZEROED, HONE_MAPPED };

struct hone_buffer {
    const char *name;
    enum hone_role role;
    long count;
    int bits;  // of an element
    int align;
    int of;  // HONE_MAPPED: the buffer, and how it is seen
    struct hone_tensormap map;
};

struct hone_step {
    const char *name;
    hone_dev_kernel kernel;
    long grid, threads, shared, together;
    int is_programmatic;  // may begin before those before it have ended
    int args[24];
    int n_args;
};

// Which mutation of the text is switched on; 0: none.
static int hone_mutant;
static int hone_yields;

static long ceildiv(long a, long b) {
    return (a + b - 1) / b;
}

static size_t hone_bytes(const struct hone_buffer *b) {
    return (size_t)(b->count * b->bits + 7) / 8;
}

static void *hone_make(const struct hone_buffer *b, FILE *in) {
    size_t bytes = hone_bytes(b);
    void *data = hone_dev_guarded(bytes, (size_t)b->align);
    hone_dev_poison(data, bytes);
    if (b->role == HONE_ZEROED)
        memset(data, 0, bytes);
    if (b->role != HONE_IN)
        return data;
    if (fread(data, 1, bytes, in) != bytes)
        exit(4);
    // Inputs cannot be written.
    uintptr_t page = (uintptr_t)data / HONE_DEV_PAGE * HONE_DEV_PAGE;
    mprotect((void *)page, (uintptr_t)data + bytes - page, PROT_READ);
    return data;
}

enum { HONE_OVERLAP_MAX = 8 };

// Run step `i`, and those after it that may begin before it has ended: as early as they can, the
// last of them first. Returns the last that was run.
static int hone_run_step(void *const *data, const struct hone_step *steps, int n_steps, int i) {
    static void *arg[HONE_OVERLAP_MAX][24];
    static struct hone_dev_launch launch[HONE_OVERLAP_MAX];
    struct hone_dev_begun *begun[HONE_OVERLAP_MAX];
    int n = 1;
    while (i + n < n_steps && steps[i + n].is_programmatic && n < HONE_OVERLAP_MAX)
        n++;
    for (int k = n - 1; k >= 0; k--) {
        const struct hone_step *s = &steps[i + k];
        for (int j = 0; j < s->n_args; j++)
            arg[k][j] = data[s->args[j]];
        launch[k] = (struct hone_dev_launch){s->name,         s->kernel, arg[k],     s->grid,
                                             (int)s->threads, s->shared, s->together};
        if (k > 0)
            begun[k] = hone_dev_launch_early(&launch[k]);
    }
    hone_dev_launch(&launch[0]);
    for (int k = 1; k < n; k++)
        hone_dev_launch_rest(begun[k]);
    return i + n - 1;
}

static int hone_fibre_main(char **argv, const struct hone_buffer *buffers, int n_buffers,
                           const struct hone_step *steps, int n_steps) {
    (void)ceildiv;
    void *data[64];
    hone_mutant = (int)strtol(argv[4], NULL, 10);
    hone_yields = strtoull(argv[3], NULL, 10) % 4 >= 2;
    hone_dev_prepare(strtoull(argv[3], NULL, 10));
    FILE *in = fopen(argv[1], "rb");
    if (!in)
        return 4;
    for (int i = 0; i < n_buffers; i++) {
        if (buffers[i].role == HONE_MAPPED) {
            struct hone_tensormap *m = data[i] = malloc(sizeof *m);
            *m = buffers[i].map;
            m->base = data[buffers[i].of];
            m->element_bytes = buffers[buffers[i].of].bits / 8;
        } else {
            data[i] = hone_make(&buffers[i], in);
        }
    }
    fclose(in);
    // Of processor time: a busy machine makes nothing endless.
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){.it_value.tv_sec = 4}, NULL);
    for (int i = 0; i < n_steps; i++)
        i = hone_run_step(data, steps, n_steps, i);
    FILE *out = fopen(argv[2], "wb");
    if (!out)
        return 4;
    for (int i = 0; i < n_buffers; i++)
        if (buffers[i].role == HONE_OUT)
            fwrite(data[i], 1, hone_bytes(&buffers[i]), out);
    return fclose(out) == 0 ? 0 : 4;
}
