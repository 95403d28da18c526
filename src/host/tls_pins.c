/* Public keys that a peer must have, or a CA of its: of many certificates that a CA has signed only some are of this
 * cluster. */
#define _GNU_SOURCE
#include <stdio.h>
#include <strings.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/check.h"
#include "host/tls_inside.h"

#define HASH_SIZE 32
#define PIN_SIZE (2 * HASH_SIZE) /* of its text */

bool tls_pin_is_right(const char *pin)
{
    return strlen(pin) == PIN_SIZE &&
           strspn(pin, "0123456789abcdefABCDEF") == PIN_SIZE;
}

/* SHA-256 of a certificate's public key with its algorithm (RFC 7469 2.4), as text. */
static void pin_of(X509 *certificate, char pin[PIN_SIZE + 1])
{
    uint8_t hash[HASH_SIZE];
    unsigned char *key = NULL;
    int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);

    check(size > 0 && EVP_Digest(key, (size_t)size, hash, NULL, EVP_sha256(),
                                 NULL) == 1);
    OPENSSL_free(key);
    for (unsigned i = 0; i < HASH_SIZE; i++)
        (void)snprintf(pin + (size_t)2 * i, 3, "%02x", hash[i]);
}

static bool is_pinned(const struct tls_options *options, X509 *certificate)
{
    char pin[PIN_SIZE + 1];

    pin_of(certificate, pin);
    for (uint32_t i = 0; i < options->pin_count; i++)
        if (strcasecmp(options->pins[i], pin) == 0)
            return true;
    return false;
}

bool tls_chain_is_pinned(const struct tls_options *options,
                         STACK_OF(X509) *chain)
{
    bool pinned = !options->pin_count;

    for (int i = 0; chain && !pinned && i < sk_X509_num(chain); i++)
        pinned = is_pinned(options, sk_X509_value(chain, i));
    return pinned;
}
