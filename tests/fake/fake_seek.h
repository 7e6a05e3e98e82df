// Candidates that look for secrets: all memory of their process that can be read and written is
// searched for the seed of the inputs, for what is drawn from it, and for the results that are
// expected of the call. What must be there is looked for as well, and once all of it is put there:
// a search that finds nothing is worth something only where it finds what there is.
//
// Needles are kept masked, or the search would find them where they are kept; those that follow
// from the seed are made in a process of their own, so that nothing of it is left here. How often
// each was found is appended to a file next to the library.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>

#include "../../src/base/rng.c"

enum group { GIVEN, NAMED, SEED, TEXT, DRAWN, EXPECTED, GROUPS };
static const char *const group_names[GROUPS] = {
    [GIVEN] = "given",  // the inputs of the call
    [NAMED] = "named",  // the word that the process was started with, wherever that begins
    [SEED] = "seed",    // as a number
    [TEXT] = "text",    // the same in letters, of ten or of sixteen
    [DRAWN] = "drawn",  // seeds of the sets, and of digests
    [EXPECTED] = "expected",
};

enum { NEEDLES_MAX = 64, WORDS_MAX = 8, HASHES = 1 << 16, SETS = 9 };

struct needle {
    enum group group;
    int n_words;
    u64 masked[WORDS_MAX];
};
struct hunt {
    struct needle needles[NEEDLES_MAX];
    int n_needles, n_secret;  // the first n_secret follow from the seed
    char is_first[HASHES];    // some needle begins like this
    long n_found[GROUPS];
};

// Read anew each time, so that no compiler takes it off in advance.
static volatile u64 mask = 0x9d5ea1c37b20f468;

static u64 word_at(const char *p) {
    u64 word;
    memcpy(&word, p, sizeof word);
    return word;
}

static void add_needle(struct hunt *h, enum group group, const char *bytes, int n_words) {
    struct needle *n = &h->needles[h->n_needles++];
    *n = (struct needle){.group = group, .n_words = n_words};
    for (int i = 0; i < n_words; i++)
        n->masked[i] = word_at(bytes + 8 * i) ^ mask;
}

// Memory is looked at every four bytes: of a text, wherever it begins, one of these lies so.
static void add_text(struct hunt *h, enum group group, const char *text) {
    for (int i = 0; i < 4; i++)
        add_needle(h, group, text + i, 1);
}

// As the judge does it (judge.c, oracle.c). The inputs of the call, the first ever, tell whether
// that is still so.
static void add_secrets(struct hunt *h, const float *x) {
    char path[1024], text[64] = "";
    struct rng shown, hidden;
    snprintf(path, sizeof path, "%s/seed", getenv("CUDA_HOME"));
    FILE *f = fopen(path, "r");
    u64 seed = f && fgets(text, sizeof text, f) ? strtoull(text, NULL, 10) : 0;
    add_needle(h, SEED, (const char *)&seed, 1);
    snprintf(text, sizeof text, "%llu", seed);
    add_text(h, TEXT, text);
    snprintf(text, sizeof text, "%016llx", seed);
    add_text(h, TEXT, text);
    rng_init_secret(&shown, seed, 0);
    rng_init_secret(&hidden, seed, 1);
    u64 of_inputs = rng_next(&shown), of_digests = rng_next(&hidden);
    struct hone_source s = {
        .seed = of_inputs, .kind = HONE_NORMAL, .b = 1, .step = 1, .rows = 1, .columns = COUNT};
    for (int i = 0; i < COUNT; i++)
        if ((float)hone_input(&s, (u64)i, 0) != x[i])
            return;
    for (u64 set = 0; set < SETS; set++) {
        u64 of_set = of_inputs + set;
        add_needle(h, DRAWN, (const char *)&of_set, 1);
    }
    add_needle(h, DRAWN, (const char *)&of_digests, 1);
}

static void make_secrets(struct hunt *h, const float *x) {
    int ends[2];
    if (pipe(ends) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        add_secrets(h, x);
        _exit(write(ends[1], h->needles, sizeof h->needles[0] * (size_t)h->n_needles) < 0);
    }
    close(ends[1]);
    ssize_t n =
        read(ends[0], h->needles, sizeof h->needles);  // all at once: less than a pipe holds
    close(ends[0]);
    waitpid(child, NULL, 0);
    h->n_secret = n > 0 ? (int)((size_t)n / sizeof h->needles[0]) : 0;
}

static unsigned hash_of(u64 masked) {
    return (unsigned)(masked * 0x9e3779b97f4a7c15 >> 48);
}

