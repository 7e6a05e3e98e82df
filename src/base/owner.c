// Reads /proc: boot id and process namespace make the place, field 22 of stat the start time. A
// process number that was given out again has another start time.
#include "base/owner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

// The boot and the process namespace, in which a process number means something.
static void read_place(char place[9]) {
    char boot[64] = "", space[64] = "", hex[SHA256_HEX];
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f && !fgets(boot, sizeof boot, f))
        boot[0] = '\0';
    if (f)
        fclose(f);
    ssize_t len = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[len > 0 ? len : 0] = '\0';
    struct sha256 h;
    sha256_init(&h);
    sha256_add_text(&h, boot);
    sha256_add_text(&h, space);
    sha256_hex(&h, hex);
    snprintf(place, 9, "%.8s", hex);
}

// State and start time (field 22) of a process; false when they cannot be read.
static bool read_start(long pid, char *state, unsigned long long *start) {
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    size_t len = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[len] = '\0';
    // The name may hold anything, a ')' too; what follows the last one is numbers.
    const char *rest = strrchr(text, ')');
    return rest && sscanf(rest,
                          ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                          "%*d %*d %*d %llu",
                          state, start) == 2;
}

void owner_self(char name[OWNER_MAX]) {
    char place[9], state;
    unsigned long long start = 0;
    read_place(place);
    if (!read_start(getpid(), &state, &start))
        start = 0;
    snprintf(name, OWNER_MAX, "%s-%ld-%llu", place, (long)getpid(), start);
}

bool owner_is_dead(const char *name) {
    char place[9], state;
    const char *dash = strchr(name, '-');
    read_place(place);
    if (!dash || dash - name != 8 || strncmp(name, place, 8) != 0)
        return false;
    char *end;
    long pid = strtol(dash + 1, &end, 10);
    if (pid <= 0 || *end != '-')
        return false;
    unsigned long long started = strtoull(end + 1, &end, 10), start;
    if (*end != '\0')
        return false;
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return true;
    // Another one may have the number by now; a zombie does nothing any more.
    return read_start(pid, &state, &start) && (state == 'Z' || start != started);
}
