#include "node/roles.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned roles;
} names[] = {
    {"api", ROLE_API}, {"puller", ROLE_PULLER}, {"executor", ROLE_EXECUTOR}, {"completer", ROLE_COMPLETER}, {"all", ROLES_ALL},
};

static unsigned roles_of(struct str name)
{
    for (size_t i = 0; i < array_count(names); i++)
        if (str_is(name, names[i].name))
            return names[i].roles;
    return 0;
}

bool roles_parse(const char *text, unsigned *ret_roles, char why[ERR_WHY_MAX])
{
    unsigned roles = 0;
    for (const char *at = text;; at++) {
        struct str name = {at, strcspn(at, ",")};
        unsigned found = roles_of(name);
        if (!found) {
            snprintf(why, ERR_WHY_MAX, "no role is known by \"%.*s\"; api, puller, executor and completer are", STR_ARG(name));
            return false;
        }
        roles |= found;
        at += name.n;
        if (!*at)
            break;
    }
    if ((roles & ROLES_RUN) && (roles & ROLES_RUN) != ROLES_RUN) {
        snprintf(why, ERR_WHY_MAX,
                 "%.60s: puller, executor and completer hand jobs to each other inside one process; give all three or none",
                 text);
        return false;
    }
    *ret_roles = roles;
    return true;
}