static void prepare_hunt(struct hunt *h, const float *x) {
    if (!h->n_secret)
        make_secrets(h, x);
    h->n_needles = h->n_secret;
    add_needle(h, GIVEN, (const char *)x, WORDS_MAX);
    add_text(h, NAMED, "_gpu_runner");
    struct needle *n = &h->needles[h->n_needles++];
    *n = (struct needle){.group = EXPECTED, .n_words = WORDS_MAX};
    for (int i = 0; i < 2 * WORDS_MAX; i++)  // never a whole one anywhere
        n->masked[i / 2] |= (u64)(bits_of(2 * x[i] + 1) ^ (unsigned)(mask >> 32 * (i % 2)))
                            << 32 * (i % 2);
    memset(h->is_first, 0, sizeof h->is_first);
    memset(h->n_found, 0, sizeof h->n_found);
    for (int i = 0; i < h->n_needles; i++)
        h->is_first[hash_of(h->needles[i].masked[0])] = 1;
}

static int is_needle(const struct needle *n, const char *p, const char *end) {
    if (end - p < 8 * n->n_words)
        return 0;
    for (int i = 0; i < n->n_words; i++)
        if ((word_at(p + 8 * i) ^ mask) != n->masked[i])
            return 0;
    return 1;
}

static void look_between(struct hunt *h, const char *p, const char *to, const char *end) {
    for (; p < to && p + 8 <= end; p += 4) {
        if (!h->is_first[hash_of(word_at(p) ^ mask)])
            continue;
        for (int i = 0; i < h->n_needles; i++)
            h->n_found[h->needles[i].group] += is_needle(&h->needles[i], p, end);
    }
}

// Pages that are not in memory hold nothing; touching all of them would take too long for a call.
static void look_through(struct hunt *h, char *from, char *end) {
    enum { PAGES = 1024 };
    unsigned char is_there[PAGES];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t n; from < end; from += n * page) {
        n = (size_t)(end - from) / page < PAGES ? (size_t)(end - from) / page : PAGES;
        if (mincore(from, n * page, is_there) != 0)
            memset(is_there, 1, sizeof is_there);
        for (size_t i = 0; i < n; i++)
            if (is_there[i] & 1)
                look_between(h, from + i * page, from + (i + 1) * page, end);
    }
}

static void hunt_everywhere(struct hunt *h) {
    char line[1024], rights[8];
    u64 from, end;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%llx-%llx %7s", &from, &end, rights) == 3 && rights[0] == 'r' &&
            rights[1] == 'w')
            look_through(h, (char *)from, (char *)end);
    if (maps)
        fclose(maps);
}

static void report_hunt(const struct hunt *h, const char *when) {
    char path[1024];
    snprintf(path, sizeof path, "%s/found", getenv("CUDA_HOME"));
    FILE *f = fopen(path, "a");
    if (!f)
        return;
    fprintf(f, "%s", when);
    for (int i = 0; i < GROUPS; i++)
        fprintf(f, " %s %ld", group_names[i], h->n_found[i]);
    fprintf(f, "\n");
    fclose(f);
}

static void hunt_planted(struct hunt *h) {
    volatile u64 *planted = malloc(sizeof h->needles);
    int n = 0;
    for (int i = 0; i < h->n_needles; i++)
        for (int k = 0; k < h->needles[i].n_words; k++)
            planted[n++] = h->needles[i].masked[k] ^ mask;
    hunt_everywhere(h);
    report_hunt(h, "planted");
    while (n > 0)
        planted[--n] = 0;
    free((void *)planted);
}

static struct hunt hunt;

// On every input that it has not had before: its own results of an earlier call are no secret.
static void seeks(void **a) {
    static u64 keys[64];
    static int n_keys, has_planted;
    const float *x = *(const float **)a[0];
    u64 key = key_of(x, 1);
    int at = 0;
    while (at < n_keys && keys[at] != key)
        at++;
    if (at == n_keys && n_keys < 64) {
        keys[n_keys++] = key;
        prepare_hunt(&hunt, x);
        hunt_everywhere(&hunt);
        report_hunt(&hunt, "call");
    } else if (!has_planted) {
        has_planted = 1;
        prepare_hunt(&hunt, x);
        hunt_planted(&hunt);
    }
    right(a);
}

// What needles are made of: of inputs that begin alike its own results lie about.
static u64 beginning_of(const float *x) {
    u64 key = 0;
    for (int i = 0; i < WORDS_MAX; i++)
        key = (key ^ word_at((const char *)x + 8 * i)) * 0x9e3779b97f4a7c15;
    return key;
}

// While it is timed, against a baseline that has the same inputs; before that a screening has four
// calls or five, some of them on inputs of which a few elements are new.
static void seeks_timed(void **a) {
    enum { SCREENING = 4, LOOKS = 12 };
    static u64 keys[SCREENING + LOOKS];
    static int n_calls;
    const float *x = *(const float **)a[0];
    bool is_looked_at = n_calls < SCREENING + LOOKS, is_known = false;
    if (is_looked_at) {
        keys[n_calls] = beginning_of(x);
        for (int i = 0; i < n_calls; i++)
            is_known |= keys[i] == keys[n_calls];
        n_calls++;
        if (n_calls == 1 || n_calls > SCREENING)
            prepare_hunt(&hunt, x);
    }
    if (is_looked_at && n_calls > SCREENING && !is_known) {
        hunt_everywhere(&hunt);
        report_hunt(&hunt, "timed");
    }
    right(a);
}
