// Included before every file of `make static`: functions of the mathematical library that got a
// newer version, by the version that every C library of the last twenty years has.
#if defined(__x86_64__)
__asm__(".symver hypot, hypot@GLIBC_2.2.5");
__asm__(".symver hypotf, hypotf@GLIBC_2.2.5");
#endif
