#include "spool/spool.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "eval/worker.h"
#include "parsed.h"
#include "scratch.h"
#include "spool/spool_message.h"

static const struct spool_address cpu = {"cpu", NULL};
static const struct spool_address us = {"cpu", "0123456789abcdef0123"};

static struct spool *open_spool(const char *dir) {
    struct error err = {0};
    struct spool *s;
    cr_assert(spool_open(&s, dir, &err), "%s", err.text);
    return s;
}

static const char *put(struct arena *a, struct spool *s, const struct spool_address *to,
                       const char *text, bool detached) {
    struct error err = {0};
    char id[SPOOL_ID];
    cr_assert(spool_put(s, to, text, detached, id, &err), "%s", err.text);
    return arena_strdup(a, id);
}

static bool claim(struct spool *s, struct spool_claim *c) {
    struct error err = {0};
    bool got;
    cr_assert(spool_claim(s, &us, c, &got, &err), "%s", err.text);
    return got;
}

static enum spool_state look(struct spool *s, const char *id) {
    struct error err = {0};
    enum spool_state state;
    cr_assert(spool_state_of(s, id, &state, &err), "%s", err.text);
    return state;
}

static bool answer(struct spool *s, const struct spool_claim *c, const char *text) {
    struct error err = {0};
    bool kept;
    cr_assert(spool_answer(s, c, text, &kept, &err), "%s", err.text);
    return kept;
}

static void tidy(struct spool *s) {
    struct error err = {0};
    cr_assert(spool_tidy(s, &err), "%s", err.text);
}

// Files other than the version, in all parts.
static int n_files(struct arena *a, const char *dir) {
    FILE *p = popen(arena_printf(a, "find '%s' -type f ! -name spool.json | wc -l", dir), "r");
    int n = -1;
    cr_assert_eq(fscanf(p, "%d", &n), 1);
    pclose(p);
    return n;
}

static void shell(const char *command) {
    cr_assert_eq(system(command), 0, "%s", command);
}

Test(owner, tells_the_living_from_the_dead) {
    char self[OWNER_MAX], child[OWNER_MAX] = "";
    owner_self(self);
    cr_assert_not(owner_is_dead(self), "%s", self);
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        owner_self(child);
        _exit(write(fds[1], child, sizeof child) != sizeof child);
    }
    cr_assert_eq(read(fds[0], child, sizeof child), (ssize_t)sizeof child);
    // Not waited for: a zombie works no more.
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    cr_assert(owner_is_dead(child), "%s", child);
    waitpid(pid, NULL, 0);
    cr_assert(owner_is_dead(child), "%s", child);
    // Our number with another start: somebody who had it before us.
    char earlier[OWNER_MAX];
    snprintf(earlier, sizeof earlier, "%.*s-1", (int)(strrchr(self, '-') - self), self);
    cr_assert(owner_is_dead(earlier), "%s", earlier);
    // Nothing is known of other machines, nor of what is no name.
    static const char *const unknown[] = {"00000000-1-1", "detached", "", "-", "x-1-1"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        cr_assert_not(owner_is_dead(unknown[i]), "%s", unknown[i]);
}

