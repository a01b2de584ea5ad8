// OpenSSL 3 looks an algorithm up by name on every call unless it is handed one: it is fetched once and kept.
#include "base/digest.h"

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
