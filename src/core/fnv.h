// FNV-1a, step by step, for digests that are made of several texts.
// Layer: core, pure. What is made of it is stored and given out (tags, cursors), so it never changes.
#pragma once
#include "base/str.h"

#include <stdint.h>

#define FNV_START UINT64_C(0xCBF29CE484222325)

static inline uint64_t fnv_add_number(uint64_t hash, uint64_t number)
{
    return (hash ^ number) * UINT64_C(0x100000001B3);
}

static inline uint64_t fnv_add(uint64_t hash, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        hash = fnv_add_number(hash, (uint8_t)text.p[i]);
    return hash;
}
