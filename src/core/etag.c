#include "core/etag.h"

static int64_t version_of(struct str tag)
{
    int64_t version = 0;
    if (tag.n > 18 || (tag.n && tag.p[0] == '0'))
        return 0;
    for (size_t i = 0; i < tag.n; i++) {
        if (!str_is_digit(tag.p[i]))
            return 0;
        version = version * 10 + (tag.p[i] - '0');
    }
    return version;
}

// Takes a tag off the front. False: there is none. A weak one is empty.
static bool take_tag(struct str *rest, struct str *ret_tag)
{
    size_t from = str_starts(*rest, STR("W/")) ? 3 : 1;
    const char *close = rest->n > from && rest->p[from - 1] == '"' ? memchr(rest->p + from, '"', rest->n - from) : NULL;
    if (!close)
        return false;
    *ret_tag = (struct str){rest->p + from, from == 3 ? 0 : (size_t)(close - rest->p) - from};
    *rest = str_trim((struct str){close + 1, rest->n - (size_t)(close - rest->p) - 1});
    return !rest->n || rest->p[0] == ',';
}

size_t etag_versions(struct str list, int64_t *ret_versions)
{
    struct str rest = str_trim(list), tag;
    size_t count = 0;
    while (rest.n) {
        if (rest.p[0] == ',') { // places of a list may be empty
            rest = str_trim((struct str){rest.p + 1, rest.n - 1});
            continue;
        }
        if (!take_tag(&rest, &tag))
            return 0;
        ret_versions[count++] = version_of(tag);
    }
    return count;
}
