// core/header: a name and a value that are taken make exactly one line of a request, whatever is in them, and none that rota or
// HTTP itself sets. Input: the name, a line feed, the value.
#include "core/header.h"
#include "fuzz.h"

#include <ctype.h>
#include <strings.h>

static const char *const never[] = {"host",       "content-length", "transfer-encoding", "connection",  "te",
                                    "trailer",    "expect",         "upgrade",           "keep-alive",  "rota-x",
                                    "webhook-id", "proxy-x",        "idempotency-key",   "traceparent", "proxy-authorization"};

static void check_name(struct str name)
{
    must(name.n);
    for (size_t i = 0; i < name.n; i++)
        must(isalnum((unsigned char)name.p[i]) || (name.p[i] && strchr("!#$%&'*+-.^_`|~", name.p[i])));
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        must(!str_eq_nocase(name, str_of(never[i])));
}

// Upper and lower case make no difference.
static void check_case(struct str name)
{
    char other[256];
    if (name.n > sizeof other)
        return;
    for (size_t i = 0; i < name.n; i++)
        other[i] =
            (char)(isupper((unsigned char)name.p[i]) ? tolower((unsigned char)name.p[i]) : toupper((unsigned char)name.p[i]));
    must(!header_name_wrong(name) == !header_name_wrong((struct str){other, name.n}));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str value = fuzz_input(data, size), name = fuzz_cut(&value, '\n');
    if (!header_name_wrong(name))
        check_name(name);
    check_case(name);
    if (!header_value_wrong(value))
        for (size_t i = 0; i < value.n; i++)
            must(value.p[i] == '\t' || ((unsigned char)value.p[i] >= 0x20 && value.p[i] != 0x7f));
    return 0;
}
