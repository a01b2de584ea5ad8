// The table behind err.h.
#include "base/err.h"

#include <assert.h>

static const struct err_info table[ERR_COUNT] = {
#define X(name, code, status, retry, title) [ERR_##name] = {code, status, retry, title},
    ERR_LIST(X)
#undef X
};

const struct err_info *err_info(enum err err)
{
    assert(err >= 0 && err < ERR_COUNT);
    return &table[err];
}
