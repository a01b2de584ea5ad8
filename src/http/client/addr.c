// Two tables of prefixes, the first that matches decides, so the special cases stand above the nets they lie in.
// Sources: the IANA special-purpose address registries and the clouds' own pages for their metadata services.
// Does not resolve names and does not know ports.
#include "http/client/addr.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

struct prefix4 {
    uint8_t bytes[4];
    int bits;
    enum addr_class class;
};

static const struct prefix4 table4[] = {
    {{169, 254, 169, 254}, 32, ADDR_METADATA}, // AWS, Azure, Google and most others
    {{169, 254, 170, 2}, 32, ADDR_METADATA},   // AWS containers
    {{169, 254, 170, 23}, 32, ADDR_METADATA},  // AWS pods
    {{100, 100, 100, 200}, 32, ADDR_METADATA}, // Alibaba
    {{192, 0, 0, 192}, 32, ADDR_METADATA},     // Oracle
    {{168, 63, 129, 16}, 32, ADDR_METADATA},   // Azure's wire server, in public space
    {{0, 0, 0, 0}, 32, ADDR_UNSPECIFIED},
    {{0, 0, 0, 0}, 8, ADDR_RESERVED}, // "this network": some systems take it for themselves
    {{10, 0, 0, 0}, 8, ADDR_PRIVATE},
    {{100, 64, 0, 0}, 10, ADDR_PRIVATE}, // behind a carrier's NAT
    {{127, 0, 0, 0}, 8, ADDR_LOOPBACK},
    {{169, 254, 0, 0}, 16, ADDR_LINK_LOCAL},
    {{172, 16, 0, 0}, 12, ADDR_PRIVATE},
    {{192, 0, 0, 0}, 24, ADDR_RESERVED},
    {{192, 0, 2, 0}, 24, ADDR_RESERVED},
    {{192, 88, 99, 0}, 24, ADDR_RESERVED}, // 6to4 relays, withdrawn
    {{192, 168, 0, 0}, 16, ADDR_PRIVATE},
    {{198, 18, 0, 0}, 15, ADDR_PRIVATE}, // benchmarks of network gear
    {{198, 51, 100, 0}, 24, ADDR_RESERVED},
    {{203, 0, 113, 0}, 24, ADDR_RESERVED},
    {{224, 0, 0, 0}, 4, ADDR_MULTICAST},
    {{255, 255, 255, 255}, 32, ADDR_BROADCAST},
    {{240, 0, 0, 0}, 4, ADDR_RESERVED},
    {{0}, 0, ADDR_PUBLIC},
};

enum { NO_INNER = -1 };

struct prefix6 {
    uint8_t bytes[16];
    int bits;
    enum addr_class class;
    int inner; // where the IPv4 address lies that it stands for
};

static const struct prefix6 table6[] = {
    {{0}, 128, ADDR_UNSPECIFIED, NO_INNER},
    {{[15] = 1}, 128, ADDR_LOOPBACK, NO_INNER},
    {{[10] = 0xff, 0xff}, 96, ADDR_PUBLIC, 12},                                  // ::ffff:0:0/96, mapped
    {{0}, 96, ADDR_PUBLIC, 12},                                                  // ::/96, compatible
    {{[8] = 0xff, 0xff}, 96, ADDR_PUBLIC, 12},                                   // ::ffff:0:0:0/96, translated
    {{0x00, 0x64, 0xff, 0x9b}, 96, ADDR_PUBLIC, 12},                             // 64:ff9b::/96, NAT64
    {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, ADDR_PRIVATE, NO_INNER},          // 64:ff9b:1::/48, a site's own NAT64
    {{0x20, 0x02}, 16, ADDR_PUBLIC, 2},                                          // 2002::/16, 6to4
    {{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54}, 128, ADDR_METADATA, NO_INNER}, // fd00:ec2::254, AWS
    {{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54}, 128, ADDR_METADATA, NO_INNER}, // fd20:ce::254, Google
    {{0xfc}, 7, ADDR_PRIVATE, NO_INNER},
    {{0xfe, 0x80}, 10, ADDR_LINK_LOCAL, NO_INNER},
    {{0xfe, 0xc0}, 10, ADDR_PRIVATE, NO_INNER}, // site-local, withdrawn but still routed inside
    {{0xff}, 8, ADDR_MULTICAST, NO_INNER},
    {{0x20, 0x01}, 23, ADDR_RESERVED, NO_INNER},             // 2001::/23: Teredo, ORCHID and kin
    {{0x20, 0x01, 0x0d, 0xb8}, 32, ADDR_RESERVED, NO_INNER}, // documentation
    {{0x3f, 0xff}, 20, ADDR_RESERVED, NO_INNER},             // documentation
    {{0x20}, 3, ADDR_PUBLIC, NO_INNER},                      // 2000::/3, all that is given out
    {{0}, 0, ADDR_RESERVED, NO_INNER},
};

