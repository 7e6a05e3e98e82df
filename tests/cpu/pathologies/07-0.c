enum { PART = 16384 };
#pragma hone scratch between f32[L]
#pragma hone scratch further f32[L]
#pragma hone launch first grid(L / 16384) args(x, between)
#pragma hone launch second grid(L / 16384) args(between, further)
#pragma hone launch third grid(L / 16384) args(further, y)

void first(long block, const float *restrict x, float *restrict between) {
    for (long i = block * PART; i < (block + 1) * PART; i++)
        between[i] = x[i] * 2.0f;
}

void second(long block, const float *restrict between, float *restrict further) {
    for (long i = block * PART; i < (block + 1) * PART; i++)
        further[i] = between[i] + 1.0f;
}

void third(long block, const float *restrict further, float *restrict y) {
    for (long i = block * PART; i < (block + 1) * PART; i++)
        y[i] = further[i] * 3.0f;
}