Test(spool, carries_a_job_and_its_answer_and_leaves_nothing) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a);
    struct spool *s = open_spool(dir);
    const char *id = put(&a, s, &cpu, "question", false);
    cr_assert_eq(look(s, id), SPOOL_QUEUED);
    struct spool_claim c;
    cr_assert(claim(s, &c));
    cr_assert_str_eq(c.id, id);
    cr_assert_eq(look(s, id), SPOOL_CLAIMED);
    size_t len;
    bool is_whole;
    cr_assert_str_eq(spool_read(&a, &c, &len, &is_whole, &err), "question");
    cr_assert(is_whole);
    cr_assert_null(spool_peek(s, &a, id, &len, &err));
    cr_assert_eq(err.kind, ERROR_NONE);
    cr_assert(answer(s, &c, "answer"));
    cr_assert_eq(look(s, id), SPOOL_DONE);
    cr_assert_str_eq(spool_peek(s, &a, id, &len, &err), "answer");
    spool_drop(s, id, true);
    cr_assert_eq(look(s, id), SPOOL_ABSENT);
    cr_assert_eq(n_files(&a, dir), 0);
    struct spool_claim none;
    cr_assert_not(claim(s, &none));
    spool_close(s);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(spool, takes_the_same_question_for_one_job) {
    struct arena a = {0};
    const char *dir = scratch_make(&a);
    struct spool *s = open_spool(dir);
    const char *id = put(&a, s, &cpu, "question", false);
    cr_assert_str_eq(put(&a, s, &cpu, "question", true), id);
    struct spool_claim c;
    cr_assert(claim(s, &c));
    cr_assert_str_eq(put(&a, s, &cpu, "question", false), id);
    struct spool_claim none;
    cr_assert_not(claim(s, &none));
    // We leave; somebody detached still wants it.
    spool_drop(s, id, false);
    cr_assert_eq(look(s, id), SPOOL_CLAIMED);
    cr_assert(answer(s, &c, "answer"));
    cr_assert_str_eq(put(&a, s, &cpu, "question", false), id);
    cr_assert_eq(look(s, id), SPOOL_DONE);
    spool_drop(s, id, true);
    cr_assert_eq(n_files(&a, dir), 0);
    spool_close(s);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(spool, gives_a_job_only_to_whom_it_is_for) {
    struct arena a = {0};
    const char *dir = scratch_make(&a);
    struct spool *s = open_spool(dir);
    put(&a, s, &(struct spool_address){"sm_90a", NULL}, "for a GPU", false);
    put(&a, s, &(struct spool_address){"cpu", "fedcba9876543210"}, "for another", false);
    struct spool_claim c;
    cr_assert_not(claim(s, &c));
    const char *id = put(&a, s, &(struct spool_address){"cpu", us.machine}, "for us", false);
    cr_assert(claim(s, &c));
    cr_assert_str_eq(c.id, id);
    spool_return(s, &c);
    cr_assert_eq(look(s, id), SPOOL_QUEUED);
    spool_close(s);
    scratch_remove(dir);
    arena_reset(&a);
}

enum { RACERS = 6, JOBS = 120 };

// Claim and answer until nothing is left; tell each id.
static void race(const char *dir, int out) {
    struct spool *s = open_spool(dir);
    struct spool_claim c;
    while (claim(s, &c)) {
        cr_assert_eq(write(out, c.id, SPOOL_ID - 1), SPOOL_ID - 1);
        cr_assert(answer(s, &c, c.id));
    }
    spool_close(s);
}

Test(spool, lets_one_of_many_workers_have_each_job) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a), *ids[JOBS];
    struct spool *s = open_spool(dir);
    int fds[2], n_detected = 0, told[JOBS] = {0};
    for (int i = 0; i < JOBS; i++)
        ids[i] = put(&a, s, &cpu, arena_printf(&a, "job %d", i), true);
    cr_assert_eq(pipe(fds), 0);
    for (int i = 0; i < RACERS; i++)
        if (fork() == 0) {
            race(dir, fds[1]);
            _exit(0);
        }
    close(fds[1]);
    char id[SPOOL_ID] = "";
    while (read(fds[0], id, SPOOL_ID - 1) == SPOOL_ID - 1) {
        n_detected++;
        for (int i = 0; i < JOBS; i++)
            told[i] += strcmp(id, ids[i]) == 0;
    }
    for (int i = 0, status; i < RACERS; i++) {
        wait(&status);
        cr_assert_eq(status, 0);
    }
    cr_assert_eq(n_detected, JOBS);
    for (int i = 0; i < JOBS; i++) {
        size_t len;
        cr_assert_eq(told[i], 1, "job %d was done %d times", i, told[i]);
        cr_assert_str_eq(spool_peek(s, &a, ids[i], &len, &err), ids[i]);
        spool_drop(s, ids[i], true);
    }
    cr_assert_eq(n_files(&a, dir), 0);
    spool_close(s);
    scratch_remove(dir);
    arena_reset(&a);
}

