// The authority is read strictly, because what two parsers read differently can be made to point inside: no user info, no
// backslash, no percent signs in the host, and a host that ends in a number must be a plain IPv4 address. The rest is passed on
// as it came.
//
// What it does not do: resolve names or judge addresses. Whether an address may be called is decided where it is connected to.
#include "core/url.h"

#include <arpa/inet.h>
#include <stdio.h>

enum { HOST_MAX = 253, LABEL_MAX = 63 };

static enum err refuse(char why[ERR_WHY_MAX], const char *words)
{
    snprintf(why, ERR_WHY_MAX, "%s", words);
    return ERR_INVALID_FIELD;
}

static bool is_host_byte(char c)
{
    return str_is_digit(c) || str_is_letter(c) || c == '-' || c == '_';
}

static struct str cut(struct str text, size_t from, size_t to)
{
    return (struct str){text.p + from, to - from};
}

// Where the first `byte` stands; text.n when there is none.
static size_t find_byte(struct str text, char byte)
{
    size_t i = 0;
    while (i < text.n && text.p[i] != byte)
        i++;
    return i;
}

// Where the authority ends: at the path, the query or the fragment.
static size_t find_rest(struct str text)
{
    size_t i = 0;
    while (i < text.n && text.p[i] != '/' && text.p[i] != '?' && text.p[i] != '#')
        i++;
    return i;
}

// Digits only, or 0x and hexadecimal digits: what some resolvers take for a part of an address.
static bool is_number_label(struct str label)
{
    bool hex = label.n >= 2 && label.p[0] == '0' && (label.p[1] == 'x' || label.p[1] == 'X');
    for (size_t i = hex ? 2 : 0; i < label.n; i++)
        if (hex ? str_hex(label.p[i]) < 0 : !str_is_digit(label.p[i]))
            return false;
    return true;
}

static bool is_ipv4(struct str host)
{
    int parts = 0;
    for (size_t at = 0; at <= host.n; parts++) {
        struct str part = cut(host, at, at + find_byte(cut(host, at, host.n), '.'));
        int value = 0;
        if (part.n < 1 || part.n > 3 || (part.n > 1 && part.p[0] == '0'))
            return false;
        for (size_t i = 0; i < part.n; i++) {
            if (!str_is_digit(part.p[i]))
                return false;
            value = value * 10 + (part.p[i] - '0');
        }
        if (value > 255)
            return false;
        at += part.n + 1;
    }
    return parts == 4;
}

static enum err check_name(struct str host, char why[ERR_WHY_MAX])
{
    struct str name = host, last = {0};
    if (name.n && name.p[name.n - 1] == '.')
        name.n--;
    if (!name.n)
        return refuse(why, "The URL has no host.");
    if (host.n > HOST_MAX)
        return refuse(why, "The URL's host is longer than 253 bytes.");
    for (size_t at = 0; at <= name.n;) {
        last = cut(name, at, at + find_byte(cut(name, at, name.n), '.'));
        if (last.n < 1 || last.n > LABEL_MAX)
            return refuse(why, "Each part of the URL's host must have 1 to 63 bytes.");
        for (size_t i = 0; i < last.n; i++)
            if (!is_host_byte(last.p[i]))
                return refuse(why,
                              "The URL's host may hold letters, digits, '.', '-' and '_' only (write other names as xn--…).");
        at += last.n + 1;
    }
    if (is_number_label(last) && !is_ipv4(host))
        return refuse(why, "A numeric host must be an IPv4 address of four decimal numbers, such as 192.0.2.1.");
    return ERR_OK;
}

static enum err check_ipv6(struct str host, char why[ERR_WHY_MAX])
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    if (host.n >= sizeof text)
        return refuse(why, "The URL's IPv6 address is too long.");
    memcpy(text, host.p, host.n);
    text[host.n] = 0;
    if (inet_pton(AF_INET6, text, &address) != 1)
        return refuse(why, "What the URL has in brackets is not an IPv6 address.");
    return ERR_OK;
}

// ":8080" or nothing.
static enum err take_port(struct str text, struct url *url, char why[ERR_WHY_MAX])
{
    unsigned port = 0;
    url->port = url->tls ? 443 : 80;
    if (!text.n)
        return ERR_OK;
    if (text.p[0] != ':' || text.n < 2 || text.n > 6)
        return refuse(why, "The URL's port must be a number from 1 to 65535.");
    for (size_t i = 1; i < text.n; i++) {
        if (!str_is_digit(text.p[i]))
            return refuse(why, "The URL's port must be a number from 1 to 65535.");
        port = port * 10 + (unsigned)(text.p[i] - '0');
    }
    if (port < 1 || port > 65535)
        return refuse(why, "The URL's port must be a number from 1 to 65535.");
    url->port = (uint16_t)port;
    return ERR_OK;
}

static enum err take_authority(struct str text, struct url *url, char why[ERR_WHY_MAX])
{
    enum err err;
    size_t host_end;
    if (find_byte(text, '@') < text.n)
        return refuse(why, "The URL must not hold a user or password; put credentials into \"headers\".");
    url->ipv6 = text.n && text.p[0] == '[';
    if (url->ipv6) {
        host_end = find_byte(text, ']');
        if (host_end == text.n)
            return refuse(why, "The URL's bracket is not closed.");
        url->host = cut(text, 1, host_end++);
        err = check_ipv6(url->host, why);
    } else {
        host_end = find_byte(text, ':');
        url->host = cut(text, 0, host_end);
        err = check_name(url->host, why);
    }
    return err ? err : take_port(cut(text, host_end, text.n), url, why);
}

static bool take_scheme(struct str text, struct url *url, size_t *ret_end)
{
    static const struct {
        struct str text;
        bool tls;
    } schemes[] = {{{"http://", 7}, false}, {{"https://", 8}, true}};
    for (size_t i = 0; i < 2; i++)
        if (text.n >= schemes[i].text.n && str_eq_nocase(cut(text, 0, schemes[i].text.n), schemes[i].text)) {
            url->tls = schemes[i].tls;
            *ret_end = schemes[i].text.n;
            return true;
        }
    return false;
}

enum err url_parse(struct str text, struct url *ret_url, char why[ERR_WHY_MAX])
{
    struct url url = {0};
    size_t at;
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] <= ' ' || (unsigned char)text.p[i] >= 0x7f)
            return refuse(why, "The URL holds a space, a control character or a letter outside ASCII; write it percent-encoded.");
    if (!take_scheme(text, &url, &at))
        return refuse(why, "The URL must begin with http:// or https://.");
    size_t authority_end = at + find_rest(cut(text, at, text.n));
    enum err err = take_authority(cut(text, at, authority_end), &url, why);
    if (err)
        return err;
    struct str rest = cut(text, authority_end, text.n);
    url.rest = cut(rest, 0, find_byte(rest, '#'));
    *ret_url = url;
    return ERR_OK;
}
