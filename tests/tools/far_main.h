// Runs single blocks of emitted CUDA on the fibre runtime, on buffers of more than 2^31 elements
// that are never there as a whole: pages come when they are touched. Included before the emitted
// text (whose sizes are macros and could hit our names).
//
// Everything is zero but what hone_far_put() wrote. A place outside of a buffer is a fault; sums
// that leave an int trap where the text is compiled to.
#include "dev.h"

enum { HONE_FAR_ABSENT = 77 };

// `count` floats that end at a page that nobody may touch.
static float *hone_far_make(long count) {
    size_t bytes = (size_t)count * sizeof(float);
    size_t pages = (bytes + HONE_DEV_PAGE - 1) / HONE_DEV_PAGE * HONE_DEV_PAGE;
    char *all = mmap(NULL, pages + 2 * HONE_DEV_PAGE, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || mprotect(all + HONE_DEV_PAGE, pages, PROT_READ | PROT_WRITE) != 0) {
        perror("mmap");
        exit(HONE_FAR_ABSENT);
    }
    madvise(all, pages, MADV_NOHUGEPAGE);
    return (float *)(all + HONE_DEV_PAGE + pages - bytes);
}

// The first block of a launch, one in the middle, and the last; of `together`, all that can meet.
static void hone_far_run(const char *name, hone_dev_kernel kernel, void *const *arg, long grid,
                         long threads, long shared, long together) {
    struct hone_dev_launch launch = {name, kernel, arg, grid, (int)threads, shared, together};
    long n = grid / together, groups[] = {0, n / 2, n - 1};
    hone_dev.launch = &launch;
    hone_dev.n_arrays = 0;
    for (int i = 0; i < 3; i++)
        hone_dev_run_blocks(groups[i] * together, together);
    hone_dev.launch = NULL;
}

static void hone_far_expect(const char *name, const float *data, long at, float want) {
    if (!(fabsf(data[at] - want) <= 1e-6f * fabsf(want))) {
        fprintf(stderr, "%s[%ld] is %g, not %g\n", name, at, data[at], want);
        exit(1);
    }
}
