// The other reader of JSON, in a file of its own: it and base/text/json give the same names to their types.
#include "other_json.h"

#include <jansson.h>

bool other_json_takes(struct str text)
{
    json_error_t error;
    json_t *value =
        json_loadb(text.n ? text.p : "", text.n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    json_decref(value);
    return value;
}
