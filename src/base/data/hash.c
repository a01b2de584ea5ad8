#include "base/data/hash.h"

uint64_t hash_bytes(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t x = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        x = (x ^ p[i]) * 0x100000001b3u;
    return hash_number((int64_t)x);
}

int64_t hash_name(int32_t tenant, struct str name)
{
    return (int64_t)(hash_bytes(name.p, name.n) ^ hash_number(tenant));
}