// Give a claim to somebody else, as if they had made it so long ago.
static void hand_over(struct arena *a, const char *dir, struct spool_claim *c, const char *owner,
                      long age_s) {
    char name[SPOOL_NAME_MAX];
    snprintf(name, sizeof name, "%.*s", (int)(strlen(c->name) - 5), c->name);
    const char *path = arena_printf(a, "%s/claimed/%s.%s.json", dir, name, owner);
    cr_assert_eq(rename(c->path, path), 0);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct timespec times[2] = {{now.tv_sec - age_s, 0}, {now.tv_sec - age_s, 0}};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    snprintf(c->path, sizeof c->path, "%s", path);
}

Test(spool, returns_stale_claims_and_counts_the_workers) {
    struct arena a = {0};
    const char *dir = scratch_make(&a);
    struct spool *s = open_spool(dir);
    const char *id = put(&a, s, &cpu, "question", false);
    struct spool_claim c;
    for (int tries = 0; tries < SPOOL_TRIES + 2; tries++) {
        cr_assert(claim(s, &c));
        cr_assert_eq(c.tries, tries < SPOOL_TRIES ? tries : SPOOL_TRIES);
        hand_over(&a, dir, &c, "00000000-1-1", SPOOL_STALE_S / 2);
        tidy(s);
        cr_assert_eq(look(s, id), SPOOL_CLAIMED);
        hand_over(&a, dir, &c, "00000000-1-2", 2 * SPOOL_STALE_S);
        tidy(s);
        cr_assert_eq(look(s, id), SPOOL_QUEUED);
    }
    // The one that was too slow answers nothing.
    cr_assert_not(answer(s, &c, "late"));
    cr_assert_eq(look(s, id), SPOOL_QUEUED);
    // A worker of this machine that is gone is known to be, however fresh its claim.
    char dead[OWNER_MAX];
    owner_self(dead);
    snprintf(strrchr(dead, '-'), 3, "-1");
    cr_assert(claim(s, &c));
    hand_over(&a, dir, &c, dead, 0);
    tidy(s);
    cr_assert_eq(look(s, id), SPOOL_QUEUED);
    // Its answer is there already: nothing to do again.
    cr_assert(claim(s, &c));
    hand_over(&a, dir, &c, dead, 0);
    shell(arena_printf(&a, "echo answer >%s/done/%s.json", dir, id));
    tidy(s);
    cr_assert_eq(look(s, id), SPOOL_DONE);
    spool_drop(s, id, true);
    cr_assert_eq(n_files(&a, dir), 0);
    spool_close(s);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(spool, forgets_jobs_whose_askers_are_dead) {
    struct arena a = {0};
    const char *dir = scratch_make(&a), *here = arena_printf(&a, "%s/here", dir);
    struct spool *s = open_spool(here), *aside = open_spool(arena_printf(&a, "%s/aside", dir));
    // An id is a matter of the text alone.
    const char *theirs = put(&a, aside, &cpu, "theirs", true);
    const char *taken = put(&a, aside, &cpu, "taken", true);
    const char *both = put(&a, s, &cpu, "both", false);
    pid_t pid = fork();
    if (pid == 0) {
        char owner[OWNER_MAX];
        struct spool *gone = open_spool(here);
        put(&a, gone, &cpu, "taken", false);
        owner_self(owner);
        shell(arena_printf(&a, "touch %s/tmp/%s.7", here, owner));
        put(&a, gone, &cpu, "both", false);
        put(&a, gone, &cpu, "later", true);
        put(&a, gone, &cpu, "theirs", false);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    cr_assert_eq(status, 0);
    // A file system's clock may tick slower than jobs come, and we may be slower still.
    shell(arena_printf(&a, "touch -d '2 hours ago' %s/queue/%s*", here, both));
    shell(arena_printf(&a, "touch -d '1 hour ago' %s/queue/%s*", here, taken));
    struct spool_claim c;
    cr_assert(claim(s, &c));  // the oldest is ours, "both"
    cr_assert_str_eq(c.id, both);
    cr_assert(claim(s, &c));
    cr_assert_str_eq(c.id, taken);
    tidy(s);
    cr_assert_eq(look(s, theirs), SPOOL_ABSENT);
    cr_assert_eq(look(s, taken), SPOOL_ABSENT);
    cr_assert_not(answer(s, &c, "for nobody"));
    cr_assert_eq(look(s, taken), SPOOL_ABSENT);
    cr_assert_eq(look(s, both), SPOOL_CLAIMED);
    const char *later = put(&a, s, &cpu, "later", false);
    cr_assert(claim(s, &c));
    cr_assert_str_eq(c.id, later);
    spool_drop(s, both, true);
    spool_drop(s, later, true);
    cr_assert_eq(n_files(&a, here), 0);
    spool_close(s);
    spool_close(aside);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(spool, withdraws_a_job_under_its_worker) {
    struct arena a = {0};
    const char *dir = scratch_make(&a);
    struct spool *s = open_spool(dir);
    const char *id = put(&a, s, &cpu, "question", false);
    struct spool_claim c;
    cr_assert(claim(s, &c));
    spool_drop(s, id, false);
    cr_assert_not(answer(s, &c, "answer"));
    cr_assert_eq(n_files(&a, dir), 0);
    spool_close(s);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(spool, is_carried_by_cp) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a), *here = arena_printf(&a, "%s/here", dir);
    const char *there = arena_printf(&a, "%s/there", dir), *ids[3];
    struct spool *s = open_spool(here);
    for (int i = 0; i < 3; i++)
        ids[i] = put(&a, s, &cpu, arena_printf(&a, "job %d", i), true);
    // The empty parts need not come along.
    shell(arena_printf(&a, "cp -r %s %s && rmdir %s/tmp %s/done", here, there, there, there));
    struct spool *other = open_spool(there);
    struct spool_claim c;
    while (claim(other, &c))
        cr_assert(answer(other, &c, "answer"));
    spool_close(other);
    shell(arena_printf(&a, "cp -r %s/. %s", there, here));
    for (int i = 0; i < 3; i++) {
        size_t len;
        cr_assert_eq(look(s, ids[i]), SPOOL_DONE);
        cr_assert_str_eq(spool_peek(s, &a, ids[i], &len, &err), "answer");
        spool_drop(s, ids[i], true);
    }
    cr_assert_eq(n_files(&a, here), 0);
    // Jobs that were carried without the notes of who wants them are done all the same.
    cr_assert(claim(s, &c) == false);
    put(&a, s, &cpu, "alone", true);
    shell(arena_printf(&a, "rm %s/wanted/*", here));
    tidy(s);
    cr_assert(claim(s, &c));
    cr_assert(answer(s, &c, "answer"));
    tidy(s);
    cr_assert_eq(look(s, c.id), SPOOL_DONE);
    spool_close(s);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(spool, sees_what_is_damaged_or_no_job) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a);
    struct spool *s = open_spool(dir);
    shell(
        arena_printf(&a,
                     "cd %s/queue && mkfifo pipe.json && ln -s pipe.json link.json && mkdir "
                     "dir.json && echo x >.hidden.json && echo x >part.json.tmp && echo x >no.json",
                     dir));
    struct spool_claim c;
    size_t len;
    bool is_whole;
    cr_assert(claim(s, &c));
    cr_assert_str_eq(c.name, "no.json");
    cr_assert_not_null(spool_read(&a, &c, &len, &is_whole, &err));
    cr_assert_not(is_whole);
    cr_assert(answer(s, &c, "refused"));
    cr_assert_str_eq(spool_peek(s, &a, "no", &len, &err), "refused");
    cr_assert_not(claim(s, &c));
    const char *id = put(&a, s, &cpu, "question", false);
    shell(arena_printf(&a, "echo more >>%s/queue/%s.cpu.any.0.json", dir, id));
    cr_assert(claim(s, &c));
    cr_assert_not_null(spool_read(&a, &c, &len, &is_whole, &err));
    cr_assert_not(is_whole);
    spool_close(s);
    scratch_remove(dir);
    arena_reset(&a);
}

// Nobody writes to a FIFO in the place of a file, and nobody waits for that.
Test(spool, does_not_wait_for_a_fifo_in_the_place_of_a_file) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a);
    struct spool *s = open_spool(dir);
    struct spool_claim c;
    struct spool_machine *machines;
    size_t len;
    bool is_whole;
    int n;
    const char *id = put(&a, s, &cpu, "question", false);
    cr_assert(claim(s, &c));
    shell(arena_printf(&a, "rm %s && mkfifo %s %s/done/%s.json %s/machines/pipe.json", c.path,
                       c.path, dir, id, dir));
    cr_assert_null(spool_read(&a, &c, &len, &is_whole, &err));
    cr_assert_not_null(strstr(err.text, "is no plain file"), "%s", err.text);
    err = (struct error){0};
    cr_assert_null(spool_peek(s, &a, id, &len, &err));
    cr_assert(spool_machines(s, &a, &machines, &n, &err), "%s", err.text);
    cr_assert_eq(n, 0);
    shell(arena_printf(&a, "rm -f %s/wanted/*; cd %s/tmp && mkfifo pipe.clock", dir, dir));
    cr_assert(spool_tidy(s, &err), "%s", err.text);
    spool_close(s);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(spool, refuses_what_is_no_spool_of_ours) {
    struct arena a = {0};
    const char *dir = scratch_make(&a);
    static const struct {
        const char *make, *name, *words;
        enum error_kind kind;
    } cases[] = {
        {"mkdir x && echo '{\"schema\": \"hone.spool/2\"}' >x/spool.json", "x",
         "it is hone.spool/2, and this hone knows hone.spool/1", ERROR_USAGE},
        {"echo '{}' >x/spool.json", "x", "of no version", ERROR_USAGE},
        {"echo 'no json' >x/spool.json", "x", "spool.json", ERROR_USAGE},
        {"rm x/spool.json && mkfifo x/spool.json", "x", "is no plain file", ERROR_USAGE},
        {"mkdir y && touch y/thesis.tex", "y", "holds other things", ERROR_USAGE},
        {"touch z", "z", "is not a directory", ERROR_USAGE},
        {"true", "no/such", "No such file", ERROR_USAGE},
        {"true", "", "No such file", ERROR_USAGE},
    };
    cr_assert_eq(chdir(dir), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        struct spool *s;
        shell(cases[i].make);
        cr_assert_not(spool_open(&s, cases[i].name, &err), "%s", cases[i].name);
        cr_assert_not_null(strstr(err.text, cases[i].words), "%s", err.text);
        cr_assert_eq(err.kind, cases[i].kind, "%s", err.text);
    }
    // One whose maker was killed is finished.
    shell("mkdir -p half/queue half/tmp");
    spool_close(open_spool("half"));
    shell("test -e half/spool.json && test -d half/done");
    // One that goes away is missed.
    struct error err = {0};
    struct spool *s = open_spool("gone");
    shell("rm -r gone");
    cr_assert_not(spool_wait(s, 0, &err));
    cr_assert_not_null(strstr(err.text, "not there any more"), "%s", err.text);
    struct spool_claim c;
    bool got;
    cr_assert_not(spool_claim(s, &us, &c, &got, &err));
    cr_assert_not(spool_tidy(s, &err));
    char id[SPOOL_ID];
    cr_assert_not(spool_put(s, &cpu, "question", false, id, &err));
    cr_assert_eq(err.kind, ERROR_IO);
    spool_close(s);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(spool, knows_the_machines_and_when_they_lived) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a);
    struct spool *s = open_spool(dir);
    struct spool_machine *list;
    int n;
    cr_assert(spool_describe(s, "0123456789abcdef", "old", &err), "%s", err.text);
    shell(arena_printf(&a, "touch -d '1 hour ago' %s/machines/*", dir));
    cr_assert(spool_describe(s, "fedcba9876543210", "new", &err), "%s", err.text);
    cr_assert(spool_machines(s, &a, &list, &n, &err), "%s", err.text);
    cr_assert_eq(n, 2);
    cr_assert_str_eq(list[0].text, "new");
    cr_assert(list[0].is_live);
    cr_assert_str_eq(list[1].text, "old");
    cr_assert_not(list[1].is_live);
    spool_heartbeat(dir, "0123456789abcdef", NULL);
    cr_assert(spool_machines(s, &a, &list, &n, &err), "%s", err.text);
    cr_assert(list[0].is_live && list[1].is_live);
    spool_close(s);
    scratch_remove(dir);
    arena_reset(&a);
}

