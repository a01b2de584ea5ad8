// SHA-256, as OpenSSL computes it.
// Layer: base. Any thread.
#pragma once
#include "base/str.h"

#include <stdint.h>

enum { DIGEST_SIZE = 32 };

void digest_sha256(struct str bytes, uint8_t ret_digest[DIGEST_SIZE]);
