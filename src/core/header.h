// One header of a call: what a user may set.
// Layer: core, pure.
#pragma once
#include "base/str.h"

// NULL when it may be sent, else a sentence that says what is wrong.
const char *header_name_wrong(struct str name); // not a token of RFC 9110, or reserved
const char *header_value_wrong(struct str value);

bool header_is_token(struct str text);                   // of RFC 9110, as names and methods are
bool header_has_word(struct str value, struct str word); // among those with commas between them; upper or lower case