// ---- documents

static struct target some_gpu(void) {
    struct target t;
    cr_assert(target_of_arch("sm_90a", &t));
    t.driver = "1.2.3";
    return t;
}

Test(spool, target_survives_its_json) {
    struct arena a = {0};
    struct error err = {0};
    struct target gpu = some_gpu(), host, back;
    cr_assert(target_read_cpu(&a, 1, "cc", &host, &err), "%s", err.text);
    const struct target *targets[] = {&gpu, &host};
    for (int i = 0; i < 2; i++) {
        json_t *json = target_to_json(targets[i]);
        cr_assert(target_from_json(&a, json, &back, &err), "%s", err.text);
        json_t *again = target_to_json(&back);
        cr_assert(json_equal(json, again));
        cr_assert_eq(back.is_gpu, targets[i]->is_gpu);
        json_object_del(json, "peak_bytes_per_s");
        cr_assert_not(target_from_json(&a, json, &back, &err));
        json_object_set_new(json, "peak_bytes_per_s", json_real(0));
        cr_assert_not(target_from_json(&a, json, &back, &err));
        json_decref(json);
        json_decref(again);
    }
    arena_reset(&a);
}

static const char *const PROBLEM =
    "problem p\ndim N = 8\nin x : f32[N] ~ normal\nout y : f32[N]\ny = x + 1\n";

