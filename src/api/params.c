#include "api/params.h"

#include "api/reply.h"
#include "base/text/when.h"
#include "core/etag.h"

bool params_flag(const struct api_call *call, const char *name, bool *ret_value)
{
    struct str text = http_query(call->request, name);
    *ret_value = text.p && (str_is(text, "1") || str_is(text, "true"));
    if (!text.p || *ret_value || str_is(text, "0") || str_is(text, "false"))
        return true;
    problem_say(call->request, ERR_INVALID_FIELD, name, "The query parameter %s is 1 or 0.", name);
    return false;
}

static bool parse_number(struct str text, int64_t most, int64_t *ret_value)
{
    int64_t value = 0;
    for (size_t i = 0; i < text.n; i++) {
        int digit = text.p[i] - '0';
        if (digit < 0 || digit > 9 || value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret_value = value;
    return text.n > 0;
}

bool params_number(const struct api_call *call, const char *name, int64_t least, int64_t most, int64_t *value)
{
    struct str text = http_query(call->request, name);
    int64_t number;
    if (!text.p)
        return true;
    if (parse_number(text, most, &number) && number >= least) {
        *value = number;
        return true;
    }
    problem_say(call->request, ERR_INVALID_FIELD, name, "The query parameter %s is a whole number from %lld to %lld.", name,
                (long long)least, (long long)most);
    return false;
}

bool params_time(const struct api_call *call, const char *name, int64_t *value)
{
    struct str text = http_query(call->request, name);
    if (!text.p || when_parse(text, value))
        return true;
    problem_say(call->request, ERR_INVALID_FIELD, name, "%s is a time like 2026-11-15T20:22:00Z (RFC 3339 with a zone).", name);
    return false;
}

bool params_json(const struct api_call *call, struct json *ret_value)
{
    char why[ERR_WHY_MAX];
    enum err err = json_check(http_body(call->request), ret_value, why);
    if (err)
        problem_say(call->request, err, NULL, "%s", why);
    return !err;
}

bool params_no_body(const struct api_call *call)
{
    struct json value, key, member;
    if (!http_body(call->request).n)
        return true;
    if (!params_json(call, &value))
        return false;
    if (value.type != JSON_OBJECT) {
        problem_say(call->request, ERR_INVALID_FIELD, NULL, "The body must be empty or {}.");
        return false;
    }
    struct json_iter iter = json_iter(value);
    if (!json_next(&iter, &key, &member))
        return true;
    struct problem problem = {.err = ERR_UNKNOWN_FIELD, .detail = "This takes no fields: send no body, or {}."};
    problem_point(&problem, json_text(key, http_arena(call->request)));
    problem_reply(call->request, &problem);
    return false;
}

bool params_no_key(const struct api_call *call, const char *instead)
{
    if (!http_header(call->request, PARAMS_KEY).p)
        return true;
    problem_say(call->request, ERR_INVALID_FIELD, PARAMS_KEY, "The header " PARAMS_KEY " is not taken here: %s", instead);
    return false;
}

bool params_versions(const struct api_call *call, bool of_task, struct command *op)
{
    struct str list = http_header_list(call->request, "If-Match");
    if (!list.p || str_is(list, "*"))
        return true;
    int64_t *versions = arena_array(http_arena(call->request), int64_t, etag_most(list));
    op->version_count = of_task ? etag_versions(list, versions) : 0;
    op->versions = versions;
    if (!op->version_count)
        problem_say(call->request, ERR_INVALID_FIELD, "If-Match",
                    "If-Match names versions of a task by their ETag, like \"3\", or \"3\", \"4\", or is *.");
    return op->version_count;
}
