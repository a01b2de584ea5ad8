// A kind of target is a row here, a struct in the union of target.h, a file target_KIND with its form and the types of its
// fields, and its rows in the table of core/task/task_fields. Nothing else asks of which kind a target is, but for the executor
// that calls it.
#include "core/task/target.h"

static const struct target_rule rules[TARGET_KIND_COUNT] = {
    [TARGET_NONE] = {.dispatch = TARGET_NOT_DISPATCHED, .timeout_ms = 30000},
    [TARGET_HTTP] = {.form = &target_http_form, .dispatch = TARGET_CALLED, .timeout_ms = 30000, .host = target_http_host},
};

const struct target_rule *target_rule(enum target_kind kind)
{
    return &rules[kind];
}

bool target_host(const struct target *target, struct target_host *ret_host)
{
    const struct target_rule *rule = target_rule(target->kind);
    return rule->host && rule->host(target, ret_host);
}
