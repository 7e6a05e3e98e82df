// A roofline as text. Both axes are logarithmic: to the right operations per byte, up operations
// per second. What a memory gives is a slope, what a pipe gives is a roof.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/bound.h"

enum { COLUMNS = 56, LABEL = 17, COLUMNS_LEAST = 16, ROWS = 12, ROOFS_MAX = 3 };

struct picture {
    int columns;  // of COLUMNS
    char cell[ROWS][COLUMNS + 1];
    double left, right, bottom, top;  // as powers of two
    double bytes_per_s;
    struct roof {
        const char *name;
        double per_s;
    } roofs[ROOFS_MAX];
    int n_roofs;  // by falling height
};

static void add_roof(struct picture *p, const char *name, double per_s) {
    if (!(per_s > 0) || p->n_roofs == ROOFS_MAX)
        return;
    int at = p->n_roofs++;
    for (; at > 0 && p->roofs[at - 1].per_s < per_s; at--)
        p->roofs[at] = p->roofs[at - 1];
    p->roofs[at] = (struct roof){name, per_s};
}

// How often the pipe multiplies for each product of the problem: a mean, since contractions may
// differ (of an attention the first has its operands exactly, the second has not).
static double products_for_each(const struct bound *b, const struct realisation *way) {
    const struct pipe_load *l = &b->limit.pipe[way->pipe];
    if (l->flops > 0)
        return l->ops / l->flops;
    return way->products > 1 ? way->products : 1;
}

// The roofs that this problem could meet: multiply-adds, and the pipe of its contraction.
static void find_roofs(struct arena *a, const struct bound *b, const struct target *t,
                       struct picture *p) {
    double rates[PIPE_COUNT];
    bool measured = t->ceilings.present;
    const struct realisation *way = measured ? &b->reach_way : &b->limit_way;
    memcpy(rates, t->peak_per_s, sizeof rates);
    if (measured)
        ceilings_rates(&t->ceilings, rates);
    add_roof(p, "f32 multiply-adds", rates[PIPE_F32]);
    if (b->work.contract_flops > 0 && way->pipe != PIPE_F32) {
        double times = products_for_each(b, way);
        add_roof(p,
                 times > 1 ? arena_printf(a, "%s / %.3g", pipe_text(way->pipe), times)
                           : pipe_text(way->pipe),
                 rates[way->pipe] / times);
    }
}

static int row_of(const struct picture *p, double per_s) {
    return (int)lround((p->top - log2(per_s)) / (p->top - p->bottom) * (ROWS - 1));
}

static double intensity_at(const struct picture *p, int column) {
    return exp2(p->left + (p->right - p->left) * column / (p->columns - 1));
}

static void put(struct picture *p, int row, int column, char c) {
    if (row >= 0 && row < ROWS && column >= 0 && column < p->columns)
        p->cell[row][column] = c;
}

static void draw(struct picture *p) {
    for (int i = 0; i < ROWS; i++) {
        memset(p->cell[i], ' ', (size_t)p->columns);
        p->cell[i][p->columns] = '\0';
    }
    for (int column = 0; column < p->columns; column++) {
        double slope = p->bytes_per_s * intensity_at(p, column);
        for (int i = 0; i < p->n_roofs; i++)
            if (slope >= p->roofs[i].per_s)
                put(p, row_of(p, p->roofs[i].per_s), column, '-');
        if (slope < p->roofs[0].per_s)
            put(p, row_of(p, slope), column, '/');
    }
}

static void mark(struct picture *p, double intensity, double per_s) {
    double along = (log2(intensity) - p->left) / (p->right - p->left);
    put(p, row_of(p, per_s), (int)lround(along * (p->columns - 1)), '*');
}

// Room for the ridge of every roof and for the problem, and no less than eight octaves.
static void choose_range(struct picture *p, double intensity, double per_s) {
    double first = fmin(intensity, p->roofs[p->n_roofs - 1].per_s / p->bytes_per_s);
    double last = fmax(intensity, p->roofs[0].per_s / p->bytes_per_s);
    p->left = floor(log2(first)) - 2;
    p->right = fmax(ceil(log2(last)) + 2, p->left + 8);
    p->top = log2(p->roofs[0].per_s);
    p->bottom = fmin(log2(per_s), log2(p->roofs[p->n_roofs - 1].per_s)) - 2;
}

static void print(struct arena *a, struct str *out, const struct picture *p) {
    str_printf(out, "roofline (FLOP/s over FLOP per byte, both logarithmic)\n");
    for (int i = 0; i < ROWS; i++) {
        const char *label = "";
        for (int r = 0; r < p->n_roofs; r++)
            if (row_of(p, p->roofs[r].per_s) == i)
                label = bound_quantity(a, p->roofs[r].per_s, "FLOP/s");
        int len = p->columns;
        while (len > 0 && p->cell[i][len - 1] == ' ')
            len--;
        str_printf(out, "%15s |%.*s\n", label, len, p->cell[i]);
    }
    str_printf(out, "%15s +", "");
    for (int column = 0; column < p->columns; column++)
        str_puts(out, "-");
    str_printf(out, "\n%15s  %-*.3g%*.3g\n", "", p->columns / 2, exp2(p->left), p->columns / 2,
               exp2(p->right));
}

const char *bound_roofline(struct arena *a, const struct bound *b, const struct target *t,
                           int columns) {
    int room = columns - LABEL;
    struct picture p = {.columns = room > COLUMNS         ? COLUMNS
                                   : room < COLUMNS_LEAST ? COLUMNS_LEAST
                                                          : room};
    struct str out = {0};
    const struct work *w = &b->work;
    bool measured = t->ceilings.present;
    double read = w->bytes_read + (measured ? w->bytes_again : 0), bytes = read + w->bytes_written;
    double seconds = measured ? fmax(b->reach_memory_s, b->reach_compute_s)
                              : fmax(bytes / t->peak_bytes_per_s, b->limit_compute_s);
    find_roofs(a, b, t, &p);
    // What a CPU could do nominally is too far from what it does to be worth a picture.
    if ((!measured && !t->is_gpu) || !(w->flops > 0 && bytes > 0 && seconds > 0) || p.n_roofs == 0)
        return "";
    p.bytes_per_s = t->peak_bytes_per_s;
    if (measured)  // at this size; so few bytes that they cost nothing are as fast as many
        p.bytes_per_s = b->reach_memory_s > 0 ? bytes / b->reach_memory_s
                                              : ceilings_bandwidth(&t->ceilings, read / bytes);
    // A limit counts half the products; the picture shows them all, under the roof.
    double per_s = fmin(w->flops / seconds, p.roofs[0].per_s);
    per_s = fmin(per_s, p.bytes_per_s * w->flops / bytes);
    choose_range(&p, w->flops / bytes, per_s);
    draw(&p);
    mark(&p, w->flops / bytes, per_s);
    print(a, &out, &p);
    str_printf(&out, "  / memory at %s", bound_quantity(a, p.bytes_per_s, "B/s"));
    for (int i = 0; i < p.n_roofs; i++)
        str_printf(&out, "   - %s", p.roofs[i].name);
    str_printf(&out, "\n  * this problem: %.3g FLOP per byte, at most %s\n", w->flops / bytes,
               bound_quantity(a, per_s, "FLOP/s"));
    return str_take(a, &out);
}
