/* What an etcd server says through its v3 JSON gateway, read with suspicion: whoever answers at that port may be
 * anything. Pure, but for memory. Called by lease_etcd.c; fuzzed (tests/fuzz/host).
 *
 * The gateway writes 64-bit numbers as texts, bytes in base64, and leaves out what is zero: so each reply must carry
 * its header, or an object that is of something else would read as "no such key". */
#ifndef SHERD_HOST_ETCD_REPLY_H
#define SHERD_HOST_ETCD_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/limits.h"

/* Answer to /v3/kv/range of one key. */
struct etcd_key {
    bool found; /* the rest is zero without */
    char value[ETCD_VALUE_MAX]; /* in base64, as written; cut values are none: the reply is refused */
    uint64_t create_revision;
    uint64_t mod_revision;
    uint64_t lease; /* 0: it stays for ever */
};

/* key: in base64, as it was asked for; another one in the answer is a wrong answer. All: false when the body is not
 * such a reply. */
bool etcd_read_range(struct slice body, const char *key, struct etcd_key *out);
bool etcd_read_grant(struct slice body, uint64_t *lease, uint64_t *ttl_s);
bool etcd_read_txn(struct slice body, bool *succeeded, uint64_t *revision);
bool etcd_read_token(struct slice body, char token[ETCD_TOKEN_MAX]);
/* What an error says of itself, for the log; "" when nothing that can be read. Control characters become blanks, quotes single ones. */
void etcd_read_error(struct slice body, char *text, size_t size);

/* Appends bytes in base64. */
void etcd_put_base64(struct buf *buf, struct slice bytes);

#endif
