// What a request says besides its path: query parameters, and its body as JSON.
// Layer: api. HTTP thread. Each answers the request itself when it returns false.
#pragma once
#include "api/handlers.h"

bool params_flag(const struct api_call *call, const char *name, bool *ret_value);
// A whole number; `value` keeps what it was when the parameter is absent.
bool params_number(const struct api_call *call, const char *name, int64_t least, int64_t most, int64_t *value);
// A time as RFC 3339; `value` likewise.
bool params_time(const struct api_call *call, const char *name, int64_t *value);
bool params_json(const struct api_call *call, struct json *ret_value); // the body, as it was checked
// Which versions of a task a command is meant for: If-Match is `*` for any, or a list of tags. A job has none.
bool params_versions(const struct api_call *call, bool of_task, struct command *op);
// No body, or an empty object.
bool params_no_body(const struct api_call *call);

// The header that says `key` of a task. What else can be done twice with two effects does not take it: who sends it relies on it.
#define PARAMS_KEY "Idempotency-Key"
bool params_no_key(const struct api_call *call, const char *instead);
