// The document of a bulk. Its filter has the names and the texts of a list's query, so both mean the same.
#include "core/bulk_plan.h"

static const struct {
    const char *text;
    bool jobs;
} actions[BULK_ACTION_COUNT] = {
#define X(name, text, jobs) [BULK_##name] = {text, jobs},
    BULK_ACTIONS(X)
#undef X
};

static enum err take_action(struct bulk_plan *plan, struct json value, struct arena *arena, struct problem *why)
{
    struct str text = value.type == JSON_STRING ? json_text(value, arena) : (struct str){0};
    for (int action = 0; action < BULK_ACTION_COUNT; action++)
        if (str_is(text, actions[action].text)) {
            plan->action = action;
            plan->filter = filter_any(actions[action].jobs ? FILTER_JOBS : FILTER_TASKS);
            return ERR_OK;
        }
    return problem_set(why, value.type == JSON_ABSENT ? ERR_MISSING_FIELD : ERR_INVALID_FIELD, "/action",
                       "action is cancel, retry, run, pause, resume or delete.");
}

static enum err take_filter(struct bulk_plan *plan, struct json value, struct arena *arena, struct problem *why)
{
    struct json key, member;
    if (value.type != JSON_OBJECT)
        return problem_set(why, value.type == JSON_ABSENT ? ERR_MISSING_FIELD : ERR_INVALID_FIELD, "/filter",
                           "filter is an object with the names of a list's query, {\"queue\": \"mail\"}; {} is everything.");
    struct json_iter iter = json_iter(value);
    while (json_next(&iter, &key, &member)) {
        struct str name = json_text(key, arena);
        struct problem inner = {0};
        bool flag = filter_is_flag(name) && (member.type == JSON_TRUE || member.type == JSON_FALSE);
        if (member.type != JSON_STRING && !flag)
            problem_set(&inner, ERR_INVALID_FIELD, "", "A filter's values are texts%s.",
                        filter_is_flag(name) ? ", or true and false" : "");
        else if (!filter_set(&plan->filter, name, flag ? member.raw : json_text(member, arena), &inner))
            continue;
        problem_set(why, inner.err, "/filter", "%s", inner.detail);
        problem_point(why, name);
        return why->err;
    }
    return ERR_OK;
}

enum err bulk_plan_parse(struct bulk_plan *ret_plan, struct json doc, struct arena *arena, struct problem *why)
{
    struct json key, value;
    if (doc.type != JSON_OBJECT)
        return problem_set(why, ERR_INVALID_FIELD, "", "A bulk is a JSON object: {\"action\": …, \"filter\": {…}}.");
    struct json_iter iter = json_iter(doc);
    while (json_next(&iter, &key, &value)) {
        struct str name = json_text(key, arena);
        if (!str_is(name, "action") && !str_is(name, "filter"))
            problem_set(why, ERR_UNKNOWN_FIELD, "", "There is no such field; a bulk has action and filter.");
        else
            continue;
        problem_point(why, name);
        return why->err;
    }
    enum err err = take_action(ret_plan, json_member(doc, STR("action")), arena, why);
    return err ? err : take_filter(ret_plan, json_member(doc, STR("filter")), arena, why);
}

bool bulk_plan_is_backfill(struct str doc)
{
    return str_is(json_member((struct json){JSON_OBJECT, doc}, STR("action")).raw, "\"backfill\"");
}