static bool has_prefix(const uint8_t *bytes, const uint8_t *prefix, int bits)
{
    int whole = bits / 8, rest = bits % 8;
    if (memcmp(bytes, prefix, (size_t)whole) != 0)
        return false;
    return !rest || !((bytes[whole] ^ prefix[whole]) & (0xff << (8 - rest)) & 0xff);
}

static enum addr_class class4(const uint8_t bytes[4])
{
    const struct prefix4 *row = table4;
    while (!has_prefix(bytes, row->bytes, row->bits))
        row++; // the last row matches everything
    return row->class;
}

static enum addr_class class6(const uint8_t bytes[16])
{
    const struct prefix6 *row = table6;
    while (!has_prefix(bytes, row->bytes, row->bits))
        row++;
    return row->inner == NO_INNER ? row->class : class4(bytes + row->inner);
}

enum addr_class addr_class(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return class4((const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr);
    if (address->sa_family == AF_INET6)
        return class6(((const struct sockaddr_in6 *)address)->sin6_addr.s6_addr);
    return ADDR_RESERVED;
}

static const struct {
    const char *text;
    bool open, inside;
} classes[ADDR_CLASS_COUNT] = {
#define X(name, text, open, inside) [ADDR_##name] = {text, open, inside},
    ADDR_CLASSES(X)
#undef X
};

const char *addr_class_text(enum addr_class class)
{
    assert(class < ADDR_CLASS_COUNT);
    return classes[class].text;
}

bool addr_allowed(const struct sockaddr *address, bool private_allowed)
{
    enum addr_class class = addr_class(address);
    return private_allowed ? classes[class].inside : classes[class].open;
}

bool addr_parse(union addr *ret_addr, const char *text, bool ipv6)
{
    memset(ret_addr, 0, sizeof *ret_addr);
    ret_addr->any.sa_family = ipv6 ? AF_INET6 : AF_INET;
    return inet_pton(ret_addr->any.sa_family, text, ipv6 ? (void *)&ret_addr->v6.sin6_addr : &ret_addr->v4.sin_addr) == 1;
}

const char *addr_text(const union addr *addr, char ret_text[ADDR_TEXT_SIZE])
{
    bool v6 = addr->any.sa_family == AF_INET6;
    inet_ntop(addr->any.sa_family, v6 ? (const void *)&addr->v6.sin6_addr : &addr->v4.sin_addr, ret_text, ADDR_TEXT_SIZE);
    return ret_text;
}

// By members: what a library leaves in the bytes between and behind them says nothing.
bool addr_same(const union addr *a, const union addr *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return false;
    if (a->any.sa_family == AF_INET)
        return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
    return IN6_ARE_ADDR_EQUAL(&a->v6.sin6_addr, &b->v6.sin6_addr) && a->v6.sin6_scope_id == b->v6.sin6_scope_id;
}
