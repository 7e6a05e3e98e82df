// A spool: a directory through which jobs reach workers on other machines, by a shared file system
// or because somebody carries it there (cp -r, scp, tar). Bytes and names only; what they mean is
// in spool_message.h, the worker in spool_worker.h, the client in place_spool.h.
//
//   DIR/spool.json                              {"schema": "hone.spool/1"}: the version
//   DIR/queue/ID.KIND.MACHINE.TRY.json          a job that nobody has taken
//   DIR/claimed/ID.KIND.MACHINE.TRY.OWNER.json  one that OWNER works on; its mtime is the heartbeat
//   DIR/done/ID.json                            an answer
//   DIR/wanted/ID.OWNER                         somebody waits for the answer, or `ID.detached`
//   DIR/machines/MACHINE.json                   what a worker runs on; its mtime says when it lived
//   DIR/tmp/OWNER.N                             being written
//
// ID is the hash of the job's text, so the same question asked twice is one job, and a file that
// was damaged on the way is noticed. KIND is what the code is for (`cpu`, `sm_90a`), MACHINE one
// device or `any`, TRY how many workers ended over it, OWNER a process (base/owner.h).
//
// 1. A file outside tmp/ is whole: written there, fsynced, then renamed or linked.
// 2. A claim is a rename from queue/ to claimed/, which one of many wins. Over NFS a rename may
//    be answered "no such file" although it was done; the winner is whose name is there.
// 3. A claim whose owner is known to be dead, or that was not touched for SPOOL_STALE_S by the
//    clock of the file system itself, goes back to queue/ with TRY one higher.
// 4. An answer is linked into done/, never over another, and only while its worker still holds
//    the claim; then the claim is removed. A worker that was stopped too long answers nothing.
// 5. Who takes an answer removes every other file of that job. So does who withdraws it, and
//    a process that finds that all who wanted it are dead.
// 6. What nobody is known to have wanted is left alone: only part of a spool may have been carried.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/owner.h"

struct arena;
struct error;
struct spool;

enum {
    SPOOL_FILE_MAX = 32 << 20,  // of a job or an answer
    SPOOL_TRIES = 3,            // workers that may end over a job before it is given up
    SPOOL_BEAT_S = 5,           // between two heartbeats
    SPOOL_STALE_S = 60,         // without one a claim is returned
    SPOOL_ID = 33,
    SPOOL_NAME_MAX = 200,
};

// Whom a job is for, and what a worker serves.
struct spool_address {
    const char *kind;     // "cpu", "sm_90a"
    const char *machine;  // of a job NULL: any
};

struct spool_claim {
    char name[SPOOL_NAME_MAX];  // as it was in queue/
    char id[SPOOL_NAME_MAX];
    int tries;
    char path[4096];  // in claimed/
};

// Open a spool, making it where there is no directory or an empty one. What is left of processes
// that died is tidied up.
bool spool_open(struct spool **out, const char *dir, struct error *err);
void spool_close(struct spool *s);
const char *spool_dir(const struct spool *s);

// ---- client

// Queue a job, unless the same one is there already, and note that we (or, detached, somebody
// later) want the answer.
bool spool_put(struct spool *s, const struct spool_address *to, const char *text, bool detached,
               char id[SPOOL_ID], struct error *err);

enum spool_state { SPOOL_ABSENT, SPOOL_QUEUED, SPOOL_CLAIMED, SPOOL_DONE };
bool spool_state_of(struct spool *s, const char *id, enum spool_state *state, struct error *err);

// The answer; NULL with err->kind ERROR_NONE: not yet. An answer that is being carried here may be
// there in part.
char *spool_peek(struct spool *s, struct arena *a, const char *id, size_t *len, struct error *err);

// Done with a job: everything about it is removed, but for notes that others want it. Without an
// `answered` they shall still get one, and the job stays for them.
void spool_drop(struct spool *s, const char *id, bool answered);

// ---- worker

// Claim the job that waits longest of those that we serve. *got false: there is none now.
bool spool_claim(struct spool *s, const struct spool_address *serves, struct spool_claim *c,
                 bool *got, struct error *err);
// Its text; NULL when it cannot be read. *is_whole: it is what its ID says. One that is being
// carried here may be there in part.
char *spool_read(struct arena *a, const struct spool_claim *c, size_t *len, bool *is_whole,
                 struct error *err);
// *kept false: somebody had taken the claim from us, and the answer is dropped.
bool spool_answer(struct spool *s, const struct spool_claim *c, const char *text, bool *kept,
                  struct error *err);
// Give it back as it was.
void spool_return(const struct spool *s, const struct spool_claim *c);

// Say that we are alive; called from another thread than the rest. `claim` may be NULL.
void spool_heartbeat(const char *dir, const char *machine, const char *claim);

// ---- both

// Stale claims back to the queue, leftovers of the dead away.
bool spool_tidy(struct spool *s, struct error *err);

// Wait until something changes, a signal comes or so many milliseconds have passed. False: the
// spool is not there any more.
bool spool_wait(struct spool *s, int timeout_ms, struct error *err);

// Write, or read all, descriptions of machines; `is_live` is false where no worker was seen for
// half of SPOOL_STALE_S.
struct spool_machine {
    const char *text;
    size_t len;
    double age_s;
    bool is_live;
};
bool spool_describe(struct spool *s, const char *machine, const char *text, struct error *err);
bool spool_machines(struct spool *s, struct arena *a, struct spool_machine **list, int *n,
                    struct error *err);