Test(spool, job_survives_its_json_and_foreign_ones_are_refused) {
    struct arena a = {0};
    struct error err = {0};
    struct target gpu = some_gpu();
    const struct problem *p = parsed(&a, PROBLEM);
    struct candidate c = {.tier = TIER_D, .label = "mine.cu", .source = "source"};
    candidate_seal(&a, &c);
    struct spool_spec spec = {.problem = p, .target = &gpu, .machine = gpu.id, .seed = 7};
    json_t *question = worker_job_message(&(struct eval_job){.candidate = &c,
                                                             .depth = EVAL_SCREEN,
                                                             .seconds = 0.5,
                                                             .keeps_all = true,
                                                             .trials_s = {0.1, 0.2},
                                                             .n_trials = 2});
    json_t *json = spool_job_message(&spec, question, true);
    struct spool_job j;
    char *text = json_print(&a, json);
    cr_assert(spool_read_job(&a, text, strlen(text), &j, &err), "%s", err.text);
    cr_assert_str_eq(j.kind, "sm_90a");
    cr_assert_str_eq(j.machine, gpu.id);
    cr_assert(j.seed == 7 && j.wants_null && j.has_job && !j.job.baseline);
    cr_assert_str_eq(j.job.candidate->source, "source");
    cr_assert_eq(j.job.depth, EVAL_SCREEN);
    cr_assert(j.job.n_trials == 2 && j.job.trials_s[1] == 0.2 && j.job.keeps_all);
    cr_assert_eq(j.problem->graph.dims[0].size, 8);

    static const struct {
        const char *key, *value, *words;
    } cases[] = {
        {"schema", "\"hone.spool-job/2\"", "hone.spool-job/2"},
        {"problem", "\"problem p\"", ""},
        {"dims", "3", "dims"},
        {"target", "\"cpu\"", "target"},
        {"job", "{\"schema\": \"hone.job/9\"}", "hone.job/9"},
        {"job",
         "{\"schema\": \"hone.job/1\", \"depth\": \"rank\", \"seconds\": 1, \"candidate\": {}, "
         "\"trials_s\": [1, 2, 3, 4, 5]}",
         "5 trials"},
        {"job",
         "{\"schema\": \"hone.job/1\", \"depth\": \"deep\", \"seconds\": 1, \"candidate\": {}}",
         "unknown depth 'deep'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *bad = json_copy(json);
        err = (struct error){0};
        json_object_set_new(bad, cases[i].key, json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        text = json_print(&a, bad);
        cr_assert_not(spool_read_job(&a, text, strlen(text), &j, &err), "%s", text);
        cr_assert_not_null(strstr(err.text, cases[i].words), "%s", err.text);
        json_decref(bad);
    }
    cr_assert_not(spool_read_job(&a, "{", 1, &j, &err));
    cr_assert_not(spool_read_job(&a, "[]", 2, &j, &err));
    json_decref(json);
    json_decref(question);
    arena_reset(&a);
}
