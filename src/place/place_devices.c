// The place (place.h) of a machine with several devices that are alike: a `hone _worker` on each.
//
// One of them is the run's own, and the first. Announced questions go to whichever is free; what
// was not announced goes to the run's own and nowhere else. So a job is compared with its baseline
// on one device, whichever that is, and who wants times that compare (rankings, the play-off, the
// confirmation) asks without announcing.
//
// A worker that dies costs the question that it had: that is answered "lost", and asked again it
// goes to the run's own device. Another device whose worker died twice in a row, or that says that
// nothing can be judged on it, gets no more questions.
//
// One thread: workers are written to when they are free, and their sockets are polled.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "place/place.h"

enum { DEVICES_MAX = 64, DEATHS_MAX = 2, HOME = 0, NOBODY = -1 };

enum item_state { ITEM_WAITS, ITEM_ASKED, ITEM_TOLD };

struct item {
    json_t *question;
    bool is_at_home;  // no other device may have it
    enum item_state state;
    int device;  // that has or had it
    int outcome;
    json_t *answer;
    struct error err;
    struct item *next;
};

struct device {
    struct target target;  // with the ceilings of the run's own
    void *local;           // NULL: it gets nothing more
    struct item *item;     // what it works on
    int n_deaths;          // one after the other
};

struct devices {
    const struct target *home;
    struct device devices[DEVICES_MAX];
    int n;
    int last;            // that gave the last answer
    struct item *items;  // the oldest first
};

static void give_up(struct device *d, const char *why) {
    log_info("%s judges nothing more in this run: %s", d->target.name, why);
    place_local.close(d->local);
    d->local = NULL;
}

// What a worker said to its question, or that it is gone.
static void settle(struct devices *p, int number, int outcome, json_t *answer,
                   const struct error *err) {
    struct device *d = &p->devices[number];
    struct item *item = d->item;
    d->item = NULL;
    item->state = ITEM_TOLD;
    item->answer = answer;
    item->err = *err;
    item->outcome = outcome;
    d->n_deaths = outcome < 0 ? d->n_deaths + 1 : 0;
    if (number == HOME || err->kind == ERROR_INTERRUPTED)
        return;
    if (outcome == 0)
        item->outcome = -1;  // not there, but perhaps at home
    if (outcome == 0 || d->n_deaths >= DEATHS_MAX)
        give_up(d, err->text);
}

static struct item *next_for(struct devices *p, int number) {
    for (struct item *i = p->items; i; i = i->next)
        if (i->state == ITEM_WAITS && (number == HOME || !i->is_at_home))
            return i;
    return NULL;
}

// What only the run's own device may have goes first there: somebody waits for it.
static struct item *next_item(struct devices *p, int number) {
    for (struct item *i = p->items; number == HOME && i; i = i->next)
        if (i->state == ITEM_WAITS && i->is_at_home)
            return i;
    return next_for(p, number);
}

static void send_next(struct devices *p, int number) {
    struct device *d = &p->devices[number];
    struct item *item = d->local && !d->item ? next_item(p, number) : NULL;
    struct error err = {0};
    if (!item)
        return;
    d->item = item;
    item->state = ITEM_ASKED;
    item->device = number;
    d->target.ceilings = p->home->ceilings;
    if (!place_local_send(d->local, item->question, &err))
        settle(p, number, -1, NULL, &err);
}

static void receive(struct devices *p, int number) {
    struct error err = {0};
    json_t *answer = NULL;
    int outcome = place_local_receive(p->devices[number].local, &answer, &err);
    settle(p, number, outcome, answer, &err);
}

// Until some worker has said something; false: somebody pressed Ctrl-C.
static bool wait_for_any(struct devices *p, struct error *err) {
    struct pollfd fds[DEVICES_MAX];
    int numbers[DEVICES_MAX], n = 0;
    for (int i = 0; i < p->n; i++)
        if (p->devices[i].item) {
            fds[n] = (struct pollfd){place_local_socket(p->devices[i].local), POLLIN, 0};
            numbers[n++] = i;
        }
    int n_ready = interrupt_seen() ? -1 : poll(fds, (nfds_t)n, -1);
    if (n_ready < 0 && (interrupt_seen() || errno != EINTR))
        return error_set(err, ERROR_INTERRUPTED, "interrupted");
    for (int i = 0; n_ready > 0 && i < n; i++)
        if (fds[i].revents)
            receive(p, numbers[i]);
    return true;
}

static void send_all(struct devices *p) {
    for (int i = 0; i < p->n; i++)
        send_next(p, i);
}

static struct item *add(struct devices *p, const json_t *question, bool is_at_home) {
    struct item *item = calloc(1, sizeof *item), **end = &p->items;
    if (!item)
        abort();
    item->question = json_deep_copy(question);
    item->is_at_home = is_at_home;
    item->device = NOBODY;
    while (*end)
        end = &(*end)->next;
    *end = item;
    return item;
}

static void drop(struct devices *p, struct item *item) {
    struct item **at = &p->items;
    while (*at != item)
        at = &(*at)->next;
    *at = item->next;
    json_decref(item->question);
    json_decref(item->answer);
    free(item);
}

static bool announce(void *ctx, const json_t *question, struct error *err) {
    struct devices *p = ctx;
    (void)err;
    add(p, question, false);
    send_all(p);
    return true;
}

static int ask(void *ctx, const json_t *question, json_t **answer, struct error *err) {
    struct devices *p = ctx;
    struct item *item = p->items;
    while (item && !json_equal(item->question, question))
        item = item->next;
    if (!item)
        item = add(p, question, true);
    while (item->state != ITEM_TOLD) {
        send_all(p);
        if (item->state != ITEM_TOLD && !wait_for_any(p, err))
            return 0;
    }
    send_all(p);
    int outcome = item->outcome;
    p->last = item->device;
    *answer = json_incref(item->answer);
    *err = item->err;
    drop(p, item);
    return outcome;
}

static void close_devices(void *ctx) {
    struct devices *p = ctx;
    for (int i = 0; i < p->n; i++)
        if (p->devices[i].local)
            place_local.close(p->devices[i].local);
    while (p->items)
        drop(p, p->items);
    free(p);
}

static const struct target *target_of(void *ctx) {
    struct devices *p = ctx;
    return p->last == HOME ? p->home : &p->devices[p->last].target;
}

static const char *elsewhere(void *ctx) {
    const struct devices *p = ctx;
    return p->last == HOME ? NULL : p->devices[p->last].target.name;
}

static int at_once(void *ctx) {
    const struct devices *p = ctx;
    int n = 0;
    for (int i = 0; i < p->n; i++)
        n += p->devices[i].local != NULL;
    return n;
}

void *place_devices_open(const struct problem *p, const struct target *const *targets,
                         int n_targets, struct error *err) {
    struct devices *d = calloc(1, sizeof *d);
    if (!d)
        abort();
    d->home = targets[HOME];
    for (int i = 0; i < n_targets && i < DEVICES_MAX; i++, d->n++) {
        d->devices[i].target = *targets[i];
        d->devices[i].target.ceilings = d->home->ceilings;
        const struct target *t = i == HOME ? d->home : &d->devices[i].target;
        if (!(d->devices[i].local = place_local_open(p, t, 0, err))) {
            close_devices(d);
            return NULL;
        }
    }
    return d;
}

const struct eval_place place_devices = {.ask = ask,
                                         .announce = announce,
                                         .close = close_devices,
                                         .target = target_of,
                                         .elsewhere = elsewhere,
                                         .at_once = at_once,
                                         .races = true,
                                         .retries_infra = true};
