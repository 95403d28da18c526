/* Finds open connections whose peer's certificate was revoked.
 *
 * After a new list all are checked at once, on their threads. So a certificate is first looked up
 * by its number, and only a match is verified: a list counts only with its CA's signature. */
#define _GNU_SOURCE
#include <openssl/err.h>

#include "base/check.h"
#include "host/tls_inside.h"

static bool is_named(X509_CRL *list, X509 *certificate)
{
    X509_REVOKED *entry = NULL;

    return X509_NAME_cmp(X509_CRL_get_issuer(list),
                         X509_get_issuer_name(certificate)) == 0 &&
           X509_CRL_get0_by_cert(list, &entry, certificate) == 1;
}

/* In any list of the store. The look-up may sort the list, under the store's lock. */
static bool is_suspect(X509_STORE *store, X509 *certificate)
{
    STACK_OF(X509_OBJECT) *objects;
    bool named = false;

    check(X509_STORE_lock(store) == 1);
    objects = X509_STORE_get0_objects(store);
    for (int i = 0; !named && i < sk_X509_OBJECT_num(objects); i++) {
        X509_CRL *list =
            X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(objects, i));

        named = list && is_named(list, certificate);
    }
    check(X509_STORE_unlock(store) == 1);
    return named;
}

static bool is_revoked(X509_STORE *store, STACK_OF(X509) *chain)
{
    X509_STORE_CTX *judge = X509_STORE_CTX_new();
    int verdict;

    check(judge && X509_STORE_CTX_init(judge, store, sk_X509_value(chain, 0),
                                       chain) == 1);
    (void)X509_verify_cert(judge); /* the verdict says it */
    verdict = X509_STORE_CTX_get_error(judge);
    X509_STORE_CTX_free(judge);
    ERR_clear_error();
    return verdict == X509_V_ERR_CERT_REVOKED;
}

bool tls_chain_is_revoked(X509_STORE *store, STACK_OF(X509) *chain)
{
    bool suspect = false;

    for (int i = 0; chain && !suspect && i < sk_X509_num(chain); i++)
        suspect = is_suspect(store, sk_X509_value(chain, i));
    return suspect && is_revoked(store, chain);
}
