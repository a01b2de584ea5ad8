// There are no API keys yet. So from a loopback listener a request without a key acts as tenant `default`, every key that is
// given is wrong, and on any other listener every request lacks one.
#include "api/auth.h"

#include "api/reply.h"

#include <arpa/inet.h>

static bool all_of(struct str text, const char *set)
{
    for (size_t i = 0; i < text.n; i++)
        if (!text.p[i] || !strchr(set, text.p[i]))
            return false;
    return true;
}

// Splits off ":PORT" if there is one. False when what follows the host is not a port.
static bool split_port(struct str *host)
{
    size_t from = 0;
    if (host->n && host->p[0] == '[') {
        const char *close = memchr(host->p, ']', host->n);
        if (!close)
            return false;
        from = (size_t)(close - host->p) + 1;
    } else {
        const char *colon = memchr(host->p, ':', host->n);
        from = colon ? (size_t)(colon - host->p) : host->n;
    }
    struct str rest = {host->p + from, host->n - from};
    host->n = from;
    if (!rest.n)
        return true;
    return rest.p[0] == ':' && rest.n <= 6 && all_of((struct str){rest.p + 1, rest.n - 1}, "0123456789");
}

// ::1 in any spelling, in brackets.
static bool is_loopback_v6(struct str host)
{
    char text[INET6_ADDRSTRLEN] = "";
    struct in6_addr address;
    if (host.n < 4 || host.n - 2 >= sizeof text || host.p[0] != '[' || host.p[host.n - 1] != ']')
        return false;
    memcpy(text, host.p + 1, host.n - 2);
    return inet_pton(AF_INET6, text, &address) == 1 && IN6_IS_ADDR_LOOPBACK(&address);
}

bool auth_loopback_host(struct str host)
{
    if (!host.n || !split_port(&host))
        return false;
    if (str_eq_nocase(host, STR("localhost")) || str_eq_nocase(host, STR("localhost.")) || is_loopback_v6(host))
        return true;
    // 127.0.0.0/8 as digits: nobody can make a name of digits only point elsewhere.
    return str_starts(host, STR("127.")) && all_of(host, "0123456789.");
}

bool auth_loopback_origin(struct str origin)
{
    const struct str schemes[] = {STR("http://"), STR("https://")};
    for (size_t i = 0; i < array_count(schemes); i++)
        if (str_starts(origin, schemes[i]))
            return auth_loopback_host((struct str){origin.p + schemes[i].n, origin.n - schemes[i].n});
    return false;
}

// A page from elsewhere that shows an image or follows a link says no Origin, but the browser says of it where it comes from.
static bool is_foreign_page(struct http_request *request)
{
    struct str site = http_header(request, "Sec-Fetch-Site");
    return str_is(site, "cross-site") || str_is(site, "same-site");
}

enum err auth_place(const struct api *api, struct http_request *request, struct problem *why)
{
    if (!auth_loopback_host(str_of(api->listen)))
        return ERR_OK;
    struct str host = http_host(request);
    if (host.p && !auth_loopback_host(host))
        return problem_set(why, ERR_FORBIDDEN, NULL,
                           "This server listens on a loopback address: Host must be localhost, 127.0.0.1 or [::1], not '%.80s'.",
                           arena_copy(http_arena(request), host).p);
    struct str origin = http_header(request, "Origin");
    if (origin.p && !auth_loopback_origin(origin))
        return problem_set(why, ERR_FORBIDDEN, NULL,
                           "Pages from elsewhere may not call this server: Origin must be a loopback address, not '%.80s'.",
                           arena_copy(http_arena(request), origin).p);
    if (!origin.p && is_foreign_page(request))
        return problem_set(why, ERR_FORBIDDEN, NULL,
                           "Pages from elsewhere may not call this server: the browser says Sec-Fetch-Site: " STR_FMT ".",
                           STR_ARG(http_header(request, "Sec-Fetch-Site")));
    return ERR_OK;
}

enum err auth_tenant(const struct api *api, struct http_request *request, int32_t *ret_tenant, struct problem *why)
{
    if (http_header(request, "Authorization").p)
        return problem_set(why, ERR_UNAUTHORIZED, NULL, "This API key is not known. From this machine, leave Authorization out.");
    if (!auth_loopback_host(str_of(api->listen)))
        return problem_set(why, ERR_UNAUTHORIZED, NULL, "This server is not on a loopback address and asks for an API key.");
    *ret_tenant = AUTH_TENANT_DEFAULT;
    return ERR_OK;
}
