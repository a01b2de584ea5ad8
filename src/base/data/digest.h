// SHA-256, and HMAC with it, as OpenSSL computes them.
// Layer: base. Any thread; a keyed digest has one owner at a time.
#pragma once
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { DIGEST_SIZE = 32 };

void digest_sha256(struct str bytes, uint8_t ret_digest[DIGEST_SIZE]);

struct digest_key;

// HMAC-SHA-256 under one key, which is prepared once: what is left is the work of two blocks.
struct digest_key *digest_key_new(struct str key);
void digest_key_free(struct digest_key *key); // accepts NULL
void digest_hmac(struct digest_key *key, struct str bytes, uint8_t ret_digest[DIGEST_SIZE]);

bool digest_same(const uint8_t *a, const uint8_t *b, size_t n); // takes as long wherever they differ
