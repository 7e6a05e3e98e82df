#include "search/decide.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"
#include "base/rng.h"
#include "family/lower.h"
#include "lang/lang.h"
#include "mind/proposer.h"
#include "record/run.h"
#include "search/tree.h"

struct tried {
    const char **kernels;
    int n, room;
};

static void note_tried(struct arena *a, struct tried *t, const char *kernel) {
    if (t->n == t->room) {
        int room = t->room ? 2 * t->room : 64;
        const char **more = arena_array(a, const char *, room);
        if (t->n > 0)
            memcpy(more, t->kernels, sizeof *more * (size_t)t->n);
        t->kernels = more;
        t->room = room;
    }
    t->kernels[t->n++] = kernel;
}

static bool is_duplicate(const struct decide_input *in, const struct candidate *c) {
    for (int i = 0; i < in->n_nodes; i++)
        if (strcmp(in->nodes[i].candidate.hash, c->hash) == 0)
            return true;
    return false;
}

// The node's block, read back from its text. What we stored was legal, so a mistake here
// means that the store was written by a hone with another language: nothing to do from here.
static struct kernel *read_kernel(struct arena *a, const struct search_node *n) {
    struct lang_file file = {0};
    const char *diagnostics;
    struct error ignored = {0};
    struct lang_source source = {
        .file = "stored kernel", .text = n->candidate.kernel, .len = strlen(n->candidate.kernel)};
    if (!lang_parse(a, &source, &file, &diagnostics, &ignored) || file.n_kernels != 1) {
        log_info("node %d: %s", n->number, ignored.text);
        return NULL;
    }
    return file.kernels[0];
}

// Ask the mind for one proposal from this node.
static bool propose_from(const struct decide_input *in, int parent, const struct tried *tried,
                         struct rng *rng, struct proposal *out) {
    struct arena *a = in->scratch;
    struct kernel *kernel = read_kernel(a, &in->nodes[parent]);
    if (!kernel)
        return false;
    const struct search_node **children = arena_array(a, const struct search_node *, in->n_nodes);
    int n_children = 0;
    for (int i = parent + 1; i < in->n_nodes; i++)
        if (in->nodes[i].parent == parent)
            children[n_children++] = &in->nodes[i];
    struct brief brief = {
        .problem = in->problem,
        .target = in->target,
        .bound = in->bound,
        .node = &in->nodes[parent],
        .kernel = kernel,
        .tried = tried->kernels,
        .n_tried = tried->n,
        .children = children,
        .n_children = n_children,
        .rng = rng,
    };
    return in->proposer->propose(a, &brief, out);
}

bool decide(const struct decide_input *in, struct decision *out) {
    struct arena *a = in->scratch;
    struct tree tree;
    tree_build(a, &tree, in->nodes, in->n_nodes);
    struct tried tried = {0};
    for (int i = 0; i < in->n_nodes; i++)
        note_tried(a, &tried, in->nodes[i].candidate.kernel);
    struct rng rng;
    rng_init(&rng, in->seed + 0x9e3779b97f4a7c15u * (uint64_t)in->n_nodes);

    for (;;) {
        int parent = in->policy->select(&tree, &rng);
        if (parent < 0)
            return false;
        struct proposal proposal;
        if (!propose_from(in, parent, &tried, &rng, &proposal)) {
            tree_exhaust(&tree, parent);
            continue;
        }
        note_tried(a, &tried, kernel_print(a, proposal.kernel));
        struct candidate c = {0};
        struct error why = {0};
        if (!lower_kernel(a, in->problem, in->target, proposal.kernel, &c, &why)) {
            log_info("%s: %s", proposal.move, why.text);  // the move's repair has a gap
            continue;
        }
        note_tried(a, &tried, c.kernel);
        if (is_duplicate(in, &c))
            continue;
        *out = (struct decision){parent, proposal.move, proposal.reason, c};
        return true;
    }
}
