// api/routes: which route a path has, which methods it takes, which type a body is. Input: a method, a path and a content type,
// with a line feed between them.
#include "api/routes.h"
#include "fuzz.h"

// Without its escapes, but for those of a slash.
static void put_plain(struct buf *to, struct str path)
{
    while (path.n) {
        int byte = str_escaped(path);
        size_t n = byte < 0 ? 1 : 3;
        if (byte >= 0 && byte != '/')
            buf_putc(to, (char)byte);
        else
            buf_put(to, byte < 0 ? (struct str){path.p, 1} : STR("%2f"));
        path = (struct str){path.p + n, path.n - n};
    }
}

// The pattern with what stood in place of its braces is the path again.
static void check_found(const struct route *route, struct str path, struct str param)
{
    buf_auto struct buf again = {0}, plain = {0};
    const char *open = strchr(route->path, '{');
    must((open != NULL) == (param.n > 0));
    must(!param.n || !memchr(param.p, '/', param.n));
    if (open) {
        buf_put(&again, (struct str){route->path, (size_t)(open - route->path)});
        put_plain(&again, param);
        buf_puts(&again, strchr(open, '}') + 1);
    } else {
        buf_puts(&again, route->path);
    }
    put_plain(&plain, path);
    must(str_eq(buf_str(&again), buf_str(&plain)));
}

static bool is_listed(struct str list, struct str method)
{
    while (list.n) {
        struct str one = fuzz_cut(&list, ',');
        while (one.n && one.p[0] == ' ')
            one = (struct str){one.p + 1, one.n - 1};
        if (one.n && str_eq(one, method))
            return true;
    }
    return false;
}

// A path is not found exactly when it allows nothing, and a method is refused exactly when it is not on the list.
static void check_route(struct str method, struct str path)
{
    buf_auto struct buf allow = {0};
    const struct route *route = NULL;
    struct str param = {0};
    enum err err = route_find(method, path, &route, &param);
    route_allow(path, &allow);
    must(err == ERR_OK || err == ERR_NOT_FOUND || err == ERR_METHOD_NOT_ALLOWED);
    must((err == ERR_NOT_FOUND) == (allow.n == 0));
    must((err == ERR_OK) == is_listed(buf_str(&allow), method));
    if (!err)
        check_found(route, path, param);
}

// Space around a type and a charset behind it, which is UTF-8 in any case, change nothing.
static void check_type(struct str text)
{
    buf_auto struct buf spaced = {0};
    enum route_type type = route_type(text);
    must(type == TYPE_NONE || type == TYPE_JSON || type == TYPE_NDJSON || type == TYPE_OTHER);
    buf_puts(&spaced, " ");
    buf_put(&spaced, text);
    buf_puts(&spaced, " ");
    must(route_type(buf_str(&spaced)) == type);
    buf_puts(&spaced, ";Charset=\"UTF-8\"");
    must(route_type(buf_str(&spaced)) == type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = fuzz_input(data, size), method = fuzz_cut(&rest, '\n'), path = fuzz_cut(&rest, '\n');
    check_route(method, path);
    check_type(rest);
    return 0;
}
