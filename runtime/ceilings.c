// What this machine can do at best: traffic of four mixes, multiply-adds, and nothing. Run by
// `hone calibrate` in the same runner and under the same clock as every candidate; `order`
// says which of them a call shall do and how many blocks of it.
//
// LANES floats make a vector, BLOCK floats a block of each stream.
typedef float vec __attribute__((vector_size(4 * LANES), aligned(4 * LANES)));

enum { READ, TRIAD, TRIAD_STREAM, COPY, COPY_STREAM, WRITE, WRITE_STREAM, MULTIPLY_ADD };

static inline void stream(vec *to, vec v) {
#if defined(__clang__)
    __builtin_nontemporal_store(v, to);
#elif defined(__AVX512F__) && LANES == 16
    __builtin_ia32_movntps512((float *)to, v);
#elif defined(__AVX__) && LANES == 8
    __builtin_ia32_movntps256((float *)to, v);
#elif defined(__SSE__) && LANES == 4
    __builtin_ia32_movntps((float *)to, v);
#else
    *to = v;
#endif
}

static inline void fence(void) {
#if defined(__SSE__)
    __builtin_ia32_sfence();
#endif
}

// Both inputs, each in two halves: four streams keep more reads in flight than one. Eight
// sums that do not wait for each other.
static void read_block(const vec *a, const vec *b, float *sum) {
    enum { HALF = BLOCK / LANES / 2 };
    vec s[8] = {{0}};
    for (long i = 0; i < HALF; i += 2)
        for (int k = 0; k < 2; k++) {
            s[k] += a[i + k];
            s[2 + k] += a[HALF + i + k];
            s[4 + k] += b[i + k];
            s[6 + k] += b[HALF + i + k];
        }
    for (int k = 1; k < 8; k++)
        s[0] += s[k];
    *sum = s[0][0] + s[0][LANES - 1];
}

static void triad_block(const vec *a, const vec *b, vec *c, int streams) {
    if (streams)
        for (long i = 0; i < BLOCK / LANES; i++)
            stream(&c[i], a[i] + 0.5f * b[i]);
    else
        for (long i = 0; i < BLOCK / LANES; i++)
            c[i] = a[i] + 0.5f * b[i];
}

static void copy_block(const vec *a, vec *c, int streams) {
    if (streams)
        for (long i = 0; i < BLOCK / LANES; i++)
            stream(&c[i], a[i]);
    else
        for (long i = 0; i < BLOCK / LANES; i++)
            c[i] = a[i];
}

static void write_block(vec *c, int streams) {
    vec one = (vec){0} + 1;
    if (streams)
        for (long i = 0; i < BLOCK / LANES; i++)
            stream(&c[i], one);
    else
        for (long i = 0; i < BLOCK / LANES; i++)
            c[i] = one;
}

// Twelve chains: enough to cover the latency of two units, and in registers everywhere.
static void multiply_add_block(const vec *a, float *sum) {
    vec s[12], m = a[0] * 1e-9f + 0.5f, t = a[1] * 1e-9f + 0.25f;
    for (int k = 0; k < 12; k++)
        s[k] = a[k];
    for (long i = 0; i < ROUNDS; i++)
        for (int k = 0; k < 12; k++)
            s[k] = s[k] * m + t;
    for (int k = 1; k < 12; k++)
        s[0] += s[k];
    *sum = s[0][0] + s[0][LANES - 1];
}

void ceiling(long block, const float *order, const float *a, const float *b, float *c,
             float *sums) {
    if (block >= (long)order[1])
        return;
    const vec *x = (const vec *)(a + block * BLOCK), *y = (const vec *)(b + block * BLOCK);
    vec *z = (vec *)(c + block * BLOCK);
    switch ((int)order[0]) {
    case READ:
        read_block(x, y, &sums[16 * block]);
        break;
    case TRIAD:
    case TRIAD_STREAM:
        triad_block(x, y, z, (int)order[0] == TRIAD_STREAM);
        break;
    case COPY:
    case COPY_STREAM:
        copy_block(x, z, (int)order[0] == COPY_STREAM);
        break;
    case WRITE:
    case WRITE_STREAM:
        write_block(z, (int)order[0] == WRITE_STREAM);
        break;
    default:
        multiply_add_block(x, &sums[16 * block]);
    }
    fence();
}

void nothing(long block, float *sums) {
    (void)block, (void)sums;
}
