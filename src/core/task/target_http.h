// A target that is called over HTTP: what is sent where, and which answers are a success.
// Layer: core, pure. The struct holds slices of a task's document.
#pragma once
#include "base/text/json.h"
#include "core/codes.h"

enum { TARGET_URL_MAX = 8192, TARGET_HEADERS_MAX = 64, TARGET_HEADERS_BYTES = 8192 };

struct target_http {
    struct str url, method;
    struct json headers; // object of strings, or JSON_ABSENT
    struct json body;    // any value, or JSON_ABSENT
    uint64_t success_codes[CODES_WORDS];
};

struct target;
struct target_host;

bool target_http_success(const struct target_http *http, int status);
bool target_http_host(const struct target *target, struct target_host *ret_host);

// For the table of fields: the form of a task that has such a target, and the types that only its fields have.
extern const struct field_form target_http_form;
extern const struct field_type field_type_url, field_type_headers, field_type_codes;
extern const char *const target_http_methods[];
