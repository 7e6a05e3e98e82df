// memfd_create, mmap, and a thread that populates pages piece by piece while the compiler works.
#include "eval/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/parallel.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; headers before that have no name for it
#endif

// Pages made at one go. The kernel holds this process's memory map meanwhile, and a thread that
// wants to fork or allocate waits.
enum { PIECE_BYTES = 256 << 10 };

// So much is given back in the time that another thread takes to begin.
enum { LITTLE_BYTES = 16 << 20 };

static bool fail_errno(struct error *err, const char *what, int64_t size_bytes) {
    return error_set(err, ERROR_IO, "%s of %.4g MB: %s", what, (double)size_bytes / 1e6,
                     strerror(errno));
}

int memory_fd(const char *name, int64_t size) {
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, size) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

bool memory_file_open(struct memory_file *f, int64_t size_bytes, struct error *err) {
    *f = (struct memory_file){.fd = -1, .read_only_fd = -1, .size_bytes = size_bytes};
    char path[40];
    f->fd = memory_fd("buffers", size_bytes);
    if (f->fd < 0)
        return fail_errno(err, "make a memory file", size_bytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", f->fd);
    f->read_only_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f->read_only_fd < 0)
        return fail_errno(err, "open a memory file", size_bytes);
    if (size_bytes == 0)
        return true;
    void *p = mmap(NULL, (size_t)size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
    f->bytes = p == MAP_FAILED ? NULL : p;
    return f->bytes || fail_errno(err, "map a memory file", size_bytes);
}

void memory_file_close(struct memory_file *f) {
    if (f->bytes)
        munmap(f->bytes, (size_t)f->size_bytes);
    if (f->fd > 0)
        close(f->fd);
    if (f->read_only_fd > 0)
        close(f->read_only_fd);
    *f = (struct memory_file){.fd = -1, .read_only_fd = -1};
}

static void close_some(void *ctx, int64_t begin, int64_t end) {
    struct memory_file *files = ctx;
    for (int64_t i = begin; i < end; i++)
        memory_file_close(&files[i]);
}

void memory_files_close(struct memory_file *files, int n) {
    int64_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += files[i].size_bytes;
    parallel_for(bytes > LITTLE_BYTES ? n : 1, n, 1, close_some, files);
}

void page_maker_open(struct page_maker *m, struct memory_file *files, int n_files) {
    *m = (struct page_maker){.files = files, .n_files = n_files, .made_fd = -1, .making_fd = -1};
    for (int i = 0; i < n_files; i++)
        m->n_pieces += (files[i].size_bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    int ends[2];
    if (m->n_pieces == 0 || pipe2(ends, O_CLOEXEC) != 0)
        return;
    m->made_fd = ends[0];
    m->making_fd = ends[1];
}

static void make_piece(const struct page_maker *m, int64_t piece) {
    for (int i = 0; i < m->n_files; i++) {
        const struct memory_file *f = &m->files[i];
        int64_t n = (f->size_bytes + PIECE_BYTES - 1) / PIECE_BYTES, at = piece * PIECE_BYTES;
        if (piece < n) {
            int64_t left = f->size_bytes - at;
            madvise(f->bytes + at, (size_t)(left < PIECE_BYTES ? left : PIECE_BYTES),
                    MADV_POPULATE_WRITE);
            return;
        }
        piece -= n;
    }
}

// The thread that finishes the last piece says so.
static void *make_pages(void *arg) {
    struct page_maker *m = arg;
    for (;;) {
        int64_t piece = atomic_fetch_add(&m->n_taken, 1);
        if (piece >= m->n_pieces)
            return NULL;
        make_piece(m, piece);
        if (atomic_fetch_add(&m->n_done, 1) + 1 == m->n_pieces && m->making_fd >= 0)
            close(m->making_fd);
    }
}

void page_maker_start(struct page_maker *m) {
    if (!m->is_running && m->n_taken == 0)
        m->is_running = pthread_create(&m->thread, NULL, make_pages, m) == 0;
}

static void join(struct page_maker *m) {
    if (m->is_running)
        pthread_join(m->thread, NULL);
    m->is_running = false;
}

void page_maker_finish(struct page_maker *m) {
    make_pages(m);
    join(m);
}

void page_maker_close(struct page_maker *m) {
    int64_t n_skipped = m->n_pieces - atomic_exchange(&m->n_taken, m->n_pieces);
    join(m);
    if (n_skipped > 0 && m->making_fd >= 0)
        close(m->making_fd);
    if (m->made_fd >= 0)
        close(m->made_fd);
    *m = (struct page_maker){.made_fd = -1, .making_fd = -1};
}
