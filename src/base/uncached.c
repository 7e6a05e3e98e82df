#include "base/uncached.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

void copy_past_caches(void *to, const void *from, size_t size) {
    char *out = to;
    const char *in = from;
    size_t done = 0;
#if defined(__x86_64__)
    if ((uintptr_t)out % sizeof(__m128i) == 0) {
        for (; done + sizeof(__m128i) <= size; done += sizeof(__m128i))
            _mm_stream_si128((__m128i *)(void *)(out + done),
                             _mm_loadu_si128((const __m128i *)(const void *)(in + done)));
        _mm_sfence();
    }
#endif
    memcpy(out + done, in + done, size - done);
}
