// A thin cover of OpenSSL. Sessions are not resumed: connections are kept instead.
#include "http/tls.h"

#include "base/mem.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>

struct tls_client {
    SSL_CTX *context;
};

enum err tls_client_new(struct tls_client **ret_client, char why[ERR_WHY_MAX])
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context || SSL_CTX_set_default_verify_paths(context) != 1 ||
        SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        SSL_CTX_free(context);
        snprintf(why, ERR_WHY_MAX, "TLS cannot be started: %s", ERR_reason_error_string(ERR_get_error()));
        return ERR_INTERNAL;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    *ret_client = mem_zero(sizeof **ret_client);
    (*ret_client)->context = context;
    return ERR_OK;
}

void tls_client_free(struct tls_client *client)
{
    if (!client)
        return;
    SSL_CTX_free(client->context);
    mem_free(client);
}

struct tls *tls_new(struct tls_client *client, int fd, const char *host, bool is_address)
{
    static const unsigned char http1[] = "\x08http/1.1";
    char name[256];
    size_t n = (size_t)snprintf(name, sizeof name, "%s", host);
    if (n > 1 && n < sizeof name && name[n - 1] == '.') // of a name that is complete; in certificates there is none
        name[n - 1] = 0;
    SSL *ssl = SSL_new(client->context);
    bool ready = ssl && SSL_set_fd(ssl, fd) == 1 && SSL_set_alpn_protos(ssl, http1, sizeof http1 - 1) == 0;
    if (ready && is_address)
        ready = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    else if (ready)
        ready = SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
    if (!ready) {
        ERR_clear_error();
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set_connect_state(ssl);
    return (struct tls *)ssl;
}

static SSL *ssl_of(struct tls *tls)
{
    return (SSL *)tls;
}

void tls_free(struct tls *tls)
{
    SSL_free(ssl_of(tls));
}

// Why a call did not go through; OpenSSL keeps a list of errors for each thread, which must be empty before the next call.
static int verdict(struct tls *tls, int result)
{
    int error = SSL_get_error(ssl_of(tls), result);
    ERR_clear_error();
    return error == SSL_ERROR_WANT_READ     ? TLS_WANT_READ
           : error == SSL_ERROR_WANT_WRITE  ? TLS_WANT_WRITE
           : error == SSL_ERROR_ZERO_RETURN ? 0
                                            : TLS_FAILED;
}

static void explain(struct tls *tls, char why[ERR_WHY_MAX])
{
    long verified = SSL_get_verify_result(ssl_of(tls));
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    if (verified != X509_V_OK)
        snprintf(why, ERR_WHY_MAX, "the certificate is not trusted: %s", X509_verify_cert_error_string(verified));
    else
        snprintf(why, ERR_WHY_MAX, "TLS: %s", reason ? reason : "the connection was closed within the handshake");
}

int tls_shake(struct tls *tls, char why[ERR_WHY_MAX])
{
    int result = SSL_do_handshake(ssl_of(tls));
    if (result == 1)
        return 0;
    explain(tls, why);
    int what = verdict(tls, result);
    return what ? what : TLS_FAILED;
}

ssize_t tls_send(struct tls *tls, struct str bytes)
{
    int result = SSL_write(ssl_of(tls), bytes.p, bytes.n > INT_MAX ? INT_MAX : (int)bytes.n);
    return result > 0 ? result : verdict(tls, result);
}

ssize_t tls_recv(struct tls *tls, char *bytes, size_t n)
{
    int result = SSL_read(ssl_of(tls), bytes, n > INT_MAX ? INT_MAX : (int)n);
    return result > 0 ? result : verdict(tls, result);
}
