// A URL that may be called: taken apart and checked without being opened.
// Layer: core, pure.
#pragma once
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct url {
    bool tls;
    struct str host; // without the brackets of an IPv6 address
    bool ipv6;       // it was in brackets
    uint16_t port;   // given or default
    struct str rest; // path and query as given, may be empty
};

// http or https only; no user info, no fragment is sent; no control characters or spaces; a host of at most 253 bytes. `why`
// says what is wrong. Slices point into `text`.
err_check enum err url_parse(struct str text, struct url *ret_url, char why[ERR_WHY_MAX]);
