// Copying past the caches, so that what our own work leaves there is not in the way of what is
// timed next: lines that were written and still lie in a cache would have to go to memory first.
#pragma once

#include <stddef.h>

// As memcpy(), and what was copied lies in memory alone. On x86-64 where `to` is at a multiple of
// 16; elsewhere it is memcpy().
void copy_past_caches(void *to, const void *from, size_t size);
