// How far apart neighbouring threads of a warp access memory, read off the machine code: whether
// global accesses are side by side, and whether shared ones meet in the same banks. It needs
// neither a card nor a launch, and so is known before any counter is.
#pragma once

#include <stdint.h>

#include "profile/sass.h"

// Fill `stride` of all accesses of `code`, whose bytes are `text`: SASS_BYTES for each instruction.
// Stays SASS_STRIDE_UNKNOWN where the address depends on data, or on more than this follows.
void sass_find_strides(const unsigned char *text, struct sass_instruction *code, int n);

// Sectors of 32 bytes that a warp touches whose threads access `bytes` each, `stride` apart.
int sass_sectors(int64_t stride, int bytes);
// The passes that shared memory needs for such an access, over the least for that many bytes.
double sass_bank_passes(int64_t stride, int bytes);
