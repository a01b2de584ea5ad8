// One header of a call: what a user may set.
// Layer: core, pure.
#pragma once
#include "base/str.h"

// NULL when it may be sent, else a sentence that says what is wrong.
const char *header_name_wrong(struct str name); // not a token of RFC 9110, or reserved
const char *header_value_wrong(struct str value);
