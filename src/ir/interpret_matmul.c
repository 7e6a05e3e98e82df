// Matrix products in all three readings.
//
// The right matrix is packed into panels of eight columns, so that one row of a panel is
// one vector; a tile of ROWS rows times eight columns stays in registers while k runs.
// Sums are cut into runs of RUN_MAX terms, as everywhere. Each product rounds once in f32 where
// that changes something, each partial sum unless none does in any order (reading.h).
#include <stdlib.h>
#include <string.h>

#include "ir/reading_fold.h"

enum { COLUMNS = 8, ROWS = 4 };

typedef double vector __attribute__((vector_size(64)));
typedef long long mask __attribute__((vector_size(64)));
typedef float vector_f32 __attribute__((vector_size(32)));

// Sums of one run: of the products, their sizes, their squares, and the squares of those that are
// rounded.
struct tile {
    vector value[ROWS], size[ROWS], products[ROWS], squares[ROWS], carried[ROWS];
    vector_f32 honest[ROWS];
};

// One run of one tile: rows of the left with stride `stride`, a panel of the right.
struct strip {
    struct reading left, panel;  // variance NULL: both exact
    int64_t stride;
    int n_rows, n;
};

// All bits set where f32 does not hold the value. A macro, since a function would pass vectors
// by value, which has no stable ABI.
#define INEXACT(v) \
    ((mask)(__builtin_convertvector(__builtin_convertvector(v, vector_f32), vector) != (v)))

#define SIZE(v) ((vector)((mask)(v)&0x7fffffffffffffffLL))

READING_HOT static void run_exact(const struct strip *s, struct tile *t) {
    for (int r = 0; r < s->n_rows; r++) {
        const double *a = s->left.value + r * s->stride;
        const float *h = s->left.honest + r * s->stride;
        const double *b = s->panel.value;
        const float *g = s->panel.honest;
        vector sum = *(const vector *)b * a[0], squares = sum * sum;
        vector rounded = (vector)((mask)squares & INEXACT(sum)), size = SIZE(sum);
        vector_f32 honest = *(const vector_f32 *)g * h[0];
        for (int k = 1; k < s->n; k++) {
            vector product = *(const vector *)(b + k * COLUMNS) * a[k];
            vector_f32 honest_product = *(const vector_f32 *)(g + k * COLUMNS) * h[k];
            vector square = product * product;
            sum += product;
            honest += honest_product;
            squares += square;
            size += SIZE(product);
            rounded += (vector)((mask)square & INEXACT(product));
        }
        t->value[r] = sum;
        t->size[r] = size;
        t->products[r] = rounded;
        t->squares[r] = squares;
        t->honest[r] = honest;
    }
}

// What the operands' own variances contribute.
READING_HOT static void run_carried(const struct strip *s, struct tile *t) {
    for (int r = 0; r < s->n_rows; r++) {
        const double *a = s->left.value + r * s->stride, *v = s->left.variance + r * s->stride;
        vector carried = {0};
        for (int k = 0; k < s->n; k++) {
            vector b = *(const vector *)(s->panel.value + k * COLUMNS);
            vector w = *(const vector *)(s->panel.variance + k * COLUMNS);
            carried += b * b * v[k] + w * (a[k] * a[k]);
        }
        t->carried[r] = carried;
    }
}

// The lowest bit of n values, `stride` apart.
static int lowest(const double *values, int64_t stride, int64_t n) {
    int low = READING_NO_BIT;
    for (int64_t i = 0; i < n; i++) {
        int one = reading_low(values[i * stride]);
        low = one < low ? one : low;
    }
    return low;
}

// Columns [column, column + COLUMNS) of the right matrix, row after row; whatever stood there
// before beyond it.
static void pack(const struct reading_matmul *mm, int64_t column, struct reading panel) {
    int64_t width = mm->n - column < COLUMNS ? mm->n - column : COLUMNS;
    for (int64_t k = 0; k < mm->k; k++) {
        int64_t from = k * mm->n + column, to = k * COLUMNS;
        for (int64_t j = 0; j < width; j++) {
            panel.value[to + j] = mm->right.value[from + j];
            panel.honest[to + j] = mm->right.honest[from + j];
        }
        for (int64_t j = 0; j < width && mm->right.variance; j++)
            panel.variance[to + j] = mm->right.variance[from + j];
    }
}

static void store(const struct reading_matmul *mm, int64_t row, int64_t column,
                  const struct reading_partial *p) {
    int64_t at = row * mm->n + column;
    mm->out.value[at] = p->value;
    mm->out.variance[at] = p->variance;
    mm->out.honest[at] = p->honest;
}

// The sum of a run of n products. `low` has the lowest bits of the row and of the panel's columns:
// every product is a multiple of their product.
static struct reading_partial sum_of(const struct tile *t, int row, int j, int n, const int *low,
                                     int lack) {
    int low_left = low[0], low_right = low[1 + j];
    bool zero = low_left == READING_NO_BIT || low_right == READING_NO_BIT;
    struct reading_partial p = {
        .value = t->value[row][j],
        .terms = n,
        .carried = t->products[row][j] * READING_ROUND + t->carried[row][j],
        .squares = t->squares[row][j],
        .honest = t->honest[row][j],
        .size = t->size[row][j],
        .low = zero ? READING_NO_BIT : low_left + low_right,
    };
    reading_vary(&p, lack);
    return p;
}

