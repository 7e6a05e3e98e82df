#include <criterion/criterion.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "eval/memory_file.h"

static const int64_t page = 4096;

static int count_resident(const struct memory_file *f) {
    unsigned char is_in[1024];
    int n = 0, n_pages = (int)((f->size_bytes + page - 1) / page);
    cr_assert(n_pages <= (int)sizeof is_in);
    cr_assert(mincore(f->bytes, (size_t)f->size_bytes, is_in) == 0);
    for (int i = 0; i < n_pages; i++)
        n += is_in[i] & 1;
    return n;
}

static bool has_ended(int fd) {
    char nothing;
    return read(fd, &nothing, 1) == 0;
}

Test(memory_file, cannot_be_written_to_by_the_read_only_descriptor) {
    struct memory_file f;
    struct error err = {0};
    cr_assert(memory_file_open(&f, 2 * page, &err), "%s", err.text);
    f.bytes[page] = 7;
    cr_assert(mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_SHARED, f.read_only_fd, 0) ==
              MAP_FAILED);
    const char *seen = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, f.read_only_fd, page);
    cr_assert(seen != MAP_FAILED);
    cr_assert_eq(seen[0], 7);
    memory_file_close(&f);
    memory_file_close(&f);
}

Test(memory_file, pages_are_made_without_being_touched) {
    // An empty one, one of a page, one of several pieces and a bit.
    const int64_t sizes[] = {0, page, (900 << 10) + 100};
    struct memory_file files[3];
    struct page_maker m;
    struct error err = {0};
    for (int i = 0; i < 3; i++)
        cr_assert(memory_file_open(&files[i], sizes[i], &err), "%s", err.text);
    page_maker_open(&m, files, 3);
    cr_assert(m.made_fd >= 0);
    cr_assert_eq(count_resident(&files[2]), 0);
    bool can = madvise(files[1].bytes, (size_t)page, 23) == 0;
    page_maker_start(&m);
    page_maker_start(&m);
    page_maker_finish(&m);
    cr_assert(has_ended(m.made_fd));
    if (can)
        cr_assert_eq(count_resident(&files[2]), 226);
    page_maker_finish(&m);
    page_maker_close(&m);
    page_maker_close(&m);
    memory_files_close(files, 3);
    for (int i = 0; i < 3; i++)
        cr_assert(files[i].bytes == NULL && files[i].fd == -1);
}

Test(memory_file, nobody_waits_for_pages_that_will_not_be_made) {
    struct memory_file f;
    struct page_maker m;
    struct error err = {0};
    cr_assert(memory_file_open(&f, 64 * page, &err), "%s", err.text);
    page_maker_open(&m, &f, 1);
    int waiting = dup(m.made_fd);
    page_maker_close(&m);
    cr_assert(has_ended(waiting));
    // Begun and given up, at whatever moment.
    page_maker_open(&m, &f, 1);
    int waiting_too = dup(m.made_fd);
    page_maker_start(&m);
    page_maker_close(&m);
    cr_assert(has_ended(waiting_too));
    memory_file_close(&f);
}
