// Memory that the judge shares with runners: a file without a name, mapped here.
//
// Making its pages costs more than all else around a verdict (2 us each, where filling one takes
// 0.2), so a thread makes them while the compiler works; and it alone, since three processes that
// touch the same new pages wait for each other most of the time.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

struct memory_file {
    int fd;            // ours
    int read_only_fd;  // a mapping of it can never be made writable
    char *bytes;
    int64_t size_bytes;
};

// A descriptor of `size` bytes of new memory; -1: errno says why not.
int memory_fd(const char *name, int64_t size);

bool memory_file_open(struct memory_file *f, int64_t size_bytes, struct error *err);
void memory_file_close(struct memory_file *f);

// Close several, large ones at once: giving pages back takes its time, too.
void memory_files_close(struct memory_file *files, int n);

// Makes the pages of files, which must not be closed before it is. Where the kernel cannot do
// that, or no thread can be started, pages are made when they are touched.
struct page_maker {
    struct memory_file *files;
    int n_files;
    int made_fd;  // its other end is closed once there is nothing left to wait for; -1: no need
    int making_fd;
    int64_t n_pieces;
    _Atomic int64_t n_taken, n_done;
    bool is_running;
    pthread_t thread;
};

void page_maker_open(struct page_maker *m, struct memory_file *files, int n_files);

// Begin; the second time does nothing.
void page_maker_start(struct page_maker *m);
// Lend a hand until all are made.
void page_maker_finish(struct page_maker *m);
// Leave those that are not made yet.
void page_maker_close(struct page_maker *m);
