// Linked into the binary of `make static`, with -Wl,--wrap=hypot,--wrap=hypotf: functions of the
// mathematical library that got a newer version, by the version that every C library of the last
// twenty years has.
double __wrap_hypot(double x, double y);
float __wrap_hypotf(float x, float y);

#if defined(__x86_64__)
double old_hypot(double x, double y);
float old_hypotf(float x, float y);
__asm__(".symver old_hypot, hypot@GLIBC_2.2.5");
__asm__(".symver old_hypotf, hypotf@GLIBC_2.2.5");
#else
double __real_hypot(double x, double y);
float __real_hypotf(float x, float y);
#define old_hypot __real_hypot
#define old_hypotf __real_hypotf
#endif

double __wrap_hypot(double x, double y) {
    return old_hypot(x, y);
}

float __wrap_hypotf(float x, float y) {
    return old_hypotf(x, y);
}
