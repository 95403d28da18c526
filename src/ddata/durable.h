/* Durable keys: what a store keeps of a replicator, and its face, as data.
 *
 * Behaviour 13.10. A request is one object from the heap, never shared: the node gives it to the driver, the driver to the
 * store's thread, and it comes back with its result. Every byte that it names lies in its own buffer.
 *
 * Each value lies in a record of its own, which is whole or is nothing:
 *
 *   u32 magic "SHDV" | u8 version (1) | u64 cluster | u64 number | u32 key size | u32 value size | key | value |
 *   u64 checksum, little endian all
 *
 * cluster is a hash of the cluster's id, number is that of the transaction that wrote it, from 1: of two records of a key
 * the one with the higher number is the later one. The checksum is XXH3 (64 bits) over all bytes before it. A record says where it ends
 * and whose it is, so records can be found in a file whose tree is damaged. */
#ifndef SHERD_DDATA_DURABLE_H
#define SHERD_DDATA_DURABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/vec.h"

#define DURABLE_OVERHEAD 37    /* bytes that a record adds to key and value */
#define DURABLE_NAME_SIZE (DURABLE_KEY_MAX + 1) /* most bytes of a record's key: a hold's or name's has one more than the key's */
#define DURABLE_ERROR_MAX 300  /* bytes of an error's text with its zero */

struct durable_record {
    uint64_t cluster;
    uint64_t number;
    struct slice key;
    struct slice value;
};

/* May a store be given it? 1 to DURABLE_KEY_MAX bytes, and none of the store's own keys. */
bool durable_key_is_good(struct slice key);
/* Appends the key of the record, without a value, by which a store knows that what it has of a key is not what was written last: byte fe
 * and the key. It counts unless the key has a record with a higher number. False: the key has none, since it is not a user's: UTF-8,
 * which has no such byte. */
bool durable_hold_key(struct slice key, struct buf *hold);
bool durable_is_hold(struct slice key);
/* Appends the key of the record, without a value, by which a store knows that there is such a key, and the number of its last record:
 * byte fd and the key. */
void durable_name_key(struct slice key, struct buf *name);
bool durable_is_name(struct slice key);
struct slice durable_key_of(struct slice own); /* whose hold or name it is; lent by it */
struct slice durable_mark_key(void); /* the store's own, of what it must know of itself: one byte that is no text */
uint64_t durable_cluster(const char *cluster); /* the hash of a cluster's id */
/* Appends the record's bytes. Key and value are within their limits (DURABLE_NAME_SIZE, DURABLE_VALUE_MAX). */
void durable_encode(struct buf *buf, const struct durable_record *record);
/* Reads and verifies; key and value are lent from bytes, which must be the record alone. Null, or what is wrong with it,
 * as a literal. */
const char *durable_decode(struct slice bytes, struct durable_record *record);
/* Of a record that may be damaged: it has the key where its key stands. */
bool durable_names(struct slice bytes, struct slice key);
/* The first whole record at or after *at; *at is then where it ends. False: there is none. For files whose tree is
 * damaged; takes time linear in the bytes, unless somebody wrote many magics into them. */
bool durable_find(struct slice bytes, size_t *at,
                  struct durable_record *record);

enum durable_verb {
    DURABLE_LOAD = 1, /* all entries; once, first */
    DURABLE_STORE,    /* writes entries, each in place of its key's last one */
    DURABLE_ERASE,    /* forgets the keys of entries */
};

enum durable_result {
    DURABLE_PENDING, /* not back yet */
    DURABLE_DONE,    /* loaded; or durable; or, with write-behind, taken: durable after the interval */
    DURABLE_FAILED,  /* not loaded; or not certainly written; see error. A later write of the key may succeed */
};

struct durable_span {
    uint32_t at;
    uint32_t size;
};

struct durable_entry {
    struct durable_span key;
    struct durable_span value; /* none in ERASE, and where the entry is lost */
    bool is_stale; /* LOAD, out: its last value was damaged, this is an earlier one */
    bool is_lost;  /* LOAD, out: its value was damaged, and no earlier one found */
    bool is_held;  /* LOAD, out: a user's key, stale or lost by this load or one before it, and not stored since */
};

struct durable_request {
    enum durable_verb verb;
    enum durable_result result; /* out */
    uint64_t tag;               /* the asker's, not touched by others */
    VEC(struct durable_entry) entries; /* LOAD: out, in the order of keys */
    struct buf bytes;           /* what the spans point into */
    bool was_damaged;           /* LOAD, out: the files were; they were set aside and written anew */
    bool may_lack_keys;         /* LOAD, out: and what names the keys was: some may be missing of which nothing is left, not even the name */
    bool is_refused;            /* LOAD, out: not loaded, and no later try will be: they are another cluster's, or too large */
    char error[DURABLE_ERROR_MAX]; /* out: one line for a person; empty when DONE */
};

struct durable_request *durable_request_new(enum durable_verb verb);
void durable_request_free(struct durable_request *request); /* null is fine */
/* Copies key and value into the request. */
void durable_request_add(struct durable_request *request, struct slice key,
                         struct slice value);
struct slice durable_slice(const struct durable_request *request,
                           struct durable_span span);

#endif
