// Another reader of JSON to compare with: jansson.
#pragma once
#include "base/str.h"

bool other_json_takes(struct str text); // one value, no key twice, numbers within the range of double
