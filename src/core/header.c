// What is wrong is refused and never stripped: a header that is not what its author wrote may mean something else to the target.
#include "core/header.h"

#include "base/mem.h"

// What rota or its HTTP client sets itself, or what would change the framing of the request. A name that ends in '-' stands for
// all that begin so.
static const struct str reserved_headers[] = {{"Host", 4},
                                              {"Content-Length", 14},
                                              {"Transfer-Encoding", 17},
                                              {"Connection", 10},
                                              {"Keep-Alive", 10},
                                              {"Upgrade", 7},
                                              {"TE", 2},
                                              {"Trailer", 7},
                                              {"Expect", 6},
                                              {"Proxy-", 6},
                                              {"Rota-", 5},
                                              {"webhook-", 8},
                                              {"Idempotency-Key", 15},
                                              {"traceparent", 11}};

static bool is_reserved_header(struct str name)
{
    for (size_t i = 0; i < array_count(reserved_headers); i++) {
        struct str reserved = reserved_headers[i], start = name;
        bool family = reserved.p[reserved.n - 1] == '-';
        if (family && start.n > reserved.n)
            start.n = reserved.n;
        if (str_eq_nocase(start, reserved))
            return true;
    }
    return false;
}

bool header_is_token(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!str_is_letter(c) && !str_is_digit(c) && !(c && strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return text.n > 0;
}

const char *header_name_wrong(struct str name)
{
    if (!header_is_token(name))
        return "A header's name must be a token of letters, digits and !#$%&'*+-.^_`|~.";
    return is_reserved_header(name) ? "This header is set by rota and must not be given." : NULL;
}

const char *header_value_wrong(struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (((unsigned char)value.p[i] < 0x20 && value.p[i] != '\t') || value.p[i] == 0x7f)
            return "A header's value must not hold CR, LF or other control characters.";
    return NULL;
}

bool header_has_word(struct str value, struct str word)
{
    while (value.n) {
        const char *comma = memchr(value.p, ',', value.n);
        size_t n = comma ? (size_t)(comma - value.p) : value.n;
        if (str_eq_nocase(str_trim((struct str){value.p, n}), word))
            return true;
        n += comma != NULL;
        value = (struct str){value.p + n, value.n - n};
    }
    return false;
}
