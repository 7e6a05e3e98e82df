#include "eval/memory_need.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "ir/interpret.h"
#include "ir/problem.h"
#include "ir/work.h"

// Sets of a ranking, all kept: declared, two patched, four hard ones, two adversarial ones, three
// that follow from others. Elements of f32 are kept in 12 bytes.
enum { SETS = 12, F32_BYTES = 12, TYPED_BYTES = 16 };

// Operations that interpreting does in a second on one thread, and how long one set may take.
static const double pace = 1e9, patience_s = 600;

// An input that is computed takes what computing it takes.
static int64_t made_bytes(const struct problem *maker, int n_threads) {
    int64_t bytes = interpret_bytes(maker, n_threads);
    for (int i = 0; i < maker->n_inputs; i++) {
        const struct node *node = &maker->graph.nodes[maker->inputs[i].node];
        bytes += dtype_size(node->dtype, shape_count(&node->shape));
    }
    return bytes;
}

static double count_flops(const struct problem *p) {
    double flops = 0;
    for (node_id i = 0; i < p->graph.n_nodes; i++)
        flops += work_flops(&p->graph, &p->graph.nodes[i]);
    for (int i = 0; i < p->n_inputs; i++)
        flops += p->inputs[i].maker ? count_flops(p->inputs[i].maker) : 0;
    return flops;
}

struct memory_need memory_need_of(const struct problem *p, int64_t data_bytes, int n_threads) {
    int64_t most_made = 0;
    struct memory_need n = {.data = data_bytes,
                            .work = interpret_bytes(p, n_threads),
                            .seconds = count_flops(p) / pace / (n_threads > 0 ? n_threads : 1)};
    for (int i = 0; i < p->n_outputs; i++) {
        const struct node *node = &p->graph.nodes[p->outputs[i].node];
        n.expected +=
            SETS * shape_count(&node->shape) * (node->dtype == DTYPE_F32 ? F32_BYTES : TYPED_BYTES);
    }
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *node = &p->graph.nodes[p->inputs[i].node];
        n.work += dtype_size(node->dtype, shape_count(&node->shape));
        int64_t made = p->inputs[i].maker ? made_bytes(p->inputs[i].maker, n_threads) : 0;
        most_made = made > most_made ? made : most_made;
    }
    n.work += most_made;
    return n;
}

static bool read_text(const char *path, char *into, size_t room) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, into, room - 1);
    if (fd >= 0)
        close(fd);
    into[n > 0 ? n : 0] = '\0';
    return n > 0;
}

int64_t memory_parse(const char *text, const char *word) {
    const char *at = strstr(text, word);
    char *end;
    if (!at)
        return -1;
    at += strlen(word);
    long long value = strtoll(at, &end, 10);
    return end == at ? -1 : value;
}

// The number in a file of a control group; where the group has none under its own name, as in a
// container, that of the root.
static int64_t group_number(const char *mount, const char *name, const char *file) {
    char text[64], path[1024];
    snprintf(path, sizeof path, "%s%s/%s", mount, name, file);
    if (read_text(path, text, sizeof text))
        return memory_parse(text, "");
    snprintf(path, sizeof path, "%s/%s", mount, file);
    return read_text(path, text, sizeof text) ? memory_parse(text, "") : -1;
}

int64_t memory_group_left(const char *groups, const char *root) {
    static const struct {
        const char *line, *mount, *max, *used;
    } versions[] = {
        {"0::", "", "memory.max", "memory.current"},
        {":memory:", "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
    };
    int64_t least = -1;
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        char name[256], mount[512];
        const char *at = strstr(groups, versions[i].line);
        if (!at)
            continue;
        at += strlen(versions[i].line);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\n"), at);
        snprintf(mount, sizeof mount, "%s%s", root, versions[i].mount);
        int64_t max = group_number(mount, name, versions[i].max);
        int64_t used = group_number(mount, name, versions[i].used);
        int64_t left = max < 0 || used < 0 ? -1 : max > used ? max - used : 0;
        least = left >= 0 && (least < 0 || left < least) ? left : least;
    }
    return least;
}

int64_t memory_available(void) {
    char text[4096];
    int64_t kib =
        read_text("/proc/meminfo", text, sizeof text) ? memory_parse(text, "MemAvailable:") : -1;
    int64_t bytes = kib < 0 ? -1 : kib * 1024, left = -1;
    if (read_text("/proc/self/cgroup", text, sizeof text))
        left = memory_group_left(text, "/sys/fs/cgroup");
    return left >= 0 && (bytes < 0 || left < bytes) ? left : bytes;
}

bool memory_need_fits(const struct problem *p, const struct memory_need *n, int64_t have,
                      const char *where, struct error *err) {
    int64_t need = n->data + n->expected + n->work;
    if (n->seconds > patience_s)
        return error_set(err, ERROR_UNSUPPORTED,
                         "problem %s: computing what is expected takes about %.1f hours for each "
                         "set of inputs; --dim sets smaller sizes",
                         p->name, n->seconds / 3600);
    if (have < 0 || need <= have)
        return true;
    return error_set(err, ERROR_UNSUPPORTED,
                     "problem %s: judging it takes about %.1f GB %s (%.1f for inputs and outputs, "
                     "%.1f for what is expected of them, %.1f to compute that), and %.1f GB are "
                     "free; --dim sets smaller sizes",
                     p->name, (double)need / 1e9, where, (double)n->data / 1e9,
                     (double)n->expected / 1e9, (double)n->work / 1e9, (double)have / 1e9);
}
