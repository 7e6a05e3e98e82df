// HONE_INJECT is the library's path, from inject/inject.mk.
#include "profile/inject_bytes.h"

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".global inject_begin\n"
        "inject_begin:\n"
        ".incbin \"" HONE_INJECT "\"\n"
        ".global inject_end\n"
        "inject_end:\n"
        ".byte 0\n"
        ".previous\n");
