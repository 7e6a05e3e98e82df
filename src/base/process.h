// Child processes: started with an explicit argv (never a shell), in a process
// group of their own, with their output capped and their end certain.
//
// Three uses. process_run() runs a tool to its end and collects what it said.
// process_open() starts one whose output the caller reads while other things go on.
// process_start() starts a companion that talks over a socket pair; the caller
// owns the socket. Children die with us, even when we are killed, and so does all
// that the first two have started, unless it left its group; a companion starts others
// by this module only. They get a minimal environment unless asked otherwise, and
// inherit no descriptor but those named and what ties them to us.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct arena;
struct error;

struct process_spec {
    const char *const *argv;  // NULL-terminated; argv[0] is the program's path
    const char *input;        // bytes for its standard input; NULL: /dev/null
    size_t input_len;
    const char *cwd;             // NULL: ours
    int files;                   // rules of landlock.h that hold for it; 0: none
    bool keep_environment;       // default: PATH, HOME, LANG, TMPDIR, LD_LIBRARY_PATH, CUDA_*,
                                 // CUTLASS_PATH
    const char *tmp_dir;         // its TMPDIR, with the minimal environment; NULL: ours
    int64_t timeout_ns;          // 0: none
    size_t max_output;           // bytes kept of stdout and of stderr each; 0: 64 KiB
    bool ends_when_cut;          // more than that on stdout ends it: nobody will read on
    int64_t limit_cpu_s;         // RLIMIT_CPU; 0: none
    int64_t limit_memory_bytes;  // RLIMIT_AS; 0: none
    int64_t limit_file_bytes;    // RLIMIT_FSIZE; 0: none
    const int *keep_fds;         // descriptors that the child keeps under the same numbers
    int n_keep_fds;
};

struct process_result {
    int exit_status;        // of exit(), or -1 when a signal ended it
    int signal;             // 0 when it exited
    bool timed_out;         // we ended it
    bool was_cut;           // there was more on stdout than is kept
    const char *out, *err;  // what it wrote, capped, in the arena; '?' for what is no UTF-8
};

// Run to the end. False only when it could not be run at all; an exit status other than 0
// is data. Ctrl-C while waiting kills the child's group and gives ERROR_INTERRUPTED.
bool process_run(struct arena *a, const struct process_spec *spec, struct process_result *result,
                 struct error *err);

// A program that runs while we do other things. Zeroed: none.
struct process_pipes {
    pid_t pid;   // 0: none
    int out[2];  // nonblocking: its standard output and error; the caller reads them
    int end;     // becomes readable when it has ended; -1 on kernels without
    int tether;  // our end of what ties its group to us
};

// Start it and return. `timeout_ns` and `max_output` are not used.
bool process_open(struct process_pipes *p, const struct process_spec *spec, struct error *err);

// Has it ended? It is not reaped by this.
bool process_is_over(const struct process_pipes *p);

// Kill what is left of its group, reap it, close what is open. `result` may be NULL; `out` and
// `err` of it are not filled. Safe to call twice.
void process_finish(struct process_pipes *p, struct process_result *result);

struct process {
    pid_t pid;   // 0: none
    int socket;  // our end of a stream socket pair; the child has its end as descriptor 3
};

// Start a companion. Its stdin is /dev/null, stdout and stderr are dropped (stderr kept
// when HONE_LOG asks for debugging). `input`, `timeout_ns` and `max_output` are not used.
bool process_start(struct process *p, const struct process_spec *spec, struct error *err);

// Has it ended? Fills exit_status and signal of `result` when it has (and reaps it).
bool process_ended(struct process *p, struct process_result *result);

// Kill its whole group, reap it, close the socket. Safe to call twice.
void process_kill(struct process *p);

// Close the socket (a companion then exits), wait up to `grace_ns`, then kill.
void process_close(struct process *p, int64_t grace_ns);
