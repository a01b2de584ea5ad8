// Hashes for tables and shares: they spread well and are the same in every process. They keep no secret: anybody can make two
// texts with one hash, so whoever looks up by one compares the bytes too.
// Layer: base, pure.
#pragma once
#include "base/str.h"

#include <stdint.h>

static inline uint64_t hash_number(int64_t number)
{
    uint64_t x = (uint64_t)number;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

uint64_t hash_bytes(const void *bytes, size_t n);

// A name that each tenant has for itself, of a queue or a key: as the key of a map.
int64_t hash_name(int32_t tenant, struct str name);
