// What a node does of all there is to do: the option --role.
// Layer: node. Pure.
#pragma once
#include "base/err.h"

#include <stdbool.h>

enum role {
    ROLE_API = 1,
    ROLE_PULLER = 2,
    ROLE_EXECUTOR = 4,
    ROLE_COMPLETER = 8,
    ROLES_RUN = ROLE_PULLER | ROLE_EXECUTOR | ROLE_COMPLETER, // they hand jobs to each other inside one process
    ROLES_ALL = ROLE_API | ROLES_RUN,
};

// "api,puller,…", or "all". False: `why` says what is wrong and what would be right.
err_check bool roles_parse(const char *text, unsigned *ret_roles, char why[ERR_WHY_MAX]);
