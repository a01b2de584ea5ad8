// What an address is, and whether a target may have it.
// Layer: port (http/client), pure.
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

union addr {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

enum { ADDR_TEXT_SIZE = INET6_ADDRSTRLEN };

bool addr_parse(union addr *ret_addr, const char *text, bool ipv6);           // with port 0. False: it is none
const char *addr_text(const union addr *addr, char ret_text[ADDR_TEXT_SIZE]); // without its port
bool addr_same(const union addr *a, const union addr *b);                     // but for the port

// name, text, may it be called, may it be called where private targets are allowed
#define ADDR_CLASSES(X)                         \
    X(PUBLIC, "public", true, true)             \
    X(LOOPBACK, "loopback", false, true)        \
    X(PRIVATE, "private", false, true)          \
    X(LINK_LOCAL, "link-local", false, true)    \
    X(METADATA, "metadata", false, true)        \
    X(MULTICAST, "multicast", false, false)     \
    X(BROADCAST, "broadcast", false, false)     \
    X(UNSPECIFIED, "unspecified", false, false) \
    X(RESERVED, "reserved", false, false)

enum addr_class {
#define X(name, text, open, inside) ADDR_##name,
    ADDR_CLASSES(X)
#undef X
        ADDR_CLASS_COUNT
};

// An IPv6 address that stands for an IPv4 one (mapped, compatible, translated, NAT64, 6to4) is what that one is.
// Families other than IPv4 and IPv6 are ADDR_RESERVED.
enum addr_class addr_class(const struct sockaddr *address);
const char *addr_class_text(enum addr_class class);
bool addr_allowed(const struct sockaddr *address, bool private_allowed);
