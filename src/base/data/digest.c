// OpenSSL 3 looks an algorithm up by name on every call unless it is handed one: it is fetched once and kept.
#include "base/data/digest.h"

#include "base/mem.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_MD *sha256;

static void fetch(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (!sha256)
        abort();
}

void digest_sha256(struct str bytes, uint8_t ret_digest[DIGEST_SIZE])
{
    pthread_once(&once, fetch);
    if (!EVP_Digest(bytes.p, bytes.n, ret_digest, NULL, sha256, NULL))
        abort();
}

// What a key leaves behind after its block was hashed, inside and outside, and where a digest is worked out. EVP_MAC would do the
// same with more allocations for each.
struct digest_key {
    EVP_MD_CTX *inside, *outside, *work;
};

static EVP_MD_CTX *begin_with(const uint8_t block[64], uint8_t pad)
{
    uint8_t padded[64];
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    for (size_t i = 0; i < sizeof padded; i++)
        padded[i] = block[i] ^ pad;
    if (!ctx || !EVP_DigestInit_ex2(ctx, sha256, NULL) || !EVP_DigestUpdate(ctx, padded, sizeof padded))
        abort();
    OPENSSL_cleanse(padded, sizeof padded);
    return ctx;
}

struct digest_key *digest_key_new(struct str key)
{
    uint8_t block[64] = {0};
    pthread_once(&once, fetch);
    if (key.n > sizeof block)
        digest_sha256(key, block);
    else if (key.n)
        memcpy(block, key.p, key.n);
    struct digest_key *made = mem_alloc(sizeof *made);
    *made = (struct digest_key){begin_with(block, 0x36), begin_with(block, 0x5c), EVP_MD_CTX_new()};
    if (!made->work)
        abort();
    OPENSSL_cleanse(block, sizeof block);
    return made;
}

void digest_key_free(struct digest_key *key)
{
    if (!key)
        return;
    EVP_MD_CTX_free(key->inside);
    EVP_MD_CTX_free(key->outside);
    EVP_MD_CTX_free(key->work);
    mem_free(key);
}

static void go_on(EVP_MD_CTX *work, const EVP_MD_CTX *from, const void *bytes, size_t n, uint8_t ret_digest[DIGEST_SIZE])
{
    if (!EVP_MD_CTX_copy_ex(work, from) || !EVP_DigestUpdate(work, bytes, n) || !EVP_DigestFinal_ex(work, ret_digest, NULL))
        abort();
}

void digest_hmac(struct digest_key *key, struct str bytes, uint8_t ret_digest[DIGEST_SIZE])
{
    go_on(key->work, key->inside, bytes.p, bytes.n, ret_digest);
    go_on(key->work, key->outside, ret_digest, DIGEST_SIZE, ret_digest);
}

bool digest_same(const uint8_t *a, const uint8_t *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}
