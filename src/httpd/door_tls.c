/* Makes the TLS context of the port, and makes it again when its files change. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/x509.h>

#include "httpd/inside.h"

#define LOOK_MS 1000

static bool fail(const char **what, const char *name)
{
    *what = name;
    return false;
}

/* Every CA needs a list: without one its certificates are refused. */
static bool add_lists(SSL_CTX *context, const char *path)
{
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());

    return lookup && X509_load_crl_file(lookup, path, X509_FILETYPE_PEM) > 0 &&
           X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) == 1;
}

static bool fill(SSL_CTX *context, const struct httpd_settings *settings, const char **what)
{
    STACK_OF(X509_NAME) * names;

    if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1)
        return fail(what, "version");
    if (SSL_CTX_use_certificate_chain_file(context, settings->certificate) != 1)
        return fail(what, settings->certificate);
    if (SSL_CTX_use_PrivateKey_file(context, settings->key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1)
        return fail(what, settings->key);
    if (!settings->client_ca)
        return true;
    names = SSL_load_client_CA_file(settings->client_ca);
    if (!names || SSL_CTX_load_verify_locations(context, settings->client_ca, NULL) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return fail(what, settings->client_ca);
    }
    SSL_CTX_set_client_CA_list(context, names);
    if (settings->client_crl && !add_lists(context, settings->client_crl))
        return fail(what, settings->client_crl);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL); /* a client without one may come with a token */
    return true;
}

static SSL_CTX *make(struct httpd *httpd, bool *has_logged)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    const char *what = "";
    char reason[160];

    check(context != NULL);
    ERR_clear_error();
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_session_id_context(context, (const unsigned char *)"sherd", 5); /* short enough */
    if (fill(context, &httpd->settings, &what)) {
        *has_logged = false;
        return context;
    }
    SSL_CTX_free(context);
    ERR_error_string_n(ERR_peek_error(), reason, sizeof reason);
    ERR_clear_error();
    if (!*has_logged)
        httpd_log(httpd, SHERD_LOG_ERROR, "a file of the management's TLS cannot be used file=\"%s\" reason=\"%s\"", what,
                  reason);
    *has_logged = true;
    return NULL;
}

static void read_stamps(const struct httpd_settings *settings, struct file_stamp stamps[TLS_FILES])
{
    (void)file_stamp_read(settings->certificate, &stamps[0]); /* a missing file differs */
    (void)file_stamp_read(settings->key, &stamps[1]);
    memset(&stamps[2], 0, 2 * sizeof stamps[2]);
    if (settings->client_ca)
        (void)file_stamp_read(settings->client_ca, &stamps[2]);
    if (settings->client_crl)
        (void)file_stamp_read(settings->client_crl, &stamps[3]);
}

int door_open_tls(struct httpd *httpd, struct door *door)
{
    read_stamps(&httpd->settings, door->stamps);
    door->tls = make(httpd, &door->has_logged);
    return door->tls ? 0 : SHERD_ECONFIG;
}

void door_look(struct door *door, uint64_t now)
{
    struct file_stamp stamps[TLS_FILES];
    SSL_CTX *context;
    bool is_same = true;

    if (now < door->looked_at + LOOK_MS)
        return;
    door->looked_at = now;
    read_stamps(&door->httpd->settings, stamps);
    for (int i = 0; i < TLS_FILES; i++)
        is_same &= file_stamp_same(&stamps[i], &door->stamps[i]);
    if (is_same)
        return;
    context = make(door->httpd, &door->has_logged);
    if (!context)
        return; /* the files may be half written: the next look reads them again */
    memcpy(door->stamps, stamps, sizeof door->stamps);
    SSL_CTX_free(door->tls);
    door->tls = context;
    httpd_log(door->httpd, SHERD_LOG_INFO, "TLS files of the management read again");
}

bool door_subject(struct bufferevent *bev, char *subject, size_t size)
{
    SSL *tls = bufferevent_openssl_get_ssl(bev);
    X509 *certificate = tls ? SSL_get1_peer_certificate(tls) : NULL;
    BIO *text;
    int written = -1;

    if (!certificate)
        return false;
    text = BIO_new(BIO_s_mem());
    check(text != NULL);
    if (SSL_get_verify_result(tls) == X509_V_OK &&
        X509_NAME_print_ex(text, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253 & ~XN_FLAG_DN_REV) >= 0)
        written = BIO_read(text, subject, (int)size - 1);
    if (written >= 0)
        subject[written] = '\0';
    BIO_free(text);
    X509_free(certificate);
    return written > 0;
}
