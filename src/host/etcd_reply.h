/* Parses replies of an etcd server's v3 JSON gateway, without trusting them.
 *
 * Pure except for memory; fuzzed (tests/fuzz/host). 64-bit numbers are texts, bytes are base64, and
 * zeros are omitted. So each reply must have its header; an unrelated object would read as "no such
 * key". */
#ifndef SHERD_HOST_ETCD_REPLY_H
#define SHERD_HOST_ETCD_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/limits.h"

/* Answer to /v3/kv/range of one key. */
struct etcd_key {
    bool found; /* if false, the rest is zero */
    char value[ETCD_VALUE_MAX]; /* base64; longer ones make the reply invalid */
    uint64_t create_revision;
    uint64_t mod_revision;
    uint64_t lease; /* 0: none */
};

/* `key`: the requested one in base64; another one is refused. False: no such reply. */
bool etcd_read_range(struct slice body, const char *key, struct etcd_key *out);
/* The same for the answer to a transaction of `count` ranges of one key each, in their order. */
bool etcd_read_ranges(struct slice body, const char *const *keys, uint32_t count,
                      struct etcd_key *out);
bool etcd_read_grant(struct slice body, uint64_t *lease, uint64_t *ttl_s);
bool etcd_read_txn(struct slice body, bool *succeeded, uint64_t *revision);
bool etcd_read_token(struct slice body, char token[ETCD_TOKEN_MAX]);
/* An error's message for the log, or "". Control characters become blanks, double quotes single
 * ones. */
void etcd_read_error(struct slice body, char *text, size_t size);

/* Appends bytes in base64. */
void etcd_put_base64(struct buf *buf, struct slice bytes);
/* Appends the bytes of a text in base64, with padding. False: it is none, and nothing is appended. */
bool etcd_get_base64(struct buf *buf, const char *text);

#endif
