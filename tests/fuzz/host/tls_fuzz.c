/* Fuzzes the TLS of a node before the peer is verified. The first byte of the input is the kind:
 *
 *   even   bytes of an unknown client, in pieces of the size in the second byte
 *   odd    the handshake of a real peer with changes. The rest of the input is edits of 4 bytes,
 *          which change, drop, double or cut off bytes. Bit 1: the peer has no certificate
 *
 * An unknown client is never accepted. Kept bytes and answers are limited. The node reads exactly
 * the bytes that the peer wrote. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "certificates.h"
#include "host/tls.h"

#define EDITS_MAX 64
#define SAID "AKKA\1 what the peer has said after its handshake"

static struct tls *tls;
static struct certificate *shown;

static void ignore_line(void *owner, enum trace_level level, const char *text)
{
    (void)owner;
    (void)level;
    (void)text;
}

static void open_once(void)
{
    static const char *const suites[] = { "TLS_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384" };
    const struct certificate_options names = { .names = "IP:127.0.0.1" };
    struct tls_options options = { .host = "127.0.0.1",
                                   .allows_1_2 = true,
                                   .algorithms = suites,
                                   .algorithm_count = 2,
                                   .reload_after = UINT64_MAX,
                                   .log = ignore_line };
    struct keys keys;
    char error[640];

    keys_init(&keys);
    options.certificate = keys.node_path;
    options.key = keys.key_path;
    options.ca = keys.ca_path;
    check(tls_open(&tls, &options, 0, error, sizeof error) == 0);
    shown = certificate_new(keys.ca, &names);
    keys_fini(&keys);
}

/* Checks that the node has read a part of the peer's bytes and nothing else, and no byte of an
 * unknown client. */
static void look(struct tls_end *conn, bool stranger)
{
    static const char said[] = SAID;
    uint8_t plain[256];
    size_t had = 0, more;
    struct slice answers;

    while ((more = tls_end_read(conn, plain + had, sizeof plain - had)) > 0)
        had += more;
    check(had < sizeof said && memcmp(plain, said, had) == 0);
    check(!stranger || (tls_end_state(conn) != TLS_OPEN && !had));
    check(!stranger || !tls_end_covers(conn, "127.0.0.1"));
    (void)tls_end_pending(conn, &answers);
    check(answers.size < 2 * TLS_ANSWERS_MAX);
    check((tls_end_state(conn) == TLS_FAILED) == (tls_end_why(conn)[0] != 0));
}

static void strange(const uint8_t *data, size_t size)
{
    struct tls_end *conn = tls_accept(tls, 0);
    size_t piece = size ? 1 + data[0] * 16u : 1;

    for (size_t at = 1; at < size; at += piece) {
        piece = piece < size - at ? piece : size - at;
        tls_end_feed(conn, slice_of(data + at, piece));
        look(conn, true);
    }
    tls_end_close(conn);
    tls_end_free(conn);
}

/* ---- a peer whose bytes are changed on their way ---- */

struct peer {
    SSL_CTX *context;
    SSL *ssl;
    BIO *in, *out;
    size_t said; /* bytes that it has sent */
};

/* Returns the edit at this position, or null. An edit is 2 bytes position, 1 byte kind, 1 byte
 * value. */
static const uint8_t *edit_at(const uint8_t *edits, size_t size, size_t at)
{
    for (size_t i = 0; i + 4 <= size && i < EDITS_MAX * 4; i += 4)
        if ((edits[i] | (size_t)edits[i + 1] << 8) == at)
            return edits + i;
    return NULL;
}

/* Returns false if the edit cuts the bytes off here. */
static bool feed_byte(struct tls_end *conn, uint8_t byte, const uint8_t *edit)
{
    uint8_t bytes[2] = { byte, byte };
    size_t count = 1;

    switch (edit ? edit[2] % 4 : 4) {
    case 0:
        bytes[0] ^= edit[3];
        break;
    case 1:
        count = 0;
        break;
    case 2:
        count = 2;
        break;
    case 3:
        return false;
    default:
        break;
    }
    tls_end_feed(conn, slice_of(bytes, count));
    return true;
}

static bool carry(struct peer *peer, struct tls_end *conn, const uint8_t *edits, size_t size)
{
    struct slice answers;
    uint8_t bytes[512];
    bool any = false;
    int count;

    while ((count = BIO_read(peer->out, bytes, sizeof bytes)) > 0) {
        any = true;
        for (int i = 0; i < count; i++)
            if (!feed_byte(conn, bytes[i], edit_at(edits, size, peer->said++)))
                return false;
    }
    if (tls_end_pending(conn, &answers)) {
        any = true;
        check(BIO_write(peer->in, answers.data, (int)answers.size) == (int)answers.size);
        tls_end_sent(conn, answers.size);
    }
    return any;
}

static void bent(const uint8_t *edits, size_t size, bool stranger)
{
    struct tls_end *conn = tls_accept(tls, 0);
    struct peer peer = { .context = certificate_context(stranger ? NULL : shown) };
    bool spoke = false;

    peer.ssl = SSL_new(peer.context);
    peer.in = BIO_new(BIO_s_mem());
    peer.out = BIO_new(BIO_s_mem());
    check(peer.ssl && peer.in && peer.out);
    SSL_set_bio(peer.ssl, peer.in, peer.out);
    SSL_set_connect_state(peer.ssl);
    do {
        if (SSL_do_handshake(peer.ssl) == 1 && !spoke) {
            check(SSL_write(peer.ssl, SAID, sizeof SAID - 1) == sizeof SAID - 1);
            spoke = true;
        }
    } while (carry(&peer, conn, edits, size) && tls_end_state(conn) == TLS_SHAKING);
    look(conn, stranger);
    if (!size && !stranger)
        check(tls_end_state(conn) == TLS_OPEN);
    SSL_free(peer.ssl);
    SSL_CTX_free(peer.context);
    tls_end_free(conn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!tls)
        open_once();
    if (size > 0 && data[0] % 2 == 0)
        strange(data + 1, size - 1);
    else if (size > 0)
        bent(data + 1, size - 1, (data[0] & 2) != 0);
    return 0;
}
