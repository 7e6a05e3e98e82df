// The machine that runs loop programs, for execute.c and execute_intrinsic.c alone: memory that
// knows who wrote and read each cell, and copies that are under way.
#pragma once

#include "loop/execute_op.h"
#include "loop/loop.h"

struct arena;
struct error;

// Who wrote an element: nobody, a copy that has not landed, those who take numbers from it, or
// (launch, block) as one number.
enum {
    TAKEN_FROM = -2,
    UNDER_WAY = -1,
    NOBODY = 0,
    BEFORE = 1
};  // BEFORE: input data, or an earlier launch

// Which threads touched an element last, and after how many barriers. ADDERS wrote it together, by
// additions that any of them may make.
struct touch {
    int writer, reader;  // thread + 1; 0: none; MANY readers
    int write_epoch, read_epoch;
    int read_warp;              // whose threads they all are, or MANY
    int write_sync, read_sync;  // and after how many meetings of their warp
    int write_fence;            // after how many fences of the writer
};
enum { MANY = -1, WARP = 32, ADDERS = 0x7fffffff };

enum reach { REACH_READS = 1, REACH_WRITES = 2 };

struct memory {
    void *bytes;          // as they are stored; of registers cells
    int64_t *writer;      // per cell
    struct touch *touch;  // per cell; NULL: not shared
    int64_t count;        // cells: elements times lanes
    int64_t per_thread;   // registers: cells that each thread has of its own; else 0
    int64_t per_block;    // shared: cells that each block of a block group has of its own; else 0
};

// A copy that goes on by itself, and what a thread has of them.
struct copy {
    const struct loop_buffer *to, *from;
    int64_t to_index, from_index;
    int64_t count, valid;  // elements; those beyond `valid` become zeros
    int group;
};

struct flight {
    struct copy *copies;
    int n, cap;
    int group;  // that is open
};

struct roles;
struct async;

struct machine {
    const struct loop_program *program;
    struct memory *memory;   // by buffer id
    struct flight *flights;  // by thread
    struct async *async;     // execute_async.c: barriers in shared memory, bulk copies, products
    struct roles *roles;     // execute_roles.c: who goes his own way; NULL: nobody
    union cell **vars;  // by variable id: its lanes of every thread, one after the other, which
                        // is how statements go over them; NULL: nobody has bound it yet
    struct arena *arena;
    int threads_max;  // of any kernel
    int n_threads;    // at least 1, of all blocks of a block group
    int per_block;    // of one of them
    int thread;       // whose turn it is
    int epoch;        // barriers passed and blocks begun: never the same number again
    int met;          // the epoch that began when the blocks of a block group last met
    int *syncs;       // by warp: how often its threads met
    int *fences;      // by thread: how often it fenced what it wrote
    // Launches that may still run while this one does, and what this one does: by buffer, a bit
    // each of enum reach. Whether a thread has waited for them.
    unsigned char *in_flight, *does;
    bool *has_waited, is_programmatic;
    int64_t first;  // the block group's first block as a writer
    int64_t self;   // the thread's block as a writer
    struct error *err;
    bool had_flights;  // something was marked as under way since this was last false
    bool failed;
};

void machine_fail(struct machine *m, const struct loop_buffer *b, int64_t i, const char *what);
// An element of a buffer by the thread whose turn it is, checked in every way.
union cell machine_read(struct machine *m, const struct loop_buffer *b, int64_t i, int lane);
void machine_write(struct machine *m, const struct loop_buffer *b, int64_t i, int lane,
                   union cell value);
// The thread whose turn it is touches global memory: is that allowed while other launches run?
void machine_check_access(struct machine *m, const struct loop_buffer *b, int64_t i,
                          enum reach how);
// What a counter had; it has `more` afterwards.
int32_t machine_take(struct machine *m, const struct loop_buffer *b, int64_t i, int32_t more);
// element += value, at the same time as others do so.
void machine_add(struct machine *m, const struct loop_buffer *b, int64_t i, double value);
int64_t machine_index(struct machine *m, const struct loop_expr *e);
void machine_yield(struct machine *m, int thread);
bool machine_any(const struct machine *m, const bool *active);

void machine_run(struct machine *m, const struct loop_stmt *s, const bool *active);

// execute_call.c: a call of a library.
void execute_call(struct machine *m, const struct loop_kernel *k);

// execute_roles.c
// Run the roles that begin with `s`, side by side; returns the last of them.
const struct loop_stmt *roles_run(struct machine *m, const struct loop_stmt *s, const bool *active);
// Let the others go on; `is_stuck`: this one cannot.
void roles_yield(struct machine *m, bool is_stuck);

// execute_async.c
void async_begin(struct machine *m);  // a block
void async_end(struct machine *m);
void async_free(struct machine *m);
void async_intrinsic(struct machine *m, const struct loop_stmt *s, const bool *active);
// Does a product that is under way read this element?
bool async_is_read(const struct machine *m, const struct loop_buffer *b, int64_t i);
int64_t async_events(const struct machine *m);
bool async_land(struct machine *m);  // false: nothing is under way

// execute_intrinsic.c
void execute_intrinsic(struct machine *m, const struct loop_stmt *s, const bool *active);
// Forget what is under way: a block begins. Free it all.
void flights_clear(struct machine *m);
void flights_free(struct machine *m, int n_threads);
