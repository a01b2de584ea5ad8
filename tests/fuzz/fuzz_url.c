// core/url: what is taken means the same put together again, and libcurl reads the same host and port. What
// two readers read differently can be made to point inside.
#include "base/buf.h"
#include "core/url.h"
#include "fuzz.h"

#include <arpa/inet.h>
#include <strings.h>

#include <curl/curl.h>

static void put_together(struct buf *buf, const struct url *url)
{
    buf_printf(buf, "http%s://%s" STR_FMT "%s:%d", url->tls ? "s" : "", url->ipv6 ? "[" : "", STR_ARG(url->host),
               url->ipv6 ? "]" : "", url->port);
    buf_put(buf, url->rest);
}

static void check_again(const struct url *url)
{
    buf_auto struct buf text = {0};
    char why[ERR_WHY_MAX];
    struct url again;
    put_together(&text, url);
    must(url_parse(buf_str(&text), &again, why) == ERR_OK);
    must(again.tls == url->tls && again.ipv6 == url->ipv6 && again.port == url->port);
    must(str_eq(again.host, url->host));
    must(str_eq(again.rest, url->rest));
}

static char *their_part(CURLU *handle, CURLUPart what, unsigned flags)
{
    char *part = NULL;
    return curl_url_get(handle, what, &part, flags) == CURLUE_OK ? part : NULL;
}

static void check_host(const struct url *url, char *theirs)
{
    char ours[256];
    struct in6_addr a, b;
    memcpy(ours, url->host.p, url->host.n);
    ours[url->host.n] = 0;
    if (!url->ipv6) {
        must(strcasecmp(ours, theirs) == 0);
        return;
    }
    must(theirs[0] == '[' && theirs[strlen(theirs) - 1] == ']');
    theirs[strlen(theirs) - 1] = 0;
    must(inet_pton(AF_INET6, ours, &a) == 1 && inet_pton(AF_INET6, theirs + 1, &b) == 1);
    must(memcmp(&a, &b, sizeof a) == 0);
}

static void compare(struct str text, const struct url *url)
{
    buf_auto struct buf copy = {0};
    CURLU *handle = curl_url();
    buf_put(&copy, text);
    buf_putc(&copy, 0);
    must(curl_url_set(handle, CURLUPART_URL, copy.p, CURLU_PATH_AS_IS) == CURLUE_OK);
    char *host = their_part(handle, CURLUPART_HOST, 0), *port = their_part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    char *scheme = their_part(handle, CURLUPART_SCHEME, 0), *user = their_part(handle, CURLUPART_USER, 0);
    must(host && port && scheme && !user);
    check_host(url, host);
    must(atoi(port) == url->port);
    must(strcasecmp(scheme, url->tls ? "https" : "http") == 0);
    curl_free(host);
    curl_free(port);
    curl_free(scheme);
    curl_url_cleanup(handle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    struct url url = {0};
    char why[ERR_WHY_MAX] = "";
    if (url_parse(text, &url, why)) {
        must(why[0] && !url.host.p);
        return 0;
    }
    must(url.host.n >= 1 && url.host.n <= 253 && url.port);
    must(!url.rest.n || !memchr(url.rest.p, '#', url.rest.n));
    check_again(&url);
    compare(text, &url);
    return 0;
}