// Per run of k: the lowest bit in each row of the left and in each column of the panel.
struct lowest_bits {
    int64_t n_runs;
    int *rows;     // [m][n_runs]
    int *columns;  // [n_runs][COLUMNS]
};

static void multiply_tile(const struct reading_matmul *mm, struct reading panel,
                          const struct lowest_bits *lows, int64_t row, int64_t column) {
    struct reading_fold folds[ROWS][COLUMNS];
    bool is_one = lows->n_runs == 1;  // and so nothing to fold
    int width = mm->n - column < COLUMNS ? (int)(mm->n - column) : COLUMNS;
    for (int r = 0; r < ROWS && !is_one; r++)
        for (int j = 0; j < COLUMNS; j++) {
            // The levels are written before they are read; zeroing them would cost more than
            // the product.
            folds[r][j].op = OP_RSUM;
            folds[r][j].type = DTYPE_F32;
            folds[r][j].n_runs = 0;
            folds[r][j].lack = mm->lack;
        }
    int n_rows = mm->m - row < ROWS ? (int)(mm->m - row) : ROWS;
    bool is_exact = !mm->left.variance && !mm->right.variance;
    for (int64_t k = 0; k < mm->k; k += RUN_MAX) {
        int64_t at = row * mm->k + k;
        struct strip s = {
            .left = {.value = mm->left.value + at, .honest = mm->left.honest + at},
            .panel = {.value = panel.value + k * COLUMNS, .honest = panel.honest + k * COLUMNS},
            .stride = mm->k,
            .n_rows = n_rows,
            .n = mm->k - k < RUN_MAX ? (int)(mm->k - k) : RUN_MAX,
        };
        struct tile t = {0};
        int low[1 + COLUMNS];
        for (int j = 0; j < COLUMNS; j++)
            low[1 + j] = lows->columns[k / RUN_MAX * COLUMNS + j];
        run_exact(&s, &t);
        if (!is_exact) {
            s.left.variance = mm->left.variance + at;
            s.panel.variance = panel.variance + k * COLUMNS;
            run_carried(&s, &t);
        }
        for (int r = 0; r < n_rows; r++) {
            low[0] = lows->rows[(row + r) * lows->n_runs + k / RUN_MAX];
            for (int j = 0; j < width; j++) {
                struct reading_partial p = sum_of(&t, r, j, s.n, low, mm->lack);
                if (is_one)
                    store(mm, row + r, column + j, &p);
                else
                    reading_fold_add(&folds[r][j], p);
            }
        }
    }
    for (int r = 0; r < n_rows && !is_one; r++)
        for (int j = 0; j < width; j++) {
            struct reading_partial p = reading_fold_end(&folds[r][j]);
            store(mm, row + r, column + j, &p);
        }
}

static void *aligned_zeros(int64_t count, size_t size) {
    size_t bytes = ((size_t)count * size + 63) / 64 * 64;
    void *p = aligned_alloc(64, bytes);
    if (!p)
        abort();
    return memset(p, 0, bytes);
}

static int64_t run_length(const struct reading_matmul *mm, int64_t run) {
    return mm->k - run * RUN_MAX < RUN_MAX ? mm->k - run * RUN_MAX : RUN_MAX;
}

void reading_matmul(const struct reading_matmul *whole) {
    struct reading_matmul mm = *whole;
    // When one operand is exact and the other is not, both get variances.
    double *zeros = NULL;
    if (mm.right.variance && !mm.left.variance)
        mm.left.variance = zeros = aligned_zeros(mm.m * mm.k, sizeof(double));
    struct reading panel = {.value = aligned_zeros(mm.k * COLUMNS, sizeof(double)),
                            .variance = aligned_zeros(mm.k * COLUMNS, sizeof(double)),
                            .honest = aligned_zeros(mm.k * COLUMNS, sizeof(float))};
    struct lowest_bits lows = {.n_runs = (mm.k + RUN_MAX - 1) / RUN_MAX};
    lows.rows = reading_alloc(mm.m * lows.n_runs, sizeof(int));
    lows.columns = reading_alloc(lows.n_runs * COLUMNS, sizeof(int));
    for (int64_t row = 0; row < mm.m; row++)
        for (int64_t run = 0; run < lows.n_runs; run++)
            lows.rows[row * lows.n_runs + run] =
                lowest(mm.left.value + row * mm.k + run * RUN_MAX, 1, run_length(&mm, run));
    for (int64_t column = 0; column < mm.n; column += COLUMNS) {
        pack(&mm, column, panel);
        for (int64_t run = 0; run < lows.n_runs; run++)
            for (int j = 0; j < COLUMNS; j++)
                lows.columns[run * COLUMNS + j] = lowest(panel.value + run * RUN_MAX * COLUMNS + j,
                                                         COLUMNS, run_length(&mm, run));
        for (int64_t row = 0; row < mm.m; row += ROWS)
            multiply_tile(&mm, panel, &lows, row, column);
    }
    free(lows.rows);
    free(lows.columns);
    free(panel.value);
    free(panel.variance);
    free(panel.honest);
    free(zeros);
}
